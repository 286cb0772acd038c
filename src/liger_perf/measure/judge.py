"""The judge: original against candidate at one point, with a verdict that an interval must carry."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from liger_perf.measure import statistics
from liger_perf.measure.statistics import Interval
from liger_perf.model.measurements import Block, Clock, Comparison, Verdict

SMALLEST_EFFECT = 0.01
"""Below 1 % nothing is called a gain or a loss, however quiet the machine."""


def schedule(blocks: int) -> tuple[str, ...]:
    """The order of runs by block. Mirrored neighbours: what ABBA leaves of a curved drift, BAAB takes away."""
    return tuple("ABBA" if number % 2 == 0 else "BAAB" for number in range(blocks))


def verdict_of(found: Interval, noise: float) -> Verdict:
    """Faster or slower only where the whole interval is beyond max(1 %, noise); same only where it is all within.

    Mirrored on the logarithm: 1 + t faster is the counterpart of 1/(1 + t).
    """
    if found.low is None or found.high is None or noise >= statistics.UNKNOWN_NOISE:
        return Verdict.AMBIGUOUS
    limit = 1 + max(SMALLEST_EFFECT, noise)
    if found.low > limit:
        return Verdict.FASTER
    if found.high < 1 / limit:
        return Verdict.SLOWER
    if found.low >= 1 / limit and found.high <= limit:
        return Verdict.SAME
    return Verdict.AMBIGUOUS


def compare(
    blocks: Sequence[Block], aa: Sequence[Block], *, clock: Clock, mode: str, comparisons: int = 1
) -> Comparison:
    """Judge the blocks of one point against the noise of that point's A/A blocks.

    Args:
        aa: blocks of the original against itself, at the same point.
        mode: the pass, for example "backward".
        comparisons: how many comparisons are made together; the interval is widened for them.

    Raises:
        ValueError: no blocks, blocks of several points, or times that are not above zero.
    """
    points = {block.point for block in (*blocks, *aa)}
    if len(points) != 1:
        raise ValueError(f"a comparison needs blocks of exactly one point, not {sorted(points)}")
    found = statistics.interval(blocks, clock, comparisons=comparisons)
    noise = statistics.noise(aa, clock)
    a = [time for block in blocks for time in statistics.times(block.a, clock)]
    b = [time for block in blocks for time in statistics.times(block.b, clock)]
    return Comparison(
        point=points.pop(),
        mode=mode,
        clock=clock,
        a_us=median(a),
        b_us=median(b),
        ratio=found.ratio,
        low=found.low,
        high=found.high,
        noise=noise,
        verdict=verdict_of(found, noise),
        samples=len(a) + len(b),
    )
