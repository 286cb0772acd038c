"""The action over fake stages, as a command: `python action_driver.py EDIT`; with `none` nothing wins."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from liger_perf.action.main import main
from support.fake_stages import FakeStages, wiring

if __name__ == "__main__":
    stages = FakeStages(edit=sys.argv[1])
    if sys.argv[1] == "none":
        stages.winner = ""
    sys.exit(main([], wiring(stages)))
