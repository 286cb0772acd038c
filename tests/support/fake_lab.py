"""A lab without processes: scripted device, launches, tests and style."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from liger_perf.adapters.process import CommandResult
from liger_perf.model.errors import UsageError, WorkerError
from liger_perf.model.launches import Cell, Launch, Point, PointRecord
from liger_perf.model.measurements import BenchmarkRow, BenchmarkRun, CubinFacts, DeviceFacts, PassSample, PassTimes
from liger_perf.model.options import DeviceKind, KernelPaths
from liger_perf.model.protocol import Recorded, Settings
from liger_perf.ports import Bench, ScriptResult

PNG = b"\x89PNG\r\n\x1a\n drawn"
DEVICE = DeviceFacts(
    kind=DeviceKind.SIMULATED,
    name="Fake GPU",
    capability=(9, 0),
    sm_count=132,
    memory_bytes=1 << 37,
    shared_memory_bytes=232448,
    copy_gbs=4000.0,
    torch="2.9",
    triton="3.5",
)


def row(provider: str, mode: str, y: float, metric: str = "speed", unit: str = "ms") -> BenchmarkRow:
    return BenchmarkRow(
        kernel_name="rms_norm",
        kernel_provider=provider,
        kernel_operation_mode=mode,
        metric_name=metric,
        metric_unit=unit,
        x_name="H",
        x_label="hidden size",
        x_value="1024",
        y_value_50=y,
        y_value_20=float("nan"),
        y_value_80=y,
        extra_benchmark_config_str="{}",
        gpu_name="Fake GPU",
        timestamp="2030-01-01 00:00:00",
        liger_version="0",
    )


ROWS = (row("liger", "forward", 1.0), row("huggingface", "forward", 2.0), row("liger", "full", 64.0, "memory", "MB"))


def record(own: bool) -> PointRecord:
    launch = Launch(kernel="_k", module="m", own=own, grid=(1,), arguments=(), options={})
    point = Point(metric="speed", mode="forward", provider="liger", x_name="H", x="1024", config={})
    return PointRecord(point=point, launches=(launch,))


class FakeBench:
    def __init__(self, records: Sequence[PointRecord], crash: str) -> None:
        self._records = records
        self._crash = crash
        self.skipped: tuple[str, ...] = ()

    def walk(self, cells: Sequence[Cell] = (Cell(),), modes: Sequence[str] = ()) -> Iterator[PointRecord]:
        if self._crash:
            raise WorkerError("the benchmark script crashed", details=self._crash)
        yield from self._records

    def time(self, runs: int, settings: Settings | None = None, warmup: int = 1) -> PassTimes:
        return PassTimes(samples=tuple(PassSample(1.0, 2.0) for _ in range(runs)))

    def peak_memory(self) -> int:
        return 1

    def trace(self, settings: Settings | None = None) -> tuple[Launch, ...]:
        return ()

    def record(
        self, path: Path, *, dtype: str = "float32", rows: int = 0, seed: int = 0, settings: Settings | None = None
    ) -> Recorded:
        return Recorded(names=())


@dataclass
class FakeLab:
    """Implements ports.Lab. Tests set the fields; `commands` holds what was run.

    A kernel's file that contains BROKEN fails its tests; one that contains UGLY is dirty until ruff formats it, which
    replaces the word by PRETTY; `dirty_rest` keeps `make checkstyle` failing for other files.
    """

    device: DeviceFacts = DEVICE
    absent: bool = False
    records: tuple[PointRecord, ...] = (record(own=True),)
    crash: str = ""
    importable: bool = True
    passed: int = 3
    skipped: int = 0
    failed: int = 0
    tools: frozenset[str] = frozenset({"make", "ruff"})
    dirty_rest: bool = False
    plots: bool = True
    commands: list[tuple[str, ...]] = field(default_factory=list)
    device_seconds: float = 0.0

    def describe(self) -> DeviceFacts:
        if self.absent:
            raise UsageError("no NVIDIA GPU was found", todo="use --device simulated")
        return self.device

    def benchmark(self, tree: Path, paths: KernelPaths) -> BenchmarkRun:
        if self.crash:
            raise WorkerError("the benchmark script crashed", details=self.crash)
        return BenchmarkRun(rows=ROWS, seconds=1.0, own_providers=("liger",))

    @contextmanager
    def open(self, tree: Path, paths: KernelPaths, *, seed: int = 0, values: bool = False) -> Iterator[Bench]:
        yield FakeBench(self.records, self.crash)

    def compile(self, tree: Path, paths: KernelPaths, launches: Sequence[Launch], arch: int) -> list[CubinFacts]:
        return []

    def run(self, tree: Path, command: Sequence[str], *, timeout_s: float) -> ScriptResult:
        self.commands.append(tuple(command))
        code, output = self._run(tree, list(command))
        return CommandResult(returncode=code, output=output, seconds=0.1)

    def _run(self, tree: Path, command: list[str]) -> tuple[int, str]:
        if "--version" in command:
            return (0, "") if command[0] in self.tools else (127, "not found")
        if "pytest" in command:
            return self._pytest(tree, command)
        if command[:2] == ["python", "-c"]:
            return (0, "") if self.importable else (1, "PackageNotFoundError: liger-kernel")
        if command[0] == "make":
            return (1, "would reformat") if self.dirty_rest or "UGLY" in _sources(tree) else (0, "")
        if command[:2] == ["ruff", "format"] and "--check" not in command:
            path = tree / command[-1]
            path.write_text(path.read_text().replace("UGLY", "PRETTY"))
        if command[0] == "ruff":
            return (1, "") if "--check" in command and "UGLY" in _sources(tree) else (0, "")
        return self._draw(tree)

    def _pytest(self, tree: Path, command: list[str]) -> tuple[int, str]:
        failed = 1 if "BROKEN" in _sources(tree) else self.failed
        junit = next(part.removeprefix("--junitxml=") for part in command if part.startswith("--junitxml="))
        total = self.passed + failed + self.skipped
        (tree / junit).write_text(
            f'<testsuites><testsuite tests="{total}" failures="{failed}" errors="0" skipped="{self.skipped}"/>'
            "</testsuites>"
        )
        return (1, "E assert torch.allclose") if failed else (0, "passed")

    def _draw(self, tree: Path) -> tuple[int, str]:
        if not self.plots:
            return 1, "Traceback\nModuleNotFoundError: No module named 'seaborn'"
        folder = tree / "benchmark/visualizations"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "drawn.png").write_bytes(PNG)
        return 0, ""


def _sources(tree: Path) -> str:
    return (tree / "src/liger_kernel/ops/rms_norm.py").read_text()
