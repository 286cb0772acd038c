"""The contract of ports.Lab and ports.Bench, on real processes and the simulated device."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import msgspec
import numpy as np
import pytest

from liger_perf.adapters import bench as bench_module
from liger_perf.adapters import lab as lab_module
from liger_perf.adapters.lab import ProcessLab
from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import Cell, Launch, PointRecord, SettingsCall
from liger_perf.model.measurements import CubinFacts, PassTimes
from liger_perf.model.options import DeviceKind
from liger_perf.ports import Lab
from support.example import RMS_NORM, all_gone, copy_example, processes_of

# A worker and its children live in sessions and are found in /proc.
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are watched through /proc")

OPS, BENCHMARK = RMS_NORM.ops, RMS_NORM.benchmark
NARROW = {"hidden_size": "320", "dtype": "torch.float32"}
SHORT = Cell(config=NARROW, xs=("64",))
WARPS_32 = {"_forward_settings": {"num_warps": 32}}
LAUNCH = "    _rms_norm_forward_kernel[(n_rows,)]("
TUNABLE = {
    "def rms_norm_forward(X, W, eps):": (
        "def _forward_settings(n_rows, n_cols, dtype, device):\n    return {}\n\n\ndef rms_norm_forward(X, W, eps):"
    ),
    LAUNCH: (
        '    num_warps = _forward_settings(n_rows, n_cols, X.dtype, X.device).get("num_warps", num_warps)\n' + LAUNCH
    ),
}
# What the compiling process meets in place of a kernel that LLVM aborts on.
ABORTS = """

class _Aborting:
    device_caches = {}
    fn = staticmethod(lambda: None)

    def run(self, **_):
        import os

        os.abort()


