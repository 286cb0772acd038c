"""The simulated device: for machines without a GPU.

Values come from Triton's interpreter, times from a small model of one H200 over bytes really moved and facts of the
real cubin. Everything it produces says SIMULATED; nothing it says is evidence about a real GPU.
"""
