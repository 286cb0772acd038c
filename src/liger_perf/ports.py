"""What the stages need of the world. Adapters implement these; the stages never see more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from liger_perf.model.launches import Cell, Launch, PointRecord
from liger_perf.model.measurements import BenchmarkRun, CubinFacts, DeviceFacts, PassTimes
from liger_perf.model.options import KernelPaths
from liger_perf.model.protocol import Recorded, Settings


class Bench(Protocol):
    """A resident worker: it has imported one tree and stops where the benchmark script measures.

    Every method raises WorkerError when the worker crashed, hung or was refused by the device; after that the bench
    is closed and a new one must be opened.
    """

    def wait_ready(self) -> None:
        """Wait until the worker has imported the target; the first command waits anyway."""
        ...

    @property
    def alive(self) -> bool:
        """Whether the worker can still be asked something."""
        ...

    def walk(self, cells: Sequence[Cell] = (Cell(),), modes: Sequence[str] = ()) -> Iterator[PointRecord]:
        """Yield the points beneath which the kernel's own file launches; the worker waits at each."""
        ...

    @property
    def skipped(self) -> tuple[str, ...]:
        """Points of cells beyond the script's own that the last whole walk left out, each with the script's reason."""
        ...

    def time(self, runs: int, settings: Settings | None = None, warmup: int = 1) -> PassTimes:
        """Time the pass at the current point; `settings` replace what the generated settings functions answer."""
        ...

    def peak_memory(self) -> int:
        """Bytes allocated at the peak of one run at the current point, inputs included."""
        ...

    def trace(self, settings: Settings | None = None) -> tuple[Launch, ...]:
        """The launches that the pass would make at the current point; none is made and nothing is compiled."""
        ...

    def record(
        self, path: Path, *, dtype: str = "float32", rows: int = 0, seed: int = 0, settings: Settings | None = None
    ) -> Recorded:
        """Write outputs and gradients of the point's autograd functions to `path` (npz of float64 arrays)."""
        ...


class ScriptResult(Protocol):
    """A finished command in a tree."""

    @property
    def returncode(self) -> int: ...
    @property
    def output(self) -> str: ...
    @property
    def seconds(self) -> float: ...


class Lab(Protocol):
    """A device and the processes that run the target repository's code on it."""

    def describe(self) -> DeviceFacts:
        """The device, its copy bandwidth measured once. Raises UsageError where there is none."""
        ...

    def benchmark(self, tree: Path, paths: KernelPaths) -> BenchmarkRun:
        """Run the repository's own benchmark script, unmodified and whole. Raises WorkerError with its last lines."""
        ...

    def open(
        self, tree: Path, paths: KernelPaths, *, seed: int = 0, values: bool = False
    ) -> AbstractContextManager[Bench]:
        """Start a resident worker on `tree`; it is killed when the context ends. `values`: for `record`, which the
        simulated device serves by interpreting; there such a worker tells no times."""
        ...

    def compile(self, tree: Path, paths: KernelPaths, launches: Sequence[Launch], arch: int) -> list[CubinFacts]:
        """Compile each launch for `sm_<arch>` in parallel processes without a GPU; fills the compilation cache."""
        ...

    def run(self, tree: Path, command: Sequence[str], *, timeout_s: float) -> ScriptResult:
        """Run a command in a tree as the workers run: scrubbed environment, the tree on PYTHONPATH."""
        ...

    @property
    def device_seconds(self) -> float:
        """Seconds that workers have held the device so far."""
        ...


class Progress(Protocol):
    """Where a person watches: a terminal, a status comment."""

    def stage(self, name: str, detail: str = "") -> None:
        """A stage or a step of it begins."""
        ...

    def note(self, text: str) -> None:
        """Something worth a line."""
        ...


class Trees(Protocol):
    """Disposable trees, copies of the checkout as it was at the start. No candidate is ever written elsewhere."""

    def export(self, label: str) -> Path:
        """A fresh tree of its own."""
        ...

    def replace(self, tree: Path, path: str, text: str) -> None:
        """Replace a regular file of the tree. Raises UsageError where it is none."""
        ...

    def remove(self, tree: Path) -> None:
        """Remove a tree that `export` gave."""
        ...


class Workspace(Protocol):
    """`optimization/<kernel>/`. Files are whole or absent; once recorded, a file never changes."""

    @property
    def root(self) -> Path: ...

    def write(self, path: str, content: str | bytes) -> Path:
        """Write a file; it counts with the next variant or stage that is recorded.

        Raises LigerPerfError where the file is recorded already or the path leaves the workspace.
        """
        ...

    def read(self, path: str) -> bytes:
        """Read a file. Raises LigerPerfError where there is none."""
        ...
