"""Mean cross entropy over logits, whose memory the gradient takes already in the forward pass."""

import torch
import triton
import triton.language as tl

from liger_kernel.ops.utils import element_mul_kernel
from liger_kernel.ops.utils import ensure_contiguous

# A vocabulary is too wide for one block, so the kernels walk over it in steps of at most this size.
MAX_FUSED_SIZE = 32768


@triton.jit
def liger_cross_entropy_kernel(
    X_ptr,
    X_row_stride,
    Y_ptr,
    loss_ptr,
    n_cols,
    n_non_ignore,
    ignore_index,
    HAS_GRADIENTS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    """Loss of one row a program, and its gradient in place of the logits.

    X: (n_rows, n_cols), the logits; with HAS_GRADIENTS overwritten. Y: (n_rows,), the labels.
    loss: (n_rows,), float32, not written where the label is ignored. Loss and gradient are divided
    by n_non_ignore, the number of labels that count.
    """
    row_idx = tl.program_id(0).to(tl.int64)
    X_ptr += row_idx * X_row_stride
    y = tl.load(Y_ptr + row_idx)

    if y == ignore_index:
        if HAS_GRADIENTS:
            for start in range(0, n_cols, BLOCK_SIZE):
                col_offsets = start + tl.arange(0, BLOCK_SIZE)
                tl.store(X_ptr + col_offsets, 0.0, mask=col_offsets < n_cols)
        return

    # To be read now: the second pass overwrites it.
    X_y = tl.load(X_ptr + y).to(tl.float32)

    # First pass, the online softmax: whenever a block raises the maximum m, the sum d of
    # exp(x - m) over the blocks before it is scaled to the new one.
    m = float("-inf")
    d = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        col_offsets = start + tl.arange(0, BLOCK_SIZE)
        X_block = tl.load(X_ptr + col_offsets, mask=col_offsets < n_cols, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(X_block, axis=0))
        d = d * tl.exp(m - m_new) + tl.sum(tl.exp(X_block - m_new), axis=0)
        m = m_new

    tl.store(loss_ptr + row_idx, (m + tl.log(d) - X_y) / n_non_ignore)

    # Second pass: the gradient is softmax(x), less one at the label.
    if HAS_GRADIENTS:
        for start in range(0, n_cols, BLOCK_SIZE):
            col_offsets = start + tl.arange(0, BLOCK_SIZE)
            mask = col_offsets < n_cols
            X_block = tl.load(X_ptr + col_offsets, mask=mask, other=float("-inf")).to(tl.float32)
            dX_block = tl.exp(X_block - m) / d
            dX_block = tl.where(col_offsets == y, dX_block - 1.0, dX_block)
            tl.store(X_ptr + col_offsets, dX_block / n_non_ignore, mask=mask)


def cross_entropy_forward(_input, target, ignore_index, has_gradients):
    """Launch the loss kernel.

    _input: (BT, V), overwritten with its gradient if ``has_gradients``. target: (BT,).
    Returns the mean loss over the labels that are not ignored, a float32 scalar; 0 if all are ignored.
    """
    BT, V = _input.shape
    BLOCK_SIZE = min(MAX_FUSED_SIZE, triton.next_power_of_2(V))

    target_mask = target != ignore_index
    n_non_ignore = target_mask.sum().item()
    # A label outside the vocabulary would make the kernel read memory of another tensor.
    if ((target < 0) | (target >= V)).logical_and(target_mask).any():
        raise ValueError(f"every target must be the ignore_index {ignore_index} or lie in [0, {V})")

    # Zeros, since the kernel writes nothing for ignored rows.
    loss_1d = torch.zeros(BT, dtype=torch.float32, device=_input.device)

    liger_cross_entropy_kernel[(BT,)](
        _input,
        _input.stride(0),
        target,
        loss_1d,
        V,
        n_non_ignore,
        ignore_index,
        HAS_GRADIENTS=has_gradients,
        BLOCK_SIZE=BLOCK_SIZE,
        num_warps=32,
    )
    return loss_1d.sum()


def cross_entropy_backward(_input, grad_output):
    """Scale the gradient that the forward pass left in ``_input``: (BT, V) by the scalar ``grad_output``."""
    # As a rule the loss is the end of the graph, and a whole pass over the logits is saved.
    if torch.equal(grad_output, torch.ones_like(grad_output)):
        return _input

    BT, V = _input.shape
    BLOCK_SIZE = min(MAX_FUSED_SIZE, triton.next_power_of_2(V))
    element_mul_kernel[(BT,)](
        _input,
        _input.stride(0),
        grad_output,
        V,
        BLOCK_SIZE=BLOCK_SIZE,
        num_warps=32,
    )
    return _input


class LigerCrossEntropyFunction(torch.autograd.Function):
    """Mean cross entropy of the logits _input: (BT, V) against target: (BT,).

    If _input needs a gradient, its values are gone after the forward pass.
    """

    @staticmethod
    @ensure_contiguous
    def forward(ctx, _input, target, ignore_index=-100):
        has_gradients = ctx.needs_input_grad[0]
        loss = cross_entropy_forward(_input, target, ignore_index, has_gradients)
        if has_gradients:
            ctx.save_for_backward(_input.detach())
        return loss

    @staticmethod
    @ensure_contiguous
    def backward(ctx, grad_output):
        (_input,) = ctx.saved_tensors
        return cross_entropy_backward(_input, grad_output), None, None
