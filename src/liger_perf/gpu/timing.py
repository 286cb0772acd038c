"""Device time of a pass on a real GPU: the durations of all its CUDA kernels as CUPTI reports them.

Events around a pass would measure the host where the host is slower than the device, which is the rule for passes
under 200 µs. The L2 cache is flushed before each run by a kernel of our own, whose name also separates the runs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from torch.autograd import DeviceType  # type: ignore[attr-defined]  # re-exported without saying so
from torch.profiler import ProfilerActivity, profile

from liger_perf.model.measurements import PassSample, PassTimes

FLUSH_BYTES = 256 * 2**20  # several times the largest L2 in use (60 MB on H200), as triton.testing does
MARKER = "liger_perf_flush_l2"


@triton.jit  # type: ignore[untyped-decorator]  # triton ships no types
def liger_perf_flush_l2(pointer, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # specialised by triton
    """Overwrite `count` int32 elements, so that nothing of the last run is left in the L2 cache."""
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(pointer + offsets, offsets.to(tl.int32), mask=offsets < count)


class L2Flush:
    """A buffer several times the L2 cache; calling it overwrites the buffer."""

    def __init__(self) -> None:
        self._buffer = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")

    def __call__(self) -> None:
        count = self._buffer.numel()
        liger_perf_flush_l2[(triton.cdiv(count, 4096),)](self._buffer, count, BLOCK=4096)


def clear_gradients(leaves: Sequence[torch.Tensor]) -> None:
    """As an optimiser's zero_grad(set_to_none=True): otherwise the accumulation is timed beside the kernel."""
    for leaf in leaves:
        leaf.grad = None


def time_pass(
    fn: Callable[[], object], leaves: Sequence[torch.Tensor], flush: L2Flush, *, runs: int, warmup: int
) -> PassTimes:
    """Time `runs` runs of `fn`.

    Returns:
        one sample a run: device time (sum of kernel durations) and wall time (call to completion), both in µs. Wall
        times are taken in runs of their own, without the profiler, whose overhead is on the host.
    """
    for _ in range(warmup):
        clear_gradients(leaves)
        fn()
    torch.cuda.synchronize()
    walls = [_wall_us(fn, leaves, flush) for _ in range(runs)]
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(runs):
            clear_gradients(leaves)
            flush()
            fn()
        torch.cuda.synchronize()
    groups = split_runs(device_events(profiler))
    if len(groups) != runs:
        raise RuntimeError(f"the profiler saw {len(groups)} runs of {runs}: is another process profiling this GPU?")
    devices = [sum(duration for _, duration in group) for group in groups]
    return PassTimes(
        samples=tuple(PassSample(device, wall) for device, wall in zip(devices, walls, strict=True)),
        by_kernel=medians_by_kernel(groups),
        sm_clock_mhz=sm_clock_mhz(),
    )


def _wall_us(fn: Callable[[], object], leaves: Sequence[torch.Tensor], flush: L2Flush) -> float:
    clear_gradients(leaves)
    flush()
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    fn()
    torch.cuda.synchronize()
    return (time.perf_counter_ns() - start) / 1e3


def device_events(profiler: Any) -> list[tuple[str, float]]:
    """(name, duration in µs) of everything that ran on the device, in order of start."""
    results = profiler.profiler.kineto_results.events()
    events = [
        (event.start_ns(), event.name(), event.duration_ns() / 1e3)
        for event in results
        if event.device_type() == DeviceType.CUDA and event.duration_ns() > 0
    ]
    return [(name, duration) for _, name, duration in sorted(events)]


def split_runs(events: Sequence[tuple[str, float]]) -> list[list[tuple[str, float]]]:
    """The events of each run: what lies between two flushes. What came before the first flush is dropped."""
    groups: list[list[tuple[str, float]]] = []
    for name, duration in events:
        if name == MARKER:
            groups.append([])
        elif groups:
            groups[-1].append((name, duration))
    return groups


def medians_by_kernel(groups: Sequence[Sequence[tuple[str, float]]]) -> dict[str, float]:
    """Median over the runs of each kernel's summed time in a run, µs."""
    names = {name for group in groups for name, _ in group}
    return {
        name: statistics.median(sum(duration for other, duration in group if other == name) for group in groups)
        for name in sorted(names)
    }


def sm_clock_mhz() -> int:
    """The SM clock now, or 0 where NVML cannot be asked."""
    try:
        return int(torch.cuda.clock_rate())
    except (ImportError, RuntimeError, AttributeError):
        return 0


def copy_bandwidth_gbs() -> float:
    """Bandwidth of a large copy, read plus written, in GB/s: the roof that memory-bound kernels are held against."""
    source = torch.empty(2**30, dtype=torch.bfloat16, device="cuda")
    target = torch.empty_like(source)
    flush = L2Flush()
    times = time_pass(lambda: target.copy_(source), (), flush, runs=10, warmup=3)
    device_us = statistics.median(sample.device_us for sample in times.samples)
    return 2 * source.numel() * source.element_size() / device_us / 1e3
