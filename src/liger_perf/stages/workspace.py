"""The names of the workspace's files, and the head comment of a variant while it lies there."""

from __future__ import annotations

from collections.abc import Sequence

PROFILE_PAGE = "profile.md"
COMPARISON_PAGE = "comparison.md"
REPORT_PAGE = "report.md"
REPORT_DATA = "report.json"
PROFILE_DATA = "profile.json"
OPTIMIZE_DATA = "optimize.json"
BASELINE_ROWS = "benchmarks/v0_baseline.csv"
SPEEDUP = "plots/speedup.png"

_HEAD = "# liger-perf: "


def original(kernel: str) -> str:
    """The snapshot, byte for byte."""
    return f"original_{kernel}.py"


def variant_source(kernel: str, variant: str) -> str:
    return f"{kernel}_{variant}.py"


def variant_notes(kernel: str, variant: str) -> str:
    return f"{kernel}_{variant}_notes.md"


def variant_rows(variant: str) -> str:
    return f"benchmarks/{variant}_results.csv"


def variant_samples(variant: str) -> str:
    return f"benchmarks/judge/{variant}.csv"


def final_samples(variant: str) -> str:
    return f"benchmarks/judge/{variant}_whole_grid.csv"


def variant_data(variant: str) -> str:
    return f"variants/{variant}.json"


def variant_result(variant: str) -> str:
    return f"results/{variant}.json"


def patch(kernel: str) -> str:
    return f"{kernel}.patch"


def with_head(source: str, lines: Sequence[str]) -> str:
    """The source under a head comment (number, title, parent, changes) that `without_head` takes off again."""
    return "".join(f"{_HEAD}{part}\n" for line in lines for part in line.splitlines() or [""]) + source


def without_head(text: str) -> str:
    """The source as it would go into the repository."""
    lines = text.split("\n")
    while lines and lines[0].startswith(_HEAD.rstrip()):
        lines.pop(0)
    return "\n".join(lines)
