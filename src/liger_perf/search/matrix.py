"""What a search measured: for each region of shapes, the time of each candidate and of the shipped configuration."""

from __future__ import annotations

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
