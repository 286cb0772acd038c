"""Records the launches of jitted kernels beneath a callable, as values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
import triton.language as tl
from triton import knobs
from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

from liger_perf.model.launches import Argument, Launch, Scalar, TensorArgument

DTYPE_PREFIX = "tl.dtype:"
TORCH_DTYPE_PREFIX = "torch.dtype:"
RunKernel = Callable[..., Any]


def describe_scalar(value: object) -> Scalar:
    """A value as it can travel: numbers and strings as they are, dtypes by name, anything else by its repr."""
    if isinstance(value, tl.constexpr):
        value = value.value
    if isinstance(value, tl.dtype):
        return f"{DTYPE_PREFIX}{value.name}"
    if isinstance(value, torch.dtype):
        return f"{TORCH_DTYPE_PREFIX}{str(value).removeprefix('torch.')}"
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return repr(value)


class LaunchRecorder:
    """Turns calls of `JITFunction.run` into `Launch` values; storages are numbered in order of appearance."""

    def __init__(self, kernel_file: str) -> None:
        self._kernel_file = os.path.realpath(kernel_file)
        self._storages: dict[int, int] = {}
        self.launches: list[Launch] = []

    def record(self, function: Any, args: tuple[Any, ...], grid: Any, kwargs: Mapping[str, Any]) -> Launch:
        names: list[str] = list(function.arg_names)
        bound: dict[str, Any] = dict(zip(names, args, strict=False))
        options: dict[str, Scalar] = {}
        for key, value in kwargs.items():
            if key in names:
                bound[key] = value
            else:
                options[key] = describe_scalar(value)
        for name, default in defaults_of(function).items():
            bound.setdefault(name, default)
        if callable(grid):
            grid = grid(bound)
        constexprs = constexpr_names(function)
        launch = Launch(
            kernel=function.fn.__name__,
            module=function.fn.__module__,
            own=os.path.realpath(function.fn.__code__.co_filename) == self._kernel_file,
            grid=tuple(int(extent) for extent in grid),
            arguments=tuple(self._argument(name, bound[name], name in constexprs) for name in names if name in bound),
            options={key: value for key, value in options.items() if value is not None},
        )
        self.launches.append(launch)
        return launch

    def _argument(self, name: str, value: object, constexpr: bool) -> Argument:
        if not isinstance(value, torch.Tensor):
            return Argument(name=name, value=describe_scalar(value), constexpr=constexpr)
        address = value.untyped_storage().data_ptr()
        tensor = TensorArgument(
            shape=tuple(value.shape),
            stride=tuple(value.stride()),
            dtype=str(value.dtype).removeprefix("torch."),
            itemsize=value.element_size(),
            storage=self._storages.setdefault(address, len(self._storages)),
            offset=int(value.storage_offset()),
        )
        return Argument(name=name, tensor=tensor, constexpr=constexpr)


def defaults_of(function: Any) -> dict[str, Any]:
    """Defaults of the kernel's parameters by name."""
    code = function.fn.__code__
    defaults = function.fn.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    return dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))


def constexpr_names(function: Any) -> frozenset[str]:
    """Names of the parameters annotated tl.constexpr, on compiled and interpreted functions alike."""
    annotations: Mapping[str, Any] = function.fn.__annotations__
    return frozenset(
        name
        for name, kind in annotations.items()
        if kind is tl.constexpr or "constexpr" in str(getattr(kind, "__name__", kind))
    )


class LaunchHook:
    """Replaces `JITFunction.run` once a process; recorders come and go, `around` may stand in for the launch."""

    def __init__(self) -> None:
        self.recorder: LaunchRecorder | None = None
        self.around: Callable[[RunKernel, Any, tuple[Any, ...], Any, dict[str, Any]], Any] | None = None
        self._suspended = 0
        self._dry = False

    def install(self) -> None:
        """Hook compiled launches. An autotuner's own trials are not launches of the pass: suspended inside them."""
        jitted = InterpretedFunction if knobs.runtime.interpret else JITFunction
        real_run = jitted.run
        hook = self

        def run(function: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
            if warmup or hook._suspended:
                return real_run(function, *args, grid=grid, warmup=warmup, **kwargs)
            if hook.recorder is not None:
                hook.recorder.record(function, args, grid, kwargs)
            if hook._dry:
                return None
            if hook.around is not None:
                return hook.around(real_run, function, args, grid, kwargs)
            return real_run(function, *args, grid=grid, warmup=warmup, **kwargs)

        jitted.run = run
        real_bench = Autotuner._bench

        def bench(tuner: Any, *args: Any, **kwargs: Any) -> Any:
            with hook.suspended():
                return real_bench(tuner, *args, **kwargs)

        Autotuner._bench = bench

    @contextmanager
    def suspended(self) -> Iterator[None]:
        self._suspended += 1
        try:
            yield
        finally:
            self._suspended -= 1

    @contextmanager
    def not_launching(self) -> Iterator[None]:
        """Inside, launches are recorded but not made. What they would have written stays as it was."""
        self._dry = True
        try:
            yield
        finally:
            self._dry = False

    @contextmanager
    def recording(self, recorder: LaunchRecorder) -> Iterator[LaunchRecorder]:
        previous, self.recorder = self.recorder, recorder
        try:
            yield recorder
        finally:
            self.recorder = previous
