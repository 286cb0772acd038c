"""What a person reads when something is wrong: one clear block, the right exit status, nothing started."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from liger_perf.adapters.sessions import Sessions
from liger_perf.cli import call
from support.fake_lab import FakeLab, record
from support.fake_stages import FakeStages, wiring
from support.repository import make_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "checkout")


def run(tmp_path: Path, repository: Path, *options: str, kernel: str = "rms_norm", lab: FakeLab | None = None) -> int:
    state = tmp_path / "state"
    arguments = ["run", kernel, "--repo", str(repository), "--device", "simulated", "--state", str(state), *options]
    return call(arguments, wiring(FakeStages(), lab))


@pytest.mark.parametrize(
    ("lab", "expected"),
    [
        (FakeLab(crash="RuntimeError: CUDA error\nat line 7"), ["no baseline", "at line 7"]),
        (FakeLab(records=()), ["launches no Triton kernel of the kernel's own file"]),
        (FakeLab(records=(record(own=False),)), ["launches no Triton kernel of the kernel's own file"]),
        (FakeLab(passed=0, skipped=76), ["no test of the kernel passed (0 passed, 0 failed, 0 errors, 76 skipped)"]),
        (FakeLab(failed=2), ["fails its own tests", "2 failed"]),
        (FakeLab(importable=False), ['pip install -e ".[dev]"', "PackageNotFoundError"]),
        (FakeLab(absent=True), ["error: no NVIDIA GPU was found — use --device simulated\n"]),
    ],
)
def test_preflight_starts_nothing(
    tmp_path: Path, repository: Path, lab: FakeLab, expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, repository, lab=lab) == 2
    err = capsys.readouterr().err
    for text in expected:
        assert text in err
    assert Sessions(tmp_path / "state").names() == []
    assert [path.name for path in (tmp_path / "state").iterdir()] == ["lock"]


def test_unknown_kernel_names_the_nearest_and_the_list(
    tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, repository, kernel="rmsnorm") == 2
    err = capsys.readouterr().err
    assert "did you mean rms_norm" in err
    assert "rms_norm, swiglu" in err
    assert not (tmp_path / "state").exists()


def test_kernel_without_test_and_kernel_that_git_does_not_track(
    tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, repository, kernel="untested") == 2
    assert "has no test file" in capsys.readouterr().err
    (repository / "test/transformers/test_untested.py").write_text("")
    assert run(tmp_path, repository, kernel="untested") == 2
    assert "git add test/transformers/test_untested.py" in capsys.readouterr().err


def test_tracked_file_that_was_deleted(tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "src/liger_kernel/ops/rms_norm.py").unlink()
    assert run(tmp_path, repository) == 2
    err = capsys.readouterr().err
    assert "the kernel file was deleted" in err
    assert "git checkout -- src/liger_kernel/ops/rms_norm.py" in err


def test_other_layout_and_missing_directory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert run(tmp_path, tmp_path / "empty") == 2
    assert "Liger-Kernel's layout" in capsys.readouterr().err
    assert run(tmp_path, tmp_path / "nowhere") == 2
    assert "no such directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--goal", "fast"], ["'fast'", "speed", "memory", "balanced"]),
        (["--variants", "0"], ["'0'", "from 1 to 64"]),
        (["--variants", "many"], ["'many'", "from 1 to 64"]),
        (["--scope", "sideways"], ["sideways", "forward"]),
        (["--target", "quick please"], ["quick please", "Allowed"]),
        (["--nonsense"], ["--nonsense", "see `liger-perf run --help`"]),
    ],
)
def test_malformed_options_say_what_was_read_and_what_is_allowed(
    tmp_path: Path, repository: Path, options: list[str], expected: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, repository, *options) == 2
    err = capsys.readouterr().err
    for text in expected:
        assert text in err
    assert not (tmp_path / "state").exists()


def test_state_inside_the_checkout_is_refused(
    tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, repository, "--state", str(repository / "state")) == 2
    assert "inside the checkout" in capsys.readouterr().err
    assert not (repository / "state").exists()


def test_interruption_says_how_to_resume(tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(step: str) -> None:
        if step == "v2":
            raise KeyboardInterrupt

    state = tmp_path / "state"
    arguments = ["run", "rms_norm", "--repo", str(repository), "--autonomous", "--state", str(state)]
    code = call([*arguments, "--device", "simulated"], wiring(FakeStages(before=interrupt)))
    assert code == 130
    name = Sessions(state).names()[-1]
    assert f"interrupted; resume with: liger-perf resume {name}" in capsys.readouterr().err
    stages = FakeStages()
    assert call(["resume", "--state", str(state)], wiring(stages)) == 0
    assert stages.calls == ["v2", "compare", "finalize"]


def test_a_defect_is_told_without_a_traceback(
    tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(step: str) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setenv("LIGER_PERF_STATE", str(tmp_path / "state"))
    arguments = ["run", "rms_norm", "--repo", str(repository), "--device", "simulated"]
    assert call(arguments, wiring(FakeStages(before=fail))) == 1
    err = capsys.readouterr().err
    assert "ZeroDivisionError: oh" in err
    assert "Traceback" not in err
    assert "ZeroDivisionError" in (tmp_path / "state" / "defect.log").read_text()


def test_a_defect_is_told_where_its_log_cannot_be_written(
    tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(step: str) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setenv("LIGER_PERF_STATE", "/dev/null/state")
    arguments = ["run", "rms_norm", "--repo", str(repository), "--state", str(tmp_path / "state")]
    assert call([*arguments, "--device", "simulated"], wiring(FakeStages(before=fail))) == 1
    err = capsys.readouterr().err
    assert "ZeroDivisionError: oh" in err
    assert f"where: {__file__}, line " in err


def test_another_device_at_resume_is_refused(
    tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, repository) == 0
    import msgspec

    other = FakeLab(device=msgspec.structs.replace(FakeLab().device, name="Other GPU"))
    assert call(["resume", "--approve", "--state", str(tmp_path / "state")], wiring(FakeStages(), other)) == 1
    assert "started with name Fake GPU, here it is Other GPU" in capsys.readouterr().err


def test_help_starts_fast_and_imports_nothing_heavy() -> None:
    started = time.monotonic()
    code = (
        "import sys, liger_perf.cli as c\n"
        "c.call(['--help'], c.real_wiring())\n"
        "heavy = {'torch', 'triton', 'pandas', 'matplotlib', 'libcst', 'scipy'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "liger-perf run rms_norm" in " ".join(result.stdout.split())
    assert time.monotonic() - started < 3
