"""How far a pass is from the copy roof: bytes that must move, over time, over the bandwidth of a large copy.

Roofline model: Williams, Waterman, Patterson, CACM 52(4), 2009; the memory roof is measured, not taken from a data
sheet. Bytes are those of the launches' tensor arguments: each storage counts once where it is loaded and once where it
is stored, over all launches of the pass, so a tensor that is overwritten in place counts twice and an intermediate that
one launch writes and the next reads counts twice. Caches can hide a second read but not these first ones.

The count is a lower bound where a kernel reads an argument more than once, and an upper bound where it touches a part
of it (a gather, rows that are skipped).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from liger_perf.kernels.facts import JitKernel
from liger_perf.model.launches import Launch, TensorArgument

AT_ROOF = 0.92
"""From this share of copy bandwidth on, nothing is left without fewer bytes: a copy itself varies by a few percent, and
the best hand-written norms on H100 stay at about 90 % of the data sheet's figure."""


def moved_bytes(launches: Sequence[Launch], kernels: Sequence[JitKernel]) -> int:
    """Bytes that the launches must read plus write.

    A launch of a kernel without facts (another file's) counts each of its tensors once: whether it is read or written
    is unknown, and too few bytes never pretend that a roof is reached.
    """
    facts = {kernel.name: kernel for kernel in kernels}
    loaded: list[TensorArgument] = []
    stored: list[TensorArgument] = []
    unknown: list[TensorArgument] = []
    for launch in launches:
        kernel = facts.get(launch.kernel)
        for argument in launch.arguments:
            if argument.tensor is None:
                continue
            if kernel is None:
                unknown.append(argument.tensor)
                continue
            if argument.name in kernel.loads:
                loaded.append(argument.tensor)
            if argument.name in kernel.stores:
                stored.append(argument.tensor)
    known = {tensor.storage for tensor in (*loaded, *stored)}
    rest = [tensor for tensor in unknown if tensor.storage not in known]
    return _unique_bytes(loaded) + _unique_bytes(stored) + _unique_bytes(rest)


def _unique_bytes(tensors: Iterable[TensorArgument]) -> int:
    """Bytes of the distinct storages: views of one storage at one offset count once, disjoint views add up."""
    by_storage: dict[int, dict[int, TensorArgument]] = {}
    for tensor in tensors:
        views = by_storage.setdefault(tensor.storage, {})
        known = views.get(tensor.offset)
        if known is None or _touched(tensor) > _touched(known):
            views[tensor.offset] = tensor
    return sum(_storage_bytes(list(views.values())) for views in by_storage.values())


def _storage_bytes(views: Sequence[TensorArgument]) -> int:
    # Overlapping views cannot touch more than what lies between their outer ends.
    start = min(view.offset * view.itemsize for view in views)
    end = max(view.offset * view.itemsize + _span(view) for view in views)
    return min(sum(_touched(view) for view in views), end - start)


def _touched(tensor: TensorArgument) -> int:
    """Bytes of a tensor's distinct elements: an expanded dimension (stride 0) repeats them."""
    count = tensor.itemsize
    for extent, stride in zip(tensor.shape, tensor.stride, strict=True):
        if stride != 0 or extent == 0:
            count *= extent
    return count


def _span(tensor: TensorArgument) -> int:
    if 0 in tensor.shape:
        return 0
    last = sum((extent - 1) * abs(stride) for extent, stride in zip(tensor.shape, tensor.stride, strict=True))
    return (last + 1) * tensor.itemsize


def share_of_roof(nbytes: int, time_us: float, copy_gbs: float) -> float | None:
    """The share of copy bandwidth (1.0 = as fast as a copy) of a pass that moves `nbytes` in `time_us` µs.

    None where the bytes, the time or the bandwidth (GB/s, read plus written) are unknown.
    """
    if nbytes <= 0 or time_us <= 0 or copy_gbs <= 0:
        return None
    return nbytes / (time_us * 1e-6) / (copy_gbs * 1e9)


def at_roof(share: float | None) -> bool:
    """Whether the pass is at the roof."""
    return share is not None and share >= AT_ROOF
