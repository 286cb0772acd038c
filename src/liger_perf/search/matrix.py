"""What a search measured: for each region of shapes, the time of each candidate and of the shipped configuration."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from liger_perf.search.space import Candidate


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """One settings function at one point: device times of the whole pass in µs.

    `shape` and `itemsize` are what the function was called with; `times` holds every candidate that ran.
    """

    function: str
    kernel: str
    point: str
    shape: dict[str, int]
    itemsize: int
    shipped_us: float
    times: tuple[tuple[Candidate, float], ...]

    @property
    def best(self) -> tuple[Candidate, float]:
        """The fastest candidate; the shipped configuration ({}) where none is faster."""
        return min((({}, self.shipped_us), *self.times), key=lambda pair: pair[1])


def key(candidate: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """A candidate as a dictionary's key."""
    return tuple(sorted(candidate.items()))
