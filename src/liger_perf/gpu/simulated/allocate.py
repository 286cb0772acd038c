"""Torch operations without their work: outputs are allocated and metered, not computed.

At the benchmark's sizes the values are never read when times are asked for, and computing them on a CPU would take
minutes. Small tensors are computed all the same, since host code branches on some of them.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

SMALL = 65536  # elements up to which an operation is computed: lengths of token lists, scalars, counts


class Allocations:
    """Bytes of live tensor storages, as the caching allocator of a GPU would count them (512-byte granules)."""

    def __init__(self) -> None:
        self.live = 0
        self.peak = 0
        self._known: dict[int, int] = {}

    def reset_peak(self) -> None:
        self.peak = self.live

    def watch(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._known:
            return
        size = -(-storage.nbytes() // 512) * 512
        self._known[key] = size
        self.live += size
        self.peak = max(self.peak, self.live)
        weakref.finalize(storage, self._release, key)

    def _release(self, key: int) -> None:
        self.live -= self._known.pop(key, 0)


def nbytes(value: Any) -> int:
    return value.numel() * value.element_size() if isinstance(value, torch.Tensor) else 0


class AllocateOnly(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's modes are untyped
    """Allocates what an operation would return, and meters the bytes it would read and write."""

    def __init__(self, allocations: Allocations) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._allocations = allocations
        self._meter: list[tuple[str, int]] | None = None

    @contextmanager
    def metering(self) -> Iterator[list[tuple[str, int]]]:
        """Inside, (operation, bytes read plus written) of every operation that would launch a CUDA kernel."""
        self._meter = []
        try:
            yield self._meter
        finally:
            self._meter = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        inputs = _tensors((args, kwargs))
        if func.is_view or func.name().startswith(("aten::empty", "aten::detach", "aten::alias", "aten::set_")):
            outputs = func(*args, **kwargs)
        elif func._schema.is_mutable:
            outputs = self._mutate(func, args, kwargs, inputs)
        else:
            outputs = self._compute(func, args, kwargs, inputs)
        results = _tensors(outputs)
        for value in results:
            self._allocations.watch(value)
        if self._meter is not None and not func.is_view and not func.name().startswith("aten::empty"):
            moved = sum(map(nbytes, inputs)) + sum(map(nbytes, results))
            self._meter.append((func.name(), moved))
        return outputs

    def _mutate(self, func: Any, args: Any, kwargs: Any, inputs: list[torch.Tensor]) -> Any:
        if all(value.numel() <= SMALL for value in inputs):
            return func(*args, **kwargs)
        return kwargs.get("out", args[0] if args else None)

    def _compute(self, func: Any, args: Any, kwargs: Any, inputs: list[torch.Tensor]) -> Any:
        if not any("Tensor" in str(returned.type) for returned in func._schema.returns):
            return func(*args, **kwargs)  # a number or a truth value, which host code branches on
        metas = tree_map(_to_meta, (args, {**kwargs, "device": torch.device("meta")} if "device" in kwargs else kwargs))
        outputs = func(*metas[0], **metas[1])
        if all(value.numel() <= SMALL for value in (*inputs, *_tensors(outputs))):
            return func(*args, **kwargs)
        return tree_map(_from_meta, outputs)


def _tensors(values: Any) -> list[torch.Tensor]:
    return [value for value in tree_flatten(values)[0] if isinstance(value, torch.Tensor)]


def _to_meta(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")


def _from_meta(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="cpu")
