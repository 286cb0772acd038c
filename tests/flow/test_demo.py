"""The demonstration: real processes for every event, over stages that measure nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer

from liger_perf.demo import play
from liger_perf.demo.__main__ import main
from liger_perf.demo.play import KERNEL_FILE, Demo
from liger_perf.localhub import Hub
from liger_perf.localhub.records import Issue
from support.repository import make_repository

DRIVER = str(Path(__file__).with_name("action_driver.py"))


def demo(folder: Path, edit: str) -> tuple[int, str, list[str]]:
    """Exit code, page, lines."""
    lines: list[str] = []
    source = make_repository(folder / "source", git=False)
    command = [sys.executable, DRIVER, edit]
    code = Demo(source, folder / "out", "simulated", say=lines.append, command=command).play()
    return code, (folder / "out/index.html").read_text(), lines


def test_from_a_comment_to_a_pull_request_of_one_file(tmp_path: Path) -> None:
    code, page, lines = demo(tmp_path, "x * 2")
    assert code == 0
    assert lines[-2].endswith(f"It led to pull request #2, which changes {KERNEL_FILE} alone.")
    assert page.count("Shall I") == 3
    assert "👍 mallory" in page
    assert "👍 alice" in page
    assert f"diff --git a/{KERNEL_FILE}" in page
    assert "return x * 2" in page
    assert "<b>SIMULATED</b>" in page
    assert "<script" not in page
    assert 'src="http' not in page


def test_where_nothing_wins_it_fails_and_says_so(tmp_path: Path) -> None:
    code, page, lines = demo(tmp_path, "none")
    assert code == 1
    assert "no pull request was opened" in lines[-2]
    assert "no pull request was opened" in page


def test_a_pull_request_of_another_file_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def two_files(hub: Hub, pull: Issue) -> list[str]:
        return ["README.md", KERNEL_FILE]

    monkeypatch.setattr(play, "changed_files", two_files)
    code, _, lines = demo(tmp_path, "x * 2")
    assert code == 1
    assert f"changes README.md, {KERNEL_FILE} and not {KERNEL_FILE} alone" in lines[-2]


def test_bad_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(typer.BadParameter, match="allowed: auto, simulated, cuda"):
        main(device="tpu")
    with pytest.raises(typer.BadParameter, match="no repository"):
        main(source=tmp_path)
