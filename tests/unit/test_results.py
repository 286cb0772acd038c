"""What lies in docs/results is what its raw samples give, and nothing of a target's source."""

from __future__ import annotations

import re
from pathlib import Path

import results

KEPT = Path(__file__).parents[2] / "docs/results"


def test_kept_results_are_what_their_samples_give() -> None:
    machines = sorted(path for path in KEPT.iterdir() if path.is_dir())
    assert [problem for machine in machines for problem in results.problems_of(machine)] == []


def test_the_figures_on_the_front_page_are_those_of_the_summary() -> None:
    root = Path(__file__).parents[2]
    rows = [line.split(" | ") for line in (root / "docs/results/h200/summary.md").read_text().splitlines()]
    summary = {(row[0].strip("| []").split("]")[0], row[2]): row[4:7] for row in rows if len(row) > 7}
    shown = re.findall(
        r"^\| `(\w+)` \| (\w+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|", (root / "README.md").read_text(), re.MULTILINE
    )
    assert len(shown) >= 2
    for kernel, mode, *figures in shown:
        assert figures == summary[kernel, mode]
