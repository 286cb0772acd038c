from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liger_perf.measure import guardrails
from liger_perf.model.errors import UsageError
from liger_perf.model.measurements import Clock, Comparison, Verdict
from liger_perf.model.options import Goal, Request
from liger_perf.model.variants import GuardrailCheck
from measure.builders import comparison, key

EVEN_MEMORY = {key("full", metric="memory"): 1.0}


def request(goal: Goal = Goal.SPEED, scope: str = "general") -> Request:
    return Request(kernel="rms_norm", goal=goal, scope=scope)


def failed(checks: tuple[GuardrailCheck, ...]) -> set[str]:
    return {found.name for found in checks if not found.passed}


def run(
    *comparisons: Comparison, goal: Goal = Goal.SPEED, scope: str = "general", memory: dict[str, float] | None = None
) -> set[str]:
    memory = EVEN_MEMORY if memory is None else memory
    return failed(guardrails.check(request(goal, scope), comparisons, memory))


def test_a_clean_gain_passes_everything() -> None:
    assert run(comparison(1.4, 1.35, 1.45, verdict=Verdict.FASTER), comparison(1.0, 0.995, 1.005)) == set()


@pytest.mark.parametrize(
    ("low", "names"),
    [(1 / 1.09, set()), (1 / 1.11, {guardrails.CROSS_PASS}), (None, {guardrails.CROSS_PASS})],
)
def test_a_pass_may_lose_ten_percent_at_most(low: float | None, names: set[str]) -> None:
    assert run(comparison(2.0, 1.9, 2.1, mode="forward"), comparison(0.99, low, 1.07)) == names


@pytest.mark.parametrize("goal", [Goal.MEMORY, Goal.BALANCED])
def test_memory_and_balanced_guard_every_pass_at_five_percent(goal: Goal) -> None:
    assert run(comparison(0.99, 1 / 1.04, 1.05), goal=goal) == set()
    assert run(comparison(0.99, 1 / 1.06, 1.05), goal=goal) == {guardrails.NON_TARGET_TIME}
    assert run(comparison(0.99, 1 / 1.06, 1.05), goal=Goal.SPEED) == set()


@pytest.mark.parametrize(
    ("scope", "outside"),
    [("backward", comparison(1.0, 1 / 1.06, mode="forward")), ("T=1024", comparison(1.0, 1 / 1.06, x="2048"))],
)
def test_what_is_outside_the_scope_is_a_non_target(scope: str, outside: Comparison) -> None:
    inside = comparison(1.3, 1.2, 1.4)
    assert run(inside, outside, scope=scope) == {guardrails.NON_TARGET_TIME}
    assert run(inside, outside) == set()


@pytest.mark.parametrize("goal", list(Goal))
def test_memory_is_guarded_at_its_worst_size(goal: Goal) -> None:
    inside = comparison(1.3, 1.2, 1.4)
    memory = {key("full", x, "memory"): ratio for x, ratio in (("1024", 0.5), ("2048", 1.051))}
    checks = guardrails.check(request(goal), [inside], memory)
    assert failed(checks) == {guardrails.NON_TARGET_MEMORY}
    assert checks[-1].worst_point == key("full", "2048", "memory")
    assert checks[-1].loss == pytest.approx(0.051)
    assert run(inside, goal=goal, memory={key(metric="memory"): 1.049}) == set()


def test_one_slower_point_rejects_whatever_the_rest_gains() -> None:
    slower = comparison(0.98, 0.975, 0.985, x="2048", verdict=Verdict.SLOWER)
    checks = guardrails.check(request(), [comparison(3.0, 2.9, 3.1), slower], EVEN_MEMORY)
    assert failed(checks) == {guardrails.NOT_SLOWER}
    assert checks[0].worst_point == slower.point
    assert checks[0].explanation == "1 of 2 comparisons judged slower"


def test_the_wall_clock_can_reject_but_its_width_does_not() -> None:
    device = comparison(1.3, 1.2, 1.4)
    assert run(device, comparison(1.0, 0.5, 2.0, clock=Clock.WALL)) == set()
    slower = comparison(0.9, 0.88, 0.92, clock=Clock.WALL, verdict=Verdict.SLOWER)
    assert run(device, slower) == {guardrails.NOT_SLOWER}


def test_what_was_not_measured_does_not_pass() -> None:
    assert run(memory={}) == {guardrails.NOT_SLOWER, guardrails.CROSS_PASS, guardrails.NON_TARGET_MEMORY}