aborting = _Aborting()
"""


@dataclass
class Answers:
    """What one worker said at each point of one walk."""

    cells: tuple[Cell, ...]
    records: list[PointRecord] = field(default_factory=list)
    shipped: dict[str, PassTimes] = field(default_factory=dict)
    tuned: dict[str, PassTimes] = field(default_factory=dict)
    traced: dict[str, tuple[Launch, ...]] = field(default_factory=dict)
    traced_tuned: dict[str, tuple[Launch, ...]] = field(default_factory=dict)
    peaks: dict[str, tuple[int, int]] = field(default_factory=dict)
    refused: dict[str, WorkerError] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()

    def record(self, key: str) -> PointRecord:
        return next(record for record in self.records if record.point.key == key)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def lab(folder: Path) -> ProcessLab:
    return ProcessLab(DeviceKind.SIMULATED, folder / "state")


@pytest.fixture(scope="module")
def tunable(folder: Path) -> Path:
    return copy_example(folder / "tunable", {OPS: {**TUNABLE, "": ABORTS}})


@pytest.fixture(scope="module")
def answers(lab: ProcessLab, tunable: Path) -> Answers:
    """One worker, asked everything at every point: a start of a worker costs seconds."""
    found = Answers(
        cells=(
            Cell(),
            SHORT,
            Cell(xs=("3000", "many")),
            Cell(config={"hidden_size": "131072"}, xs=("64",)),
            Cell(config={"no_such_key": "1"}),
        )
    )
    with lab.open(tunable, RMS_NORM) as bench:
        for record in bench.walk(found.cells, ["backward", "forward"]):
            key = record.point.key
            found.records.append(record)
            if record.point.x not in ("64", "1024", "3000"):
                continue
            found.shipped[key] = bench.time(3)
            found.traced[key] = bench.trace()
            found.peaks[key] = (bench.peak_memory(), bench.peak_memory())
            if record.point.mode == "forward":
                found.traced_tuned[key] = bench.trace(WARPS_32)
                # 3 warps do not compile: only what is compiled can tell.
                found.traced_tuned[f"{key} 3"] = bench.trace({"_forward_settings": {"num_warps": 3}})
                with pytest.raises(WorkerError) as caught:
                    bench.time(1, {"_forward_settings": {"num_warps": 3}})
                found.refused[key] = caught.value
                found.tuned[key] = bench.time(1, WARPS_32)
        found.skipped = bench.skipped
    return found


@pytest.fixture
def left_nothing(tmp_path: Path) -> Iterator[None]:
    """After the test no process runs on any tree below tmp_path."""
    yield
    assert all(all_gone(tree) for tree in tmp_path.iterdir())


def test_describes_the_simulated_device(lab: ProcessLab) -> None:
    facts = lab.describe()
    assert facts.simulated
    assert "SIMULATED" in facts.name
    assert (facts.capability, facts.sm_count) == ((9, 0), 132)
    assert facts.copy_gbs > 1000
    assert lab.describe() is facts


def test_walk_keeps_the_order_of_the_script_and_its_own_points_only(answers: Answers) -> None:
    own = [record.point.key for record in answers.records if record.point.cell == Cell()]
    # The script times huggingface too, and `full`, which was not asked for.
    assert own == [
        f"speed/{mode}/liger T={x}" for mode in ("forward", "backward") for x in ("1024", "2048", "4096", "8192")
    ]
    assert all(record.own for record in answers.records)
    assert answers.records[0].function_classes == ("LigerRMSNormFunction",)


def test_cells_beyond_the_script_are_measured_under_their_own_names(answers: Answers) -> None:
    record = answers.record("speed/forward/liger T=64 [dtype=float32,hidden_size=320]")
    assert record.point.config == {"hidden_size": "320", "dtype": "torch.float32", "eps": "1e-06"}
    x = next(argument.tensor for argument in record.own[0].arguments if argument.name == "X_ptr")
    assert x is not None
    assert (x.shape, x.dtype) == ((64, 320), "float32")
    assert record.own[0].value("n_cols") == 320
    assert record.own[0].grid == (64,)
    assert answers.record("speed/backward/liger T=3000").own[0].value("n_rows") == 3000


def test_what_the_script_refuses_is_skipped_and_named(answers: Answers) -> None:
    assert all(record.point.cell in answers.cells[:3] for record in answers.records)
    assert [text.partition(":")[0] for text in answers.skipped] == [
        "T=many",
        "speed/forward/liger T=64 [hidden_size=131072]",
        "speed/backward/liger T=64 [hidden_size=131072]",
        "[no_such_key=1]",
    ]
    assert "does not fit in one block" in answers.skipped[1]


def test_arguments_alias_and_settings_calls_are_recorded(answers: Answers) -> None:
    backward = {argument.name: argument for argument in answers.record("speed/backward/liger T=1024").own[0].arguments}
    assert backward["dX_ptr"].tensor == backward["dY_ptr"].tensor  # in place
    assert backward["X_ptr"].tensor != backward["dY_ptr"].tensor
    assert backward["BLOCK_SIZE"].constexpr
    assert not backward["n_cols"].constexpr
    forward = answers.record("speed/forward/liger T=1024")
    assert forward.settings_calls == (
        SettingsCall(
            function="_forward_settings", shape={"n_rows": 1024, "n_cols": 4096}, dtype="bfloat16", itemsize=2
        ),
    )


def test_times_as_often_as_asked(answers: Answers) -> None:
    for key, times in answers.shipped.items():
        assert len(times.samples) == 3
        assert all(0 < sample.device_us <= sample.wall_us for sample in times.samples), key
        assert sum(times.by_kernel.values()) == pytest.approx(times.samples[0].device_us)
    assert "_rms_norm_forward_kernel" in answers.shipped["speed/forward/liger T=1024"].by_kernel


def test_more_rows_take_longer(answers: Answers) -> None:
    times = [answers.shipped[f"speed/forward/liger T={x}"].samples[0].device_us for x in ("1024", "3000")]
    assert times[0] < times[1]


def test_settings_stand_in_for_the_shipped_ones(answers: Answers) -> None:
    key = "speed/forward/liger T=1024"
    assert [launch.options["num_warps"] for launch in answers.traced[key]] == [8]
    assert [launch.options["num_warps"] for launch in answers.traced_tuned[key]] == [32]
    assert answers.tuned[key].samples[0].device_us != answers.shipped[key].samples[0].device_us


def test_trace_is_what_was_launched_and_compiles_nothing(answers: Answers) -> None:
    for key, traced in answers.traced.items():
        assert traced == answers.record(key).launches
    assert answers.traced_tuned["speed/forward/liger T=1024 3"][0].options["num_warps"] == 3


def test_a_candidate_that_fails_costs_only_itself(answers: Answers) -> None:
    assert "power of 2" in answers.refused["speed/forward/liger T=1024"].what
    assert answers.tuned.keys() == answers.refused.keys()  # timed after the failure, by the same worker


def test_peak_memory_of_one_run(answers: Answers) -> None:
    first, again = answers.peaks["speed/forward/liger T=1024"]
    rows, weight, rstd = 1024 * 4096 * 2, 4096 * 2, 1024 * 4
    assert first == again == rows + weight + rows + rstd  # inputs, output, and what is saved for the backward pass


@pytest.fixture(scope="module")
def compiled(lab: ProcessLab, tunable: Path, answers: Answers) -> dict[str, CubinFacts]:
    shipped = answers.record("speed/forward/liger T=64 [dtype=float32,hidden_size=320]").own[0]
    launches = {
        "aborting": msgspec.structs.replace(shipped, kernel="aborting"),
        "shipped": shipped,
        "16 warps": msgspec.structs.replace(shipped, options={"num_warps": 16}),
        "again": shipped,
        "3 warps": msgspec.structs.replace(shipped, options={"num_warps": 3}),
        "other grid": msgspec.structs.replace(shipped, grid=(7,)),
    }
    return dict(zip(launches, lab.compile(tunable, RMS_NORM, list(launches.values()), 90), strict=True))


def test_compile_facts(compiled: dict[str, CubinFacts]) -> None:
    shipped, other, failed = (compiled[name] for name in ("shipped", "16 warps", "3 warps"))
    assert compiled["again"] == shipped
    assert compiled["other grid"].digest == shipped.digest != other.digest
    assert (shipped.kernel, shipped.arch, other.num_warps) == ("_rms_norm_forward_kernel", 90, 16)
    assert (shipped.error, shipped.spill_bytes) == ("", 0)
    assert shipped.registers > 0
    assert "power of 2" in failed.error
    assert not failed.digest


def test_launch_that_takes_the_compiler_down_is_a_fact(compiled: dict[str, CubinFacts]) -> None:
    crash = compiled["aborting"]
    assert (crash.kernel, crash.arch, crash.digest) == ("aborting", 90, "")
    assert "exit 134" in crash.error


def test_nothing_to_compile(lab: Lab, tunable: Path) -> None:
    assert lab.compile(tunable, RMS_NORM, [], 90) == []


@pytest.mark.usefixtures("left_nothing")
def test_a_file_that_cannot_be_imported_is_an_error_for_everyone(lab: Lab, tmp_path: Path, answers: Answers) -> None:
    tree = copy_example(tmp_path / "tree", {OPS: {"": "\nraise ValueError('not today')\n"}})
    with pytest.raises(WorkerError, match="could not start") as caught:
        lab.compile(tree, RMS_NORM, [answers.records[0].own[0]], 90)
    assert "not today" in caught.value.details
    with lab.open(tree, RMS_NORM) as bench, pytest.raises(WorkerError, match="not today"):
        list(bench.walk())


def record_values(lab: Lab, tree: Path, file: Path, seed: int = 0) -> dict[str, np.ndarray]:
    with lab.open(tree, RMS_NORM, seed=seed, values=True) as bench:
        assert next(iter(bench.walk([SHORT], ["backward"]))).point.mode == "backward"
        recorded = bench.record(file, rows=3, settings=WARPS_32)
        with pytest.raises(WorkerError, match="no attribute 'float31'"):
            bench.record(file, dtype="float31")
    with np.load(file) as arrays:
        assert (tuple(arrays), recorded.asked) == (recorded.names, ("_forward_settings",))
        return dict(arrays)


@pytest.mark.skipif(
    tuple(map(int, version("triton").split(".")[:2])) < (3, 7),
    reason="the interpreter of Triton 3.6 cannot run a loop whose bounds the kernel computes",
)
def test_recorded_values_tell_a_wrong_kernel(lab: Lab, tunable: Path, tmp_path: Path) -> None:
    edits = {**TUNABLE, "X_row * rstd * W_row, mask": "X_row * rstd * W_row * 1.01, mask"}
    wrong = copy_example(tmp_path / "wrong", {OPS: edits})
    original = record_values(lab, tunable, tmp_path / "a.npz")
    again = record_values(lab, tunable, tmp_path / "b.npz", seed=1)
    other = record_values(lab, wrong, tmp_path / "c.npz")
    output, *gradients, x = (
        f"0.LigerRMSNormFunction.{name}:float32" for name in ("output0", "grad0", "grad1", "input0")
    )
    assert {output, *gradients, x} <= set(original)
    assert original[output].shape == (3, 320)
    assert np.isfinite(original[gradients[0]]).all()
    # The walk's seed is another one, the inputs of record are those of its own seed.
    assert all(np.array_equal(original[key], again[key]) for key in original)
    assert np.allclose(other[output], 1.01 * original[output], rtol=1e-5)
    assert np.array_equal(other[gradients[1]], original[gradients[1]])


@pytest.mark.usefixtures("left_nothing")
def test_benchmark_runs_the_whole_script(lab: ProcessLab, tmp_path: Path) -> None:
    before = lab.device_seconds
    run = lab.benchmark(copy_example(tmp_path / "tree"), RMS_NORM)
    assert {row.gpu_name for row in run.rows} == {"SIMULATED NVIDIA H200"}
    assert {row.metric_name for row in run.rows} == {"speed", "memory"}
    assert {row.kernel_provider for row in run.rows} == {"liger", "huggingface"}
    assert len(run.rows) == 2 * 4 * (3 + 1)
    assert all(row.y_value_50 > 0 for row in run.rows)
    assert lab.device_seconds - before >= run.seconds > 0


@pytest.mark.usefixtures("left_nothing")
def test_crash_of_the_benchmark_script_shows_its_last_lines(lab: Lab, tmp_path: Path) -> None:
    crash = {"device = infer_device()": "device = infer_device()\nprint('so far so good')\nraise KeyError('lost')"}
    tree = copy_example(tmp_path / "tree", {BENCHMARK: crash})
    with pytest.raises(WorkerError, match="exit 1") as caught:
        lab.benchmark(tree, RMS_NORM)
    assert "so far so good" in caught.value.details
    assert caught.value.details.endswith("KeyError: 'lost'")
    with lab.open(tree, RMS_NORM) as bench, pytest.raises(WorkerError, match="KeyError: 'lost'") as caught:
        list(bench.walk())
    assert "in <module>" in caught.value.details


@pytest.mark.usefixtures("left_nothing")
def test_killed_worker_is_an_error_and_not_a_wait(lab: Lab, tmp_path: Path) -> None:
    # The target's own child holds the worker's end of the pipe open, so the end of the pipe alone would not tell.
    child = "import os, time\nif os.fork() == 0:\n    time.sleep(600)\n\n\n"
    tree = copy_example(tmp_path / "tree", {OPS: {"def rms_norm_forward(": f"{child}def rms_norm_forward("}})
    with lab.open(tree, RMS_NORM) as bench:
        next(iter(bench.walk([SHORT], ["forward"])))
        workers = sorted(pid for pid, words in processes_of(tree).items() if "launcher.py" not in words)
        assert len(workers) == 2
        started = time.monotonic()
        os.kill(workers[0], signal.SIGKILL)
        with pytest.raises(WorkerError, match="exit 137"):
            bench.time(1)
        assert time.monotonic() - started < 10
        with pytest.raises(WorkerError):
            bench.peak_memory()
        assert all_gone(tree)


@pytest.mark.usefixtures("left_nothing")
def test_hanging_worker_is_killed_with_its_children(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hang = (
        "def rms_norm_forward(X, W, eps):\n"
        "    import os, subprocess, sys, time\n\n"
        "    if os.path.exists('hang'):\n"
        "        subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', os.getcwd()])\n"
        "        print('about to hang')\n"
        "        time.sleep(600)\n"
    )
    tree = copy_example(tmp_path / "tree", {OPS: {"def rms_norm_forward(X, W, eps):\n": hang}})
    monkeypatch.setattr(bench_module, "TIME_TIMEOUT_S", 1)
    with lab.open(tree, RMS_NORM) as bench:
        next(iter(bench.walk([SHORT], ["forward"])))
        (tree / "hang").touch()
        with pytest.raises(WorkerError, match="within 1 s and was killed") as caught:
            bench.time(1)
        assert caught.value.details == "about to hang"
        assert all_gone(tree)


@pytest.mark.usefixtures("left_nothing")
def test_hanging_benchmark_is_killed(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = copy_example(tmp_path / "tree", {BENCHMARK: {"": "\nimport time\ntime.sleep(600)\n"}})
    monkeypatch.setattr(lab_module, "BENCHMARK_TIMEOUT_S", 1)
    with pytest.raises(WorkerError, match="within 1 s"):
        lab.benchmark(tree, RMS_NORM)


@pytest.mark.usefixtures("left_nothing")
def test_prints_break_nothing_and_no_token_is_seen(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = (
        "    import os\n    import sys\n"
        "    for _ in range(300):\n        print('{}' * 500)\n        os.write(1, b'not json\\n')\n"
        "    os.system('echo from a child')\n"
        "    assert sys.stdin.read() == ''\n"
    )
    dump = (
        "import json\nimport os\nimport pathlib\n\n"
        "pathlib.Path(__file__).with_name('seen.json').write_text(json.dumps(dict(os.environ)))\n"
    )
    forward = "    BLOCK_SIZE, num_warps = calculate_settings(n_cols)\n"
    tree = copy_example(tmp_path / "tree", {OPS: {forward: noise + forward, "": dump}})
    for name in ("GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "HF_TOKEN"):
        monkeypatch.setenv(name, "secret")
    with lab.open(tree, RMS_NORM) as bench:
        points = [(record.point.key, len(bench.time(2).samples)) for record in bench.walk([SHORT], ["forward"])]
    assert points == [("speed/forward/liger T=64 [dtype=float32,hidden_size=320]", 2)]
    seen = json.loads((tree / OPS).with_name("seen.json").read_text())
    assert "secret" not in seen.values()
    assert not any("TOKEN" in name for name in seen)


def test_bench_can_be_closed_twice_and_then_answers_no_more(lab: Lab, tunable: Path) -> None:
    with lab.open(tunable, RMS_NORM) as bench:
        assert isinstance(bench, bench_module.WorkerProcess)
    bench.close()
    for call in (bench.wait_ready, bench.peak_memory, lambda: list(bench.walk())):
        with pytest.raises(WorkerError, match="closed"):
            call()


@pytest.mark.usefixtures("left_nothing")
def test_workers_die_with_the_control_process(tmp_path: Path) -> None:
    tree = copy_example(tmp_path / "tree")
    program = (
        "import sys, time; from pathlib import Path\n"
        "from support.example import RMS_NORM\n"
        "from liger_perf.adapters.lab import ProcessLab\n"
        "from liger_perf.model.launches import Cell\n"
        "from liger_perf.model.options import DeviceKind\n"
        "lab = ProcessLab(DeviceKind.SIMULATED, Path(sys.argv[1]))\n"
        "with lab.open(Path(sys.argv[2]), RMS_NORM) as bench:\n"
        "    next(iter(bench.walk([Cell(xs=('64',))], ['forward'])))\n"
        "    bench.time(1)\n"
        "    print('timed', flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "state"), str(tree)]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, env=paths, stdout=subprocess.PIPE) as control:
        assert control.stdout is not None
        assert control.stdout.readline() == b"timed\n"
        words = " ".join(text for pid, text in processes_of(tree).items() if pid != control.pid)
        assert "launcher.py" in words
        assert "gpu.worker" in words
        assert "simulated.sampler" in words  # a child of the worker, in its process group
        control.send_signal(signal.SIGKILL)
    assert all_gone(tree)
