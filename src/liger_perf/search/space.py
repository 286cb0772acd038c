"""The space of settings of one kernel, and the candidates that a search asks for.

Ask and tell: nothing here measures or compiles. A candidate is a dictionary as a settings function would answer it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import msgspec

MAX_THREADS = 1024  # of a block, on every NVIDIA GPU; 64-lane devices never take the tuned path
Candidate = dict[str, int]


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """One knob: its values, and the shipped value where it is known (it is always a candidate)."""

    name: str
    values: tuple[int, ...]
    shipped: int | None = None


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """The knobs of one settings function."""

    function: str
    kernel: str
    axes: tuple[Axis, ...]


def near(axis: Axis, reach: int) -> tuple[int, ...]:
    """Up to `reach` values on either side of the shipped one, and itself; all values where none is shipped."""
    values = sorted({*axis.values, *(() if axis.shipped is None else (axis.shipped,))})
    if axis.shipped is None:
        return tuple(values)
    place = values.index(axis.shipped)
    return tuple(values[max(0, place - reach) : place + reach + 1])


def candidates(space: Space, limit: int) -> tuple[Candidate, ...]:
    """At most `limit` candidates, the shipped configuration (an empty dictionary) first.

    The whole product where it is small enough. Otherwise the axes with many values are narrowed around the shipped
    value, widest axis first; what is still too much is thinned evenly.
    """
    chosen = {axis.name: near(axis, len(axis.values)) for axis in space.axes}
    shipped = {axis.name: axis.shipped for axis in space.axes}
    for reach in (2, 1):
        for axis in sorted(space.axes, key=lambda axis: -len(axis.values)):
            if _count(chosen) > limit and axis.shipped is not None:
                chosen[axis.name] = near(axis, reach)
    names = list(chosen)
    product = [dict(zip(names, values, strict=True)) for values in itertools.product(*chosen.values())]
    product = [candidate for candidate in product if allowed(candidate) and candidate != shipped]
    if len(product) > limit - 1:
        step = len(product) / (limit - 1)
        product = [product[int(index * step)] for index in range(limit - 1)]
    return ({}, *product)


def allowed(candidate: Mapping[str, int]) -> bool:
    """Never above 1024 threads a block."""
    return candidate.get("num_warps", 1) * 32 <= MAX_THREADS


def without_defaults(candidate: Mapping[str, int], shipped: Mapping[str, int | None]) -> Candidate:
    """The candidate without what it leaves as shipped: fewer words in the generated function."""
    return {name: value for name, value in candidate.items() if shipped.get(name) != value}


def _count(chosen: Mapping[str, Sequence[int]]) -> int:
    count = 1
    for values in chosen.values():
        count *= len(values)
    return count
