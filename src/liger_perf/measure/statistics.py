"""Paired log ratios of blocks, and an interval over restarts of the workers.

Times differ by factors, so everything is done on logarithms. A block interleaves original and candidate (ABBA), which
cancels a linear drift of clocks and temperature; its value is log(median a) − log(median b). The placement of a
process and its memory differs between restarts and is noise too, so with four restarts or more the sample is the
restart means and the interval is Student's t over them (a bootstrap over few restarts is too narrow). With fewer the
interval is over the blocks and says little about placement: good enough to screen, not to conclude. That holds for
device time. Of wall time fewer restarts say nothing: beside one H200 the fastest of 64 forward calls took 100 µs in one
process and 180 µs in the next, with the same code, while each process by itself was steady.

Many comparisons: each interval is widened to 1 − 0.05/comparisons (Bonferroni), so that all of them hold together with
95 %. See Dunn, «Multiple comparisons among means», JASA 56 (1961).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median, stdev

import msgspec
from scipy.special import stdtrit

from liger_perf.model.measurements import Block, Clock, PassSample

CONFIDENCE = 0.95
MIN_RESTARTS = 4
"""Fewer restart means leave so few degrees of freedom that every interval is as wide as the world."""
UNKNOWN_NOISE = 1.0
"""Noise where the A/A run allows no interval: 100 %, so that nothing can be called faster or slower by it."""


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio of times, original over candidate, and its bounds; None where one sample allows none."""

    ratio: float
    low: float | None
    high: float | None


def times(samples: Sequence[PassSample], clock: Clock) -> list[float]:
    """The samples by one clock, in µs.

    Raises:
        ValueError: no samples, or a time that is not finite and above zero.
    """
    values = [sample.device_us if clock is Clock.DEVICE else sample.wall_us for sample in samples]
    if not values:
        raise ValueError("a block without samples")
    if not all(math.isfinite(value) and value > 0 for value in values):
        raise ValueError(f"a {clock} time must be finite and above 0 µs: {values}")
    return values


def log_ratio(block: Block, clock: Clock) -> float:
    """log(original / candidate) of one block: above 0 means that the candidate is faster."""
    return math.log(median(times(block.a, clock)) / median(times(block.b, clock)))


def sample_means(blocks: Sequence[Block], clock: Clock) -> list[float]:
    """The independent samples: means by restart where there are four or more, else the blocks."""
    by_restart: dict[int, list[float]] = {}
    for block in blocks:
        by_restart.setdefault(block.restart, []).append(log_ratio(block, clock))
    if len(by_restart) >= MIN_RESTARTS:
        return [fmean(values) for values in by_restart.values()]
    return [value for values in by_restart.values() for value in values]


def interval(blocks: Sequence[Block], clock: Clock, *, comparisons: int = 1) -> Interval:
    """The ratio and its t-interval; no bounds for a wall time of fewer than MIN_RESTARTS restarts.

    Zero variance makes both bounds equal to the ratio.

    Args:
        comparisons: how many intervals shall hold together with 95 %.

    Raises:
        ValueError: no blocks, or fewer than one comparison.
    """
    if not blocks or comparisons < 1:
        raise ValueError("an interval needs at least one block and one comparison")
    values = sample_means(blocks, clock)
    mean = fmean(values)
    unplaced = clock is Clock.WALL and len({block.restart for block in blocks}) < MIN_RESTARTS
    if len(values) < 2 or unplaced:
        return Interval(ratio=math.exp(mean), low=None, high=None)
    half = _quantile(len(values) - 1, comparisons) * stdev(values) / math.sqrt(len(values))
    return Interval(ratio=math.exp(mean), low=math.exp(mean - half), high=math.exp(mean + half))


def _quantile(freedom: int, comparisons: int) -> float:
    tail = (1 - CONFIDENCE) / comparisons / 2
    return float(stdtrit(freedom, 1 - tail))


def noise(aa: Sequence[Block], clock: Clock) -> float:
    """Half the width of the A/A interval as a fraction (0.01 = 1 %); UNKNOWN_NOISE where there is no interval."""
    if not aa:
        return UNKNOWN_NOISE
    found = interval(aa, clock)
    if found.low is None or found.high is None:
        return UNKNOWN_NOISE
    return (found.high - found.low) / 2
