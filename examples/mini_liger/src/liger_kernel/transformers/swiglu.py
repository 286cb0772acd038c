import torch
import torch.nn as nn

from liger_kernel.ops.swiglu import LigerSiLUMulFunction


class LigerSiLUMul(nn.Module):
    """``silu(gate) * up`` for two activations (..., intermediate_size); the backward pass overwrites both."""

    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return LigerSiLUMulFunction.apply(gate, up)
