"""The elementwise part of SwiGLU: ``c = silu(a) * b``, where ``silu(a) = a * sigmoid(a)``."""

import torch
import triton
import triton.language as tl

from liger_kernel.ops.utils import calculate_settings
from liger_kernel.ops.utils import ensure_contiguous


@triton.jit
def _swiglu_forward_kernel(a_ptr, b_ptr, c_ptr, row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    """One row a program.

    a, b, c: (n_rows, n_cols) with one common row stride. BLOCK_SIZE covers the row.
    """
    row_offset = tl.program_id(0).to(tl.int64) * row_stride
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols

    # The exponential is taken in float32: in 16 bits the sigmoid would be rounded twice.
    a_row = tl.load(a_ptr + row_offset + col_offsets, mask=mask, other=0.0).to(tl.float32)
    b_row = tl.load(b_ptr + row_offset + col_offsets, mask=mask, other=0.0).to(tl.float32)

    sigmoid_a = 1.0 / (1.0 + tl.exp(-a_row))
    tl.store(c_ptr + row_offset + col_offsets, a_row * sigmoid_a * b_row, mask=mask)


@triton.jit
def _swiglu_backward_kernel(dc_ptr, a_ptr, b_ptr, row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    """Gradients of one row a program, written over the inputs that were saved.

    dc: (n_rows, n_cols), read. a, b: (n_rows, n_cols), read and then overwritten with da and db.
    All three have one common row stride. BLOCK_SIZE covers the row.
    """
    row_offset = tl.program_id(0).to(tl.int64) * row_stride
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols

    dc_row = tl.load(dc_ptr + row_offset + col_offsets, mask=mask, other=0.0).to(tl.float32)
    a_row = tl.load(a_ptr + row_offset + col_offsets, mask=mask, other=0.0).to(tl.float32)
    b_row = tl.load(b_ptr + row_offset + col_offsets, mask=mask, other=0.0).to(tl.float32)

    # Computing the sigmoid again is cheaper than saving it: the kernel waits for memory.
    sigmoid_a = 1.0 / (1.0 + tl.exp(-a_row))
    silu_a = a_row * sigmoid_a
    # silu'(a) = sigmoid(a) + a * sigmoid(a) * (1 - sigmoid(a))
    da_row = dc_row * b_row * (sigmoid_a + silu_a * (1.0 - sigmoid_a))
    db_row = dc_row * silu_a

    tl.store(a_ptr + row_offset + col_offsets, da_row, mask=mask)
    tl.store(b_ptr + row_offset + col_offsets, db_row, mask=mask)


def swiglu_forward(a, b):
    """Launch the forward kernel.

    a, b: (..., n_cols). Returns c, shaped like a, and a and b as (n_rows, n_cols) for the backward pass.
    """
    shape = a.shape
    n_cols = shape[-1]
    a = a.view(-1, n_cols)
    b = b.view(-1, n_cols)
    c = torch.empty_like(a)
    BLOCK_SIZE, num_warps = calculate_settings(n_cols)

    _swiglu_forward_kernel[(a.shape[0],)](
        a,
        b,
        c,
        c.stride(0),
        n_cols,
        BLOCK_SIZE=BLOCK_SIZE,
        num_warps=num_warps,
    )
    return c.view(*shape), a, b


def swiglu_backward(dc, a, b):
    """Launch the backward kernel.

    dc: (..., n_cols). a, b: (n_rows, n_cols), overwritten. Returns da and db, shaped like dc.
    """
    shape = dc.shape
    n_cols = shape[-1]
    dc = dc.view(-1, n_cols)
    BLOCK_SIZE, num_warps = calculate_settings(n_cols)

    _swiglu_backward_kernel[(dc.shape[0],)](
        dc,
        a,
        b,
        dc.stride(0),
        n_cols,
        BLOCK_SIZE=BLOCK_SIZE,
        num_warps=num_warps,
    )
    return a.view(*shape), b.view(*shape)


class LigerSiLUMulFunction(torch.autograd.Function):
    """``silu(a) * b`` for a, b: (..., n_cols).

    The backward pass uses the memory of a and b for their gradients: both must be activations that
    nobody reads afterwards, as they are between the projections of an MLP.
    """

    @staticmethod
    @ensure_contiguous
    def forward(ctx, a, b):
        c, a, b = swiglu_forward(a, b)
        ctx.save_for_backward(a, b)
        return c

    @staticmethod
    @ensure_contiguous
    def backward(ctx, dc):
        a, b = ctx.saved_tensors
        return swiglu_backward(dc, a, b)
