"""Compiles launches for one architecture without a GPU: reads Launch values, writes CubinFacts, a line each.

`python -m liger_perf.gpu.compile_server --tree T --ops src/…/k.py --arch 90`

The first line is Ready: a process that ends before it could not import the target, one that ends later was taken down
by the launch that it was compiling.

A stub driver names the target, so that `JITFunction.run(warmup=True)` compiles exactly what a launch would, under the
same key of the on-disk cache: a worker that launches the same configuration later finds it compiled.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.runtime.jit import MockTensor

from liger_perf.gpu.channel import Channel
from liger_perf.gpu.launch_hook import DTYPE_PREFIX, TORCH_DTYPE_PREFIX, constexpr_names
from liger_perf.gpu.modules import kernel_module
from liger_perf.model.launches import Argument, Launch, Scalar
from liger_perf.model.measurements import CubinFacts
from liger_perf.model.protocol import Ready

RESOURCES = re.compile(r"REG:(\d+) STACK:(\d+)")


class StubDriver:
    """Stands for a GPU of the given architecture where a kernel is compiled but not launched."""

    def __init__(self, arch: int) -> None:
        self._target = GPUTarget("cuda", arch, 32)

    def get_current_target(self) -> GPUTarget:
        return self._target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


class AlignedTensor(MockTensor):  # type: ignore[misc]  # triton ships no types
    """A stand-in for a tensor at a 16-byte boundary of an allocation of known size."""

    def __init__(self, dtype: torch.dtype, nbytes: int) -> None:
        super().__init__(dtype)
        self._nbytes = nbytes

    def ptr_range(self) -> int:
        return self._nbytes


def argument_value(argument: Argument) -> Any:
    """The value that stands for a captured argument in a compilation."""
    if argument.tensor is not None:
        return AlignedTensor(getattr(torch, argument.tensor.dtype), argument.tensor.nbytes)
    value = argument.value
    if isinstance(value, str) and value.startswith(DTYPE_PREFIX):
        return tl.dtype(value.removeprefix(DTYPE_PREFIX))
    if isinstance(value, str) and value.startswith(TORCH_DTYPE_PREFIX):
        return getattr(torch, value.removeprefix(TORCH_DTYPE_PREFIX))
    return value


def unwrapped(function: Any) -> Any:
    """The jitted function below an autotuner or heuristics."""
    while hasattr(function, "fn") and not hasattr(function, "device_caches"):
        function = function.fn
    return function


def compile_launch(function: Any, launch: Launch) -> Any:
    """Compile as the launch would be, and return Triton's compiled kernel."""
    declared = constexpr_names(function)
    named = {argument.name: argument_value(argument) for argument in launch.arguments}
    options: dict[str, Scalar] = {key: value for key, value in launch.options.items() if key not in declared}
    return function.run(grid=launch.grid, warmup=True, **named, **options)


def resource_usage(cubin: bytes) -> tuple[int, int]:
    """(registers a thread, stack bytes a thread) as cuobjdump reports them. Spills live on the stack."""
    tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(tool), "-res-usage", file.name]
        output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    match = RESOURCES.search(output)
    if match is None:
        raise RuntimeError(f"cuobjdump did not report registers: {output[-200:]}")
    return int(match[1]), int(match[2])


def cubin_facts(function: Any, launch: Launch, arch: int) -> CubinFacts:
    """Compile one launch; a failure is a fact, not an exception."""
    start = time.monotonic()
    warps = int(launch.options.get("num_warps") or 4)
    try:
        compiled = compile_launch(function, launch)
        cubin = compiled.asm["cubin"]
        registers, stack = resource_usage(cubin)
        return CubinFacts(
            kernel=launch.kernel,
            arch=arch,
            digest=hashlib.sha256(cubin).hexdigest(),
            registers=registers,
            spill_bytes=stack,
            shared_bytes=int(compiled.metadata.shared),
            num_warps=int(compiled.metadata.num_warps),
            seconds=time.monotonic() - start,
        )
    except Exception as error:  # whatever the compiler raises, the answer is that it does not compile
        return CubinFacts(
            kernel=launch.kernel,
            arch=arch,
            digest="",
            registers=0,
            spill_bytes=0,
            shared_bytes=0,
            num_warps=warps,
            seconds=time.monotonic() - start,
            error=f"{type(error).__name__}: {str(error)[-500:]}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--ops", required=True)
    parser.add_argument("--arch", type=int, required=True)
    arguments = parser.parse_args()
    start = time.monotonic()
    reader, writer = Channel.private_streams()
    triton.runtime.driver.set_active(StubDriver(arguments.arch))
    sys.path[:0] = [str(arguments.tree / "src"), str(arguments.tree)]
    module = kernel_module(arguments.ops)
    decoder = msgspec.json.Decoder(Launch)
    writer.write(msgspec.json.encode(Ready(pid=os.getpid(), seconds=time.monotonic() - start)) + b"\n")
    writer.flush()
    for line in reader:
        launch = decoder.decode(line)
        function = unwrapped(getattr(sys.modules.get(launch.module, module), launch.kernel))
        writer.write(msgspec.json.encode(cubin_facts(function, launch, arguments.arch)) + b"\n")
        writer.flush()


if __name__ == "__main__":
    main()
