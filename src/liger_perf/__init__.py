"""liger-perf: optimises existing Triton kernels by program and judges them honestly."""

__version__ = "0.1.0"
