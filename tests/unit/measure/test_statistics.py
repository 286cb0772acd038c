from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from liger_perf.measure import judge, statistics
from liger_perf.model.measurements import Block, Clock, Comparison, PassSample, Verdict
from measure.builders import block, key


def synthetic(
    random: np.random.Generator, *, gain: float, restarts: int = 8, placement: float = 0.004, jitter: float = 0.01
) -> list[Block]:
    """Blocks of 4 runs a side: each restart places both workers anew (`placement`), each run jitters."""
    blocks = []
    for restart in range(restarts):
        a_base, b_base = 100 * np.exp(random.normal(0, placement, 2))
        for _ in range(4):
            a = a_base * np.exp(random.normal(0, jitter, 4))
            b = b_base / gain * np.exp(random.normal(0, jitter, 4))
            blocks.append(
                Block(
                    point=key(),
                    restart=restart,
                    order="ABBA",
                    a=tuple(PassSample(float(t), float(t)) for t in a),
                    b=tuple(PassSample(float(t), float(t)) for t in b),
                )
            )
    return blocks


def judged(random: np.random.Generator, gain: float, placement: float) -> Comparison:
    blocks = synthetic(random, gain=gain, placement=placement)
    aa = synthetic(random, gain=1.0, placement=placement)
    return judge.compare(blocks, aa, clock=Clock.DEVICE, mode="backward")


@pytest.mark.parametrize("placement", [0.0, 0.004, 0.02])
def test_equal_kernels_are_hardly_ever_called_different(placement: float) -> None:
    random = np.random.default_rng(7)
    verdicts = [judged(random, 1.0, placement).verdict for _ in range(400)]
    wrong = sum(verdict in (Verdict.FASTER, Verdict.SLOWER) for verdict in verdicts)
    assert wrong <= 4  # 1 %


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    random = np.random.default_rng(11)
    truth, hits = 1.07, 0
    for _ in range(400):
        found = statistics.interval(synthetic(random, gain=truth, placement=0.02), Clock.DEVICE)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= truth <= found.high
    # 95 % of 400 is 380; three standard deviations are 13.
    assert 367 <= hits <= 393


def test_blocks_of_one_restart_would_promise_too_much() -> None:
    """Why restarts are the sample: an interval over blocks misses placement."""
    random = np.random.default_rng(13)
    hits = 0
    for _ in range(100):
        one_restart = synthetic(random, gain=1.0, restarts=1, placement=0.02)
        found = statistics.interval(one_restart * 2, Clock.DEVICE)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 1.0 <= found.high
    assert hits < 60


@pytest.mark.parametrize(("gain", "verdict"), [(1.03, Verdict.FASTER), (1 / 1.03, Verdict.SLOWER)])
def test_planted_three_percent_are_found(gain: float, verdict: Verdict) -> None:
    random = np.random.default_rng(17)
    found = [judged(random, gain, 0.004).verdict for _ in range(100)]
    assert found.count(verdict) >= 95


def test_the_interval_is_students_over_restart_means() -> None:
    blocks = [
        block([110], [100], restart=0),
        block([120], [100], restart=0),
        block([105], [100], restart=1),
        block([130], [100], restart=2),
        block([115], [100], restart=3),
    ]
    means = [(math.log(1.1) + math.log(1.2)) / 2, math.log(1.05), math.log(1.3), math.log(1.15)]
    expected = stats.t.interval(0.95, 3, loc=np.mean(means), scale=stats.sem(means))
    found = statistics.interval(blocks, Clock.DEVICE)
    assert found.ratio == pytest.approx(math.exp(np.mean(means)))
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(expected)))


def test_many_comparisons_widen_the_interval() -> None:
    values = [0.01, 0.02, 0.05]
    blocks = [block([100 * math.exp(value)], [100], restart=number) for number, value in enumerate(values)]
    expected = stats.t.interval(1 - 0.05 / 20, 2, loc=np.mean(values), scale=stats.sem(values))
    found = statistics.interval(blocks, Clock.DEVICE, comparisons=20)
    assert (found.low, found.high) == pytest.approx(tuple(np.exp(expected)))


def test_few_restarts_fall_back_to_their_blocks() -> None:
    """Two restart means have one degree of freedom: an interval over them would cover everything."""
    blocks = [block([100 + number], [100], restart=number % 2) for number in range(8)]
    found = statistics.interval(blocks, Clock.DEVICE)
    assert found.low is not None
    assert found.high is not None
    assert 1.0 < found.low < found.high < 1.08


def test_one_restart_falls_back_to_its_blocks() -> None:
    found = statistics.interval([block([110], [100]), block([120], [100])], Clock.DEVICE)
    assert found.low is not None
    assert found.low < 1.1 < 1.2 < (found.high or 0)


def test_one_sample_has_no_bounds() -> None:
    found = statistics.interval([block([110, 112, 108], [100, 101, 99])], Clock.DEVICE)
    assert found.ratio == pytest.approx(1.1)
    assert found.low is None
    assert found.high is None


def test_no_variance_puts_both_bounds_on_the_ratio() -> None:
    found = statistics.interval([block([110], [100], restart=number) for number in range(7)], Clock.DEVICE)
    assert found.low == found.ratio == found.high


def test_the_wall_clock_reads_wall_times() -> None:
    # The builder makes wall times 2× (original) and 3× (candidate) the device times.
    assert statistics.interval([block([100], [100])], Clock.WALL).ratio == pytest.approx(2 / 3)


def test_noise_is_half_the_width_of_the_aa_interval() -> None:
    aa = [block([100 * ratio], [100], restart=number) for number, ratio in enumerate((0.99, 1.0, 1.01))]
    found = statistics.interval(aa, Clock.DEVICE)
    assert found.low is not None
    assert found.high is not None
    assert statistics.noise(aa, Clock.DEVICE) == pytest.approx((found.high - found.low) / 2)
    assert statistics.noise([], Clock.DEVICE) == statistics.UNKNOWN_NOISE
    assert statistics.noise(aa[:1], Clock.DEVICE) == statistics.UNKNOWN_NOISE


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_times_that_cannot_be_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        statistics.interval([block([bad], [100])], Clock.DEVICE)


@given(st.lists(st.floats(0.5, 2.0), min_size=2, max_size=8), st.floats(0.1, 1e6))
def test_swapping_the_sides_mirrors_the_interval(ratios: list[float], scale: float) -> None:
    ahead = [block([scale * r], [scale], restart=n) for n, r in enumerate(ratios)]
    back = [block([scale], [scale * r], restart=n) for n, r in enumerate(ratios)]
    one, other = statistics.interval(ahead, Clock.DEVICE), statistics.interval(back, Clock.DEVICE)
    assert one.low is not None
    assert one.high is not None
    assert other.low == pytest.approx(1 / one.high)
    assert one.low <= one.ratio <= one.high


def test_wall_time_of_few_restarts_has_no_bounds_since_processes_differ_whatever_the_blocks_say() -> None:
    def steady(restarts: int, clock: Clock) -> statistics.Interval:
        return statistics.interval(
            [block([100 + number], [180], restart=number % restarts) for number in range(8)], clock
        )

    few = steady(statistics.MIN_RESTARTS - 1, Clock.WALL)
    assert (few.low, few.high) == (None, None)
    assert steady(statistics.MIN_RESTARTS, Clock.WALL).low is not None
    assert steady(1, Clock.DEVICE).low is not None
