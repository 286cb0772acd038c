import functools

import torch
import triton
import triton.language as tl

# One program can hold at most this many columns of a row.
MAX_BLOCK_SIZE = 65536


def ensure_contiguous(fn):
    """Make every tensor argument of an autograd ``forward`` or ``backward`` contiguous.

    The kernels step through rows with a single stride, and autograd may hand over anything:
    a transposed view, or the stride-0 gradient of a ``sum``.
    """

    @functools.wraps(fn)
    def wrapper(ctx, *args):
        return fn(ctx, *(arg.contiguous() if isinstance(arg, torch.Tensor) else arg for arg in args))

    return wrapper


def calculate_settings(n: int) -> tuple[int, int]:
    """Block size and number of warps for a program that holds a whole row of ``n`` columns."""
    block_size = triton.next_power_of_2(n)
    if block_size > MAX_BLOCK_SIZE:
        raise RuntimeError(f"a row of {n} columns does not fit in one block of at most {MAX_BLOCK_SIZE}")

    # Wider rows get more warps, so that no thread has to keep too many elements in registers.
    num_warps = 4
    if block_size >= 32768:
        num_warps = 32
    elif block_size >= 8192:
        num_warps = 16
    elif block_size >= 2048:
        num_warps = 8
    return block_size, num_warps


@triton.jit
def element_mul_kernel(X_ptr, X_row_stride, factor_ptr, n_cols, BLOCK_SIZE: tl.constexpr):
    """Multiply a matrix in place by a scalar that lives on the device; one program a row.

    X: (n_rows, n_cols), read and written. factor: a single element.
    """
    row_idx = tl.program_id(0).to(tl.int64)
    X_ptr += row_idx * X_row_stride
    factor = tl.load(factor_ptr)

    for start in range(0, n_cols, BLOCK_SIZE):
        col_offsets = start + tl.arange(0, BLOCK_SIZE)
        mask = col_offsets < n_cols
        X_block = tl.load(X_ptr + col_offsets, mask=mask)
        tl.store(X_ptr + col_offsets, X_block * factor, mask=mask)
