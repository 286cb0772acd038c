from __future__ import annotations

import pytest

from liger_perf.measure import judge
from liger_perf.measure.statistics import UNKNOWN_NOISE, Interval
from liger_perf.model.measurements import Clock, Verdict
from measure.builders import block, key

QUIET = [block([100], [100], restart=number) for number in range(3)]


@pytest.mark.parametrize(
    ("low", "high", "noise", "verdict"),
    [
        (1.011, 1.5, 0.0, Verdict.FASTER),
        (1.009, 1.5, 0.0, Verdict.AMBIGUOUS),
        (1.03, 1.5, 0.04, Verdict.AMBIGUOUS),
        (1.05, 1.5, 0.04, Verdict.FASTER),
        (0.5, 1 / 1.011, 0.0, Verdict.SLOWER),
        (0.5, 1 / 1.009, 0.0, Verdict.AMBIGUOUS),
        (0.995, 1.005, 0.0, Verdict.SAME),
        (0.985, 1.005, 0.0, Verdict.AMBIGUOUS),
        (0.985, 1.005, 0.02, Verdict.SAME),
        (0.995, 1.02, 0.0, Verdict.AMBIGUOUS),
        (None, None, 0.0, Verdict.AMBIGUOUS),
        (3.0, 3.0, UNKNOWN_NOISE, Verdict.AMBIGUOUS),
        (1.0, 1.0, UNKNOWN_NOISE, Verdict.AMBIGUOUS),
    ],
)
def test_verdicts(low: float | None, high: float | None, noise: float, verdict: Verdict) -> None:
    assert judge.verdict_of(Interval(ratio=1.0, low=low, high=high), noise) is verdict


def test_a_comparison_says_what_was_measured() -> None:
    blocks = [block([110, 130], [100, 104], restart=number) for number in range(3)]
    found = judge.compare(blocks, QUIET, clock=Clock.DEVICE, mode="backward")
    assert found.point == key()
    assert (found.a_us, found.b_us) == (120, 102)
    assert found.ratio == pytest.approx(120 / 102)
    assert found.noise == 0
    assert found.verdict is Verdict.FASTER
    assert found.samples == 12


def test_without_an_aa_run_nothing_is_faster() -> None:
    blocks = [block([300], [100], restart=number) for number in range(3)]
    assert judge.compare(blocks, [], clock=Clock.DEVICE, mode="backward").verdict is Verdict.AMBIGUOUS


def test_blocks_of_two_points_are_not_mixed() -> None:
    other = block([100], [100], point=key(x="2048"))
    with pytest.raises(ValueError, match="exactly one point"):
        judge.compare([*QUIET, other], QUIET, clock=Clock.DEVICE, mode="backward")


def test_the_schedule_alternates_and_is_balanced() -> None:
    assert judge.schedule(3) == ("ABBA", "BAAB", "ABBA")
    assert judge.schedule(0) == ()
    assert all(order.count("A") == order.count("B") for order in judge.schedule(5))
