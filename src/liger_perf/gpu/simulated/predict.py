"""Predicts a launch: compiles it, samples what it moves, asks the model. Remembers both on disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import torch

from liger_perf.gpu.compile_server import compile_launch, resource_usage
from liger_perf.gpu.simulated.model import H200, Work, launch_us
from liger_perf.gpu.simulated.traffic import Traffic
from liger_perf.model.launches import Launch


class Sampler:
    """The sampling process, started at the first launch that is not remembered."""

    def __init__(self, tree: str, ops: str) -> None:
        self._command = [sys.executable, "-m", "liger_perf.gpu.simulated.sampler", "--tree", tree, "--ops", ops]
        self._process: subprocess.Popen[bytes] | None = None
        self._cache = Path(os.environ.get("TRITON_CACHE_DIR", "/tmp")) / "traffic"
        self._file = Path(tree) / ops

    def sample(self, launch: Launch) -> Traffic:
        """What an average program of the launch moves. Options do not matter to that, nor does the loop's depth.

        Where the sampling process cannot tell, the answer holds an error.
        """
        shape = msgspec.structs.replace(launch, options={}, own=True)
        digest = hashlib.sha256(self._file.read_bytes() + msgspec.json.encode(shape)).hexdigest()
        file = self._cache / f"{digest}.json"
        if file.exists():
            return msgspec.json.decode(file.read_bytes(), type=Traffic)
        line = self._ask(launch)
        if not line:
            # Not remembered: it may have been killed for want of memory, not by this launch.
            return Traffic(loaded_bytes=0, stored_bytes=0, dram_bytes=0, rounds=0, error="the sampling process ended")
        traffic = msgspec.json.decode(line, type=Traffic)
        self._cache.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_bytes(msgspec.json.encode(traffic))
        partial.rename(file)
        return traffic

    def _ask(self, launch: Launch) -> bytes:
        """The process's answer, or nothing where it ended: the next launch gets a new one."""
        if self._process is None:
            environment = {**os.environ, "TRITON_INTERPRET": "1"}
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
            )
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        line = b""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(msgspec.json.encode(launch) + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line.endswith(b"\n"):
            process.kill()
            with contextlib.suppress(BrokenPipeError):
                process.communicate()
            self._process = None
            return b""
        return line


class Predictor:
    """Device time of launches by the model, remembered within the process."""

    def __init__(self, tree: str, ops: str) -> None:
        self._sampler = Sampler(tree, ops)
        self._known: dict[bytes, float] = {}

    def launch_us(self, function: Any, launch: Launch) -> float:
        """Predicted µs. Raises what the compiler raises, and MemoryError where shared memory does not suffice, since a
        real launch would fail there too."""
        key = msgspec.json.encode(launch)
        if key not in self._known:
            self._known[key] = launch_us(H200, self._work(function, launch))
        return self._known[key]

    def work(self, function: Any, launch: Launch) -> Work:
        """What the model is asked about."""
        return self._work(function, launch)

    def _work(self, function: Any, launch: Launch) -> Work:
        compiled = compile_launch(function, launch)
        shared = int(compiled.metadata.shared)
        if shared > H200.shared_memory_bytes:
            raise MemoryError(
                f"out of resource: shared memory, {shared} B needed, {H200.shared_memory_bytes} B allowed"
            )
        registers, stack = resource_usage(compiled.asm["cubin"])
        traffic = self._sampler.sample(launch)
        if traffic.error:
            traffic = by_tensor_sizes(launch)
        ptx = compiled.asm["ptx"]
        in_flight = shared / max(1.0, traffic.loaded_bytes / max(1.0, traffic.rounds))
        programs = 1
        for extent in launch.grid:
            programs *= extent
        return Work(
            programs=programs,
            loaded_bytes=traffic.loaded_bytes,
            stored_bytes=traffic.stored_bytes,
            dram_bytes=traffic.dram_bytes,
            rounds=traffic.rounds,
            warps=int(compiled.metadata.num_warps),
            registers=registers,
            spill_bytes=stack,
            shared_bytes=shared,
            stages=1 + round(in_flight) if "cp.async" in ptx else 1,
            instructions=ptx.count(";"),
        )


def by_tensor_sizes(launch: Launch) -> Traffic:
    """Where a program cannot be interpreted: each tensor moved once, spread over the programs, in one trip."""
    programs = max(1, int(torch.tensor(launch.grid).prod()))
    total = sum(argument.tensor.nbytes for argument in launch.arguments if argument.tensor is not None)
    return Traffic(loaded_bytes=total / programs, stored_bytes=0, dram_bytes=total / programs, rounds=1)
