"""Bad input through the real command line: what a person reads, word for word, and that nothing was started."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from liger_perf.adapters.probe import has_nvidia_device
from liger_perf.adapters.sessions import Sessions
from liger_perf.adapters.tree import digest
from liger_perf.cli import call
from support.command import liger_perf_command
from support.example import RMS_NORM, copy_example
from support.fake_stages import FakeStages, wiring

RMS = ("run", "rms_norm", "--device", "simulated")
CASES = {
    "unknown kernel, near names": (
        ("run", "rmsnorm", "--device", "simulated"),
        "error: kernel 'rmsnorm' has no kernel file\n"
        "  where: src/liger_kernel/ops/rmsnorm.py\n"
        "  to do: did you mean rms_norm?\n"
        "  | kernels with all three files: cross_entropy, rms_norm, swiglu\n",
    ),
    "unknown kernel, no near name": (
        ("run", "flash", "--device", "simulated"),
        "error: kernel 'flash' has no kernel file\n"
        "  where: src/liger_kernel/ops/flash.py\n"
        "  to do: choose one of the kernels below\n"
        "  | kernels with all three files: cross_entropy, rms_norm, swiglu\n",
    ),
    "a path for a kernel": (
        ("run", "../ops/rms_norm", "--device", "simulated"),
        "error: kernel '../ops/rms_norm' has no kernel file\n"
        "  where: src/liger_kernel/ops/../ops/rms_norm.py\n"
        "  to do: did you mean rms_norm?\n"
        "  | kernels with all three files: cross_entropy, rms_norm, swiglu\n",
    ),
    "goal": (
        (*RMS, "--goal", "fast"),
        "error: Invalid value for '--goal': 'fast' is not one of 'speed', 'memory', 'balanced' — see `liger-perf "
        "run --help`\n",
    ),
    "no variants": (
        (*RMS, "--variants", "0"),
        "error: Invalid value for '--variants': read '0', allowed: a whole number from 1 to 64 — see `liger-perf "
        "run --help`\n",
    ),
    "less than no variants": (
        (*RMS, "--variants", "-1"),
        "error: Invalid value for '--variants': read '-1', allowed: a whole number from 1 to 64 — see `liger-perf "
        "run --help`\n",
    ),
    "variants in words": (
        (*RMS, "--variants", "x"),
        "error: Invalid value for '--variants': read 'x', allowed: a whole number from 1 to 64 — see `liger-perf "
        "run --help`\n",
    ),
    "target": (
        (*RMS, "--target", "sometime soon"),
        "error: The target 'sometime soon' cannot be read.\n"
        "  where: target\n"
        "  to do: Allowed: forward, backward, full or memory, then under, below or at most, a number with ns, us, ms, "
        's, KB, MB or GB, and if wanted "at <x name>=<value>". Examples: "forward under 0.3ms at hidden_size=4096", '
        '"memory below 2 GB", "backward below 80 us at T=8192".\n',
    ),
    "scope": (
        (*RMS, "--scope", "sideways"),
        "error: The scope 'sideways' cannot be read.\n"
        "  where: scope\n"
        "  to do: Allowed: general, forward, backward, or <x name>=<value>[,<value>…], for example "
        '"T=1024,2048".\n',
    ),
    "no such directory": (
        (*RMS, "--repo", "/nonexistent"),
        "error: no such directory\n  where: --repo /nonexistent\n",
    ),
    "a file for a directory": (
        (*RMS, "--repo", "{repository}/pyproject.toml"),
        "error: no such directory\n  where: --repo {repository}/pyproject.toml\n",
    ),
    "another layout": (
        (*RMS, "--repo", "{repository}/benchmark"),
        "error: this is no repository in Liger-Kernel's layout: no kernel with its benchmark and test was found\n"
        "  where: src/liger_kernel/ops/, benchmark/scripts/, test/transformers/\n"
        "  to do: name the repository's root with --repo\n",
    ),
    "state inside the checkout": (
        (*RMS, "--state", "{repository}/state"),
        "error: the state directory lies inside the checkout\n"
        "  where: {repository}/state\n"
        "  to do: name one outside with --state or LIGER_PERF_STATE\n",
    ),
}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return copy_example(tmp_path / "checkout")


def run(tmp_path: Path, repository: Path, arguments: tuple[str, ...]) -> tuple[int, str, str]:
    """Exit status, what was said, and what went wrong; the checkout is what it was, and no session was begun."""
    before, state = digest(repository), tmp_path / "state"
    known = ("--repo", str(repository), "--state", str(state))
    # What a case names comes last, so that it counts.
    result = liger_perf_command(arguments[0], *known, *arguments[1:], home=tmp_path)
    assert "Traceback (most recent call last)" not in result.stdout + result.stderr
    assert digest(repository) == before
    assert [path.name for path in state.glob("*") if path.is_dir()] == []
    return result.returncode, result.stdout, result.stderr


@pytest.mark.parametrize("case", CASES)
def test_malformed_request(tmp_path: Path, repository: Path, case: str) -> None:
    arguments, expected = CASES[case]
    found = run(tmp_path, repository, tuple(part.format(repository=repository) for part in arguments))
    assert found == (2, "", expected.format(repository=repository))
    assert not (tmp_path / "state").exists()


def test_kernel_file_with_a_syntax_error(tmp_path: Path, repository: Path) -> None:
    (repository / RMS_NORM.ops).write_text("import triton\n\n\ndef broken(:\n")
    assert run(tmp_path, repository, RMS) == (
        2,
        "",
        "error: the kernel file is no valid Python: invalid syntax\n"
        "  where: src/liger_kernel/ops/rms_norm.py, line 4\n",
    )


@pytest.mark.skipif(has_nvidia_device(), reason="there is a GPU, and it would be used")
def test_no_gpu_is_one_line(tmp_path: Path, repository: Path) -> None:
    found = run(tmp_path, repository, ("run", "rms_norm", "--device", "cuda"))
    assert found == (2, "", "error: no NVIDIA GPU that torch can use; --device simulated needs none\n")


def test_second_process_on_a_session(tmp_path: Path, repository: Path) -> None:
    state = tmp_path / "state"
    begun = ["run", "rms_norm", "--repo", str(repository), "--device", "simulated", "--state", str(state)]
    assert call(begun, wiring(FakeStages())) == 0
    sessions = Sessions(state)
    store = sessions.open(sessions.names()[0])
    journal = (store.folder / "journal.jsonl").read_bytes()
    holder = (store.folder / "lock").read_text()
    try:
        result = liger_perf_command("resume", "--approve", "--state", state, home=tmp_path)
    finally:
        store.close()
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == (
        f"error: session {store.id} is held by another process (pid {holder}) — wait for it, or end it and resume\n"
    )
    assert (store.folder / "journal.jsonl").read_bytes() == journal


@pytest.mark.slow
def test_benchmark_that_crashes(tmp_path: Path) -> None:
    crash = {RMS_NORM.benchmark: {"": '\nraise RuntimeError("the data set is missing")\n'}}
    code, _, error = run(tmp_path, copy_example(tmp_path / "checkout", crash), RMS)
    assert code == 2
    warning, *lines = error.splitlines()
    assert warning == "SIMULATED device: times are predictions of a model, no evidence about a real GPU"
    assert lines[:4] == [
        "error: the benchmark script fails on the unchanged kernel, so there is no baseline",
        "  where: benchmark/scripts/benchmark_rms_norm.py",
        "  to do: make the script run through first",
        "  | the benchmark script failed in the worker: RuntimeError: the data set is missing",
    ]
    place, *last = lines[-3:]
    assert re.fullmatch(r'  \|   File "benchmark/scripts/benchmark_rms_norm.py", line \d+, in <module>', place)
    assert last == [
        '  |     raise RuntimeError("the data set is missing")',
        "  | RuntimeError: the data set is missing",
    ]


@pytest.mark.slow
def test_tests_that_all_skip(tmp_path: Path) -> None:
    skip = {RMS_NORM.test: {"": '\npytestmark = pytest.mark.skip(reason="no GPU here")\n'}}
    code, _, error = run(tmp_path, copy_example(tmp_path / "checkout", skip), RMS)
    assert code == 2
    lines = error.splitlines()[1:]
    assert lines[:3] == [
        "error: no test of the kernel passed (0 passed, 0 failed, 0 errors, 18 skipped), so nothing would guard a "
        "variant",
        '  where: python -m pytest test/transformers/test_rms_norm.py -q -k "not dtensor"',
        "  to do: make the tests run first",
    ]
    assert re.fullmatch(r"  \| 18 skipped in [\d.]+s", lines[-1])
