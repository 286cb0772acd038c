from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from liger_perf.search.space import Axis, Space, allowed, candidates

WARPS = Axis(name="num_warps", values=(1, 2, 4, 8, 16, 32), shipped=8, reach=2)
STAGES = Axis(name="loop_stages", values=(1, 2, 3, 4), shipped=1)


def space(*axes: Axis) -> Space:
    return Space(function="_k_settings", kernel="_k", axes=axes)


def test_the_shipped_configuration_comes_first_and_once() -> None:
    found = candidates(space(WARPS, STAGES), 100)
    assert found[0] == {}
    assert {"num_warps": 8, "loop_stages": 1} not in found
    assert len(found) == len({tuple(sorted(candidate.items())) for candidate in found})


def test_options_stay_within_reach_of_what_is_shipped_and_other_knobs_do_not() -> None:
    found = candidates(space(WARPS, STAGES), 100)
    assert {candidate["num_warps"] for candidate in found[1:]} == {2, 4, 8, 16, 32}
    assert {candidate["loop_stages"] for candidate in found[1:]} == {1, 2, 3, 4}


def test_the_nearest_survive_the_limit() -> None:
    found = candidates(space(WARPS, STAGES), 6)
    assert len(found) == 6
    assert {"num_warps": 8, "loop_stages": 2} in found
    assert {"num_warps": 32, "loop_stages": 4} not in found


def test_known_good_configurations_are_tried_whatever_the_limit_and_draw_others_near() -> None:
    known = {"num_warps": 32, "loop_stages": 4}
    found = candidates(space(WARPS, STAGES), 6, [known])
    assert known in found
    assert {"num_warps": 16, "loop_stages": 4} in found


def test_a_shipped_value_that_is_no_candidate_is_a_step_of_its_own() -> None:
    found = candidates(space(Axis(name="BLOCK_SIZE", values=(1024, 4096), shipped=2048)), 10)
    assert found == ({}, {"BLOCK_SIZE": 1024}, {"BLOCK_SIZE": 4096})


@given(st.integers(1, 64), st.sampled_from([1, 2, 4, 8, 16, 32]))
def test_never_more_than_the_limit_nor_1024_threads(limit: int, shipped: int) -> None:
    axis = Axis(name="num_warps", values=(1, 2, 4, 8, 16, 32, 64), shipped=shipped)
    found = candidates(space(axis, STAGES), limit)
    assert len(found) <= max(1, limit)
    assert all(allowed(candidate) for candidate in found)
