"""Variants: what a technique proposes, what was found, what was decided."""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from liger_perf.model.measurements import BenchmarkRow, Comparison

VARIANT_NAME = re.compile(r"v[1-9]\d*", re.ASCII)


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One edit of a rewrite, as the notes tell it."""

    what: str
    why: str


class Hypothesis(msgspec.Struct, frozen=True, kw_only=True):
    """Fixed before any run of the variant. `predicted_gain` is a ratio of the target: 1.2 = 1.2× as fast."""

    bottleneck: str
    reasoning: str
    uses_notes_of: tuple[str, ...]
    changes: tuple[Change, ...]
    predicted_gain: float
    expectation: str


class Decision(StrEnum):
    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    MIXED = "MIXED"


class GuardrailCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One guardrail at its worst point. `loss_upper` and `threshold` are fractions (0.05 = 5 %)."""

    name: str
    threshold: float
    worst_point: str
    loss: float
    loss_upper: float | None
    passed: bool
    explanation: str = ""


class SmokeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The quick correctness test: single shape, float32, forward and backward, against the original."""

    passed: bool
    compared: tuple[str, ...]
    worst: str
    worst_error: float
    reason: str = ""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One inner trial of a search: settings by settings function, and the pass's median device time in µs."""

    point: str
    settings: dict[str, dict[str, int]]
    device_us: float | None
    failure: str = ""


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """A variant handed in by a technique: the complete drop-in file is `source`."""

    number: int
    technique: str
    title: str
    parent: str
    source: str
    hypothesis: Hypothesis

    @property
    def name(self) -> str:
        return f"v{self.number}"


class VariantResult(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found about a variant, and the decision."""

    name: str
    technique: str
    title: str
    parent: str
    smoke: SmokeResult
    rows: tuple[BenchmarkRow, ...]
    comparisons: tuple[Comparison, ...]
    guardrails: tuple[GuardrailCheck, ...]
    target_gain: float
    target_gain_low: float
    decision: Decision
    reason: str
    learnings: tuple[str, ...]
    trials: tuple[Trial, ...]
    device_seconds: float
    peak_memory_ratio: float | None = None


class StopReason(StrEnum):
    BUDGET = "budget exhausted: the maximum number of variants was tried"
    STAGNATION = "two consecutive variants improved the target by less than 1 %"
    TARGET_MET = "the target metric is met"
    NOTHING_LEFT = "no further technique applies"
