"""Facts of small kernels written for this test, one question each."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from liger_perf.kernels.facts import JitKernel, KernelFile
from liger_perf.kernels.reader import read_kernel_file
from liger_perf.kernels.tiers import tier
from liger_perf.model.errors import PreflightError
from liger_perf.techniques.examples import AUTOTUNED, DICTIONARY, NORM_BACKWARD, SOFTMAX


def _kernel(file: KernelFile, name: str) -> JitKernel:
    kernel = file.kernel(name)
    assert kernel is not None
    return kernel


def test_a_backward_pass_of_a_norm() -> None:
    file = read_kernel_file(NORM_BACKWARD.source)
    kernel = _kernel(file, "_norm_backward_kernel")
    assert kernel.constexprs == ("BLOCK",)
    assert kernel.loads == ("dY_ptr", "X_ptr")
    assert kernel.stores == ("dX_ptr", "dW_ptr")
    assert kernel.extents == ("n_cols",)
    assert kernel.row_extents == ("n_rows",)
    assert kernel.covering_blocks == ("BLOCK",)
    assert kernel.free_blocks == ()
    assert kernel.main_inputs == ("dY_ptr", "X_ptr")
    assert kernel.docstring == "Gradients of a run of rows a program."
    (loop,) = kernel.loops
    assert (loop.kind, loop.arguments, loop.index) == ("range", ("start", "end"), "row")
    assert (loop.loads, loop.stores, loop.reductions) == (2, 1, 1)
    assert NORM_BACKWARD.source.splitlines()[loop.line - 1].strip() == "for row in range(start, end):"
    (partial,) = file.partial_sums
    assert (partial.programs, partial.buffers, partial.rows) == ("sm_count", ("dW",), "rows_per_program")
    assert file.in_place == ("dX = dY",)
    assert 'X.device.type == "xpu"' in file.device_branches


def test_a_loop_over_columns_has_a_free_block() -> None:
    kernel = _kernel(read_kernel_file(SOFTMAX.source), "_softmax_kernel")
    assert kernel.free_blocks == ("STEP",)
    assert kernel.covering_blocks == ()
    assert [loop.steps_by for loop in kernel.loops] == ["STEP", "STEP"]
    assert kernel.loads == ("X_ptr", "X_ptr")
    assert kernel.stores == ("X_ptr",)
    assert kernel.exps == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("mask=cols < n_cols, other", "other"),
        ("range(0, n_cols, STEP)", "range(0, 4096, STEP)"),
        ("d = 0.0\n", "d = 0.0 * STEP\n"),
    ],
    ids=["unmasked", "another end", "used as a number"],
)
def test_a_block_is_not_free_in_doubt(old: str, new: str) -> None:
    assert old in SOFTMAX.source
    kernel = _kernel(read_kernel_file(SOFTMAX.source.replace(old, new)), "_softmax_kernel")
    assert kernel.free_blocks == ()


def test_the_launch_site() -> None:
    (site,) = read_kernel_file(NORM_BACKWARD.source).launches
    assert (site.kernel, site.function, site.grid) == ("_norm_backward_kernel", "norm_backward", "grid")
    assert site.arguments["dX_stride"] == "dX.stride(0)"
    assert site.options == {"num_warps": "num_warps"}
    (spread,) = read_kernel_file(DICTIONARY.source).launches
    assert (spread.options, spread.splat) == ({}, "options")


def test_rows_in_blocks_are_told_from_columns_by_their_stride() -> None:
    source = """
@triton.jit
def kernel(X, Y, x_stride, n_rows, n_cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, COLS)
    mask = (rows < n_rows)[:, None] & (cols < n_cols)[None, :]
    x = tl.load(X + rows[:, None] * x_stride + cols[None, :], mask=mask)
    tl.store(Y + rows[:, None] * x_stride + cols[None, :], x, mask=mask)
"""
    kernel = _kernel(read_kernel_file(source), "kernel")
    assert (kernel.row_extents, kernel.extents) == (("n_rows",), ("n_cols",))
    assert kernel.covering_blocks == ("COLS",)


def test_autotuned_kernels_are_known() -> None:
    assert _kernel(read_kernel_file(AUTOTUNED.source), "_softmax_kernel").autotuned


def test_classes_and_saved_tensors() -> None:
    file = read_kernel_file(
        """
class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, y)
        kernel[(1,)](x)
"""
    )
    assert file.function_classes == ("Softmax",)
    assert file.saved_tensors == ("x", "y")


def test_invalid_python_names_the_line() -> None:
    with pytest.raises(PreflightError) as caught:
        read_kernel_file("x = 1\ndef f(:\n")
    assert caught.value.where == "line 2"


@pytest.mark.parametrize(("source", "expected"), [(NORM_BACKWARD.source, 2), ("x = 1\n", 3), (SOFTMAX.source, 2)])
def test_tiers(source: str, expected: int) -> None:
    assert tier(read_kernel_file(source)) == expected


_ODD = ("    x += x", "    for x in y:", "    x = x[:, 1]")
_LINES = st.sampled_from([*NORM_BACKWARD.source.splitlines(), *SOFTMAX.source.splitlines(), *_ODD])


@settings(max_examples=60, deadline=None)
@given(st.lists(_LINES, max_size=40))
def test_whatever_parses_is_read(lines: list[str]) -> None:
    source = "\n".join(lines) + "\n"
    try:
        compile(source, "random", "exec")
    except (SyntaxError, ValueError):
        return
    assert isinstance(read_kernel_file(source), KernelFile)
