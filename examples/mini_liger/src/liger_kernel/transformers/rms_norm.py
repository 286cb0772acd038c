import torch
import torch.nn as nn

from liger_kernel.ops.rms_norm import LigerRMSNormFunction


class LigerRMSNorm(nn.Module):
    """RMSNorm over the last dimension, (..., hidden_size), with a learned weight.

    ``in_place`` lets the backward pass write the gradient of the input over the gradient of the output.
    """

    def __init__(self, hidden_size: int, eps: float = 1e-6, in_place: bool = True):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.eps = eps
        self.in_place = in_place

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        return LigerRMSNormFunction.apply(hidden_states, self.weight, self.eps, self.in_place)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, eps={self.eps}, in_place={self.in_place}"
