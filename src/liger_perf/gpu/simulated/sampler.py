"""Counts the bytes that a launch really loads and stores, by interpreting a few of its programs.

`python -m liger_perf.gpu.simulated.sampler --tree T --ops src/…/k.py` with TRITON_INTERPRET=1, in a process of its own:
the interpreter patches the language, and a compiler in the same process would break.
"""

from __future__ import annotations

import argparse
import math
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
import triton.language as tl
from triton.runtime.interpreter import GridExecutor, InterpretedFunction, InterpreterBuilder, interpreter_builder

from liger_perf.gpu.channel import Channel
from liger_perf.gpu.launch_hook import DTYPE_PREFIX
from liger_perf.gpu.modules import kernel_module
from liger_perf.gpu.simulated.traffic import Traffic
from liger_perf.model.launches import Argument, Launch

Key = tuple[tuple[int, int, int], int]
"""(program, storage by order of its address)."""


class ByteCounter:
    """Counts inside the interpreter's loads and stores, by program and by the storage that an address lies in."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self.loads: Counter[Key] = Counter()
        self.loaded: Counter[Key] = Counter()
        self.stored: Counter[Key] = Counter()
        real_load, real_store = InterpreterBuilder.create_masked_load, InterpreterBuilder.create_masked_store

        def load(builder: Any, ptrs: Any, mask: Any, *rest: Any) -> Any:
            key = self._key(ptrs)
            self.loads[key] += 1
            self.loaded[key] += int(np.count_nonzero(mask.data)) * itemsize(ptrs)
            return real_load(builder, ptrs, mask, *rest)

        def store(builder: Any, ptrs: Any, value: Any, mask: Any, *rest: Any) -> Any:
            self.stored[self._key(ptrs)] += int(np.count_nonzero(mask.data)) * itemsize(ptrs)
            return real_store(builder, ptrs, value, mask, *rest)

        InterpreterBuilder.create_masked_load = load
        InterpreterBuilder.create_masked_store = store

    def restart(self, starts: Sequence[int]) -> None:
        self._starts = sorted(starts)
        for counter in (self.loads, self.loaded, self.stored):
            counter.clear()

    def _key(self, ptrs: Any) -> Key:
        address = int(np.asarray(ptrs.data).flat[0])
        return interpreter_builder.grid_idx, bisect_right(self._starts, address) - 1


def average(counter: Counter[Key], storage: int, grid: Sequence[int]) -> float:
    """Bytes of one storage that an average program moves: all programs but the last are like those sampled."""
    x, y, z = (*grid, 1, 1)[:3]
    last = (x - 1, y - 1, z - 1)
    others = [p for p in sampled(tuple(grid)) if p != last] or [last]
    usual = sum(counter[(program, storage)] for program in others) / len(others)
    programs = math.prod(grid)
    return (usual * (programs - 1) + counter[(last, storage)]) / programs


def itemsize(ptrs: Any) -> int:
    return max(1, int(ptrs.get_element_ty().primitive_bitwidth) // 8)


def sampled(grid: tuple[int, ...]) -> frozenset[tuple[int, int, int]]:
    """The first, the middle and the last program."""
    extents = (*grid, 1, 1)[:3]
    total = extents[0] * extents[1] * extents[2]
    picks = {0, total // 2, total - 1}
    return frozenset((p // (extents[1] * extents[2]), p // extents[2] % extents[1], p % extents[2]) for p in picks)


def arguments(launch: Launch) -> tuple[dict[str, Any], list[torch.Tensor]]:
    """Zero-filled tensors of the captured shapes (aliases kept) and the scalars; and the storages, as bytes."""
    sizes: Counter[int] = Counter()
    for argument in launch.arguments:
        if argument.tensor is not None:
            t = argument.tensor
            extent = 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride, strict=True)) if t.nbytes else 1
            sizes[t.storage] = max(sizes[t.storage], (t.offset + extent) * t.itemsize)
    storages = {key: torch.zeros(size, dtype=torch.uint8) for key, size in sizes.items()}
    values = {argument.name: _value(argument, storages) for argument in launch.arguments}
    return values, list(storages.values())


def _value(argument: Argument, storages: dict[int, torch.Tensor]) -> Any:
    t = argument.tensor
    if t is None:
        value = argument.value
        if isinstance(value, str) and value.startswith(DTYPE_PREFIX):
            return tl.dtype(value.removeprefix(DTYPE_PREFIX))
        return value
    typed = storages[t.storage].untyped_storage()
    return torch.empty(0, dtype=getattr(torch, t.dtype)).set_(typed, t.offset, t.shape, t.stride)


class SamplingExecutor(GridExecutor):  # type: ignore[misc]  # triton ships no types
    """Runs the chosen programs and passes over the others."""

    chosen: frozenset[tuple[int, int, int]] = frozenset()

    @property
    def fn(self) -> Any:
        index = interpreter_builder.grid_idx
        return self._real if index is None or index in self.chosen else _nothing

    @fn.setter
    def fn(self, function: Any) -> None:
        self._real = function


def _nothing(**_: Any) -> None:
    """Stands for a program that is not sampled."""


def sample(function: InterpretedFunction, launch: Launch, counter: ByteCounter) -> Traffic:
    """Interpret the sampled programs of one launch. A failure is a fact: the model then falls back to tensor sizes."""
    values, storages = arguments(launch)
    ordered = sorted(storages, key=lambda storage: storage.data_ptr())
    sizes = [storage.numel() for storage in ordered]
    chosen = sampled(launch.grid)
    counter.restart([storage.data_ptr() for storage in ordered])
    executor = SamplingExecutor(function.rewrite(), function.arg_names, launch.grid)
    executor.chosen = chosen
    interpreter_builder.grid_idx = None  # of no program yet: the executor's preparations see the real function
    try:
        executor(**values)
    except Exception as error:  # the interpreter may fail in any way on code that it does not know
        return Traffic(
            loaded_bytes=0, stored_bytes=0, dram_bytes=0, rounds=0, error=f"{type(error).__name__}: {str(error)[-300:]}"
        )
    return summarise(counter, sizes, launch.grid)


def summarise(counter: ByteCounter, sizes: Sequence[int], grid: Sequence[int]) -> Traffic:
    """The counts as what an average program moves. `sizes` are the storages' bytes in the order of their addresses."""
    programs = math.prod(grid)
    loaded = [average(counter.loaded, storage, grid) for storage in range(len(sizes))]
    stored = [average(counter.stored, storage, grid) for storage in range(len(sizes))]
    dram = sum(min(moved, size / programs) for way in (loaded, stored) for moved, size in zip(way, sizes, strict=True))
    rounds = max(counter.loads.values(), default=0)
    return Traffic(loaded_bytes=sum(loaded), stored_bytes=sum(stored), dram_bytes=dram, rounds=rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--ops", required=True)
    options = parser.parse_args()
    reader, writer = Channel.private_streams()
    sys.path[:0] = [str(options.tree / "src"), str(options.tree)]
    module = kernel_module(options.ops)
    counter = ByteCounter()
    decoder = msgspec.json.Decoder(Launch)
    for line in reader:
        launch = decoder.decode(line)
        function = getattr(sys.modules.get(launch.module, module), launch.kernel)
        writer.write(msgspec.json.encode(sample(function, launch, counter)) + b"\n")
        writer.flush()


if __name__ == "__main__":
    main()
