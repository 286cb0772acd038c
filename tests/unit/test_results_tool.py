"""The tool that keeps results: what it leaves behind, what it computes afresh, what it objects to."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from report import builders
from typer.testing import CliRunner

import kept
import result_page
import results
from liger_perf.measure import guardrails
from liger_perf.measure.benchmark import write_rows
from liger_perf.measure.judge import schedule
from liger_perf.model.branches import Branch
from liger_perf.model.errors import LigerPerfError
from liger_perf.model.final import FinalReport, GateResult, Outcome
from liger_perf.model.launches import Capture
from liger_perf.model.measurements import Block, Comparison, PassSample
from liger_perf.model.options import DeviceKind, KernelPaths, Request
from liger_perf.model.variants import Decision, StopReason, Trial, Variant, VariantResult
from liger_perf.report.final import final_json
from liger_perf.session import journal
from liger_perf.session.entries import RecordedFile, Stage, StageFinished, Started
from liger_perf.session.journal import Journal
from liger_perf.stages import workspace as names
from liger_perf.stages.judging import Judged, samples_csv
from liger_perf.stages.stored import Optimized, Profiled, StoredVariant, encode

SOURCE = "import triton\n\n\n@triton.jit\ndef secret_kernel(X_ptr):\n    row = tl.load(X_ptr)\n"
REQUEST = Request(kernel="rms_norm")
POINTS = {builders.key(mode, x): mode for mode in ("forward", "backward") for x in ("1024", "8192")}
replace = msgspec.structs.replace


def judged(gain: float, restarts: int) -> Judged:
    """Times that are known by hand: the original takes 50 µs and a little, the candidate 1/gain of it."""
    blocks, noise = [], []
    for at, point in enumerate(POINTS):
        for restart in range(restarts):
            for number, order in enumerate(schedule(2)):
                base = 50.0 + at + 0.01 * restart + 0.003 * number
                a, b, c = (
                    tuple(PassSample(round(time, 3), round(3 * time, 3)) for time in (base * factor,) * 4)
                    for factor in (1.0, 1 / gain, 1.0001)
                )
                blocks.append(Block(point=point, restart=restart, order=order, a=a, b=b))
                noise.append(Block(point=point, restart=restart, order=order, a=a, b=c))
    return Judged(blocks=tuple(blocks), noise_blocks=tuple(noise), modes=POINTS, memory_ratios={}, calls={})


def variant(number: int, gain: float, decision: Decision = Decision.ACCEPTED) -> tuple[Variant, VariantResult, Judged]:
    samples = judged(gain, 1)
    found = samples.comparisons()
    best, low = guardrails.target_gain(REQUEST, found, {})
    made = replace(
        builders.VARIANT, number=number, source=SOURCE, parent=f"v{number - 1}" if number > 1 else "original"
    )
    result = replace(
        builders.RESULT,
        name=made.name,
        parent=made.parent,
        comparisons=found,
        target_gain=best,
        target_gain_low=low,
        decision=decision,
        trials=(
            *(
                Trial(point=builders.key("forward", "8192"), settings={"f": {"w": w}}, device_us=9.0 - w)
                for w in range(8)
            ),
            Trial(
                point=builders.key("forward", "8192"),
                settings={"f": {"w": 9}},
                device_us=None,
                failure=f"at 1:\n{SOURCE}",
            ),
        ),
        reason="CompilationError: at 3:0\n" + SOURCE,
        learnings=("`x` = tl.load(X_ptr + cols)", "read /srv/cache/triton/x.json"),
    )
    return made, result, samples


class Workspace:
    """A session's workspace as the stages leave it."""

    def __init__(self, root: Path, kind: DeviceKind = DeviceKind.CUDA) -> None:
        self.path = root / "session/optimization/rms_norm"
        self.kind = kind
        self.profile = replace(builders.profile(kind), request=REQUEST)
        self.variants: list[Variant] = []
        self.results: list[VariantResult] = []
        self.final: tuple[Comparison, ...] = ()
        self.write(names.original("rms_norm"), SOURCE)
        self.write("profile.md", f"```python\n{SOURCE}```\n")
        self.write("rms_norm.patch", "--- a/x\n+++ b/x\n")
        self.write(names.PROFILE_DATA, encode(Profiled(profile=self.profile, capture=Capture(records=()), cubins=())))
        self.write(names.BASELINE_ROWS, write_rows(self.profile.baseline.rows))

    def write(self, path: str, text: str) -> None:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, newline="")

    def add(self, gain: float, decision: Decision = Decision.ACCEPTED) -> Workspace:
        made, result, samples = variant(len(self.variants) + 1, gain, decision)
        branch = Branch(shape={"n_cols": (1024, 4096)}, itemsize=2, values={"num_warps": 4}, note="1.2x as fast")
        stored = StoredVariant(variant=made, branches={"backward_settings": [branch]})
        self.write(names.variant_source("rms_norm", made.name), SOURCE)
        self.write(names.variant_notes("rms_norm", made.name), SOURCE)
        self.write(names.variant_data(made.name), encode(stored))
        self.write(names.variant_result(made.name), encode(result))
        self.write(names.variant_rows(made.name), write_rows(result.rows))
        self.write(names.variant_samples(made.name), samples_csv(samples, "NVIDIA H200"))
        self.variants.append(made)
        self.results.append(result)
        return self

    def whole_grid(self, gain: float) -> Workspace:
        samples = judged(gain, 4)
        self.final = samples.comparisons()
        self.write(names.final_samples(self.variants[-1].name), samples_csv(samples, "NVIDIA H200"))
        return self

    def finish(self, outcome: Outcome = Outcome.APPLIED) -> Workspace:
        winner = "" if outcome is Outcome.NO_WINNER else self.variants[-1].name
        gain, low = guardrails.target_gain(REQUEST, self.final, {}) if winner else (1.0, 0.0)
        optimized = Optimized(
            variants=tuple(self.variants),
            stop=StopReason.NOTHING_LEFT,
            winner=winner,
            why="largest gain" if winner else "v1 fails on the whole grid",
            final=self.final if winner else (),
            gain=gain,
            gain_low=low,
        )
        report = FinalReport(
            profile=self.profile,
            outcome=outcome,
            reason="v1 passed all 27 tests" if winner else optimized.why,
            variants=optimized.variants,
            results=tuple(self.results),
            stop=optimized.stop,
            winner=winner,
            winner_reason=optimized.why,
            final=optimized.final,
            gain=gain,
            gain_low=low,
            diff="--- a/rms_norm.py\n+++ b/rms_norm.py\n@@ -1 +1 @@\n" if winner else "",
            gates=(GateResult(name="full tests", passed=True, detail="27 passed"),) if winner else (),
            reproduction=("liger-perf run rms_norm",),
        )
        self.write(names.OPTIMIZE_DATA, encode(optimized))
        self.write(names.REPORT_DATA, final_json(report))
        return self

    def keep(self, folder: Path) -> Path:
        """Collected and rendered, with the summary."""
        for command in (
            ("collect", str(self.path), str(folder), "--commit", "0123abc"),
            ("render", str(folder)),
            ("summary", str(folder.parent)),
        ):
            ran = CliRunner().invoke(results.app, command, catch_exceptions=False)
            assert ran.exit_code == 0, ran.output
        return folder


