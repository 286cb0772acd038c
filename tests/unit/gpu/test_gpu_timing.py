from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from liger_perf.gpu.timing import MARKER, medians_by_kernel, split_runs

Event = tuple[str, float]


def test_runs_lie_between_flushes_and_what_came_before_is_dropped() -> None:
    events = [("warm", 9.0), (MARKER, 50.0), ("a", 1.0), ("b", 2.0), (MARKER, 50.0), (MARKER, 50.0), ("a", 3.0)]
    assert split_runs(events) == [[("a", 1.0), ("b", 2.0)], [], [("a", 3.0)]]
    assert split_runs([("a", 1.0)]) == []


@given(st.lists(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.floats(0.1, 10)))))
def test_splitting_undoes_joining(runs: list[list[Event]]) -> None:
    joined = [event for run in runs for event in ((MARKER, 50.0), *run)]
    assert split_runs(joined) == runs


def test_medians_are_of_a_kernels_sum_in_a_run() -> None:
    runs = [[("a", 1.0), ("a", 2.0), ("b", 5.0)], [("a", 4.0)], [("a", 9.0), ("b", 1.0)]]
    assert medians_by_kernel(runs) == {"a": 4.0, "b": 1.0}
    assert medians_by_kernel([]) == {}
