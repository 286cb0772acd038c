"""Stage 2: the loop over techniques, its three stop rules, the winner and its trial on the whole grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from liger_perf.kernels.reader import read_kernel_file
from liger_perf.measure import grid
from liger_perf.measure.benchmark import write_rows
from liger_perf.measure.target import is_met, parse_target
from liger_perf.model.errors import WorkerError
from liger_perf.model.final import ArchitectureCheck
from liger_perf.model.measurements import Comparison
from liger_perf.model.variants import Change, Decision, Hypothesis, StopReason, Variant, VariantResult
from liger_perf.report.comparison import comparison_markdown
from liger_perf.report.notes import hypothesis_section, result_section, whole_notes
from liger_perf.stages import architectures, attempt, narrowing, strategy, workspace
from liger_perf.stages.attempt import Bench, Branches, Draft, Measurements, Settled
from liger_perf.stages.context import StageContext, StageOutcome
from liger_perf.stages.judging import JudgePlan, samples_csv
from liger_perf.stages.smoking import SmokeTest
from liger_perf.stages.stored import Optimized, Profiled, StoredVariant, decode
from liger_perf.stages.tuning import TuningPlan
from liger_perf.techniques.base import Evidence, Opportunity, Refusal, Rewrite, Technique
from liger_perf.techniques.registry import by_key

STAGNATION = 1.01  # the spec's rule: two consecutive variants that improve by less than 1 %


@dataclass(frozen=True, kw_only=True)
class Best:
    """What the next variant builds on."""

    name: str
    source: str
    branches: Branches = field(default_factory=dict)
    gain: float = 1.0
    gain_low: float = 1.0


class Optimizer:
    """One run of the stage. What is recorded in the journal is not done again."""

    def __init__(self, context: StageContext) -> None:
        self.context = context
        self.profiled = decode(context.workspace.read(workspace.PROFILE_DATA), Profiled)
        self.variants: list[Variant] = []
        self.results: list[VariantResult] = []
        self.best = Best(name="original", source=context.original)
        self.weak = 0
        for result in context.earlier:
            stored = decode(context.workspace.read(workspace.variant_data(result.name)), StoredVariant)
            self._learn(stored.variant, result, stored.branches)

    def run(self) -> StageOutcome:
        tree = self.context.trees.export("original")
        try:
            bench = self._bench_on(tree)
            stop = self._loop(bench)
            final = narrowing.settle_winner(self, bench)
            checks = architectures.check(bench, self.best.source, final.branches) if final.winner else ()
        finally:
            self.context.trees.remove(tree)
        return self._finish(stop, final, checks)

    def _bench_on(self, tree: object) -> Bench:
        context = self.context
        modes = judged_modes(self.profiled)
        file = read_kernel_file(context.original)
        plan = grid.SMALL if context.device.simulated else grid.FULL
        cells = grid.cells(self.profiled.capture, file, plan)
        simulated = context.device.simulated
        return Bench(
            context=context,
            original_tree=tree,  # type: ignore[arg-type]
            smoke_test=SmokeTest(context.lab, context.paths, tree),  # type: ignore[arg-type]
            tuning=TuningPlan(cells=cells, modes=modes, limit=10 if simulated else 40, runs=1 if simulated else 5),
            screening=JudgePlan(
                cells=attempt.own_cells(), modes=(), restarts=1, blocks=2 if simulated else 8, runs=1 if simulated else 4
            ),
        )

    def _loop(self, bench: Bench) -> StopReason:
        tried = {variant.technique for variant in self.variants}
        for step in self.profiled.profile.opportunities:
            stop = self._stop()
            if stop is not None:
                return stop
            if step.technique not in tried:
                self.attempt(bench, by_key(step.technique))
        return self._stop() or StopReason.NOTHING_LEFT

    def _stop(self) -> StopReason | None:
        target = self.context.request.target
        if self.results and target and is_met(parse_target(target), self.results[-1].rows):
            return StopReason.TARGET_MET
        if len(self.variants) >= self.context.request.max_variants:
            return StopReason.BUDGET
        return StopReason.STAGNATION if self.weak >= 2 else None

    def attempt(self, bench: Bench, technique: Technique) -> None:
        """Rewrite, fix the hypothesis, search, measure, record. A technique that refuses now is passed over."""
        evidence = self._evidence()
        opportunity = technique.consider(evidence)
        if isinstance(opportunity, Refusal):
            self.context.progress.note(f"{technique.key} does not apply: {opportunity.reason}")
            return
        draft = self._draft(technique, evidence)
        if isinstance(draft, Refusal):
            self.context.progress.note(f"{technique.key} refused to rewrite: {draft.reason}")
            return
        variant = self._propose(technique, opportunity, draft)
        self.carry_out(bench, variant, draft)

    def carry_out(self, bench: Bench, variant: Variant, draft: Draft, settled: Settled | None = None) -> Measurements:
        """Everything after the rewrite; `settled` where the settings are known and no search is wanted."""
        context = self.context
        before = context.lab.device_seconds
        context.progress.stage(variant.name, variant.title)
        text = hypothesis_section(variant, context.device)
        context.fix_hypothesis(variant.name, text)
        try:
            settled = settled or attempt.settle(bench, draft, self.best.branches)
        except WorkerError as error:
            settled = Settled(source=draft.source, branches={}, trials=())
            found = attempt.failed(f"the search failed: {error.what}")
        else:
            if draft.acts_by_knobs and not settled.branches:
                found = attempt.failed("no settings faster than the shipped ones were found at any measured shape")
            else:
                found = attempt.measure(bench, settled)
        variant = msgspec.structs.replace(variant, source=settled.source)
        seconds = context.lab.device_seconds - before
        result = attempt.decide(bench, variant, settled, found, seconds)
        self._record(variant, result, settled, found, text)
        return found

    def _draft(self, technique: Technique, evidence: Evidence) -> Draft | Refusal:
        """The technique's rewrite of the best so far, with the launch parameters as knobs beside its own."""
        launch = by_key(strategy.FIRST).rewrite(self.best.source, evidence)
        base = launch.source if isinstance(launch, Rewrite) else self.best.source
        known = launch.knobs if isinstance(launch, Rewrite) else ()
        if technique.key == strategy.FIRST:
            return launch if isinstance(launch, Refusal) else Draft(source=base, knobs=known, acts_by_knobs=True)
        file = read_kernel_file(base)
        rewrite = technique.rewrite(base, msgspec.structs.replace(evidence, file=file))
        if isinstance(rewrite, Refusal):
            return rewrite
        self._changes = rewrite.changes
        if rewrite.knobs:
            mine = {knob.function for knob in rewrite.knobs}
            kept = self._earlier_knobs(mine)
            beside = tuple(knob for knob in (*known, *kept) if knob.function in mine)
            return Draft(source=rewrite.source, knobs=(*beside, *rewrite.knobs), acts_by_knobs=True)
        plain = technique.rewrite(self.best.source, evidence)
        if isinstance(plain, Refusal):
            return plain
        return Draft(source=plain.source, knobs=(), acts_by_knobs=False)
