"""What was measured: devices, samples, rows of the benchmark's CSV, verdicts."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from liger_perf.model.options import DeviceKind


class DeviceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The device as the worker saw it. Bandwidth in GB/s, read plus written, of a large copy.

    `model_error` says how wrong the simulated device's model is; empty for a real one.
    """

    kind: DeviceKind
    name: str
    capability: tuple[int, int]
    sm_count: int
    memory_bytes: int
    shared_memory_bytes: int
    copy_gbs: float
    driver: str = ""
    torch: str = ""
    triton: str = ""
    python: str = ""
    model_error: str = ""

    @property
    def simulated(self) -> bool:
        return self.kind is DeviceKind.SIMULATED

    @property
    def arch(self) -> int:
        """sm_90 as 90."""
        return self.capability[0] * 10 + self.capability[1]

    @property
    def architecture(self) -> str:
        names = {8: "Ampere", 9: "Hopper", 10: "Blackwell", 12: "Blackwell"}
        return names.get(self.capability[0], "unknown architecture")


class PassSample(msgspec.Struct, frozen=True, array_like=True):
    """One run of a pass: device time of all its CUDA kernels, wall time, both in microseconds."""

    device_us: float
    wall_us: float


class PassTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Samples of one pass at one point in one process, and the device time by CUDA kernel (medians, µs)."""

    samples: tuple[PassSample, ...]
    by_kernel: dict[str, float] = {}
    sm_clock_mhz: int = 0


class BenchmarkRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the repository's benchmark CSV, its own columns."""

    kernel_name: str
    kernel_provider: str
    kernel_operation_mode: str
    metric_name: str
    metric_unit: str
    x_name: str
    x_label: str
    x_value: str
    y_value_50: float
    y_value_20: float
    y_value_80: float
    extra_benchmark_config_str: str
    gpu_name: str
    timestamp: str
    liger_version: str


class BenchmarkRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the unmodified script: the rows it added or changed, and how long it took in seconds."""

    rows: tuple[BenchmarkRow, ...]
    seconds: float
    own_providers: tuple[str, ...] = ()


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """A block of paired samples: original `a`, candidate `b`, from one pair of workers (`restart`)."""

    point: str
    restart: int
    order: str
    a: tuple[PassSample, ...]
    b: tuple[PassSample, ...]


class Verdict(StrEnum):
    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    AMBIGUOUS = "ambiguous"


class Clock(StrEnum):
    DEVICE = "device"
    WALL = "wall"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Original against candidate at one point. `ratio` is time of the original over time of the candidate:
    above 1 is faster. `low` and `high` bound it (95 %); None where one sample allows no interval.
    `noise` is half the width of the A/A interval as a fraction (0.01 = 1 %).
    """

    point: str
    mode: str
    clock: Clock
    a_us: float
    b_us: float
    ratio: float
    low: float | None
    high: float | None
    noise: float
    verdict: Verdict
    samples: int


class CubinFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the compiler made of one launch for one architecture (sm_90 = 90). `error` is empty on success.

    `spill_bytes` per thread; `shared_bytes` per program; `digest` is of the machine code without line information.
    """

    kernel: str
    arch: int
    digest: str
    registers: int
    spill_bytes: int
    shared_bytes: int
    num_warps: int
    seconds: float
    error: str = ""
