"""Stage 2: the loop over techniques, its three stop rules, the winner and its trial on the whole grid."""

from __future__ import annotations

from pathlib import Path

import msgspec

from liger_perf.kernels.reader import read_kernel_file
from liger_perf.measure import grid
from liger_perf.measure.benchmark import own_provider_rows, write_rows
from liger_perf.measure.target import is_met, parse_target
from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import Cell
from liger_perf.model.variants import Decision, Hypothesis, StopReason, Variant, VariantResult
from liger_perf.report.comparison import comparison_markdown
from liger_perf.report.notes import hypothesis_section, result_section, whole_notes
from liger_perf.stages import architectures, attempt, drafting, winner, workspace
from liger_perf.stages.attempt import Bench, Branches, Draft, Measurements, Settled
from liger_perf.stages.context import StageContext, StageOutcome
from liger_perf.stages.judging import JudgePlan, samples_csv
from liger_perf.stages.smoking import SmokeTest
from liger_perf.stages.stored import Optimized, Profiled, StoredVariant, decode, encode
from liger_perf.stages.tuning import TuningPlan
from liger_perf.techniques.base import Evidence, Opportunity, Refusal, Technique
from liger_perf.techniques.registry import by_key

STAGNATION = 1.01  # the specification's rule: two consecutive variants that improve by less than 1 %


class Best(msgspec.Struct, frozen=True, kw_only=True):
    """What the next variant builds on. `techniques` are in it, in order."""

    name: str
    source: str
    techniques: tuple[str, ...] = ()
    branches: Branches = {}
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
        self.narrowed: set[str] = set()
        for result in context.earlier:
            stored = decode(context.workspace.read(workspace.variant_data(result.name)), StoredVariant)
            self._learn(stored.variant, result, stored.branches, stored.narrows)

    def run(self) -> StageOutcome:
        """The whole stage; its pages and data are written to the workspace."""
        tree = self.context.trees.export("original")
        try:
            bench = bench_on(self.context, tree, self.profiled)
            stop = self._loop(bench)
            final = winner.settle(self, bench)
            checks = architectures.check(bench, final.source, final.branches) if final.name else ()
            if problem := architectures.objection(checks):
                final = winner.Final(name="", why=f"{final.name} is worse where it was not measured: {problem}")
        finally:
            self.context.trees.remove(tree)
        stored = Optimized(
            variants=tuple(self.variants),
            stop=stop,
            winner=final.name,
            why=final.why,
            final=final.comparisons,
            gain=final.gain,
            gain_low=final.gain_low,
            architectures=checks,
        )
        self.context.workspace.write(workspace.OPTIMIZE_DATA, encode(stored))
        self.context.workspace.write(workspace.COMPARISON_PAGE, self._page(stored))
        return StageOutcome(summary=summary(stored, self.results), page=workspace.COMPARISON_PAGE, winner=final.name)

    def attempt(self, bench: Bench, technique: Technique) -> None:
        """Rewrite, fix the hypothesis, search, measure, record. A technique that refuses now is passed over."""
        evidence = self._evidence()
        parent = self.best
        try:
            opportunity = technique.consider(evidence)
            draft = drafting.draft(parent.source, technique, parent.techniques, evidence)
            if isinstance(draft, Draft):
                compile(draft.source.encode(), self.context.paths.ops, "exec")
        except Exception as error:  # code that a technique did not foresee must cost that technique only
            self.context.progress.note(f"{technique.key} could not rewrite this file: {type(error).__name__}: {error}")
            return
        if isinstance(opportunity, Refusal):
            self.context.progress.note(f"{technique.key} does not apply: {opportunity.reason}")
            return
        if isinstance(draft, Refusal):
            self.context.progress.note(f"{technique.key} refused to rewrite: {draft.reason}")
            return

        def rebuild(kernels: frozenset[str]) -> str:
            built = drafting.build(parent.source, technique, parent.techniques, evidence, kernels)
            return draft.source if isinstance(built, Refusal) else built.source

        variant = self.propose(technique.key, technique.title, draft, opportunity)
        text = self.announce(variant)
        before = self.context.lab.device_seconds
        try:
            settled = attempt.settle(bench, draft, parent.branches, rebuild)
        except WorkerError as error:
            self.record(
                bench,
                variant,
                Settled(source=draft.source, branches={}, trials=()),
                attempt.failed(f"the search failed: {error.what}"),
                text,
                before,
            )
            return
        if draft.knobs and not settled.branches:
            found = attempt.failed("no settings faster than the shipped ones were found at any measured shape")
        else:
            found = attempt.measure(bench, settled)
        self.record(bench, variant, settled, found, text, before)

    def propose(self, key: str, title: str, draft: Draft, opportunity: Opportunity) -> Variant:
        """The next variant, with its hypothesis."""
        slowest = max(self.profiled.profile.diagnoses, key=lambda found: found.device_us)
        hypothesis = Hypothesis(
            bottleneck=f"{slowest.bottleneck} {slowest.mode}: {slowest.reasoning}",
            reasoning=opportunity.reason,
            uses_notes_of=tuple(result.name for result in self.results),
            changes=draft.changes,
            predicted_gain=opportunity.predicted_gain,
            expectation=f"Passes that launch {', '.join(opportunity.kernels)} run {opportunity.predicted_gain:.2f}× "
            "as fast; no other pass and no size gets slower; peak memory stays within 5 %.",
        )
        return Variant(
            number=len(self.variants) + 1,
            technique=key,
            title=title,
            parent=self.best.name,
            source=draft.source,
            hypothesis=hypothesis,
        )

    def announce(self, variant: Variant) -> str:
        """Fix the hypothesis before any run of the variant."""
        self.context.progress.stage(variant.name, variant.title)
        text = hypothesis_section(variant, self.context.device)
        self.context.fix_hypothesis(variant.name, text)
        return text

    def record(
        self,
        bench: Bench,
        variant: Variant,
        settled: Settled,
        found: Measurements,
        hypothesis: str,
        before: float,
        narrows: str = "",
    ) -> VariantResult:
        """Write the variant's files and record it in the journal. `narrows`: the variant whose shapes it cuts."""
        context = self.context
        variant = msgspec.structs.replace(variant, source=settled.source)
        seconds = context.lab.device_seconds - before
        result = attempt.decide(bench, variant, settled, found, seconds)
        kernel, name = context.request.kernel, variant.name
        head = [
            f"{name}: {variant.title} (parent {variant.parent})",
            *(change.what for change in variant.hypothesis.changes),
        ]
        context.workspace.write(workspace.variant_source(kernel, name), workspace.with_head(variant.source, head))
        page = result_section(variant, result, baseline=self.profiled.profile.baseline, device=context.device)
        context.workspace.write(workspace.variant_notes(kernel, name), whole_notes(hypothesis, page))
        stored = StoredVariant(variant=variant, branches=settled.branches, narrows=narrows)
        context.workspace.write(workspace.variant_data(name), encode(stored))
        if found.rows:
            context.workspace.write(workspace.variant_rows(name), write_rows(found.rows))
        if found.judged is not None:
            context.workspace.write(workspace.variant_samples(name), samples_csv(found.judged, context.device.name))
        context.record_variant(result)
        context.progress.note(f"{name} {result.decision}: {result.reason}")
        self._learn(variant, result, settled.branches, narrows)
        return result

    def _learn(self, variant: Variant, result: VariantResult, branches: Branches, narrows: str) -> None:
        """Take a result into account: the best so far, and whether it counts as stagnation."""
        self.variants.append(variant)
        self.results.append(result)
        if narrows:
            self.narrowed.add(narrows)
        improved = result.target_gain / self.best.gain
        # At an equal gain the simpler file stays. A narrowed variant replaces what it narrows, which lost somewhere.
        replaces = bool(narrows) and narrows == self.best.name
        if result.decision is Decision.ACCEPTED and (improved >= STAGNATION or replaces):
            self.best = Best(
                name=variant.name,
                source=variant.source,
                techniques=tuple(dict.fromkeys((*self.best.techniques, variant.technique))),
                branches=branches,
                gain=result.target_gain,
                gain_low=result.target_gain_low,
            )
        # A rejection by a guardrail says nothing about how much is left to gain.
        by_guardrail = any(not check.passed for check in result.guardrails)
        if not by_guardrail:
            self.weak = self.weak + 1 if improved < STAGNATION else 0

    def _loop(self, bench: Bench) -> StopReason:
        for step in self.profiled.profile.opportunities:
            if step.technique in {variant.technique for variant in self.variants}:
                continue
            stop = self._stop()
            if stop is not None:
                return stop
            self.attempt(bench, by_key(step.technique))
        return self._stop() or StopReason.NOTHING_LEFT

    def _stop(self) -> StopReason | None:
        target = self.context.request.target
        own = self.profiled.profile.baseline.own_providers
        last = self.results[-1] if self.results else None
        accepted = last is not None and last.decision is Decision.ACCEPTED
        if last and accepted and target and is_met(parse_target(target), own_provider_rows(last.rows, own)):
            return StopReason.TARGET_MET
        if len(self.variants) >= self.context.request.max_variants:
            return StopReason.BUDGET
        return StopReason.STAGNATION if self.weak >= 2 else None

    def _evidence(self) -> Evidence:
        return Evidence(
            file=read_kernel_file(self.best.source),
            capture=self.profiled.capture,
            device=self.context.device,
            cubins=self.profiled.cubins,
            earlier={
                variant.technique: result.target_gain
                for variant, result in zip(self.variants, self.results, strict=True)
            },
        )

    def _page(self, stored: Optimized) -> str:
        return comparison_markdown(
            request=self.context.request,
            device=self.context.device,
            baseline=self.profiled.profile.baseline,
            variants=self.variants,
            results=self.results,
            winner=stored.winner,
            why=stored.why,
            stop=stored.stop,
        )