def test_only_a_wide_interval_is_worth_more_rounds() -> None:
    def cross_pass(ratio: float, low: float | None) -> GuardrailCheck:
        return guardrails.check(request(), [comparison(ratio, low)], EVEN_MEMORY)[1]

    assert guardrails.more_rounds_may_help(cross_pass(0.99, 1 / 1.2))
    assert guardrails.more_rounds_may_help(cross_pass(0.99, None))
    assert not guardrails.more_rounds_may_help(cross_pass(1 / 1.15, 1 / 1.2))
    assert not guardrails.more_rounds_may_help(cross_pass(0.99, 0.98))


point_lists = st.lists(
    st.tuples(
        st.sampled_from(["forward", "backward", "full"]),
        st.sampled_from(["1024", "2048", "4096"]),
        st.floats(0.5, 2.0),
        st.one_of(st.none(), st.floats(0.5, 1.0)),
        st.sampled_from(list(Verdict)),
    ),
    min_size=1,
    max_size=6,
)


@given(
    point_lists, st.sampled_from(list(Goal)), st.sampled_from(["general", "backward", "T=1024"]), st.floats(0.5, 1.5)
)
def test_a_point_whose_upper_bound_exceeds_is_never_passed(
    parts: list[tuple[str, str, float, float | None, Verdict]], goal: Goal, scope: str, memory: float
) -> None:
    comparisons = [
        comparison(ratio, None if part is None else ratio * part, mode=mode, x=x, verdict=verdict)
        for mode, x, ratio, part, verdict in parts
    ]
    checks = guardrails.check(request(goal, scope), comparisons, {key(metric="memory"): memory})
    if not failed(checks):
        for item in comparisons:
            assert item.low is not None
            assert 1 / item.low - 1 <= 0.10
            assert item.verdict is not Verdict.SLOWER
            inside = scope == "general" or item.mode == scope or (scope == "T=1024" and "T=1024" in item.point)
            if goal is not Goal.SPEED or not inside:
                assert 1 / item.low - 1 <= 0.05
        assert memory - 1 <= 0.05


def test_the_gain_weighs_every_size_and_pass_alike() -> None:
    items = [
        comparison(2.0, 1.8, mode="forward", x="1024"),
        comparison(1.0, 0.9, mode="forward", x="2048"),
        comparison(4.0, 3.6, mode="backward", x="1024"),
        comparison(1.0, 1.0, mode="full", x="1024"),
        comparison(9.0, 9.0, mode="forward", x="1024", clock=Clock.WALL),
    ]
    gain, low = guardrails.target_gain(request(), items, {})
    assert gain == pytest.approx(math.cbrt(8))
    assert low == pytest.approx(math.cbrt(1.8 * 0.9 * 3.6))
    assert guardrails.target_gain(request(scope="forward"), items, {})[0] == pytest.approx(math.sqrt(2))
    assert guardrails.target_gain(request(Goal.BALANCED, "T=1024"), items, {})[0] == pytest.approx(math.sqrt(8))


def test_full_is_the_target_where_nothing_else_was_measured() -> None:
    assert guardrails.target_gain(request(), [comparison(1.5, 1.4, mode="full")], {}) == pytest.approx((1.5, 1.4))


def test_a_gain_without_an_interval_has_no_lower_bound() -> None:
    assert guardrails.target_gain(request(), [comparison(1.5), comparison(1.5, 1.4)], {}) == (pytest.approx(1.5), 0.0)


def test_less_memory_is_a_gain_above_one() -> None:
    memory = {key("full", x, "memory"): ratio for x, ratio in (("1024", 0.5), ("2048", 1.0))}
    assert guardrails.target_gain(request(Goal.MEMORY), [], memory) == pytest.approx((math.sqrt(2), math.sqrt(2)))
    assert guardrails.target_gain(request(Goal.MEMORY, "T=1024"), [], memory)[0] == pytest.approx(2.0)
    assert guardrails.target_gain(request(Goal.MEMORY, "forward"), [], memory)[0] == pytest.approx(math.sqrt(2))


@pytest.mark.parametrize("goal", list(Goal))
def test_a_target_that_was_not_measured_is_an_error(goal: Goal) -> None:
    with pytest.raises(UsageError, match="covers nothing"):
        guardrails.target_gain(request(goal, "H=7"), [comparison(1.1)], EVEN_MEMORY)
