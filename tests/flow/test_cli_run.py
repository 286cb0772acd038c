"""The command line from the first word to the patch, on a fake lab."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from liger_perf.adapters.sessions import Sessions
from liger_perf.adapters.terminal import Terminal
from liger_perf.adapters.tree import digest
from liger_perf.cli import call
from support.fake_lab import FakeLab
from support.fake_stages import FakeStages, wiring
from support.repository import make_repository


class Desk:
    """A repository, a state directory, and the command line over fakes."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.repository = make_repository(folder / "checkout")
        self.state = folder / "state"
        self.stages = FakeStages()
        self.lab = FakeLab()
        self._capture = capture

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        code = call([*arguments, "--state", str(self.state)], wiring(self.stages, self.lab))
        out, err = self._capture.readouterr()
        assert "Traceback (most recent" not in out + err
        return code, out, err

    def run(self, *options: str) -> tuple[int, str, str]:
        return self("run", "rms_norm", "--repo", str(self.repository), "--device", "simulated", *options)

    @property
    def session(self) -> str:
        return Sessions(self.state).names()[-1]

    @property
    def workspace(self) -> Path:
        return Sessions(self.state).workspace(self.session)


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


def test_autonomous_run_ends_with_a_patch_and_an_untouched_checkout(desk: Desk) -> None:
    before = digest(desk.repository)
    code, out, err = desk.run("--autonomous")
    assert code == 0
    assert err.startswith("SIMULATED device")
    assert err.count("\n") == 1
    assert desk.stages.calls == ["profile", "v1", "v2", "compare", "finalize"]
    assert "APPLIED" in out
    assert digest(desk.repository) == before
    patch = desk.workspace / "rms_norm.patch"
    assert str(patch) in out
    subprocess.run(["git", "-C", str(desk.repository), "apply", "--check", str(patch)], check=True)
    changed = [line for line in patch.read_text().splitlines() if line.startswith("+++ ")]
    assert changed == ["+++ b/src/liger_kernel/ops/rms_norm.py"]
    assert "liger-perf" not in patch.read_text()
    names = {path.relative_to(desk.workspace).as_posix() for path in desk.workspace.rglob("*") if path.is_file()}
    assert {"report.md", "report.json", "plots/rms_norm_speed_forward_token_length.png"} <= names
    assert not any(name.startswith((".writing", "tests")) for name in names)
    assert not (desk.state / desk.session / "base").exists()


def test_interactive_run_without_a_terminal_stops_at_each_checkpoint(desk: Desk) -> None:
    code, out, _ = desk.run()
    assert code == 0
    assert desk.stages.calls == ["profile"]
    assert "memory-bound; try parameters" in out
    assert f"liger-perf resume {desk.session} --approve" in out

    code, out, _ = desk("resume")
    assert code == 0
    assert desk.stages.calls == ["profile"]

    code, out, _ = desk("resume", "--approve")
    assert desk.stages.calls == ["profile", "v1", "v2", "compare"]
    assert "--approve [vN]" in out

    code, out, err = desk("resume", "--approve", "v1")
    assert code == 2
    assert "v1 cannot be chosen" in err
    assert "allowed: v2" in err

    code, out, _ = desk("resume", desk.session, "--approve", "v2")
    assert code == 0
    assert desk.stages.calls[-1] == "finalize"
    assert (desk.workspace / "rms_norm.patch").is_file()


def test_interactive_run_on_a_terminal_asks(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["perhaps", "y", "v1", "v2"])
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return next(answers)

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr("liger_perf.cli_call.new_terminal", lambda: Terminal(interactive=True))
    code, out, _ = desk.run()
    assert code == 0
    assert "read 'perhaps'; allowed: y, n" in out
    assert "read 'v1'; allowed: y, n, v2" in out
    assert asked[-1] == "Apply a variant? [y = v2, n = stop here] "
    assert desk.stages.calls[-1] == "finalize"


def test_a_no_stops_and_can_be_taken_back(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "n")
    monkeypatch.setattr("liger_perf.cli_call.new_terminal", lambda: Terminal(interactive=True))
    code, out, _ = desk.run()
    assert code == 0
    assert "not approved, nothing was applied" in out
    assert desk("resume", "--approve")[0] == 0
    assert "v1" in desk.stages.calls


def test_stage_by_stage(desk: Desk) -> None:
    arguments = ("rms_norm", "--repo", str(desk.repository), "--device", "simulated")
    code, out, _ = desk("profile", *arguments)
    assert code == 0
    assert f"next: liger-perf optimize {desk.session}" in out
    code, _, err = desk("finalize")
    assert code == 2
    assert "is not ready for finalize" in err
    code, out, _ = desk("optimize")
    assert f"next: liger-perf finalize {desk.session}" in out
    code, out, _ = desk("finalize", "v2")
    assert code == 0
    assert "APPLIED" in out
    code, _, err = desk("resume", desk.session)
    assert code == 2
    assert "is finished" in err


def test_approve_records_and_resume_goes_on(desk: Desk) -> None:
    desk.run()
    code, out, _ = desk("approve")
    assert code == 0
    assert desk.stages.calls == ["profile"]
    assert "next: liger-perf resume" in out
    desk("resume")
    assert desk.stages.calls[-1] == "compare"


def test_status_tells_where_a_session_stands(desk: Desk) -> None:
    assert "no sessions" in desk("status")[1]
    desk.run()
    assert "waits for approval of profile" in desk("status")[1]
    desk("resume", "--approve")
    out = desk("status", desk.session)[1]
    assert "variants: v1 REJECTED, v2 ACCEPTED" in out
    assert "--approve [v2]" in out
    desk("resume", "--approve")
    assert "finished, winner: v2" in desk("status")[1]


def test_failed_full_tests_revert_and_another_variant_may_follow(desk: Desk) -> None:
    desk.stages.edit = "x * 1  # BROKEN"
    before = digest(desk.repository)
    code, _, err = desk.run("--autonomous")
    assert code == 1
    assert "the full tests failed (3 passed, 1 failed" in err
    assert "E assert torch.allclose" in err
    assert "**REVERTED: v2 is not applied" in (desk.workspace / "report.md").read_text()
    assert not (desk.workspace / "rms_norm.patch").exists()
    assert digest(desk.repository) == before
    assert "last failure, in finalize" in desk("status")[1]
    code, _, err = desk("resume")
    assert code == 1
    assert "the full tests failed" in err
    assert desk.stages.calls.count("finalize") == 2


def test_no_winner_is_reported_without_a_patch(desk: Desk) -> None:
    desk.stages.winner = ""
    code, out, _ = desk.run("--autonomous")
    assert code == 0
    assert "NO WINNER" in out
    assert not (desk.workspace / "rms_norm.patch").exists()


def test_list(desk: Desk) -> None:
    code, out, _ = desk("list", "--repo", str(desk.repository))
    assert (code, out.split()) == (0, ["rms_norm", "swiglu"])


def test_a_list_of_nothing_says_why(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, out, err = desk("list", "--repo", str(tmp_path / "empty"))
    assert (code, out) == (2, "")
    assert "no kernel with its benchmark and test was found" in err
    assert "--repo" in err