def optimize(context: StageContext) -> StageOutcome:
    """Run the stage, going on after the variants that are recorded."""
    return Optimizer(context).run()


def bench_on(context: StageContext, tree: Path, profiled: Profiled) -> Bench:
    """What all attempts share: the original's tree, the smoke test's expectations, how much is measured."""
    simulated = context.device.simulated
    plan = grid.SMALL if simulated else grid.FULL
    cells = grid.cells(profiled.capture, read_kernel_file(context.original), plan)
    captured = {record.point.mode for record in profiled.capture.own_records}
    single = tuple(mode for mode in ("forward", "backward") if mode in captured)
    return Bench(
        context=context,
        original_tree=tree,
        smoke_test=SmokeTest(context.lab, context.paths, tree),
        tuning=TuningPlan(cells=cells, modes=single, limit=10 if simulated else 20, runs=1 if simulated else 5),
        screening=JudgePlan(
            cells=(Cell(),), modes=(), restarts=1, blocks=2 if simulated else 8, runs=1 if simulated else 4
        ),
        grid=cells,
    )


def summary(stored: Optimized, results: list[VariantResult]) -> str:
    """The checkpoint's question in a few lines."""
    lines = [f"{result.name} {result.decision}: {result.title}; {result.reason}" for result in results]
    lines.append(f"recommended: {stored.winner or 'none'}: {stored.why}")
    lines.append(f"stopped: {stored.stop.value}")
    return "\n".join(lines)
