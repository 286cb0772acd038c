"""What the last stage found: the frozen value behind `report.md` and `report.json`."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from liger_perf.model.measurements import Comparison
from liger_perf.model.profile import ProfileResult
from liger_perf.model.variants import StopReason, Variant, VariantResult


class Outcome(StrEnum):
    APPLIED = "APPLIED"
    REVERTED = "REVERTED"
    NO_WINNER = "NO WINNER"


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """A correctness gate of the winner: "smoke test", "full tests", "style". `passed` is None where it did not run."""

    name: str
    passed: bool | None
    detail: str


class ArchitectureCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the winner on one architecture (sm_90 = 90). `compiled` is None where it was not tried;
    `gated` means that the shipped values stay there."""

    arch: int
    name: str
    measured: bool
    compiled: bool | None
    gated: bool
    note: str = ""


class Plot(msgspec.Struct, frozen=True, kw_only=True):
    """A picture beside the report, by its path relative to the report."""

    path: str
    title: str


class FinalReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that the final report says.

    Attributes:
        reason: why the outcome is what it is, one sentence.
        winner: name of the winning variant ("v3"); empty where there is none.
        final: the winner against the original: on the whole grid, from runs after the selection, where `fresh`; else
            at the script's own points, from the runs on which it was judged.
        gain, gain_low: of the target in `final`, as ratios.
        diff: unified diff of the ops file; empty without a winner.
        reproduction: shell commands.
    """

    profile: ProfileResult
    outcome: Outcome
    reason: str
    variants: tuple[Variant, ...]
    results: tuple[VariantResult, ...]
    stop: StopReason
    winner: str = ""
    winner_reason: str = ""
    final: tuple[Comparison, ...] = ()
    fresh: bool = True
    gain: float = 1.0
    gain_low: float = 0.0
    diff: str = ""
    gates: tuple[GateResult, ...] = ()
    architectures: tuple[ArchitectureCheck, ...] = ()
    plots: tuple[Plot, ...] = ()
    recommendations: tuple[str, ...] = ()
    reproduction: tuple[str, ...] = ()
