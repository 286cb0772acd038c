"""What the profile found: the frozen value behind `profile.md` and behind the order in which techniques are tried."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from liger_perf.model.launches import Scalar
from liger_perf.model.measurements import BenchmarkRun, DeviceFacts
from liger_perf.model.options import KernelPaths, Request


class Bottleneck(StrEnum):
    MEMORY = "memory-bound"
    COMPUTE = "compute-bound"
    LATENCY = "latency-bound"
    HOST = "host-bound"


class EvidenceRow(msgspec.Struct, frozen=True, kw_only=True):
    """One sign of a bottleneck: what was looked at, what was seen, which class it speaks for."""

    signal: str
    observation: str
    supports: str


class PassDiagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Why a pass takes as long as it does at one point.

    Attributes:
        device_us, wall_us: medians of one run in µs.
        nbytes: bytes that must be read plus written.
        share: of the time that a copy of `nbytes` would take, 1.0 = at copy bandwidth; None where no bytes are known.
        at_roof: nothing is left to gain without fewer bytes.
    """

    mode: str
    point: str
    device_us: float
    wall_us: float
    nbytes: int
    share: float | None
    at_roof: bool
    bottleneck: Bottleneck
    evidence: tuple[EvidenceRow, ...]
    reasoning: str


class LaunchSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One launch beneath the representative point. `blocks` are the constexprs that set the block's shape."""

    kernel: str
    mode: str
    point: str
    grid: tuple[int, ...]
    options: dict[str, Scalar]
    blocks: dict[str, Scalar]
    device_us: float | None
    nbytes: int
    share: float | None
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    occupancy: float | None = None


class ConfigurationRow(msgspec.Struct, frozen=True, kw_only=True):
    """How the kernel is configured as shipped: "BLOCK_SIZE", "num_warps", "num_stages", "grid"."""

    kernel: str
    name: str
    value: str
    how_set: str
    note: str = ""


class StrategyStep(msgspec.Struct, frozen=True, kw_only=True):
    """A technique that was considered, in the order to be tried. `predicted_gain` is a ratio of the passes concerned
    (1.2 = 1.2× as fast); None means that the technique refused, and `reason` says why."""

    technique: str
    title: str
    reason: str
    predicted_gain: float | None

    @property
    def refused(self) -> bool:
        return self.predicted_gain is None


class NcuFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What Nsight Compute said about one kernel; percentages from 0 to 100."""

    kernel: str
    occupancy_percent: float
    compute_percent: float
    memory_percent: float
    l1_hit_percent: float
    l2_hit_percent: float
    stalls: tuple[str, ...]


class ProfileResult(msgspec.Struct, frozen=True, kw_only=True):
    """All that the profile page says."""

    request: Request
    paths: KernelPaths
    tier: int
    tier_description: str
    device: DeviceFacts
    gpu_matches: bool
    baseline: BenchmarkRun
    diagnoses: tuple[PassDiagnosis, ...]
    launches: tuple[LaunchSummary, ...]
    configuration: tuple[ConfigurationRow, ...]
    strategy: tuple[StrategyStep, ...]
    observations: tuple[str, ...] = ()
    memory_patterns: tuple[str, ...] = ()
    compute_patterns: tuple[str, ...] = ()
    ncu_status: str = "not run"
    ncu: tuple[NcuFacts, ...] = ()

    @property
    def opportunities(self) -> tuple[StrategyStep, ...]:
        return tuple(step for step in self.strategy if not step.refused)
