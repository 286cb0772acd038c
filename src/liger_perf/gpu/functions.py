"""Records the calls of the kernel file's autograd functions and replays them on fresh inputs.

Replaying below the benchmark script, at the autograd function, needs no knowledge of the script's setup: what the
function was called with is enough to call it again, in another dtype, with other gradients, on both versions alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import torch

FLOATS = (torch.float16, torch.bfloat16, torch.float32)


class TensorSpec(msgspec.Struct, frozen=True):
    """What is needed to draw a tensor like one that was seen: its values are not kept, except for integers."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    requires_grad: bool
    integers: torch.Tensor | None = None


class FunctionCall(msgspec.Struct, frozen=True):
    """One call `cls.apply(*args)`: tensors as specifications, the rest as it was."""

    cls: type[torch.autograd.Function]
    args: tuple[Any, ...]


class FunctionRecorder:
    """Wraps `apply` of every autograd function that the kernel's module defines."""

    def __init__(self, module: ModuleType) -> None:
        self.classes = tuple(
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, torch.autograd.Function)
            and value.__module__ == module.__name__
        )
        self.calls: list[FunctionCall] | None = None
        self.leaves: list[torch.Tensor] = []
        for cls in self.classes:
            self._wrap(cls)

    def _wrap(self, cls: type[torch.autograd.Function]) -> None:
        real_apply: Callable[..., Any] = cls.apply

        def apply(*args: Any) -> Any:
            if self.calls is not None:
                self.calls.append(FunctionCall(cls, tuple(_spec(arg) for arg in args)))
                self.leaves.extend(
                    arg for arg in args if isinstance(arg, torch.Tensor) and arg.is_leaf and arg.requires_grad
                )
            return real_apply(*args)

        cls.apply = staticmethod(apply)  # type: ignore[method-assign]
        cls._real_apply = staticmethod(real_apply)  # type: ignore[attr-defined]

    def restart(self) -> None:
        """Forget what was recorded and record from here on."""
        self.calls = []
        self.leaves = []

    def pause(self) -> list[FunctionCall]:
        """Stop recording and return the calls of the point, so that timed runs are not recorded."""
        calls, self.calls = self.calls or [], None
        return calls


def _spec(arg: Any) -> Any:
    if not isinstance(arg, torch.Tensor):
        return arg
    integers = None if arg.is_floating_point() else arg.detach().clone()
    return TensorSpec(tuple(arg.shape), arg.dtype, arg.requires_grad, integers)


def _draw(spec: Any, dtype: torch.dtype, rows: int, full_rows: int, generator: torch.Generator, device: str) -> Any:
    if not isinstance(spec, TensorSpec):
        return spec
    cut = rows and len(spec.shape) > 0 and spec.shape[0] == full_rows and spec.shape[0] > rows
    if spec.integers is not None:
        return spec.integers[:rows].clone() if cut else spec.integers.clone()
    shape = (rows, *spec.shape[1:]) if cut else spec.shape
    # Drawn on the CPU in float32 and cast: the same numbers on every device and for every dtype.
    values = torch.randn(shape, generator=generator, dtype=torch.float32)
    kind = dtype if spec.dtype in FLOATS else spec.dtype
    return values.to(dtype=kind).to(device).requires_grad_(spec.requires_grad)


def replay(calls: Sequence[FunctionCall], *, dtype: str, rows: int, seed: int, device: str) -> dict[str, np.ndarray]:
    """Call each recorded function on fresh inputs, forward and backward, and return what it produced.

    Args:
        dtype: floating tensors are cast to it ("float32", "float16", "bfloat16").
        rows: the leading extent is shortened to it where a tensor's leading extent is that of the first tensor
            and of none of its other extents; 0 keeps it.

    Returns:
        float64 arrays by name: `<call>.<class>.output<k>:<dtype>`, `.grad<k>` for the k-th argument, `.input<k>` as
        the function left that argument: what it changes in place must be changed alike.
    """
    with poisoned():
        return _replay(calls, dtype=dtype, rows=rows, seed=seed, device=device)


@contextmanager
def poisoned() -> Iterator[None]:
    """Inside, torch.empty and its like are filled: with NaN, integers with their largest value.

    The allocator hands out freed memory again, and the last replay left the right answer in it: a kernel that skips
    rows would pass.
    """
    enabled = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    switch: Any = torch.utils.deterministic  # torch does not declare what it holds
    filled = switch.fill_uninitialized_memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    switch.fill_uninitialized_memory = True
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(enabled, warn_only=warn_only)
        switch.fill_uninitialized_memory = filled


def _replay(calls: Sequence[FunctionCall], *, dtype: str, rows: int, seed: int, device: str) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    kind = getattr(torch, dtype)
    for number, call in enumerate(calls):
        generator = torch.Generator().manual_seed(seed + number)
        shape = next((arg.shape for arg in call.args if isinstance(arg, TensorSpec) and arg.shape), (0,))
        # As many rows as columns: a weight's length could be either, so nothing is shortened.
        first = 0 if shape[0] in shape[1:] else shape[0]
        leaves = [_draw(arg, kind, rows, first, generator, device) for arg in call.args]
        # A non-leaf view is what a layer in the middle of a model receives, and lets in-place functions run.
        inputs = [leaf * 1 if isinstance(leaf, torch.Tensor) and leaf.requires_grad else leaf for leaf in leaves]
        outputs = call.cls._real_apply(*inputs)  # type: ignore[attr-defined]
        name = f"{number}.{call.cls.__name__}"
        _keep(found, name, "output", outputs if isinstance(outputs, tuple) else (outputs,))
        _backward(outputs if isinstance(outputs, tuple) else (outputs,), generator)
        _keep(found, name, "grad", [leaf.grad if isinstance(leaf, torch.Tensor) else None for leaf in leaves])
        _keep(found, name, "input", inputs)
    return found


def _keep(found: dict[str, np.ndarray], name: str, kind: str, values: Sequence[Any]) -> None:
    for index, value in enumerate(values):
        if isinstance(value, torch.Tensor):
            dtype = str(value.dtype).removeprefix("torch.")
            found[f"{name}.{kind}{index}:{dtype}"] = value.detach().to(torch.float64).cpu().numpy().copy()


def _backward(outputs: Sequence[Any], generator: torch.Generator) -> None:
    roots = [value for value in outputs if isinstance(value, torch.Tensor) and value.requires_grad]
    gradients = [
        torch.randn(tuple(root.shape), generator=generator, dtype=torch.float32).to(dtype=root.dtype).to(root.device)
        for root in roots
    ]
    if roots:
        torch.autograd.backward(roots, gradients)
