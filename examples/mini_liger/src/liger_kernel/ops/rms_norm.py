"""RMSNorm: ``Y = W * X / sqrt(mean(X**2) + eps)``, the mean taken over the last dimension."""

import math

import torch
import triton
import triton.language as tl

from liger_kernel.ops.utils import calculate_settings
from liger_kernel.ops.utils import ensure_contiguous


@triton.jit
def _rms_norm_forward_kernel(
    Y_ptr,
    Y_row_stride,
    X_ptr,
    X_row_stride,
    W_ptr,
    RSTD_ptr,
    n_cols,
    eps,
    BLOCK_SIZE: tl.constexpr,
):
    """Normalise one row a program and keep its reciprocal RMS for the backward pass.

    X, Y: (n_rows, n_cols). W: (n_cols,). RSTD: (n_rows,), float32. BLOCK_SIZE covers the row.
    """
    row_idx = tl.program_id(0).to(tl.int64)
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols

    X_row = tl.load(X_ptr + row_idx * X_row_stride + col_offsets, mask=mask, other=0.0).to(tl.float32)
    W_row = tl.load(W_ptr + col_offsets, mask=mask, other=0.0).to(tl.float32)

    # The sum of squares overflows or loses digits in 16 bits, hence float32 from load to store.
    mean_square = tl.sum(X_row * X_row, axis=0) / n_cols
    rstd = 1.0 / tl.sqrt(mean_square + eps)
    tl.store(RSTD_ptr + row_idx, rstd)

    tl.store(Y_ptr + row_idx * Y_row_stride + col_offsets, X_row * rstd * W_row, mask=mask)


@triton.jit
def _rms_norm_backward_kernel(
    dY_ptr,
    dY_row_stride,
    dX_ptr,
    dX_row_stride,
    X_ptr,
    X_row_stride,
    W_ptr,
    RSTD_ptr,
    dW_ptr,
    dW_row_stride,
    n_rows,
    n_cols,
    rows_per_program,
    BLOCK_SIZE: tl.constexpr,
):
    """Gradients for a run of consecutive rows a program.

    dY, dX, X: (n_rows, n_cols); dX may be dY, since every row is read before it is written.
    W: (n_cols,). RSTD: (n_rows,), float32. dW: (n_programs, n_cols), float32; every program sums the
    weight gradient of its own rows in registers, so that no atomics are needed.
    BLOCK_SIZE covers the row.
    """
    program_idx = tl.program_id(0).to(tl.int64)
    row_start = program_idx * rows_per_program
    row_end = min(row_start + rows_per_program, n_rows)
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols

    W_row = tl.load(W_ptr + col_offsets, mask=mask, other=0.0).to(tl.float32)
    dW_row = tl.zeros((BLOCK_SIZE,), dtype=tl.float32)

    for row_idx in range(row_start, row_end):
        dY_row = tl.load(dY_ptr + row_idx * dY_row_stride + col_offsets, mask=mask, other=0.0).to(tl.float32)
        X_row = tl.load(X_ptr + row_idx * X_row_stride + col_offsets, mask=mask, other=0.0).to(tl.float32)
        rstd = tl.load(RSTD_ptr + row_idx)

        X_hat = X_row * rstd
        dX_hat = dY_row * W_row
        # The second term takes out the part of the gradient that would only change the row's RMS.
        dX_row = rstd * (dX_hat - X_hat * (tl.sum(dX_hat * X_hat, axis=0) / n_cols))
        tl.store(dX_ptr + row_idx * dX_row_stride + col_offsets, dX_row, mask=mask)

        dW_row += dY_row * X_hat

    # Programs past the last row store their zeros too: the host sums over all of them.
    tl.store(dW_ptr + program_idx * dW_row_stride + col_offsets, dW_row, mask=mask)


def rms_norm_forward(X, W, eps):
    """Launch the forward kernel.

    X: (..., hidden_size). W: (hidden_size,).
    Returns Y, shaped like X, then what the backward pass needs: X as (n_rows, hidden_size),
    RSTD (n_rows,), the block size and the number of warps.
    """
    shape = X.shape
    X = X.view(-1, shape[-1])
    n_rows, n_cols = X.shape
    BLOCK_SIZE, num_warps = calculate_settings(n_cols)

    Y = torch.empty_like(X)
    RSTD = torch.empty(n_rows, dtype=torch.float32, device=X.device)

    _rms_norm_forward_kernel[(n_rows,)](
        Y,
        Y.stride(0),
        X,
        X.stride(0),
        W,
        RSTD,
        n_cols,
        eps,
        BLOCK_SIZE=BLOCK_SIZE,
        num_warps=num_warps,
    )
    return Y.view(*shape), X, RSTD, BLOCK_SIZE, num_warps


def rms_norm_backward(dY, X, W, RSTD, BLOCK_SIZE, num_warps, in_place):
    """Launch the backward kernel and finish the weight gradient.

    dY: (..., hidden_size). X: (n_rows, hidden_size). W: (hidden_size,). RSTD: (n_rows,).
    Returns dX, shaped like dY, and dW, shaped like W. With ``in_place`` dX takes dY's memory.
    """
    shape = dY.shape
    dY = dY.view(-1, shape[-1])
    n_rows, n_cols = dY.shape

    # One program for each multiprocessor keeps the partial weight gradients few.
    sm_count = 1
    if X.device.type == "cuda":
        sm_count = torch.cuda.get_device_properties(X.device).multi_processor_count
    elif X.device.type == "xpu":
        sm_count = torch.xpu.get_device_properties(X.device).gpu_eu_count

    _dW = torch.empty((sm_count, n_cols), dtype=torch.float32, device=W.device)
    rows_per_program = math.ceil(n_rows / sm_count)
    grid = (sm_count,)

    dX = dY if in_place else torch.zeros_like(dY)

    _rms_norm_backward_kernel[grid](
        dY,
        dY.stride(0),
        dX,
        dX.stride(0),
        X,
        X.stride(0),
        W,
        RSTD,
        _dW,
        _dW.stride(0),
        n_rows,
        n_cols,
        rows_per_program,
        BLOCK_SIZE=BLOCK_SIZE,
        num_warps=num_warps,
    )
    dW = _dW.sum(dim=0).to(W.dtype)
    return dX.view(*shape), dW


class LigerRMSNormFunction(torch.autograd.Function):
    """RMSNorm of X: (..., hidden_size) with the weight W: (hidden_size,)."""

    @staticmethod
    @ensure_contiguous
    def forward(ctx, X, W, eps, in_place=True):
        Y, X, RSTD, BLOCK_SIZE, num_warps = rms_norm_forward(X, W, eps)
        ctx.BLOCK_SIZE = BLOCK_SIZE
        ctx.num_warps = num_warps
        ctx.in_place = in_place
        ctx.save_for_backward(X, W, RSTD)
        return Y

    @staticmethod
    @ensure_contiguous
    def backward(ctx, dY):
        X, W, RSTD = ctx.saved_tensors
        dX, dW = rms_norm_backward(dY, X, W, RSTD, ctx.BLOCK_SIZE, ctx.num_warps, ctx.in_place)
        return dX, dW, None, None
