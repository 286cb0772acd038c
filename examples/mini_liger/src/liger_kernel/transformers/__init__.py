from liger_kernel.transformers.cross_entropy import LigerCrossEntropyLoss
from liger_kernel.transformers.rms_norm import LigerRMSNorm
from liger_kernel.transformers.swiglu import LigerSiLUMul

__all__ = ["LigerCrossEntropyLoss", "LigerRMSNorm", "LigerSiLUMul"]
