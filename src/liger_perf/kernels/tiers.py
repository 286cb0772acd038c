"""The complexity tier of a kernel file, by rule from its facts."""

from __future__ import annotations

from liger_perf.kernels.facts import KernelFile

TIERS = {1: "element-wise", 2: "reduction", 3: "fused/complex"}

_PRODUCTS = (".matmul", ".mm", ".addmm", ".bmm", ".linear", ".conv2d")
_FUSED_LOSS = 4


def tier(file: KernelFile) -> int:
    """1: element-wise; 2: reductions over rows; 3: fused or complex.

    Complex are matrix products and convolutions, kernels of other files, files without a kernel of their own, and
    losses that fuse several exponentials and logarithms into one kernel.
    """
    own = {kernel.name for kernel in file.kernels}
    foreign = bool(file.launches) and not any(site.kernel in own for site in file.launches)
    products = any(kernel.dots for kernel in file.kernels) or any(call.endswith(_PRODUCTS) for call in file.torch_calls)
    fused = any(kernel.transcendentals > _FUSED_LOSS for kernel in file.kernels)
    if not file.kernels or foreign or products or fused:
        return 3
    if any(kernel.reductions for kernel in file.kernels if not kernel.autotuned):
        return 2
    return 1
