"""A kernel with little or nothing left to gain, from the first check to an honest end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from liger_perf.adapters.tree import digest
from support.example import processes_below
from support.pipeline import TIMEOUT_S, WARNING, run


@pytest.mark.slow
@pytest.mark.timeout(TIMEOUT_S)
def test_it_ends_well_whether_something_is_gained_or_not(tmp_path: Path) -> None:
    ended = run(tmp_path, "swiglu")
    assert ended.result.returncode == 0, ended.result.stderr
    assert ended.result.stderr == WARNING
    # Which of the two it is depends on the model of the device. What is said must fit what is handed over.
    winner = ended.session.winner
    outcome = "APPLIED" if winner else "NO WINNER"
    report = json.loads(ended.text("report.json"))
    assert (report["outcome"], report["winner"]) == (outcome, winner)
    assert f"\n{outcome}: " in ended.result.stdout
    assert f"**{outcome}" in ended.text("report.md")
    assert ("swiglu.patch" in ended.files) is bool(winner)
    assert ("to apply the winner" in ended.result.stdout) is bool(winner)
    if winner:
        assert report["gain_low"] > 1.0
    assert digest(ended.repository) == ended.before
    assert processes_below(ended.state) == []
