"""A kernel for which nothing is left to gain, from the first check to an honest end."""

from __future__ import annotations

from pathlib import Path

import pytest

from liger_perf.adapters.tree import digest
from support.example import processes_below
from support.pipeline import WARNING, run


@pytest.mark.slow
def test_a_kernel_at_the_roof_ends_well(tmp_path: Path) -> None:
    ended = run(tmp_path, "swiglu")
    assert ended.result.returncode == 0, ended.result.stderr
    assert ended.result.stderr == WARNING
    assert "NO WINNER" in ended.result.stdout
    assert "swiglu.patch" not in ended.files
    assert "**NO WINNER" in ended.text("report.md")
    assert digest(ended.repository) == ended.before
    assert processes_below(ended.state) == []
