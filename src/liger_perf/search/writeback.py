"""From a matrix of measured regions × configurations to the fewest branches of a settings function.

A branch is a rectangle: neighbouring buckets of widths, and a span of rows, of one itemsize. It answers one
configuration, which in every measured region of the rectangle is within the tolerance of that region's best and no
slower than the shipped values. What was not measured keeps the shipped values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations_with_replacement
from math import log

import msgspec

from liger_perf.model.branches import Branch

MAX_BRANCHES = 4
TOLERANCE = 0.02

Values = tuple[tuple[str, int], ...]


class Region(msgspec.Struct, frozen=True, kw_only=True):
    """One measured point: the arguments of the settings function there, and times in µs.

    `times` pairs each configuration with its time, None where it failed.
    """

    shape: dict[str, int]
    itemsize: int
    shipped_us: float
    times: tuple[tuple[dict[str, int], float | None], ...]


class _Cell(msgspec.Struct, frozen=True):
    """A region with its place on the grid; `times` by configuration, failures left out."""

    bucket: int
    rows: int
    region: Region
    times: dict[Values, float]

    @property
    def best_us(self) -> float:
        return min([self.region.shipped_us, *self.times.values()])


class _Rectangle(msgspec.Struct, frozen=True):
    cells: tuple[_Cell, ...]
    values: Values
    gain: float


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """How regions become branches.

    `width` and `rows` name parameters of the settings function; without `rows` branches ask for the width alone.
    `noise` is the fraction by which a time may exceed the shipped one and still count as equal. `open_rows` lets a
    branch that ends at the largest measured number of rows hold above it too.
    """

    width: str
    rows: str = ""
    noise: float = 0.01
    open_rows: bool = False
    tolerance: float = TOLERANCE
    most: int = MAX_BRANCHES


def bucket_of(width: int) -> int:
    """The power of two for which a width stands: (power/2, power]."""
    return 1 << max(0, width - 1).bit_length()


def choose_branches(regions: Sequence[Region], rules: Rules) -> list[Branch]:
    """The branches worth most, at most `rules.most`; an empty list where nothing beats the shipped values."""
    candidates: list[tuple[_Rectangle, tuple[_Cell, ...]]] = []
    for cells in _planes(regions, rules):
        candidates += [(rectangle, cells) for rectangle in _rectangles(cells, rules)]
    branches: list[Branch] = []
    taken: set[int] = set()
    while candidates and len(branches) < rules.most:
        best, plane = max(candidates, key=lambda pair: (pair[0].gain, -len(pair[0].cells), -len(pair[0].values)))
        branches.append(_branch(best, plane, rules))
        taken |= {id(cell) for cell in best.cells}
        candidates = [pair for pair in candidates if not any(id(cell) in taken for cell in pair[0].cells)]
    return branches


def _planes(regions: Sequence[Region], rules: Rules) -> Iterator[tuple[_Cell, ...]]:
    """Regions that may share a branch: equal itemsize, and equal in every argument but width and rows."""
    planes: dict[object, list[_Cell]] = {}
    for region in regions:
        others = tuple(sorted((k, v) for k, v in region.shape.items() if k not in (rules.width, rules.rows)))
        times = {tuple(sorted(values.items())): us for values, us in region.times if us is not None and values}
        rows = region.shape[rules.rows] if rules.rows else 0
        cell = _Cell(bucket_of(region.shape[rules.width]), rows, region, times)
        planes.setdefault((region.itemsize, others), []).append(cell)
    for cells in planes.values():
        yield tuple(sorted(cells, key=lambda cell: (cell.bucket, cell.rows)))


def _rectangles(cells: tuple[_Cell, ...], rules: Rules) -> Iterator[_Rectangle]:
    """Every rectangle over measured cells with its best admissible configuration, if that gains anything."""
    buckets = sorted({cell.bucket for cell in cells})
    for first, last in combinations_with_replacement(buckets, 2):
        inside = [cell for cell in cells if first <= cell.bucket <= last]
        if not _is_contiguous(first, last, {cell.bucket for cell in inside}):
            continue
        rows = sorted(_common_rows(inside))
        for least, most in combinations_with_replacement(rows, 2):
            chosen = tuple(cell for cell in inside if least <= cell.rows <= most)
            found = _best(chosen, rules)
            if found is not None:
                yield found


def _is_contiguous(first: int, last: int, measured: set[int]) -> bool:
    count = (last // first).bit_length()
    return len(measured) == count


def _common_rows(cells: Iterable[_Cell]) -> set[int]:
    """The rows that were measured for every bucket: a branch ends only where each of its buckets was measured."""
    by_bucket: dict[int, set[int]] = {}
    for cell in cells:
        by_bucket.setdefault(cell.bucket, set()).add(cell.rows)
    return set.intersection(*by_bucket.values())


def _best(cells: tuple[_Cell, ...], rules: Rules) -> _Rectangle | None:
    found: _Rectangle | None = None
    common = set.intersection(*(set(cell.times) for cell in cells)) if cells else set()
    for values in sorted(common):
        times = [(cell, cell.times[values]) for cell in cells]
        if any(not _is_admissible(cell, us, rules) for cell, us in times):
            continue
        gain = sum(log(cell.region.shipped_us / us) for cell, us in times)
        real = any(cell.region.shipped_us > us * (1 + rules.noise) for cell, us in times)
        if real and gain > 0 and (found is None or gain > found.gain):
            found = _Rectangle(cells, values, gain)
    return found


def _is_admissible(cell: _Cell, us: float, rules: Rules) -> bool:
    return us <= cell.best_us * (1 + rules.tolerance) and us <= cell.region.shipped_us * (1 + rules.noise)


def _branch(rectangle: _Rectangle, plane: tuple[_Cell, ...], rules: Rules) -> Branch:
    cells = rectangle.cells
    shape: dict[str, tuple[int | None, int | None]] = {
        name: (value - 1, value)
        for name, value in cells[0].region.shape.items()
        if name not in (rules.width, rules.rows)
    }
    first, last = min(cell.bucket for cell in cells), max(cell.bucket for cell in cells)
    shape[rules.width] = (first // 2, last)
    if rules.rows:
        low, high = min(cell.rows for cell in cells), max(cell.rows for cell in cells)
        largest = all(cell.rows <= high for cell in plane if first <= cell.bucket <= last)
        shape[rules.rows] = (low - 1, None if rules.open_rows and largest else high)
    return Branch(
        shape=shape,
        itemsize=cells[0].region.itemsize,
        values=dict(rectangle.values),
        note=_note(rectangle),
    )


def _note(rectangle: _Rectangle) -> str:
    ratios = sorted(cell.region.shipped_us / cell.times[rectangle.values] for cell in rectangle.cells)
    if len(ratios) == 1:
        return f"{ratios[0]:.2f}x as fast at the shape measured."
    return f"{ratios[0]:.2f}x to {ratios[-1]:.2f}x as fast at {len(ratios)} shapes measured."
