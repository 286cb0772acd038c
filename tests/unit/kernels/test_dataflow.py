"""Expressions as sums of products; what is not certain equals nothing else."""

from __future__ import annotations

import libcst as cst
import pytest

from liger_perf.kernels.dataflow import OPAQUE, Dataflow
from liger_perf.kernels.source import Edit, Source, walk


def _form(body: str, params: str = "p, s, n, B") -> dict[tuple[str, ...], int]:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    source = Source(f"def kernel({params}):\n{lines}")
    function = source.functions()[0]
    flow = Dataflow(source, function)
    (result,) = [node for node in walk(function) if isinstance(node, cst.Call) and source.get(node.func) == "result"]
    return dict(flow.form(result.args[0].value))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("result(p + s * 2 - p)", {("s",): 2}),
        ("x = s * (n + 1)\nresult(x)", {("n", "s"): 1, ("s",): 1}),
        ("p += s\np += s\nresult(p)", {("p",): 1, ("s",): 2}),
        ("r = tl.program_id(0).to(tl.int64)\nresult(r * s)", {("program_id(0)", "s"): 1}),
        ("c = tl.arange(0, B)\nresult(c[:, None] + n)", {("arange(B)[:,None]",): 1, ("n",): 1}),
    ],
)
def test_forms(body: str, expected: dict[tuple[str, ...], int]) -> None:
    assert _form(body) == expected


@pytest.mark.parametrize(
    "body",
    [
        "if n:\n    p += s\nresult(p)",
        "for i in range(n):\n    result(p)\n    p += s",
        "x = tl.load(p)\nresult(x)",
        "x, y = n, s\nresult(x)",
        "result(s // n)",
    ],
    ids=["branch", "carried by a loop", "loaded", "unpacked", "division"],
)
def test_what_is_not_certain_is_opaque(body: str) -> None:
    form = _form(body)
    assert all(atom.startswith(OPAQUE) for monomial in form for atom in monomial)


def test_the_nearest_definition_counts() -> None:
    assert _form("x = n\nx = s\nresult(x)") == {("s",): 1}


def test_overlapping_edits_are_an_error() -> None:
    source = Source("abc = 1\n")
    assert source.edited([Edit(0, 1, "x"), Edit(1, 1, "y")]) == "xybc = 1\n"
    with pytest.raises(ValueError, match="overlap"):
        source.edited([Edit(0, 2, "x"), Edit(1, 3, "y")])
