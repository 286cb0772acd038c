"""The whole pipeline on the simulated device, through the real command line, on a copy of the example repository."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from liger_perf.adapters.store import read_journal
from liger_perf.adapters.tree import digest
from liger_perf.session.entries import HypothesisFixed, VariantDone
from liger_perf.session.journal import decode
from support.command import liger_perf_command
from support.example import RMS_NORM, processes_below
from support.pipeline import TIMEOUT_S, WARNING, Ended, git, run

# The pipeline is run once, since `make test` gives a file whole to one worker (--dist loadfile).
pytestmark = [pytest.mark.slow, pytest.mark.timeout(TIMEOUT_S)]

BANNER = "> `SIMULATED` Every figure on this page comes from a model of a GPU, not from one."
PLOTS = ("memory_full", "speed_backward", "speed_forward", "speed_full")


@pytest.fixture(scope="session")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    return run(tmp_path_factory.mktemp("pipeline"), "rms_norm")


def test_it_ends_with_an_applied_winner(ended: Ended) -> None:
    assert ended.result.returncode == 0, ended.result.stderr
    assert ended.result.stderr == WARNING
    winner = ended.session.winner
    assert winner in ended.variants
    assert f"\nAPPLIED: {winner} passed all 18 tests; the patch is rms_norm.patch\n" in ended.result.stdout
    assert ended.result.stdout.splitlines()[-1] == (
        "the checkout is unchanged; to apply the winner: "
        f"patch -d {ended.repository} -p1 -i {ended.workspace / 'rms_norm.patch'}"
    )
    assert f"**APPLIED: {winner}**" in ended.text("report.md")
    data = json.loads(ended.text("report.json"))
    assert (data["outcome"], data["winner"], data["simulated"]) == ("APPLIED", winner, True)
    assert data["gain_low"] > 1.01


def test_the_workspace_holds_what_it_should_and_nothing_else(ended: Ended) -> None:
    expected = {"original_rms_norm.py", "benchmarks/v0_baseline.csv", "profile.md", "profile.json"}
    for name in ended.variants:
        expected |= {f"rms_norm_{name}.py", f"rms_norm_{name}_notes.md", f"benchmarks/{name}_results.csv"}
        expected |= {f"benchmarks/judge/{name}.csv", f"variants/{name}.json", f"results/{name}.json"}
    expected |= {"comparison.md", "optimize.json", f"benchmarks/judge/{ended.session.winner}_whole_grid.csv"}
    expected |= {"report.md", "report.json", "rms_norm.patch", "plots/speedup.png"}
    expected |= {f"plots/rms_norm_{plot}_token_length.png" for plot in PLOTS}
    assert ended.files == expected
    assert len(ended.variants) >= 2
    assert (ended.workspace / "original_rms_norm.py").read_bytes() == (ended.repository / RMS_NORM.ops).read_bytes()


def test_notes_begin_with_the_hypothesis_that_was_fixed_before(ended: Ended) -> None:
    entries = decode(read_journal(ended.state / ended.name)).entries
    order = [(type(entry), entry.variant) for entry in entries if isinstance(entry, HypothesisFixed | VariantDone)]
    assert order == [(kind, name) for name in ended.variants for kind in (HypothesisFixed, VariantDone)]
    for entry in ended.session.hypotheses:
        notes = (ended.workspace / f"rms_norm_{entry.variant}_notes.md").read_bytes()
        assert hashlib.sha256(notes[: entry.size]).hexdigest() == entry.sha256
        fixed, results = notes[: entry.size].decode(), notes[entry.size :].decode()
        assert "## Hypothesis" in fixed
        assert "## Expected outcome" in fixed
        assert re.search(r"\d\.\d\d×", fixed)
        assert "## Results" in results
        assert re.search(r"^## Verdict: (ACCEPTED|REJECTED|MIXED)$", results, flags=re.MULTILINE)


def test_the_comparison_names_every_variant_and_why_it_stopped(ended: Ended) -> None:
    page = ended.text("comparison.md")
    for entry in ended.session.variants:
        assert re.search(rf"^\| {entry.variant} \|.*\| {entry.decision} \|", page, flags=re.MULTILINE)
    assert f"\n## Winner: {ended.session.winner}\n" in page
    assert "\n## Why the loop stopped\n\nNo further technique applies.\n" in page


def test_everything_says_simulated(ended: Ended) -> None:
    for path in sorted(ended.files):
        if path.endswith(".md"):
            page = ended.text(path)
            assert page.startswith(BANNER), path
            tables = re.findall(r"^(.*)\n\n\|", page, flags=re.MULTILINE)
            assert tables, path
            assert [title for title in tables if not title.startswith("**SIMULATED: ")] == [], path
            pictures = re.findall(r"!\[([^]]*)\]", page)
            assert all(title.startswith("SIMULATED: ") for title in pictures), path
        if path.endswith(".csv"):
            rows = list(csv.DictReader(ended.text(path).splitlines()))
            assert {row["gpu_name"] for row in rows} == {"SIMULATED NVIDIA H200"}, path
    for name in ended.variants:
        devices = re.findall(r"Measured on (.*?) \(", ended.text(f"rms_norm_{name}.py"))
        assert all(device == "SIMULATED NVIDIA H200" for device in devices)
    assert "== preflight rms_norm on SIMULATED NVIDIA H200" in ended.result.stdout


def test_the_patch_touches_one_file_and_what_it_makes_passes_the_tests(ended: Ended, tmp_path: Path) -> None:
    patch = ended.workspace / "rms_norm.patch"
    assert re.findall(r"^(?:---|\+\+\+) (.*)$", patch.read_text(), flags=re.MULTILINE) == [
        f"a/{RMS_NORM.ops}",
        f"b/{RMS_NORM.ops}",
    ]
    fresh = tmp_path / "fresh"
    git(tmp_path, "clone", "-q", str(ended.repository), str(fresh))
    git(fresh, "apply", "--check", str(patch))
    if shutil.which("patch"):
        subprocess.run(["patch", "-d", str(fresh), "-p1", "-i", str(patch)], check=True, capture_output=True)
    else:
        git(fresh, "apply", str(patch))
    assert git(fresh, "status", "--porcelain") == f" M {RMS_NORM.ops}\n"
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(fresh / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", RMS_NORM.test]
    tests = subprocess.run(command, cwd=fresh, env=environment, capture_output=True, text=True, check=False)
    assert tests.returncode == 0, tests.stdout
    assert "18 passed" in tests.stdout


def test_the_checkout_is_what_it_was(ended: Ended) -> None:
    assert digest(ended.repository) == ended.before
    assert git(ended.repository, "status", "--porcelain", "--ignored") == ""


def test_nothing_is_left_behind(ended: Ended, tmp_path: Path) -> None:
    assert processes_below(ended.state) == []
    folder = ended.state / ended.name
    assert {path.name for path in folder.iterdir()} == {"journal.jsonl", "lock", "optimization"}
    status = liger_perf_command("status", "--state", ended.state, home=tmp_path)
    assert status.stdout.startswith(f"{ended.name}: finished, winner: {ended.session.winner}\n")
    again = liger_perf_command("resume", ended.name, "--state", ended.state, home=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == (f"error: session {ended.name} is finished — its report: {ended.workspace / 'report.md'}\n")
