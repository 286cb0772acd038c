"""What the pipeline hands to a stage, and what a stage hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from liger_perf.model.measurements import DeviceFacts
from liger_perf.model.options import KernelPaths, Request
from liger_perf.model.variants import VariantResult
from liger_perf.ports import Lab, Progress, Trees, Workspace
from liger_perf.session.entries import Entry, RecordedFile, Stage
from liger_perf.session.model import Session


@dataclass(frozen=True, kw_only=True)
class StageContext:
    """Everything a stage may touch.

    Attributes:
        original: the kernel's source as it was at the start.
        earlier: the variants recorded so far, in order; optimizing goes on after them.
        fix_hypothesis: (variant name, text) fixes the first part of a variant's notes, before any run of it. The
            finished notes must begin with exactly this text.
        record_variant: records a judged variant with all files written since the last record. Its source and notes
            must have been written.
    """

    request: Request
    paths: KernelPaths
    device: DeviceFacts
    original: str
    workspace: Workspace
    trees: Trees
    lab: Lab
    progress: Progress
    earlier: tuple[VariantResult, ...]
    fix_hypothesis: Callable[[str, str], None]
    record_variant: Callable[[VariantResult], None]


class StageOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How a stage ended: the summary for the checkpoint, the page that holds the whole, the proposed winner."""

    summary: str
    page: str
    winner: str = ""


StageRunner = Callable[[StageContext], StageOutcome]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint. `choices` are the variants a person may take, `proposed` the one taken by a plain yes."""

    stage: Stage
    summary: str
    page: Path
    choices: tuple[str, ...] = ()
    proposed: str = ""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A person's answer; an empty choice takes what was proposed."""

    approved: bool
    choice: str = ""


class Checkpoint(Protocol):
    """Where a person answers."""

    def ask(self, question: Question) -> Reply | None:
        """Show the question; None where nobody is there to answer."""
        ...

    def present(self, question: Question) -> None:
        """Show the final result."""
        ...


class SessionLog(Workspace, Protocol):
    """The journal and the workspace of one session, held by this process."""

    @property
    def id(self) -> str: ...
    @property
    def session(self) -> Session: ...

    def append(self, entry: Entry) -> Session:
        """Append to the journal. Raises LigerPerfError where the entry contradicts the session."""
        ...

    def take_pending(self) -> tuple[RecordedFile, ...]:
        """The files written since the last call."""
        ...

    def set_aside(self) -> tuple[str, ...]:
        """Move what no entry makes count out of the workspace."""
        ...
