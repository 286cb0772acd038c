from __future__ import annotations

from pathlib import Path

import pytest

from liger_perf.adapters.sessions import Sessions
from liger_perf.cli import call
from liger_perf.stages.plotting import DATA
from liger_perf.stages.style import check_style
from liger_perf.stages.testing import run_tests
from liger_perf.stages.workspace import with_head, without_head
from support.fake_lab import FakeLab
from support.fake_stages import FakeStages, wiring
from support.repository import make_repository

OPS = "src/liger_kernel/ops/rms_norm.py"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "checkout")


def finalize(tmp_path: Path, repository: Path, lab: FakeLab, edit: str) -> str:
    state = tmp_path / "state"
    arguments = ["run", "rms_norm", "--repo", str(repository), "--device", "simulated", "--autonomous"]
    assert call([*arguments, "--state", str(state)], wiring(FakeStages(edit=edit), lab)) == 0
    sessions = Sessions(state)
    workspace = sessions.workspace(sessions.names()[-1])
    return (workspace / "report.md").read_text() + (workspace / "rms_norm.patch").read_text()


def test_full_tests_are_run_as_the_specification_says(tmp_path: Path, repository: Path) -> None:
    lab = FakeLab()
    finalize(tmp_path, repository, lab, "x * 1.0")
    full = [command for command in lab.commands if "-xvs" in command]
    assert [command[:5] for command in full] == [
        ("python", "-m", "pytest", "test/transformers/test_rms_norm.py", "-xvs")
    ]


def test_style_fix_enters_the_patch_and_is_tested_again(tmp_path: Path, repository: Path) -> None:
    lab = FakeLab()
    text = finalize(tmp_path, repository, lab, "x * 1.0  # UGLY")
    assert "+    return x * 1.0  # PRETTY" in text
    assert "UGLY" not in text
    assert "after one automatic fix" in text
    assert len([command for command in lab.commands if "-xvs" in command]) == 2


def test_plots_of_a_simulated_device_say_so_in_their_legend(tmp_path: Path, repository: Path) -> None:
    class Lab(FakeLab):
        drawn = ""

        def _draw(self, tree: Path) -> tuple[int, str]:
            Lab.drawn = (tree / DATA).read_text()
            return super()._draw(tree)

    finalize(tmp_path, repository, Lab(), "x * 1.0")
    assert ",liger_optimized_SIMULATED," in Lab.drawn


def test_missing_ruff_is_told(tmp_path: Path, repository: Path) -> None:
    text = finalize(tmp_path, repository, FakeLab(tools=frozenset({"make"})), "x * 1.0")
    assert "ruff is not installed" in text


def test_dirty_repository_is_not_the_winners_fault(repository: Path) -> None:
    outcome = check_style(FakeLab(dirty_rest=True), repository, OPS)
    assert outcome.passed is True
    assert "other files of the repository are not" in outcome.detail


def test_missing_plots_are_told_and_do_not_fail(tmp_path: Path, repository: Path) -> None:
    text = finalize(tmp_path, repository, FakeLab(plots=False), "x * 1.0")
    assert "plot missing: speed, forward, token_length: ModuleNotFoundError: No module named 'seaborn'" in text


@pytest.mark.parametrize(
    ("lab", "ok"),
    [(FakeLab(), True), (FakeLab(passed=0, skipped=5), False), (FakeLab(failed=1), False), (FakeLab(passed=0), False)],
)
def test_outcome_of_tests(repository: Path, lab: FakeLab, ok: bool) -> None:
    outcome = run_tests(lab, repository, ["test/transformers/test_rms_norm.py"], full=True)
    assert outcome.ok is ok
    assert not (repository / ".liger-perf-tests.xml").exists()


def test_head_comment_is_taken_off_again() -> None:
    source = "# Copyright\nimport triton\n"
    headed = with_head(source, ["v1: two\nlines", "", "parent v0"])
    assert headed.count("# liger-perf:") == 4
    assert without_head(headed) == source
    assert without_head(source) == source
