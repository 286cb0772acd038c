from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction
from liger_kernel.ops.rms_norm import LigerRMSNormFunction
from liger_kernel.ops.swiglu import LigerSiLUMulFunction

__all__ = ["LigerCrossEntropyFunction", "LigerRMSNormFunction", "LigerSiLUMulFunction"]
