"""The real command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import liger_perf

OURS = Path(str(liger_perf.__file__)).parents[1]


def liger_perf_command(
    *arguments: str | Path, home: Path, timeout_s: float = 300.0
) -> subprocess.CompletedProcess[str]:
    """Run `liger-perf`, without a terminal, in `home`, which also holds the sessions where none is named."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("LIGER_PERF", "XDG"))}
    environment |= {"HOME": str(home), "PYTHONPATH": str(OURS)}
    command = [sys.executable, "-m", "liger_perf", *map(str, arguments)]
    return subprocess.run(
        command,
        cwd=home,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
