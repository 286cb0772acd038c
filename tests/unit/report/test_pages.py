"""The pages against snapshots that were read by eye. LIGER_PERF_UPDATE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from liger_perf.model.final import Outcome
from liger_perf.model.options import DeviceKind
from liger_perf.model.variants import Change, StopReason
from liger_perf.report import comparison, final, notes, profile_page
from report import builders

GOLDEN = Path(__file__).parent / "golden"


def comparison_page(kind: DeviceKind) -> str:
    return comparison.comparison_markdown(
        request=builders.REQUEST,
        device=builders.device(kind),
        baseline=builders.BASELINE,
        variants=[builders.FAILED_VARIANT, builders.VARIANT],
        results=[builders.FAILED_RESULT, builders.RESULT],
        winner="v2",
        why="It gained most of those that passed every guardrail.",
        stop=StopReason.TARGET_MET,
    )


def notes_page(kind: DeviceKind) -> str:
    device = builders.device(kind)
    result = notes.result_section(builders.VARIANT, builders.RESULT, baseline=builders.BASELINE, device=device)
    return notes.whole_notes(notes.hypothesis_section(builders.VARIANT, device), result)


PAGES: dict[str, Callable[[DeviceKind], str]] = {
    "profile": lambda kind: profile_page.profile_markdown(builders.profile(kind)),
    "notes": notes_page,
    "comparison": comparison_page,
    "report": lambda kind: final.final_markdown(builders.final(kind)),
    "report_reverted": lambda kind: final.final_markdown(builders.final(kind, Outcome.REVERTED)),
    "report_no_winner": lambda kind: final.final_markdown(builders.final(kind, Outcome.NO_WINNER)),
}


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str) -> None:
    text = PAGES[name](DeviceKind.CUDA)
    path = GOLDEN / f"{name}.md"
    if os.environ.get("LIGER_PERF_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_a_simulated_page_says_so_first_and_at_every_table(name: str) -> None:
    real, simulated = PAGES[name](DeviceKind.CUDA), PAGES[name](DeviceKind.SIMULATED)
    assert "SIMULATED" not in real
    assert simulated.startswith("> `SIMULATED`")
    # A table is a line of rules; the line above its header is empty, and above that stands the caption.
    lines = simulated.split("\n")
    tables = [at for at, line in enumerate(lines) if re.fullmatch(r"\|( -+:? \|)+", line)]
    assert tables
    assert all(lines[at - 3].startswith("**SIMULATED: ") for at in tables)


@pytest.mark.parametrize("name", PAGES)
def test_every_table_has_equally_many_cells_in_each_row(name: str) -> None:
    lines = PAGES[name](DeviceKind.CUDA).split("\n")
    for above, below in pairwise(lines):
        if above.startswith("|") and below.startswith("|"):
            cells = [len(re.findall(r"(?<!\\)\|", line)) for line in (above, below)]
            assert cells[0] == cells[1], above


@pytest.mark.parametrize("name", PAGES)
def test_a_page_ends_with_one_line_break_and_holds_no_none(name: str) -> None:
    text = PAGES[name](DeviceKind.CUDA)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert "\n\n\n" not in text
    assert not re.search(r"\bNone\b(?!\.)|\bnan\b|-0\.0 %", text)


def test_a_variant_that_failed_its_smoke_test_has_notes_too() -> None:
    text = notes.result_section(
        builders.FAILED_VARIANT, builders.FAILED_RESULT, baseline=builders.BASELINE, device=builders.device()
    )
    assert "The smoke test **FAILED**" in text
    assert "Y differs from the original's." in text
    assert "Gain of the target" not in text
    assert "## Verdict: REJECTED" in text


def test_the_json_holds_the_derived_figures_and_all_else() -> None:
    value = json.loads(final.final_json(builders.final()))
    assert value["outcome"] == "APPLIED"
    assert value["winner"] == "v2"
    assert value["simulated"] is False
    assert value["changes_percent"][f"device {builders.key('backward', '8192')}"] == -20.0
    assert value["report"]["results"][1]["name"] == "v2"
    nothing = json.loads(final.final_json(builders.final(DeviceKind.SIMULATED, Outcome.NO_WINNER)))
    assert nothing["simulated"] is True
    assert nothing["winner"] is None
    assert nothing["gain"] is None


def test_a_change_that_did_not_reach_the_file_is_not_shown() -> None:
    report = builders.final()
    changes = tuple(
        Change(what=f"{kernel}: num_warps come from {kernel}_settings", why="width") for kernel in ("_kept", "_dropped")
    )
    hypothesis = msgspec.structs.replace(builders.VARIANT.hypothesis, changes=changes)
    variant = msgspec.structs.replace(builders.VARIANT, hypothesis=hypothesis, source="def _kept_settings(): ...\n")
    text = final.final_markdown(msgspec.structs.replace(report, variants=(variant,)))
    assert "_kept_settings" in text
    assert "_dropped_settings" not in text


def test_a_variant_that_was_not_recommended_claims_no_fresh_runs() -> None:
    report = msgspec.structs.replace(builders.final(), fresh=False, architectures=())
    text = final.final_markdown(report)
    assert "after the selection" not in text
    assert "fresh runs" not in text
    assert "it was not tried again, nor on the whole grid" in text
    assert "None was tried: only the recommended variant is compiled for others." in text


def test_the_winner_shows_the_changes_of_the_variants_that_it_builds_on() -> None:
    report = builders.final()
    child = msgspec.structs.replace(builders.VARIANT, parent="v1")
    text = final.final_markdown(msgspec.structs.replace(report, variants=(builders.FAILED_VARIANT, child)))
    changes = text[text.index("## Winning changes") : text.index("```diff")]
    assert changes.index("settings function") < changes.index("grid of 2 × SMs")
