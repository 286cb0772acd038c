"""Files that are written in unusual ways: rewritten without harm, or refused."""

from __future__ import annotations

import msgspec
import pytest

from liger_perf.kernels.dataflow import Dataflow
from liger_perf.kernels.memory import accesses
from liger_perf.kernels.source import Source
from liger_perf.model.branches import Branch, Provenance
from liger_perf.techniques.base import Refusal, Rewrite
from liger_perf.techniques.examples import NORM_BACKWARD, SOFTMAX, Example, evidence_for
from liger_perf.techniques.pipelining import Pipelining
from liger_perf.techniques.registry import TECHNIQUES
from liger_perf.techniques.settings_body import write_settings
from liger_perf.techniques.settings_function import make_tunable

KERNEL = "_softmax_kernel"
LAUNCH = "    _softmax_kernel[(n_rows,)](X, X.stride(0), n_cols, STEP=1024)\n"
MEASURED = Provenance(gpu="NVIDIA H200", capability=(9, 0), version="0.1.0")


def _everything(example: Example) -> str:
    """All techniques, one after the other, and settings of the first kernel."""
    source, evidence = example.source, evidence_for(example)
    for technique in TECHNIQUES:
        result = technique.rewrite(source, evidence)
        source = result.source if isinstance(result, Rewrite) else source
    function = f"{evidence.file.kernels[0].name}_settings"
    branch = Branch(shape={"n_cols": (None, 4096)}, itemsize=2, values={"num_warps": 4}, note="")
    return write_settings(source, function, [branch], MEASURED)


def _launched(*lines: str) -> str:
    assert LAUNCH in SOFTMAX.source
    return SOFTMAX.source.replace(LAUNCH, "".join(f"    {line}\n" for line in lines))


@pytest.mark.parametrize("example", [NORM_BACKWARD, SOFTMAX], ids=["norm", "softmax"])
@pytest.mark.parametrize(("mark", "newline"), [("\ufeff", "\n"), ("", "\r\n"), ("\ufeff", "\r\n")])
def test_byte_order_mark_and_line_ends_stay(example: Example, mark: str, newline: str) -> None:
    other = msgspec.structs.replace(example, source=mark + example.source.replace("\n", newline))
    assert _everything(other) == mark + _everything(example).replace("\n", newline)


def test_tabs_stay_valid() -> None:
    example = msgspec.structs.replace(NORM_BACKWARD, source=NORM_BACKWARD.source.replace("    ", "\t"))
    compile(_everything(example), "tabs", "exec")


@pytest.mark.parametrize("above", ["if True:", "try:", "class Host:"])
def test_a_host_function_inside_a_statement_of_the_file(above: str) -> None:
    head, host = SOFTMAX.source.split("def softmax_")
    inside = "".join(f"    {line}\n" for line in f"def softmax_{host}".splitlines())
    end = "finally:\n    pass\n" if above == "try:" else ""
    tunable = make_tunable(f"{head}{above}\n{inside}{end}", KERNEL)
    assert isinstance(tunable, str)
    assert f"\n\n\ndef {KERNEL}_settings(n_rows, n_cols, dtype, device):\n" in tunable
    compile(tunable, "nested", "exec")


@pytest.mark.parametrize(
    "lines",
    [
        ("run = lambda A, n: _softmax_kernel[(n_rows,)](A, A.stride(0), n, STEP=8)", "run(X, n_cols)"),
        ("[_softmax_kernel[(n_rows,)](A, A.stride(0), n_cols, STEP=8) for A in X]",),
        (
            "def one(A):",
            "    _softmax_kernel[(n_rows,)](A, A.stride(0), n_cols, STEP=8)",
            "def two(A):",
            "    _softmax_kernel[(n_rows,)](A, A.stride(0), n_cols, STEP=8)",
        ),
    ],
    ids=["lambda", "comprehension", "two nested functions"],
)
def test_names_of_a_nested_scope_are_not_asked_for_outside(lines: tuple[str, ...]) -> None:
    refused = make_tunable(_launched(*lines), KERNEL)
    assert isinstance(refused, Refusal)
    assert "nested function" in refused.reason


def test_two_launches_in_one_block_are_tuned_together() -> None:
    assert isinstance(make_tunable(_launched(LAUNCH.strip(), LAUNCH.strip()), KERNEL), str)


def test_arguments_behind_a_star_belong_to_no_parameter() -> None:
    refused = make_tunable(_launched("_softmax_kernel[(n_rows,)](*(X, X.stride(0)), n_cols, STEP=8)"), KERNEL)
    assert isinstance(refused, Refusal)
    assert "no plain value for n_cols" in refused.reason


@pytest.mark.parametrize(
    "taken", ["def _softmax_kernel_settings(a, b):\n    return 7\n", "_softmax_kernel_settings = 1\n"]
)
def test_a_name_that_the_file_uses_otherwise_is_left_alone(taken: str) -> None:
    refused = make_tunable(f"{SOFTMAX.source}\n\n{taken}", KERNEL)
    assert isinstance(refused, Refusal)
    assert "something else" in refused.reason


def test_an_offset_is_not_taken_for_the_pointer() -> None:
    """Else a load behind `offset + Z` and a store to Z would pass for accesses to different memory."""
    source = (
        NORM_BACKWARD.source.replace(
            "    dY_ptr,\n    dY_stride,\n    dX_ptr,\n", "    offset,\n    Z,\n    dY_stride,\n"
        )
        .replace("tl.load(dY_ptr + row", "tl.load(Z + offset + row")
        .replace("tl.store(dX_ptr + row", "tl.store(Z + row")
        .replace(
            "        dY,\n        dY.stride(0),\n        dX,\n", "        n_cols,\n        dY,\n        dY.stride(0),\n"
        )
    )
    result = Pipelining().rewrite(source, evidence_for(Example(name="", source=source)))
    assert isinstance(result, Refusal)
    assert "plain pointer" in result.reason


def test_an_atomic_under_another_name_of_the_module_is_seen() -> None:
    source = Source("import triton.language as T\n\n\n@triton.jit\ndef k(p):\n    T.atomic_add(p, 1)\n")
    function = source.functions()[0]
    assert [access.kind for access in accesses(source, Dataflow(source, function), function.body)] == ["atomic"]
