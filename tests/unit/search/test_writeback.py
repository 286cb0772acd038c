"""Branches from measured matrices: what they cover, and what they must never do."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from liger_perf.model.branches import Branch
from liger_perf.search.writeback import Region, Rules, bucket_of, choose_branches

RULES = Rules(width="n_cols", rows="n_rows", noise=0.01)
EIGHT, SIXTEEN = {"num_warps": 8}, {"num_warps": 16}


def _region(columns: int, rows: int, eight: float | None, sixteen: float | None, itemsize: int = 2) -> Region:
    return Region(
        shape={"n_rows": rows, "n_cols": columns},
        itemsize=itemsize,
        shipped_us=100.0,
        times=((EIGHT, eight), (SIXTEEN, sixteen)),
    )


def test_a_width_stands_for_its_power_of_two() -> None:
    assert [bucket_of(width) for width in (1, 2, 3, 4096, 4097)] == [1, 2, 4, 4096, 8192]


def test_one_region_gives_one_branch_of_its_bucket() -> None:
    assert choose_branches([_region(3000, 8192, 80.0, 90.0)], RULES) == [
        Branch(
            shape={"n_cols": (2048, 4096), "n_rows": (8191, 8192)},
            itemsize=2,
            values=EIGHT,
            note="1.25x as fast at the shape measured.",
        )
    ]


def test_neighbouring_widths_merge_within_the_tolerance() -> None:
    regions = [_region(2048, 8192, 80.0, 81.0), _region(4096, 8192, 81.0, 80.0)]
    (branch,) = choose_branches(regions, RULES)
    assert branch.shape["n_cols"] == (1024, 4096)


def test_widths_that_want_other_values_stay_apart() -> None:
    regions = [_region(2048, 8192, 80.0, 90.0), _region(4096, 8192, 90.0, 80.0)]
    assert {branch.values["num_warps"]: branch.shape["n_cols"] for branch in choose_branches(regions, RULES)} == {
        8: (1024, 2048),
        16: (2048, 4096),
    }


def test_a_bucket_in_between_that_was_not_measured_parts_two_branches() -> None:
    regions = [_region(1024, 8192, 80.0, 90.0), _region(4096, 8192, 80.0, 90.0)]
    assert [branch.shape["n_cols"] for branch in choose_branches(regions, RULES)] == [(512, 1024), (2048, 4096)]


def test_a_failed_or_slower_region_is_not_covered() -> None:
    regions = [_region(2048, 8192, 80.0, None), _region(4096, 8192, None, None), _region(8192, 8192, 120.0, 130.0)]
    (branch,) = choose_branches(regions, RULES)
    assert branch.shape["n_cols"] == (1024, 2048)


def test_itemsizes_never_share_a_branch() -> None:
    branches = choose_branches([_region(2048, 64, 80.0, 90.0, 2), _region(2048, 64, 80.0, 90.0, 4)], RULES)
    assert sorted(branch.itemsize for branch in branches) == [2, 4]


def test_rows_reach_from_the_smallest_to_the_largest_and_open_only_on_demand() -> None:
    regions = [_region(2048, 1024, 80.0, 90.0), _region(2048, 8192, 80.0, 90.0)]
    (closed,) = choose_branches(regions, RULES)
    assert closed.shape["n_rows"] == (1023, 8192)
    (opened,) = choose_branches(regions, Rules(width="n_cols", rows="n_rows", open_rows=True))
    assert opened.shape["n_rows"] == (1023, None)


def test_rows_that_got_slower_close_the_branch_below_them() -> None:
    regions = [_region(2048, 1024, 80.0, 90.0), _region(2048, 8192, 110.0, 105.0)]
    (branch,) = choose_branches(regions, Rules(width="n_cols", rows="n_rows", open_rows=True))
    assert branch.shape["n_rows"] == (1023, 1024)


def test_rows_measured_for_one_width_only_do_not_bound_a_branch_of_two() -> None:
    regions = [
        _region(2048, 64, 120.0, None),
        _region(2048, 8192, 80.0, None),
        _region(4096, 64, 120.0, None),
        _region(4096, 1024, 80.0, None),
        _region(4096, 8192, 80.0, None),
    ]
    branches = choose_branches(regions, RULES)
    assert not any(branch.covers({"n_cols": 2048, "n_rows": 1024}, 2) for branch in branches)
    assert any(branch.covers({"n_cols": 2048, "n_rows": 8192}, 2) for branch in branches)


def test_a_gain_inside_the_noise_gives_no_branch() -> None:
    assert choose_branches([_region(2048, 8192, 99.5, 100.0)], RULES) == []


def test_the_most_valuable_branches_are_kept() -> None:
    regions = [_region(4**power, 64, 100.0 - power, None) for power in range(2, 9)]
    branches = choose_branches(regions, Rules(width="n_cols", rows="n_rows", noise=0.0))
    assert [branch.shape["n_cols"][1] for branch in branches] == [4**8, 4**7, 4**6, 4**5]


def test_other_arguments_must_be_equal() -> None:
    regions = [
        Region(shape={"n_cols": 64, "groups": groups}, itemsize=2, shipped_us=10.0, times=((EIGHT, 5.0),))
        for groups in (4, 8)
    ]
    branches = choose_branches(regions, Rules(width="n_cols"))
    assert sorted(branch.shape["groups"] for branch in branches) == [(3, 4), (7, 8)]


_TIMES = st.one_of(st.none(), st.floats(min_value=50.0, max_value=150.0))
_MATRIX = st.lists(
    st.tuples(st.sampled_from([200, 256, 500, 1024, 2048, 3000, 4096, 16384]), st.sampled_from([64, 1024, 8192])),
    min_size=1,
    max_size=14,
    unique=True,
).flatmap(
    lambda places: st.tuples(
        *(st.builds(_region, st.just(c), st.just(r), _TIMES, _TIMES, st.sampled_from([2, 4])) for c, r in places)
    )
)


@settings(max_examples=150, deadline=None)
@given(_MATRIX, st.booleans())
def test_no_branch_breaks_its_promises(regions: tuple[Region, ...], open_rows: bool) -> None:
    rules = Rules(width="n_cols", rows="n_rows", noise=0.01, open_rows=open_rows)
    branches = choose_branches(regions, rules)
    assert len(branches) <= 4
    for branch in branches:
        low, high = branch.shape["n_cols"]
        assert low is not None
        assert high is not None
        measured = {bucket_of(r.shape["n_cols"]) for r in regions if r.itemsize == branch.itemsize}
        buckets = {low * 2**step for step in range(1, 20) if low * 2**step <= high}
        assert buckets <= measured
        for bucket in buckets:
            rows = {r.shape["n_rows"] for r in regions if bucket_of(r.shape["n_cols"]) == bucket}
            least, most = branch.shape["n_rows"]
            assert least is not None
            assert rows >= {least + 1, *([] if most is None else [most])}
        assert branch.covers({"n_cols": high, "n_rows": (branch.shape["n_rows"][0] or 0) + 1}, branch.itemsize)
    for region in regions:
        branch_taken = next((b for b in branches if b.covers(region.shape, region.itemsize)), None)
        if branch_taken is None:
            continue
        us = next(us for values, us in region.times if values == branch_taken.values)
        assert us is not None
        assert us <= region.shipped_us * 1.01
        assert us <= 1.02 * min([region.shipped_us, *(t for _, t in region.times if t is not None)]) + 1e-9
