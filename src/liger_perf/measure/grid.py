"""The grid that is searched and judged: the script's own points, and widths and dtypes beyond them.

A width is a key of the benchmark's configuration whose value is an extent of the kernel's captured launches; a dtype is
a key whose value is a floating dtype of torch. Nothing is looked up by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from liger_perf.kernels.facts import KernelFile
from liger_perf.model.launches import Capture, Cell, PointRecord

FLOATS = ("torch.bfloat16", "torch.float16", "torch.float32")
MAX_WIDTH = 65_536
MIN_WIDTH = 256


class GridPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How far the grid goes beyond the script: factors of the script's width, dtypes, how many of the script's x values
    a cell has, and factors of the largest x on top."""

    width_factors: tuple[float, ...]
    dtypes: tuple[str, ...]
    xs: int = 2
    beyond: tuple[int, ...] = ()


FULL = GridPlan(width_factors=(0.25, 0.5, 1, 2, 4), dtypes=("torch.bfloat16", "torch.float32"), beyond=(4,))
SMALL = GridPlan(width_factors=(0.5, 1), dtypes=("torch.bfloat16",), xs=1)


def width_keys(record: PointRecord, file: KernelFile) -> tuple[str, ...]:
    """Keys of the configuration whose value is an extent ("columns") of an own launch at this point."""
    extents: set[int] = set()
    for launch in record.own:
        kernel = file.kernel(launch.kernel)
        for name in kernel.extents if kernel else ():
            value = launch.value(name)
            if isinstance(value, int):
                extents.add(value)
    return tuple(key for key, value in record.point.config.items() if value.isdigit() and int(value) in extents)


def dtype_keys(record: PointRecord) -> tuple[str, ...]:
    return tuple(key for key, value in record.point.config.items() if value in FLOATS)


def cells(capture: Capture, file: KernelFile, plan: GridPlan) -> tuple[Cell, ...]:
    """The script as it is, then one cell for each further (width, dtype), at the script's smallest and largest x."""
    records = capture.own_records
    if not records:
        return (Cell(),)
    first = records[0]
    all_xs = unique(record.point.x for record in records)
    xs = spread(all_xs, plan.xs)
    numbers = all(x.isdigit() for x in all_xs)
    further = tuple(str(int(all_xs[-1]) * factor) for factor in plan.beyond) if numbers else ()
    xs += further
    found = [Cell(), *([Cell(xs=further)] if further else [])]
    own = dict(first.point.config)
    for key in width_keys(first, file)[:1]:
        for factor in plan.width_factors:
            width = int(int(own[key]) * factor)
            if MIN_WIDTH <= width <= MAX_WIDTH:
                found.extend(_with_dtypes({key: str(width)}, first, plan, xs, own))
    if not any(cell.config for cell in found):
        found.extend(_with_dtypes({}, first, plan, xs, own))
    return tuple(found)


def _with_dtypes(
    config: dict[str, str], record: PointRecord, plan: GridPlan, xs: tuple[str, ...], own: dict[str, str]
) -> Iterable[Cell]:
    keys = dtype_keys(record)
    if not keys:
        return [Cell(config=config, xs=xs)] if _differs(config, own) else []
    options = [{**config, **dict.fromkeys(keys, dtype)} for dtype in plan.dtypes]
    return [Cell(config=option, xs=xs) for option in options if _differs(option, own)]


def _differs(config: dict[str, str], own: dict[str, str]) -> bool:
    return any(own.get(key) != value for key, value in config.items())


def unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def spread(values: Sequence[str], count: int) -> tuple[str, ...]:
    """`count` of the values: the last, the first, then evenly between."""
    if len(values) <= count:
        return tuple(values)
    if count == 1:
        return (values[-1],)
    step = (len(values) - 1) / (count - 1)
    return tuple(values[round(index * step)] for index in range(count))
