"""The device and the processes on it: implements ports.Lab for a real GPU and for the simulated device."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

import liger_perf
from liger_perf.adapters.bench import WorkerProcess
from liger_perf.adapters.compilers import compile_all
from liger_perf.adapters.process import CommandResult, last_lines, run_command, worker_environment
from liger_perf.measure.benchmark import new_rows, parse_rows
from liger_perf.model.errors import UsageError, WorkerError
from liger_perf.model.launches import Launch
from liger_perf.model.measurements import BenchmarkRun, CubinFacts, DeviceFacts
from liger_perf.model.options import DeviceKind, KernelPaths
from liger_perf.ports import Bench

DESCRIBE_TIMEOUT_S = 300.0
BENCHMARK_TIMEOUT_S = 3600.0
NO_DEVICE = 3
DATA = "benchmark/data/all_benchmark_data.csv"


class ProcessLab:
    """Starts worker processes under `state`, each with an environment built from nothing."""

    def __init__(self, kind: DeviceKind, state: Path, *, python: str = sys.executable) -> None:
        self._kind = kind
        self._cache = state / "cache" / kind.value
        self._python = python
        self._facts: DeviceFacts | None = None
        self._seconds = 0.0
        self._holders = 0
        self._since = 0.0

    @property
    def device_seconds(self) -> float:
        return self._seconds

    def describe(self) -> DeviceFacts:
        if self._facts is None:
            command = [self._python, "-m", "liger_perf.gpu.describe", "--device", self._kind.value]
            result = run_command(command, Path("/"), self._environment(Path("/")), DESCRIBE_TIMEOUT_S)
            if result.returncode == NO_DEVICE:
                raise UsageError("no NVIDIA GPU that torch can use; --device simulated needs none")
            if result.returncode != 0:
                raise UsageError(
                    "the device cannot be asked: torch and triton must be installed beside liger-perf",
                    where=self._python,
                    todo='install them, for example with pip install "liger-perf[gpu]"',
                    details=last_lines(result.output),
                )
            self._facts = msgspec.json.decode(result.output.splitlines()[-1], type=DeviceFacts)
        return self._facts

    def benchmark(self, tree: Path, paths: KernelPaths) -> BenchmarkRun:
        data = tree / DATA
        before = parse_rows(data.read_text()) if data.exists() else ()
        command = [self._python, paths.benchmark, "--overwrite"]
        if self._kind is DeviceKind.SIMULATED:
            module = ["-m", "liger_perf.gpu.simulated.script", "--tree", str(tree), "--ops", paths.ops]
            command = [self._python, *module, paths.benchmark, "--overwrite"]
        with self._held():
            result = run_command(command, tree, self._environment(tree), BENCHMARK_TIMEOUT_S)
        if result.returncode != 0:
            raise WorkerError(
                f"the benchmark script failed with exit {result.returncode}",
                where=paths.benchmark,
                todo="make the script run on this machine by itself first",
                details=last_lines(result.output),
            )
        if not data.exists():
            raise WorkerError("the benchmark script wrote no results", where=DATA, details=last_lines(result.output))
        rows = new_rows(before, parse_rows(data.read_text()))
        if not rows:
            raise WorkerError(
                "the benchmark script ended well but added no rows", where=DATA, details=last_lines(result.output)
            )
        return BenchmarkRun(rows=rows, seconds=result.seconds)

    @contextmanager
    def open(self, tree: Path, paths: KernelPaths, *, seed: int = 0, values: bool = False) -> Iterator[Bench]:
        arguments = ["--tree", str(tree), "--ops", paths.ops, "--benchmark", paths.benchmark, "--seed", str(seed)]
        argv = [self._python, "-m", "liger_perf.gpu.worker", *arguments, "--device", self._kind.value]
        worker = WorkerProcess(argv, tree, self._environment(tree, interpret=values))
        with self._held():
            try:
                yield worker
            finally:
                worker.close()

    def compile(self, tree: Path, paths: KernelPaths, launches: Sequence[Launch], arch: int) -> list[CubinFacts]:
        argv = [self._python, "-m", "liger_perf.gpu.compile_server", "--tree", str(tree), "--ops", paths.ops]
        environment = {**self._environment(tree), "CUDA_VISIBLE_DEVICES": ""}
        return compile_all(argv, tree, environment, launches, arch)

    def run(self, tree: Path, command: Sequence[str], *, timeout_s: float) -> CommandResult:
        with self._held():
            return run_command(command, tree, self._environment(tree, interpret=True), timeout_s)

    def _environment(self, tree: Path, *, interpret: bool = False) -> dict[str, str]:
        # Unbuffered: else what a crashed script printed follows its traceback and pushes it out of the last lines.
        extra = {"TRITON_DEFAULT_FP_FUSION": "1", "PYTHONUNBUFFERED": "1"}
        if interpret and self._kind is DeviceKind.SIMULATED:
            extra["TRITON_INTERPRET"] = "1"
        environment = worker_environment(tree, self._cache, extra, python=self._python)
        # The worker is our own code beside the target's: it must be found also where it is not installed.
        ours = dict.fromkeys(str(Path(str(module.__file__)).parents[1]) for module in (liger_perf, msgspec))
        environment["PYTHONPATH"] = os.pathsep.join([environment["PYTHONPATH"], *ours])
        return environment

    @contextmanager
    def _held(self) -> Iterator[None]:
        # Workers that hold the device together, such as the judge's three, hold it once.
        if self._holders == 0:
            self._since = time.monotonic()
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            if self._holders == 0:
                self._seconds += time.monotonic() - self._since
