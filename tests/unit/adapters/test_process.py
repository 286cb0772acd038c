from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from liger_perf.adapters.process import TAIL_BYTES, run_command, worker_environment
from liger_perf.model.errors import WorkerError


def environment(tmp_path: Path) -> dict[str, str]:
    return worker_environment(tmp_path, tmp_path / "cache")


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 5
    while alive(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def read_when_written(path: Path) -> int:
    deadline = time.monotonic() + 10
    while not path.exists() or not path.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return int(path.read_text())


def test_output_and_status_are_kept(tmp_path: Path) -> None:
    result = run_command(["sh", "-c", "echo out; echo err >&2; exit 3"], tmp_path, environment(tmp_path), 10)
    assert (result.returncode, result.output) == (3, "out\nerr\n")


def test_signal_and_missing_command(tmp_path: Path) -> None:
    assert run_command(["sh", "-c", "kill -9 $$"], tmp_path, environment(tmp_path), 10).returncode == 128 + 9
    result = run_command(["no-such-command"], tmp_path, environment(tmp_path), 10)
    assert result.returncode == 127
    assert "no-such-command" in result.output


def test_only_the_tail_of_much_output_is_kept(tmp_path: Path) -> None:
    result = run_command(["python", "-c", "print('x' * 1_000_000); print('last')"], tmp_path, environment(tmp_path), 20)
    assert result.output.endswith("x\nlast\n")
    assert len(result.output) < TAIL_BYTES + 100


def test_timeout_kills_children_too(tmp_path: Path) -> None:
    script = f"sleep 100 & echo $! > {tmp_path}/pid; echo started; wait"
    with pytest.raises(WorkerError, match=r"within 0\.5 s") as caught:
        run_command(["sh", "-c", script], tmp_path, environment(tmp_path), 0.5)
    assert caught.value.details == "started"
    assert gone(read_when_written(tmp_path / "pid"))


def test_children_left_behind_are_killed_after_a_good_end(tmp_path: Path) -> None:
    started = time.monotonic()
    result = run_command(["sh", "-c", f"sleep 100 & echo $! > {tmp_path}/pid"], tmp_path, environment(tmp_path), 20)
    assert result.returncode == 0
    assert time.monotonic() - started < 10
    assert gone(read_when_written(tmp_path / "pid"))


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")
def test_killed_control_process_leaves_nothing_behind(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from liger_perf.adapters.process import run_command, worker_environment\n"
        "here = Path(sys.argv[1])\n"
        "script = f'echo $$ > {here}/pid; sleep 100 & echo $! > {here}/child; wait'\n"
        "run_command(['sh', '-c', script], here, worker_environment(here, here / 'cache'), 100)\n"
    )
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    control = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], env=paths)
    pids = [read_when_written(tmp_path / name) for name in ("pid", "child")]
    control.send_signal(signal.SIGKILL)
    control.wait()
    assert all(gone(pid) for pid in pids)


def test_environment_is_built_from_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "HF_TOKEN", "SSH_AUTH_SOCK", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    monkeypatch.setenv("NVIDIA_VISIBLE_DEVICES", "all")
    result = run_command(["env"], tmp_path, worker_environment(tmp_path, tmp_path / "c", {"EXTRA": "1"}), 10)
    found = dict(line.split("=", 1) for line in result.output.splitlines())
    assert "secret" not in result.output
    assert found["CUDA_VISIBLE_DEVICES"] == "3"
    assert found["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert found["EXTRA"] == "1"
    assert found["PYTHONPATH"] == f"{tmp_path}/src:{tmp_path}"
    assert found["TRITON_DISABLE_LINE_INFO"] == "1"
    assert found["HOME"].startswith(str(tmp_path))
    assert found["PATH"].split(":")[0] == str(Path(sys.executable).parent)
