"""What a journal can hold: a closed union of entries. New kinds need a new journal version."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from liger_perf.model.measurements import DeviceFacts
from liger_perf.model.options import KernelPaths, Request
from liger_perf.model.variants import Decision


class Stage(StrEnum):
    PROFILE = "profile"
    OPTIMIZE = "optimize"
    FINALIZE = "finalize"


class RecordedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the workspace (path relative to it) that counts, with the content that counts."""

    path: str
    sha256: str


class Started(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A session begins. `base_digest` is of the frozen copy of the checkout, `kernel_digest` of the kernel's file;
    results of another device cannot be compared with this session's."""

    request: Request
    paths: KernelPaths
    repository: str
    base_digest: str
    kernel_digest: str
    device: DeviceFacts
    versions: dict[str, str]


class StageFinished(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A stage ended well; only now do its files count.

    `summary` is what the checkpoint shows, `page` the workspace's page that holds the whole. `winner` is the variant
    that the optimize stage would take; empty for none.
    """

    stage: Stage
    files: tuple[RecordedFile, ...]
    summary: str
    page: str
    winner: str = ""


class Approved(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A person approved a stage's result. `choice` is a variant's name; empty takes what the stage proposed."""

    stage: Stage
    choice: str = ""


class HypothesisFixed(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The first part of a variant's notes, `size` bytes of UTF-8, fixed before any run of the variant."""

    variant: str
    sha256: str
    size: int


class VariantDone(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A variant was judged. `result` holds the VariantResult; `files` are all that belong to the variant."""

    variant: str
    decision: Decision
    result: RecordedFile
    files: tuple[RecordedFile, ...]


class StageFailed(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """A stage failed for good, for example at the hard gate. `files` tell about it (the REVERTED report)."""

    stage: Stage
    what: str
    files: tuple[RecordedFile, ...] = ()


class Finished(msgspec.Struct, frozen=True, tag=True):
    """Nothing is left to do."""


Entry = Started | StageFinished | Approved | HypothesisFixed | VariantDone | StageFailed | Finished
