"""The soak of `tools/kill_soak.py`, a few kills long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools/kill_soak.py"


@pytest.mark.slow
def test_a_few_kills_do_no_harm() -> None:
    options = ["--kills", "3", "--seed", "1", "--shortest", "3", "--longest", "16", "--deadline", "150", "--leave"]
    result = subprocess.run([sys.executable, str(TOOL), *options], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "| kills | 3 |" in result.stdout
    assert "| failures | 0 |" in result.stdout
