"""The space of settings of one kernel, and the candidates that a search asks for.

Ask and tell: nothing here measures or compiles. A candidate is a dictionary as a settings function would answer it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import msgspec

MAX_THREADS = 1024  # of a block, on every NVIDIA GPU; 64-lane devices never take the tuned path
FAR = 2  # steps of a knob beyond which a candidate comes after all others
Candidate = dict[str, int]


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """One knob: its values, and the shipped value, which need not be among them.

    `reach` bounds how many steps from the shipped value are tried; None for all. Warps far from what is shipped are
    seldom faster, and a whole row in one warp takes the compiler minutes.
    """

    name: str
    values: tuple[int, ...]
    shipped: int
    reach: int | None = None

    def within_reach(self) -> tuple[int, ...]:
        """The values that are tried, the shipped one among them, in order."""
        steps = sorted({*self.values, self.shipped})
        if self.reach is None:
            return tuple(steps)
        place = steps.index(self.shipped)
        return tuple(steps[max(0, place - self.reach) : place + self.reach + 1])


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """The knobs of one settings function."""

    function: str
    kernel: str
    axes: tuple[Axis, ...]


def candidates(space: Space, limit: int, around: Sequence[Mapping[str, int]] = ()) -> tuple[Candidate, ...]:
    """At most `limit` candidates, the shipped configuration (an empty dictionary) first, then the nearest.

    Args:
        around: configurations that are known to be good; nearness is to them and to the shipped one. They are
            candidates themselves, whatever the limit.

    Near is what moves few knobs by few steps. Four steps of the number of warps are a factor of 16, so far-off
    candidates are seldom good, and slow to compile besides.
    """
    centres = [{axis.name: axis.shipped for axis in space.axes}]
    centres += [{**centres[0], **known} for known in around]
    names = [axis.name for axis in space.axes]
    steps = {
        axis.name: sorted({*axis.within_reach(), *(centre[axis.name] for centre in centres)}) for axis in space.axes
    }
    product = [dict(zip(names, values, strict=True)) for values in itertools.product(*steps.values())]
    product = [candidate for candidate in product if allowed(candidate) and candidate not in centres]
    product.sort(key=lambda candidate: min(distance(candidate, centre, steps) for centre in centres))
    return ({}, *centres[1:], *product[: max(0, limit - len(centres))])


def distance(candidate: Candidate, centre: Mapping[str, int], steps: Mapping[str, Sequence[int]]) -> tuple[int, int]:
    """(knobs that differ beyond the first two steps, all steps): how far a candidate is from a centre."""
    moved = [abs(steps[name].index(value) - steps[name].index(centre[name])) for name, value in candidate.items()]
    return sum(step > FAR for step in moved), sum(moved)


def allowed(candidate: Mapping[str, int]) -> bool:
    """Never above 1024 threads a block."""
    return candidate.get("num_warps", 1) * 32 <= MAX_THREADS