def edit(path: Path, change: Callable[[dict[str, object]], None]) -> None:
    value = json.loads(path.read_bytes())
    change(value)
    path.write_text(json.dumps(value))


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    return Workspace(tmp_path).add(1.25).whole_grid(1.2).finish().keep(tmp_path / "docs/results/h200/rms_norm")


def test_nothing_of_the_source_is_kept(finished: Path) -> None:
    files = [path for path in finished.parent.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} <= {".md", ".json", ".csv", ".gz", ".png"}
    for path in files:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for part in (b"secret_kernel", b"tl.load", b"@@ -", b"/srv/"):
            assert part not in data, path


def test_a_finished_result_is_beyond_objection(finished: Path) -> None:
    assert list(results.problems_of(finished.parent)) == []
    page = (finished / "README.md").read_text()
    assert page.startswith("<!-- Generated by tools/results.py")
    assert "**APPLIED: v1.**" in page
    assert "v1 is 1.20× as fast" in page
    assert "| full tests | passed | 27 passed |" in page
    assert "num_warps=4" in page
    assert "0123abc" in page
    assert (finished / "speedup.png").read_bytes().startswith(b"\x89PNG")


def test_figures_come_from_the_samples_and_not_from_what_was_stored(finished: Path) -> None:
    found = kept.read(finished)
    assert found.whole_grid["v1"] == judged(1.2, 4).comparisons()
    assert found.judged["v1"] == judged(1.25, 1).comparisons()


