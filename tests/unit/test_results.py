"""What lies in docs/results is what its raw samples give, and nothing of a target's source."""

from __future__ import annotations

from pathlib import Path

import results

KEPT = Path(__file__).parents[2] / "docs/results"


def test_kept_results_are_what_their_samples_give() -> None:
    machines = sorted(path for path in KEPT.iterdir() if path.is_dir())
    assert [problem for machine in machines for problem in results.problems_of(machine)] == []
