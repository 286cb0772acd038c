"""Killed at any moment: the checkout is untouched, resuming goes on from what is recorded, nothing is done twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from liger_perf.adapters.sessions import Sessions
from liger_perf.adapters.tree import digest
from liger_perf.cli import call
from liger_perf.session.entries import Finished, HypothesisFixed, StageFinished, Started, VariantDone
from support.fake_stages import FakeStages, wiring
from support.repository import make_repository

# Started, profile, (hypothesis, variant) twice, optimize, finalize, finished
ENTRIES = 9
ALL_STEPS = ["profile", "v1", "v2", "compare", "finalize"]
HYPOTHESES = {3, 5}
STEP_OF = {2: "profile", 3: "v1", 4: "v1", 5: "v2", 6: "v2", 7: "compare", 8: "finalize"}


class KilledError(BaseException):
    """Stands for the end of the process: nothing of the program catches it."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "checkout")


def arguments(tmp_path: Path, repository: Path) -> list[str]:
    run = ["run", "rms_norm", "--repo", str(repository), "--device", "simulated", "--autonomous"]
    return [*run, "--state", str(tmp_path / "state")]


@dataclass(frozen=True)
class Driven:
    """Runs the command line over fakes in processes of their own, on one checkout and state directory."""

    folder: Path
    repository: Path

    def __call__(self, *arguments: str, kill_at: int = 0, when: str = "before") -> subprocess.CompletedProcess[str]:
        tests = Path(__file__).parents[1]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])}
        driver = [sys.executable, str(tests / "flow/driver.py"), str(self.folder / "calls"), str(kill_at), when]
        return subprocess.run([*driver, *arguments], env=environment, capture_output=True, text=True, check=False)

    def run(self, kill_at: int = 0, when: str = "before") -> int:
        return self(*arguments(self.folder, self.repository), kill_at=kill_at, when=when).returncode

    @property
    def sessions(self) -> Sessions:
        return Sessions(self.folder / "state")

    @property
    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().split() if (self.folder / "calls").exists() else []

    def pages(self, name: str) -> dict[str, str]:
        """The session's files with what must differ from session to session left out."""
        root = self.sessions.workspace(name)
        names = sorted(path for path in root.rglob("*") if path.is_file() and path.suffix != ".png")
        return {
            path.relative_to(root).as_posix(): path.read_text().replace(name, "SESSION").replace(str(root), "ROOT")
            for path in names
        }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("undisturbed")
    driven = Driven(folder, make_repository(folder / "checkout"))
    assert driven.run() == 0
    return driven.pages(driven.sessions.names()[-1])


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, ENTRIES + 1))
def test_killed_at_each_entry(
    tmp_path: Path, repository: Path, number: int, when: str, undisturbed: dict[str, str]
) -> None:
    before, driven = digest(repository), Driven(tmp_path, repository)
    assert driven.run(number, when) == -signal.SIGKILL
    assert digest(repository) == before
    if number == 1 and when == "before":
        assert driven.sessions.names() == []
        assert driven.run() == 0
        assert len(list((tmp_path / "state").glob("rms_norm-*"))) == 1  # what was left is swept
        return
    name = driven.sessions.names()[-1]
    resumed = driven("resume", name, "--state", str(tmp_path / "state"))
    assert "Traceback" not in resumed.stdout + resumed.stderr
    # After the last entry there is nothing to resume, and that is what is said.
    assert resumed.returncode == (2 if number == ENTRIES and when == "after" else 0), resumed.stderr
    # What was recorded is not done again, what was under way is: once.
    lost = number in STEP_OF and (when == "before" or number in HYPOTHESES)
    assert sorted(driven.calls) == sorted(ALL_STEPS + ([STEP_OF[number]] if lost else []))
    assert digest(repository) == before
    session = driven.sessions.read(name)
    assert session.closed
    assert [entry.variant for entry in session.variants] == ["v1", "v2"]
    assert driven.pages(name) == undisturbed
    assert not (tmp_path / "state" / name / "base").exists()