def test_share_of_the_roof_follows_the_time(finished: Path) -> None:
    found = kept.read(finished)
    item = next(
        item for item in found.whole_grid["v1"] if item.point in {found.point for found in found.profile.diagnoses}
    )
    before, after = result_page.shares(found, item)
    assert before is not None
    assert after is not None
    assert after / before == pytest.approx(1.2, rel=1e-3)


def test_only_the_best_trials_stay_in_json_and_all_in_the_table(finished: Path) -> None:
    found = kept.read(finished)
    assert [trial.device_us for trial in found.results[0].trials] == [2.0, 3.0, 4.0, 5.0, 6.0]
    assert len(found.trials) == 9
    assert found.trials[-1][1].failure == "at 1: …"


def test_the_same_samples_give_the_same_bytes(tmp_path: Path) -> None:
    made = Workspace(tmp_path).add(1.25)
    assert kept.collect(made.path, "") == kept.collect(made.path, "")


def test_an_unfinished_session_says_so(tmp_path: Path) -> None:
    folder = Workspace(tmp_path).add(1.25).add(1.252).keep(tmp_path / "h200/rms_norm")
    page = (folder / "README.md").read_text()
    assert "**UNFINISHED.**" in page
    # The second gains less than 1 % over the first, so the session would have stayed with the first.
    assert "v1, which is not recommended, is 1.25×" in page
    assert "UNFINISHED" in (folder.parent / "summary.md").read_text()
    assert list(results.problems_of(folder.parent)) == []


def test_a_session_without_a_variant_can_be_kept(tmp_path: Path) -> None:
    folder = Workspace(tmp_path).keep(tmp_path / "h200/rms_norm")
    assert "Nothing was judged." in (folder / "README.md").read_text()
    assert list(results.problems_of(folder.parent)) == []


def test_no_winner_shows_what_failed_on_the_whole_grid(tmp_path: Path) -> None:
    made = Workspace(tmp_path).add(1.25).whole_grid(1.1).finish(Outcome.NO_WINNER)
    folder = made.keep(tmp_path / "h200/rms_norm")
    page = (folder / "README.md").read_text()
    assert "**NO WINNER.** v1 fails on the whole grid" in page
    assert "v1, which is not recommended, is 1.10×" in page
    assert "| NO WINNER |" in (folder.parent / "summary.md").read_text()
    assert list(results.problems_of(folder.parent)) == []


def test_simulated_figures_are_no_results(tmp_path: Path) -> None:
    made = Workspace(tmp_path, DeviceKind.SIMULATED).add(1.25)
    elsewhere = made.keep(tmp_path / "elsewhere/rms_norm")
    assert "SIMULATED" in (elsewhere / "README.md").read_text()
    folder = tmp_path / "docs/results/h200/rms_norm"
    with pytest.raises(LigerPerfError, match="SIMULATED"):
        made.keep(folder)
    assert not folder.exists()
    assert list(folder.parent.glob("*")) == []


def test_figures_of_another_machine_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LigerPerfError, match="the folder is of b200"):
        Workspace(tmp_path).add(1.25).keep(tmp_path / "docs/results/b200/rms_norm")


def test_an_earlier_collection_is_only_replaced_on_request(finished: Path, tmp_path: Path) -> None:
    made = Workspace(tmp_path / "other").add(1.1)
    with pytest.raises(LigerPerfError, match="not empty"):
        made.keep(finished)
    call = ("collect", str(made.path), str(finished), "--replace")
    assert CliRunner().invoke(results.app, call).exit_code == 0
    assert not (finished / "README.md").exists()


def page_edited(folder: Path) -> None:
    page = folder / "README.md"
    page.write_text(page.read_text().replace("1.20×", "1.90×"))


def summary_edited(folder: Path) -> None:
    (folder.parent / "summary.md").write_text("better\n")


def ratio_edited(folder: Path) -> None:
    def change(value: dict[str, object]) -> None:
        value["comparisons"][0]["ratio"] *= 1 + 1e-5  # type: ignore[index]

    edit(folder / "results/v1.json", change)


