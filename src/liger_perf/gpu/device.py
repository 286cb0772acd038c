"""The device behind a worker: a real GPU, or the simulated one."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, assert_never

import torch
import triton

from liger_perf.gpu.launch_hook import LaunchHook
from liger_perf.model.measurements import DeviceFacts, PassTimes
from liger_perf.model.options import DeviceKind


class Device(Protocol):
    """What a worker needs of its device."""

    torch_device: str

    def attach(self, hook: LaunchHook) -> None: ...
    def describe(self, measure_bandwidth: bool) -> DeviceFacts: ...
    def time_pass(
        self, fn: Callable[[], object], leaves: Sequence[torch.Tensor], *, runs: int, warmup: int
    ) -> PassTimes: ...
    def peak_memory(self, fn: Callable[[], object], leaves: Sequence[torch.Tensor]) -> int: ...
    def values(self) -> AbstractContextManager[None]:
        """Inside, launches compute values. Raises RuntimeError where the worker was opened for times only."""
        ...


class NoGpu(RuntimeError):
    """There is no NVIDIA GPU that torch can use."""


class CudaDevice:
    """The real GPU, as torch sees it."""

    torch_device = "cuda"

    def __init__(self) -> None:
        if not torch.cuda.is_available() or torch.version.hip is not None:
            raise NoGpu("no NVIDIA GPU that torch can use")
        from liger_perf.gpu import timing

        self._timing = timing
        self._flush: timing.L2Flush | None = None

    def attach(self, hook: LaunchHook) -> None:
        """Nothing stands in for a launch on a real GPU."""

    def values(self) -> AbstractContextManager[None]:
        return nullcontext()

    def describe(self, measure_bandwidth: bool) -> DeviceFacts:
        properties = torch.cuda.get_device_properties(0)
        return DeviceFacts(
            kind=DeviceKind.CUDA,
            name=properties.name,
            capability=(properties.major, properties.minor),
            sm_count=properties.multi_processor_count,
            memory_bytes=properties.total_memory,
            shared_memory_bytes=properties.shared_memory_per_block_optin,  # type: ignore[attr-defined]  # not in the stub
            copy_gbs=self._timing.copy_bandwidth_gbs() if measure_bandwidth else 0.0,
            driver=driver_version(),
            torch=str(torch.__version__),
            triton=str(triton.__version__),
            python=platform.python_version(),
        )

    def time_pass(
        self, fn: Callable[[], object], leaves: Sequence[torch.Tensor], *, runs: int, warmup: int
    ) -> PassTimes:
        # Only when first needed: a worker that waits for its turn holds no memory of the device.
        self._flush = self._flush or self._timing.L2Flush()
        return self._timing.time_pass(fn, leaves, self._flush, runs=runs, warmup=warmup)

    def peak_memory(self, fn: Callable[[], object], leaves: Sequence[torch.Tensor]) -> int:
        """Bytes allocated at the peak of one run, inputs included, as the repositories' own benchmarks count them."""
        self._timing.clear_gradients(leaves)
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        fn()
        torch.cuda.synchronize()
        ours = self._timing.FLUSH_BYTES if self._flush is not None else 0
        return torch.cuda.max_memory_allocated() - ours


def loses_context(error: BaseException) -> bool:
    """Whether a CUDA error outlives the call that raised it: the process's context is lost."""
    signs = ("CUDA error", "illegal memory access", "device-side assert", "misaligned")
    return any(sign in str(error) for sign in signs)


def driver_version() -> str:
    """The NVIDIA driver's version, or empty where NVML cannot be asked."""
    try:
        import pynvml
    except ImportError:
        return ""
    try:
        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except pynvml.NVMLError:
        return ""


def open_device(kind: DeviceKind, tree: str, ops: str) -> Device:
    """The device of that kind. Raises NoGpu."""
    match kind:
        case DeviceKind.CUDA:
            return CudaDevice()
        case DeviceKind.SIMULATED:
            from liger_perf.gpu.simulated.device import SimulatedDevice

            return SimulatedDevice(tree, ops)
        case _:
            assert_never(kind)
