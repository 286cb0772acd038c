"""Stages that write what the real ones write, without measuring; and a wiring of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from liger_perf.app import Wiring
from liger_perf.measure.benchmark import write_rows
from liger_perf.model.final import FinalReport, Outcome
from liger_perf.model.measurements import BenchmarkRun
from liger_perf.model.options import DeviceKind
from liger_perf.model.profile import ProfileResult
from liger_perf.model.variants import Decision, SmokeResult, StopReason, VariantResult
from liger_perf.ports import Lab
from liger_perf.stages import workspace as names
from liger_perf.stages.context import StageContext, StageOutcome
from liger_perf.stages.finalize import run_finalize
from liger_perf.stages.pipeline import Runners
from support.fake_lab import ROWS, FakeLab, row

Hook = Callable[[str], None]


def variant_result(name: str, decision: Decision) -> VariantResult:
    return VariantResult(
        name=name,
        technique="parameters",
        title="a title",
        parent="v0",
        smoke=SmokeResult(passed=True, compared=("y",), worst="y", worst_error=1e-7),
        rows=(row("liger", "forward", 0.8), row("huggingface", "forward", 2.1)),
        comparisons=(),
        guardrails=(),
        target_gain=1.2,
        target_gain_low=float("-inf"),
        decision=decision,
        reason="because",
        learnings=(),
        trials=(),
        device_seconds=1.0,
    )


class FakeStages:
    """Two variants: v1 is rejected, v2 accepted. `calls` counts what was run; `edit` is the winner's change."""

    def __init__(self, edit: str = "x * 1.0", before: Hook = lambda _: None) -> None:
        self.calls: list[str] = []
        self.edit = edit
        self.winner = "v2"
        self.before = before

    def profile(self, context: StageContext) -> StageOutcome:
        self._step("profile")
        context.workspace.write(names.original("rms_norm"), context.original)
        context.workspace.write(names.BASELINE_ROWS, write_rows(ROWS))
        context.workspace.write(names.PROFILE_PAGE, "# Profile\n")
        return StageOutcome(summary="memory-bound; try parameters", page=names.PROFILE_PAGE)

    def optimize(self, context: StageContext) -> StageOutcome:
        for number in range(len(context.earlier) + 1, 3):
            self._variant(context, f"v{number}")
        self._step("compare")
        context.workspace.write(names.COMPARISON_PAGE, "# Comparison\n")
        return StageOutcome(summary=f"winner {self.winner}", page=names.COMPARISON_PAGE, winner=self.winner)

    def _variant(self, context: StageContext, name: str) -> None:
        self._step(name)
        hypothesis = f"# {name}\nIt will be faster.\n"
        context.workspace.write(names.variant_notes("rms_norm", name), hypothesis)
        context.fix_hypothesis(name, hypothesis)
        source = names.with_head(context.original.replace("x * 1", self.edit), [f"{name}: a title", "parent v0"])
        context.workspace.write(names.variant_source("rms_norm", name), source)
        context.workspace.write(names.variant_notes("rms_norm", name), hypothesis + "It was.\n")
        context.record_variant(variant_result(name, Decision.REJECTED if name == "v1" else Decision.ACCEPTED))

    def _step(self, name: str) -> None:
        self.before(name)
        self.calls.append(name)

    def finalize(self, variant: str, context: StageContext) -> StageOutcome:
        self._step("finalize")
        return run_finalize(assemble, variant, context)


def assemble(context: StageContext, winner: str) -> FinalReport:
    profile = ProfileResult(
        request=context.request,
        paths=context.paths,
        tier=1,
        tier_description="a row a program",
        device=context.device,
        gpu_matches=True,
        baseline=BenchmarkRun(rows=ROWS, seconds=1.0, own_providers=("liger",)),
        diagnoses=(),
        launches=(),
        configuration=(),
        strategy=(),
    )
    return FinalReport(
        profile=profile,
        outcome=Outcome.NO_WINNER,
        reason="no variant was accepted",
        variants=(),
        results=context.earlier,
        stop=StopReason.NOTHING_LEFT,
        winner=winner,
    )


def wiring(stages: FakeStages, lab: FakeLab | None = None) -> Wiring:
    made = lab or FakeLab()

    def make_lab(kind: DeviceKind, state: Path) -> Lab:
        return made

    runners = partial(Runners, profile=stages.profile, optimize=stages.optimize, finalize=stages.finalize)
    return Wiring(lab=make_lab, runners=runners)
