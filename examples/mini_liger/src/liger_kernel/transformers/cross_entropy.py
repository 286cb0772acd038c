import torch
import torch.nn as nn

from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction


class LigerCrossEntropyLoss(nn.Module):
    """Mean cross entropy of logits (BT, V) against labels (BT,); labels equal to ``ignore_index`` do not count.

    In training the logits are overwritten with their gradient.
    """

    def __init__(self, ignore_index: int = -100):
        super().__init__()
        self.ignore_index = ignore_index

    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return LigerCrossEntropyFunction.apply(logits, target, self.ignore_index)
