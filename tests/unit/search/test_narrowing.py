from __future__ import annotations

from liger_perf.model.branches import Branch
from liger_perf.search.narrowing import without

MEASURED = [{"n_rows": rows, "n_cols": columns} for rows in (1024, 8192, 32768) for columns in (2048, 4096)]
WIDE = Branch(shape={"n_cols": (1024, 4096), "n_rows": (1023, 32768)}, itemsize=2, values={"num_warps": 4})


def covered(branch: Branch | None) -> list[dict[str, int]]:
    return [] if branch is None else [shape for shape in MEASURED if branch.covers(shape, 2)]


def test_a_losing_width_is_cut_off_with_its_bucket() -> None:
    part = without(WIDE, {"n_rows": 8192, "n_cols": 2048}, MEASURED)
    assert part is not None
    assert covered(part) == [shape for shape in MEASURED if shape["n_cols"] == 4096]
    assert not part.covers({"n_rows": 8192, "n_cols": 2000}, 2)


def test_a_losing_number_of_rows_is_cut_off_where_that_keeps_more() -> None:
    measured = [shape for shape in MEASURED if shape["n_cols"] == 4096]
    branch = Branch(shape={"n_cols": (2048, 4096), "n_rows": (1023, 32768)}, itemsize=2, values={"num_warps": 4})
    part = without(branch, {"n_rows": 1024, "n_cols": 4096}, measured)
    assert part is not None
    assert covered(part) == measured[1:]
    assert not part.covers({"n_rows": 4096, "n_cols": 4096}, 2)  # between two measured ones: not known to be safe


def test_nothing_is_left_of_a_branch_over_one_shape() -> None:
    branch = Branch(shape={"n_cols": (2048, 4096), "n_rows": (8191, 8192)}, itemsize=2, values={"num_warps": 4})
    assert without(branch, {"n_rows": 8192, "n_cols": 4096}, MEASURED) is None


def test_every_cut_is_inside_the_branch_and_leaves_the_slow_shape_out() -> None:
    for slow in MEASURED:
        part = without(WIDE, slow, MEASURED)
        assert part is not None
        assert slow not in covered(part)
        assert all(shape in covered(WIDE) for shape in covered(part))
