"""The kernels as plain functions, for code that keeps its own parameters."""

import torch

from liger_kernel.ops import LigerCrossEntropyFunction
from liger_kernel.ops import LigerRMSNormFunction
from liger_kernel.ops import LigerSiLUMulFunction


def liger_rms_norm(X: torch.Tensor, W: torch.Tensor, eps: float = 1e-6, in_place: bool = True) -> torch.Tensor:
    """RMSNorm of X: (..., hidden_size) with the weight W: (hidden_size,)."""
    return LigerRMSNormFunction.apply(X, W, eps, in_place)


def liger_swiglu(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``silu(a) * b`` for a, b: (..., n_cols); the backward pass overwrites both."""
    return LigerSiLUMulFunction.apply(a, b)


def liger_cross_entropy(input: torch.Tensor, target: torch.Tensor, ignore_index: int = -100) -> torch.Tensor:
    """Mean cross entropy of input: (BT, V), overwritten in training, against target: (BT,)."""
    return LigerCrossEntropyFunction.apply(input, target, ignore_index)
