"""Killed at any moment: the checkout is untouched, resuming goes on from what is recorded, nothing is done twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from liger_perf.adapters.sessions import Sessions
from liger_perf.adapters.store import SessionStore
from liger_perf.adapters.tree import digest
from liger_perf.cli import call
from liger_perf.session.entries import Entry, Finished, HypothesisFixed, StageFinished, Started, VariantDone
from liger_perf.session.model import Session
from support.fake_stages import FakeStages, wiring
from support.repository import make_repository

# Started, profile, (hypothesis, variant) twice, optimize, finalize, finished
ENTRIES = 9
ALL_STEPS = ["profile", "v1", "v2", "compare", "finalize"]
STEP_OF = {2: "profile", 3: "v1", 4: "v1", 5: "v2", 6: "v2", 7: "compare", 8: "finalize"}


class KilledError(BaseException):
    """Stands for the end of the process: nothing of the program catches it."""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "checkout")


def arguments(tmp_path: Path, repository: Path) -> list[str]:
    run = ["run", "rms_norm", "--repo", str(repository), "--device", "simulated", "--autonomous"]
    return [*run, "--state", str(tmp_path / "state")]


def fail_at(monkeypatch: pytest.MonkeyPatch, number: int, *, written: bool) -> None:
    append = SessionStore.append
    counter: Iterator[int] = iter(range(1, 100))

    def patched(self: SessionStore, entry: Entry) -> Session:
        reached = next(counter) == number
        if reached and not written:
            raise KilledError
        session = append(self, entry)
        if reached:
            raise KilledError
        return session

    monkeypatch.setattr(SessionStore, "append", patched)


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("number", range(1, ENTRIES + 1))
def test_killed_at_each_entry(
    tmp_path: Path, repository: Path, number: int, written: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = digest(repository)
    first, second = FakeStages(), FakeStages()
    with monkeypatch.context() as patch:
        fail_at(patch, number, written=written)
        with pytest.raises(KilledError):
            call(arguments(tmp_path, repository), wiring(first))
    assert digest(repository) == before
    sessions = Sessions(tmp_path / "state")
    if number == 1 and not written:
        assert sessions.names() == []
        return
    name = sessions.names()[-1]
    code = call(["resume", name, "--state", str(tmp_path / "state")], wiring(second))
    # After the last entry there is nothing to resume, and that is what is said.
    assert code == (2 if number == ENTRIES and written else 0)
    repeated = [] if written and number != 3 and number != 5 else [STEP_OF[number]] if number in STEP_OF else []
    assert sorted(first.calls + second.calls) == sorted(ALL_STEPS + repeated)
    assert digest(repository) == before
    session = sessions.read(name)
    assert session.closed
    assert [entry.variant for entry in session.variants] == ["v1", "v2"]
    assert (sessions.workspace(name) / "rms_norm.patch").is_file()


@pytest.mark.parametrize(("number", "when"), [(2, "before"), (5, "after"), (7, "before")])
def test_real_sigkill(tmp_path: Path, repository: Path, number: int, when: str) -> None:
    before = digest(repository)
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])}
    command = [sys.executable, str(tests / "flow/driver.py"), str(number), when, *arguments(tmp_path, repository)]
    killed = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert killed.returncode == -9, killed.stderr
    assert digest(repository) == before
    stages = FakeStages()
    # The kernel gave the lock back, and what is half-written is moved aside.
    assert call(["resume", "--state", str(tmp_path / "state")], wiring(stages)) == 0
    assert stages.calls[-1] == "finalize"
    assert digest(repository) == before


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
