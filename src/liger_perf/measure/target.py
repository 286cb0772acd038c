"""A concrete target such as "forward under 0.3ms at hidden_size=4096": read it, and see whether benchmark rows meet it.

Memory units are those of the repository's benchmark, whose MB is 2^20 bytes; so GB is 2^30 here. KiB, MiB and GiB mean
the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import assert_never

import msgspec

from liger_perf.model import points
from liger_perf.model.errors import UsageError, WorkerError
from liger_perf.model.measurements import BenchmarkRow

_IN_MS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1.0, "s": 1e3}
_IN_MB = {"b": 2.0**-20, "kb": 2.0**-10, "kib": 2.0**-10, "mb": 1.0, "mib": 1.0, "gb": 2.0**10, "gib": 2.0**10}
_SENTENCE = re.compile(
    r"(?P<what>forward|backward|full|(?:peak\s+)?memory)\s*"
    r"(?P<bound>under|below|less\s+than|at\s+most|<=|≤|<)\s*"
    r"(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<unit>[a-zµμ]+)"
    r"(?:\s+at\s+(?P<x_name>[a-z_]\w*)\s*=\s*(?P<x>\S+))?",
    re.IGNORECASE,
)
_ALLOWED = (
    "Allowed: forward, backward, full or memory, then under, below or at most, a number with ns, us, ms, s, KB, MB or "
    'GB, and if wanted "at <x name>=<value>". Examples: "forward under 0.3ms at hidden_size=4096", '
    '"memory below 2 GB", "backward below 80 us at T=8192".'
)


class Metric(StrEnum):
    SPEED = "speed"
    MEMORY = "memory"


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be reached. `limit` in ms (speed) or MB of 2^20 bytes (memory); no `x_name` means at every x."""

    text: str
    metric: Metric
    limit: float
    mode: str = ""
    inclusive: bool = False
    x_name: str = ""
    x: str = ""


def parse_target(text: str) -> Target:
    """Read a target sentence.

    Raises:
        UsageError: it is malformed; the error says what was read and what is allowed.
    """
    found = _SENTENCE.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"The target {text!r} cannot be read.", where="target", todo=_ALLOWED)
    what = found["what"].lower()
    metric = Metric.MEMORY if what.endswith("memory") else Metric.SPEED
    units = _units(metric)
    unit = found["unit"].lower()
    if unit not in units:
        raise UsageError(
            f"The target {text!r} was read as {metric.value} in {found['unit']!r}, which is no unit of {metric.value}.",
            where="target",
            todo=_ALLOWED,
        )
    limit = float(found["number"]) * units[unit]
    if not limit:
        raise UsageError(f"The target {text!r} asks for zero, which nothing meets.", where="target", todo=_ALLOWED)
    return Target(
        text=text.strip(),
        metric=metric,
        mode="" if metric is Metric.MEMORY else what,
        limit=limit,
        inclusive=found["bound"].lower().split() == ["at", "most"] or found["bound"] in ("<=", "≤"),
        x_name=found["x_name"] or "",
        x=found["x"] or "",
    )


def _units(metric: Metric) -> dict[str, float]:
    match metric:
        case Metric.SPEED:
            return _IN_MS
        case Metric.MEMORY:
            return _IN_MB
        case _:
            assert_never(metric)


def rows_of(target: Target, rows: Sequence[BenchmarkRow]) -> tuple[BenchmarkRow, ...]:
    """The rows that the target speaks of."""
    return tuple(
        row
        for row in rows
        if row.metric_name == target.metric
        and target.mode in ("", row.kernel_operation_mode)
        and (not target.x_name or (row.x_name == target.x_name and points.same_value(row.x_value, target.x)))
    )


def is_met(target: Target, rows: Sequence[BenchmarkRow]) -> bool:
    """Whether every row that the target speaks of is within the limit; nothing measured is not met.

    Args:
        rows: rows of the kernel's own providers (see benchmark.own_provider_rows), medians count.

    Raises:
        WorkerError: a row's unit is unknown.
    """
    chosen = rows_of(target, rows)
    return bool(chosen) and all(_within(target, row) for row in chosen)


def _within(target: Target, row: BenchmarkRow) -> bool:
    unit = _units(target.metric).get(row.metric_unit.lower())
    if unit is None:
        raise WorkerError(
            f"The benchmark's CSV gives {row.metric_name} in {row.metric_unit!r}, an unknown unit.",
            where="benchmark CSV",
        )
    value = row.y_value_50 * unit
    if math.isnan(value):
        return False
    return value <= target.limit if target.inclusive else value < target.limit
