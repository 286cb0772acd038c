"""What the stages hand on to each other through the workspace, as JSON."""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec

from liger_perf.model.branches import Branch
from liger_perf.model.errors import LigerPerfError
from liger_perf.model.final import ArchitectureCheck
from liger_perf.model.launches import Capture
from liger_perf.model.measurements import Comparison, CubinFacts
from liger_perf.model.profile import ProfileResult
from liger_perf.model.variants import StopReason, Variant

T = TypeVar("T")


class Profiled(msgspec.Struct, frozen=True, kw_only=True):
    """`profile.json`: what profile.md was written from, and the captured launches with their cubins."""

    profile: ProfileResult
    capture: Capture
    cubins: tuple[CubinFacts, ...]


class StoredVariant(msgspec.Struct, frozen=True, kw_only=True):
    """`variants/vN.json`: a variant with the branches of its settings functions, and the variant that it narrows."""

    variant: Variant
    branches: dict[str, list[Branch]]
    narrows: str = ""


class Optimized(msgspec.Struct, frozen=True, kw_only=True):
    """`optimize.json`: what comparison.md was written from, except the results, which the journal holds.

    `final` is the recommended winner against the original on the whole grid, measured after the selection.
    """

    variants: tuple[Variant, ...]
    stop: StopReason
    winner: str
    why: str
    final: tuple[Comparison, ...] = ()
    gain: float = 1.0
    gain_low: float = 0.0
    architectures: tuple[ArchitectureCheck, ...] = ()


def encode(value: msgspec.Struct) -> str:
    """A value as JSON. Python's writer, because a benchmark may have written nan."""
    return json.dumps(msgspec.to_builtins(value), indent=1) + "\n"


def decode(data: bytes, kind: type[T]) -> T:
    """Read stored JSON. Raises LigerPerfError where it is not what it should be."""
    try:
        return msgspec.convert(json.loads(data), kind)
    except (ValueError, msgspec.ValidationError) as error:
        raise LigerPerfError("a stored result cannot be read", details=str(error)) from error
