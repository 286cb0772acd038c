"""The simulated device. Opened for times, launches are compiled and predicted, not run; opened for values, they are
interpreted. The two cannot share a process: the interpreter patches the language that the compiler reads."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
import triton

from liger_perf.gpu.compile_server import StubDriver
from liger_perf.gpu.launch_hook import LaunchHook, LaunchRecorder, RunKernel
from liger_perf.gpu.simulated import anchors, fake_cuda
from liger_perf.gpu.simulated.allocate import AllocateOnly, Allocations
from liger_perf.gpu.simulated.model import H200, torch_us
from liger_perf.gpu.simulated.predict import Predictor
from liger_perf.model.measurements import DeviceFacts, PassSample, PassTimes
from liger_perf.model.options import DeviceKind


def interpreting() -> bool:
    """Whether this process interprets kernels (triton decides at import by the same variable)."""
    return os.environ.get("TRITON_INTERPRET", "0") not in ("", "0")


class SimulatedDevice:
    """One H200 that is not there."""

    torch_device = "cpu"

    def __init__(self, tree: str, ops: str) -> None:
        self._allocations = Allocations()
        fake_cuda.install(self._allocations)
        self._allocate = AllocateOnly(self._allocations)
        self._allocate.__enter__()  # type: ignore[no-untyped-call]
        self._launched: list[tuple[str, float]] | None = None
        self._values = False
        self._predictor = None if interpreting() else Predictor(tree, ops)
        if not interpreting():
            triton.runtime.driver.set_active(StubDriver(90))

    def attach(self, hook: LaunchHook) -> None:
        hook.around = self._stand_in

    def _stand_in(
        self, real: RunKernel, function: Any, args: tuple[Any, ...], grid: Any, kwargs: dict[str, Any]
    ) -> Any:
        if self._values:
            return real(function, *args, grid=grid, warmup=False, **kwargs)
        if self._predictor is not None and self._launched is not None:
            launch = LaunchRecorder("").record(function, args, grid, kwargs)
            self._launched.append((launch.kernel, self._predictor.launch_us(function, launch)))
        return None

    @contextmanager
    def values(self) -> Iterator[None]:
        """Inside, torch computes and kernels are interpreted."""
        if not interpreting():
            raise RuntimeError("this worker was opened for times; values need a worker that interprets")
        self._allocate.__exit__(None, None, None)  # type: ignore[no-untyped-call]
        self._values = True
        try:
            yield
        finally:
            self._values = False
            self._allocate = AllocateOnly(self._allocations)
            self._allocate.__enter__()  # type: ignore[no-untyped-call]

    def describe(self, measure_bandwidth: bool) -> DeviceFacts:
        return DeviceFacts(
            kind=DeviceKind.SIMULATED,
            name=H200.name,
            capability=(9, 0),
            sm_count=H200.sm_count,
            memory_bytes=H200.memory_bytes,
            shared_memory_bytes=H200.shared_memory_bytes,
            copy_gbs=H200.bandwidth / 1e3 if measure_bandwidth else 0.0,
            driver="none",
            torch=str(torch.__version__),
            triton=str(triton.__version__),
            python=platform.python_version(),
            model_error=anchors.error_text(anchors.load()),
        )

    def predict(self, fn: Callable[[], object]) -> tuple[list[tuple[str, float]], float]:
        """([(kernel, device µs)…], host µs) of one run of `fn`."""
        self._launched = []
        try:
            with self._allocate.metering() as operations:
                fn()
            launched = self._launched
        finally:
            self._launched = None
        ops = [(name, torch_us(H200, moved)) for name, moved in operations]
        host = len(launched) * H200.host_triton_us + len(ops) * H200.host_torch_us
        return launched + ops, host

    def time_pass(
        self, fn: Callable[[], object], leaves: Sequence[torch.Tensor], *, runs: int, warmup: int
    ) -> PassTimes:
        """The prediction, once for each run asked for: a model has no noise, and none is made up."""
        for leaf in leaves:
            leaf.grad = None
        kernels, host = self.predict(fn)
        device = sum(us for _, us in kernels)
        by_kernel: dict[str, float] = {}
        for name, us in kernels:
            by_kernel[name] = by_kernel.get(name, 0.0) + us
        return PassTimes(samples=(PassSample(device, max(device, host)),) * runs, by_kernel=by_kernel)

    def peak_memory(self, fn: Callable[[], object], leaves: Sequence[torch.Tensor]) -> int:
        """Bytes allocated at the peak of one run, inputs included."""
        for leaf in leaves:
            leaf.grad = None
        self._allocations.reset_peak()
        fn()
        return self._allocations.peak
