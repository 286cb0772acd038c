"""Values for the tests of measuring and judging."""

from __future__ import annotations

from collections.abc import Sequence

from liger_perf.model.launches import Point
from liger_perf.model.measurements import BenchmarkRow, Block, Clock, Comparison, PassSample, Verdict


def key(mode: str = "backward", x: str = "1024", metric: str = "speed") -> str:
    return Point(metric=metric, mode=mode, provider="liger", x_name="T", x=x, config={}).key


def row(**changes: object) -> BenchmarkRow:
    fields: dict[str, object] = {
        "kernel_name": "rms_norm",
        "kernel_provider": "liger",
        "kernel_operation_mode": "forward",
        "metric_name": "speed",
        "metric_unit": "ms",
        "x_name": "T",
        "x_label": "sequence length",
        "x_value": "1024",
        "y_value_50": 0.04,
        "y_value_20": 0.039,
        "y_value_80": 0.041,
        "extra_benchmark_config_str": '{"hidden_size": 4096}',
        "gpu_name": "NVIDIA H200",
        "timestamp": "2025-01-01 12:00:00",
        "liger_version": "0.8.5",
    }
    return BenchmarkRow(**(fields | changes))  # type: ignore[arg-type]


def block(a: Sequence[float], b: Sequence[float], *, restart: int = 0, point: str = "") -> Block:
    return Block(
        point=point or key(),
        restart=restart,
        order="ABBA",
        a=tuple(PassSample(value, 2 * value) for value in a),
        b=tuple(PassSample(value, 3 * value) for value in b),
    )


def comparison(
    ratio: float,
    low: float | None = None,
    high: float | None = None,
    *,
    mode: str = "backward",
    x: str = "1024",
    verdict: Verdict = Verdict.AMBIGUOUS,
    clock: Clock = Clock.DEVICE,
) -> Comparison:
    return Comparison(
        point=key(mode, x),
        mode=mode,
        clock=clock,
        a_us=100.0,
        b_us=100.0 / ratio,
        ratio=ratio,
        low=low,
        high=high,
        noise=0.005,
        verdict=verdict,
        samples=32,
    )