def test_half_written_stage_is_not_taken_for_whole(tmp_path: Path, repository: Path) -> None:
    def interrupt(step: str) -> None:
        if step == "compare":
            raise KilledError

    with pytest.raises(KilledError):
        call(arguments(tmp_path, repository), wiring(FakeStages(before=interrupt)))
    sessions = Sessions(tmp_path / "state")
    name = sessions.names()[-1]
    workspace = sessions.workspace(name)
    (workspace / "comparison.md").write_text("# half")
    (workspace / "rms_norm_v3.py").write_text("half")
    assert call(["resume", "--state", str(tmp_path / "state")], wiring(FakeStages())) == 0
    assert (workspace / "comparison.md").read_text() == "# Comparison\n"
    assert not (workspace / "rms_norm_v3.py").exists()
    aside = tmp_path / "state" / name / "unfinished" / "1"
    assert (aside / "comparison.md").read_text() == "# half"


def test_changed_checkout_does_not_change_a_running_session(tmp_path: Path, repository: Path) -> None:
    run = [part for part in arguments(tmp_path, repository) if part != "--autonomous"]
    assert call(run, wiring(FakeStages())) == 0
    (repository / "src/liger_kernel/ops/rms_norm.py").write_text("broken(")
    for _ in range(2):
        assert call(["resume", "--approve", "--state", str(tmp_path / "state")], wiring(FakeStages())) == 0
    sessions = Sessions(tmp_path / "state")
    assert "broken" not in (sessions.workspace(sessions.names()[-1]) / "rms_norm.patch").read_text()


@pytest.mark.parametrize("damage", ["entry", "file", "base"])
def test_tampering_is_refused(
    tmp_path: Path, repository: Path, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = [part for part in arguments(tmp_path, repository) if part != "--autonomous"]
    assert call(run, wiring(FakeStages())) == 0
    sessions = Sessions(tmp_path / "state")
    folder = tmp_path / "state" / sessions.names()[-1]
    if damage == "entry":
        journal = folder / "journal.jsonl"
        journal.write_text(journal.read_text().replace("memory-bound", "compute-bound"))
    elif damage == "file":
        (folder / "optimization/rms_norm/benchmarks/v0_baseline.csv").write_text("faster")
    else:
        (folder / "base/src/liger_kernel/ops/rms_norm.py").write_text("other")
    stages = FakeStages()
    assert call(["resume", folder.name, "--approve", "--state", str(tmp_path / "state")], wiring(stages)) == 1
    assert stages.calls == []
    err = capsys.readouterr().err
    assert {"entry": "journal cannot be trusted", "file": "v0_baseline.csv", "base": "copy of the checkout"}[
        damage
    ] in err


def test_second_process_is_told_who_holds_the_session(
    tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = [part for part in arguments(tmp_path, repository) if part != "--autonomous"]
    assert call(run, wiring(FakeStages())) == 0
    sessions = Sessions(tmp_path / "state")
    store = sessions.open(sessions.names()[-1])
    try:
        assert call(["resume", "--approve", "--state", str(tmp_path / "state")], wiring(FakeStages())) == 1
    finally:
        store.close()
    assert f"held by another process (pid {os.getpid()})" in capsys.readouterr().err


def test_order_of_the_journal_proves_that_hypotheses_came_first(tmp_path: Path, repository: Path) -> None:
    assert call(arguments(tmp_path, repository), wiring(FakeStages())) == 0
    from liger_perf.adapters.store import read_journal
    from liger_perf.session.journal import decode

    sessions = Sessions(tmp_path / "state")
    entries = decode(read_journal(tmp_path / "state" / sessions.names()[-1])).entries
    kinds = [type(entry) for entry in entries]
    assert kinds == [
        Started,
        StageFinished,
        HypothesisFixed,
        VariantDone,
        HypothesisFixed,
        VariantDone,
        StageFinished,
        StageFinished,
        Finished,
    ]