def final_edited(folder: Path) -> None:
    edit(folder / "run.json", lambda value: value["final"].pop())  # type: ignore[attr-defined]


def gain_edited(folder: Path) -> None:
    edit(folder / "run.json", lambda value: value.update(gain=1.3))


def sample_edited(folder: Path) -> None:
    path = folder / "benchmarks/judge/v1_whole_grid.csv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    # The first four lines are the original's runs in the first block.
    for at in range(1, 5):
        head, device_us, wall_us, gpu_name = lines[at].rsplit(",", 3)
        lines[at] = f"{head},{2 * float(device_us)},{wall_us},{gpu_name}"
    path.write_bytes(kept.compress(("\n".join(lines) + "\n").encode()))


def source_added(folder: Path) -> None:
    edit(folder / "variants/v1.json", lambda value: value.update(source=SOURCE))


def file_added(folder: Path) -> None:
    (folder / "rms_norm_v1.py").write_text("x = 1\n")


def plot_removed(folder: Path) -> None:
    (folder / "speedup.png").unlink()


def samples_damaged(folder: Path) -> None:
    (folder / "benchmarks/judge/v1.csv.gz").write_bytes(b"\x1f\x8b")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (page_edited, "rms_norm/README.md"),
        (summary_edited, "h200/summary.md"),
        (ratio_edited, "results/v1.json"),
        (final_edited, "run.json"),
        (gain_edited, "run.json"),
        (sample_edited, "run.json"),
        (source_added, "variants/v1.json"),
        (file_added, "rms_norm_v1.py"),
        (plot_removed, "speedup.png"),
        (samples_damaged, "judge/v1.csv.gz"),
    ],
)
def test_what_was_changed_by_hand_is_named(finished: Path, damage: Callable[[Path], None], named: str) -> None:
    damage(finished)
    ran = CliRunner().invoke(results.app, ("check", str(finished.parent)))
    assert ran.exit_code == 1
    assert named in ran.output


def test_files_that_the_journal_does_not_know_in_this_form_are_refused(tmp_path: Path) -> None:
    made = Workspace(tmp_path)
    paths = KernelPaths(kernel="rms_norm", ops="a.py", benchmark="b.py", test="c.py")
    started = Started(
        request=REQUEST,
        paths=paths,
        repository="/somewhere/else",
        base_digest="b" * 64,
        kernel_digest="c" * 64,
        device=made.profile.device,
        versions={"liger-perf": "9.8.7"},
    )
    file = RecordedFile(path=names.PROFILE_DATA, sha256="0" * 64)
    ended = StageFinished(stage=Stage.PROFILE, files=(), summary="", page="profile.md")
    path = tmp_path / "session/journal.jsonl"

    first, state = journal.encode(Journal(), started)
    path.write_bytes(first + journal.encode(state, ended)[0])
    run = msgspec.json.decode(kept.collect(made.path, "")[kept.RUN], type=kept.Run)
    assert (run.tool, run.base_digest) == ("9.8.7", "b" * 64)

    path.write_bytes(first + journal.encode(state, replace(ended, files=(file,)))[0])
    with pytest.raises(LigerPerfError, match="not what the journal recorded"):
        kept.collect(made.path, "")


@pytest.mark.parametrize(
    "text",
    [
        "no launched kernel computes an exponential with tl.exp",
        "kernel: 3 tl.exp become tl.exp2",
        "1 loop(s) run over tl.range with LOOP_STAGES stages",
        "rms_norm_backward: sm_count is multiplied by programs_per_sm; _dW get as many times more rows",
        '{"dtype": "torch.bfloat16"}',
    ],
)
def test_our_own_sentences_are_no_code(text: str) -> None:
    assert kept.clean_text(text) == text
    assert kept.holds_code("page.md", text.encode()) == ""


@pytest.mark.parametrize("text", ["x = tl.load(X_ptr + cols)", "def f(x):", "_dW = torch.empty((sm_count, n))"])
def test_code_is_left_out_and_found(text: str) -> None:
    assert kept.clean_text(text) == kept.LEFT_OUT
    assert kept.holds_code("a.json", json.dumps({"a": f"first\n{text}"}).encode())
