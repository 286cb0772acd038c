"""Rows of the repository's benchmark, put beside each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from liger_perf.model import points
from liger_perf.model.measurements import BenchmarkRow, BenchmarkRun, Clock, Comparison
from liger_perf.report import tables

Where = tuple[str, str, str, str, str, str]


def where(row: BenchmarkRow) -> Where:
    """What two rows must share to be compared, apart from the provider."""
    return (
        row.kernel_name,
        row.metric_name,
        row.kernel_operation_mode,
        row.x_name,
        row.x_value,
        row.extra_benchmark_config_str,
    )


class Pair(msgspec.Struct, frozen=True):
    """A row and the row that it is compared with; `ratio` above 1 where `row` is better (both are costs)."""

    row: BenchmarkRow
    other: BenchmarkRow | None

    @property
    def ratio(self) -> float | None:
        if self.other is None or not self.row.y_value_50:
            return None
        return self.other.y_value_50 / self.row.y_value_50

    @property
    def change(self) -> float | None:
        """(row − other) / other as a fraction."""
        if self.other is None or not self.other.y_value_50:
            return None
        return self.row.y_value_50 / self.other.y_value_50 - 1


def against_others(run: BenchmarkRun, metric: str) -> Iterator[Pair]:
    """Each row of the kernel's own providers beside each other provider's row of the same place."""
    others: dict[Where, list[BenchmarkRow]] = {}
    for row in run.rows:
        if row.kernel_provider not in run.own_providers:
            others.setdefault(where(row), []).append(row)
    for row in run.rows:
        if row.metric_name == metric and row.kernel_provider in run.own_providers:
            beside = others.get(where(row))
            yield from [Pair(row, other) for other in beside] if beside else [Pair(row, None)]


def against_baseline(rows: Sequence[BenchmarkRow], baseline: BenchmarkRun, metric: str = "") -> Iterator[Pair]:
    """Each row of the kernel's own providers beside the baseline's row of the same place and provider."""
    known = {(where(row), row.kernel_provider): row for row in baseline.rows}
    for row in rows:
        if row.kernel_provider in baseline.own_providers and metric in ("", row.metric_name):
            yield Pair(row, known.get((where(row), row.kernel_provider)))


def x_label(row: BenchmarkRow) -> str:
    return f"{row.x_name}={row.x_value}"


def point_label(key: str) -> str:
    """The place of a point for people: "T=1024" or "T=1024, dtype=float32"."""
    name = points.parse(key)
    return f"{name.x_name}={name.x}" + (f", {name.cell.replace(',', ', ')}" if name.cell else "")


def place_order(key: str) -> tuple[str, str, float, str]:
    """A sort key for points: the benchmark's own configuration first, sizes by number, names as text behind."""
    name = points.parse(key)
    try:
        return name.cell, name.x_name, float(name.x), ""
    except ValueError:
        return name.cell, name.x_name, math.inf, name.x


def representative_x(run: BenchmarkRun) -> str:
    """The largest x of the kernel's own speed rows as "T=8192": the size at which a kernel has most to do."""
    own = [row for row in run.rows if row.kernel_provider in run.own_providers and row.metric_name == "speed"]
    if not own:
        return ""
    try:
        return x_label(max(own, key=lambda row: float(row.x_value)))
    except ValueError:
        return x_label(own[-1])


def at_place(comparisons: Sequence[Comparison], mode: str, place: str, clock: Clock) -> Comparison | None:
    """The comparison of a pass at a place such as "T=8192" in the benchmark's own configuration."""
    return next(
        (
            item
            for item in comparisons
            if item.mode == mode and item.clock is clock and point_label(item.point) == place
        ),
        None,
    )


def change_text(pair: Pair) -> str:
    """ "61.2 µs (-28.6 %)" """
    if pair.change is None:
        return tables.measured(pair.row)
    return f"{tables.measured(pair.row)} ({tables.percent(pair.change)})"
