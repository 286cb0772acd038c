"""One variant from the search of its settings to the decision: smoke test, full benchmark, judge, guardrails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from liger_perf import __version__
from liger_perf.measure import guardrails
from liger_perf.measure.judge import SMALLEST_EFFECT
from liger_perf.model.branches import Branch, Provenance
from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import Cell
from liger_perf.model.measurements import BenchmarkRow, BenchmarkRun, Clock, Comparison, Verdict
from liger_perf.model.variants import (
    Change,
    Decision,
    GuardrailCheck,
    SmokeResult,
    Trial,
    Variant,
    VariantResult,
)
from liger_perf.search.matrix import Measured
from liger_perf.search.writeback import Region, Rules, choose_branches
from liger_perf.stages.context import StageContext
from liger_perf.stages.judging import Judged, JudgePlan, Trio, join, judge, open_trio
from liger_perf.stages.smoking import SmokeTest
from liger_perf.stages.tuning import TuningPlan, tune
from liger_perf.techniques.base import Knob
from liger_perf.techniques.settings_body import write_settings
from liger_perf.techniques.settings_function import axes

EXTRA_ROUNDS = 2
Branches = dict[str, list[Branch]]


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """A rewrite in tunable form, with the knobs to search; without knobs it is what it is."""

    source: str
    knobs: tuple[Knob, ...]
    changes: tuple[Change, ...]


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """The drop-in file after the search, with the branches of its settings functions."""

    source: str
    branches: Branches
    trials: tuple[Trial, ...]


class Measurements(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured of a settled file."""

    smoke: SmokeResult
    rows: tuple[BenchmarkRow, ...] = ()
    judged: Judged | None = None
    comparisons: tuple[Comparison, ...] = ()
    checks: tuple[GuardrailCheck, ...] = ()
    failure: str = ""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """What attempts share within one stage."""

    context: StageContext
    original_tree: Path
    smoke_test: SmokeTest
    tuning: TuningPlan
    screening: JudgePlan
    grid: tuple[Cell, ...]


def settle(bench: Bench, draft: Draft, kept: Branches, rebuild: Callable[[frozenset[str]], str]) -> Settled:
    """Search the draft's knobs and write the best settings into the file.

    Args:
        kept: branches of the parent; their answers are candidates too, so that a search never forgets them.
        rebuild: the tunable source with only these kernels touched: a kernel for which nothing better was found stays
            byte for byte.

    Raises:
        WorkerError: the search failed as a whole.
    """
    if not draft.knobs:
        return Settled(source=draft.source, branches=kept, trials=())
    context = bench.context
    tree = context.trees.export("search")
    try:
        context.trees.replace(tree, context.paths.ops, draft.source)
        known = {function: tuple(branch.values for branch in found) for function, found in kept.items()}
        tuned = tune(
            context.lab, tree, context.paths, draft.knobs, bench.tuning, context.device, context.progress, known=known
        )
    finally:
        context.trees.remove(tree)
    branches = branches_of(tuned.measured, draft.source)
    if not branches:
        return Settled(source=draft.source, branches={}, trials=tuned.trials)
    kernels = frozenset(knob.kernel for knob in draft.knobs if knob.function in branches)
    source = fill(rebuild(kernels), branches, context)
    return Settled(source=source, branches={**kept, **branches}, trials=tuned.trials)


def failed(reason: str) -> Measurements:
    """Nothing was run of the variant itself."""
    return Measurements(
        smoke=SmokeResult(passed=False, compared=(), worst="", worst_error=0.0, reason="not run"), failure=reason
    )


def branches_of(measured: Sequence[Measured], tunable: str) -> Branches:
    """The fewest branches for each settings function of the tunable source; functions with none are left out."""
    found: Branches = {}
    for function in dict.fromkeys(item.function for item in measured):
        mine = [item for item in measured if item.function == function]
        width, rows = axes(tunable, mine[0].kernel)
        if not width:
            continue
        regions = [
            Region(shape=item.shape, itemsize=item.itemsize, shipped_us=item.shipped_us, times=item.times)
            for item in mine
        ]
        chosen = choose_branches(regions, Rules(width=width, rows=rows))
        if chosen:
            found[function] = chosen
    return found


def fill(source: str, branches: Branches, context: StageContext) -> str:
    """Write each function's branches into the tunable source."""
    provenance = Provenance(gpu=context.device.name, capability=context.device.capability, version=__version__)
    for function, chosen in branches.items():
        source = write_settings(source, function, chosen, provenance)
    return source


def measure(bench: Bench, settled: Settled) -> Measurements:
    """Smoke test, full benchmark script, judge at the script's own points; each only if what came before passed."""
    context = bench.context
    tree = context.trees.export("candidate")
    stack = ExitStack()
    try:
        context.trees.replace(tree, context.paths.ops, settled.source)
        # The judge's workers import while the smoke test and the script run; they touch the device only when asked.
        opened = open_trio(context.lab, (bench.original_tree, tree), context.paths, 0)
        stack.push(opened[0])
        context.progress.stage("smoke test")
        forced = [{function: branch.values} for function, found in settled.branches.items() for branch in found]
        result = bench.smoke_test.run(tree, unique(forced))
        if not result.passed:
            return Measurements(smoke=result)
        try:
            context.progress.stage("benchmark", "the repository's script, unmodified and whole")
            run = context.lab.benchmark(tree, context.paths)
            return judged(bench, tree, result, run, opened)
        except WorkerError as error:
            return Measurements(smoke=result, failure=f"could not be measured: {error.what}")
    finally:
        stack.close()
        context.trees.remove(tree)


def judged(bench: Bench, tree: Path, result: SmokeResult, run: BenchmarkRun, opened: Trio) -> Measurements:
    """Judge, with more rounds where a guardrail failed only for want of samples."""
    context = bench.context
    trees = (bench.original_tree, tree)
    found = judge(context.lab, trees, context.paths, bench.screening, context.progress, opened=opened)
    for extra in range(1, EXTRA_ROUNDS + 1):
        checks = guardrails.check(context.request, found.comparisons(), found.memory_ratios)
        if not any(guardrails.more_rounds_may_help(check) for check in checks) or context.device.simulated:
            break
        context.progress.note(f"ambiguous: round {extra + 1}")
        more = judge(
            context.lab,
            trees,
            context.paths,
            bench.screening,
            context.progress,
            first_restart=extra * bench.screening.restarts,
        )
        found = join(found, more)
    comparisons = found.comparisons()
    checks = guardrails.check(context.request, comparisons, found.memory_ratios)
    return Measurements(smoke=result, rows=run.rows, judged=found, comparisons=comparisons, checks=checks)


def unique(settings: Sequence[dict[str, dict[str, int]]]) -> list[dict[str, dict[str, int]]]:
    found: dict[bytes, dict[str, dict[str, int]]] = {}
    for item in settings:
        found.setdefault(msgspec.json.encode(item, order="sorted"), item)
    return list(found.values())


def decide(bench: Bench, variant: Variant, settled: Settled, found: Measurements, seconds: float) -> VariantResult:
    """The decision: accepted where every guardrail holds and the target's lower bound is a gain above 1 %."""
    gain, low = (1.0, 0.0)
    if found.comparisons and found.judged is not None:
        gain, low = guardrails.target_gain(bench.context.request, found.comparisons, found.judged.memory_ratios)
    decision, reason = verdict(found, gain, low)
    memory = list(found.judged.memory_ratios.values()) if found.judged else []
    return VariantResult(
        name=variant.name,
        technique=variant.technique,
        title=variant.title,
        parent=variant.parent,
        smoke=found.smoke,
        rows=found.rows,
        comparisons=found.comparisons,
        guardrails=found.checks,
        target_gain=gain,
        target_gain_low=low,
        decision=decision,
        reason=reason,
        learnings=tuple(learnings(variant, settled, found, gain)),
        trials=settled.trials,
        device_seconds=seconds,
        peak_memory_ratio=max(memory) if memory else None,
    )


def verdict(found: Measurements, gain: float, low: float) -> tuple[Decision, str]:
    if found.failure:
        return Decision.REJECTED, found.failure
    if not found.smoke.passed:
        return Decision.REJECTED, f"discarded by the smoke test: {found.smoke.reason}"
    failed = [check for check in found.checks if not check.passed]
    device = [item.noise for item in found.comparisons if item.clock is Clock.DEVICE]
    noise = median(device) if device else 0.0
    faster = [item for item in found.comparisons if item.verdict is Verdict.FASTER and item.clock is Clock.DEVICE]
    if failed:
        worst = failed[0]
        return Decision.REJECTED, f"guardrail «{worst.name}» at {worst.worst_point}: {worst.explanation}"
    if low > 1 + max(SMALLEST_EFFECT, noise):
        return Decision.ACCEPTED, f"gain of the target {gain:.3f}×, at least {low:.3f}×, and every guardrail holds"
    if faster:
        return (
            Decision.MIXED,
            f"{len(faster)} points faster, but the target as a whole gains {gain:.3f}× (bound {low:.3f}×)",
        )
    return Decision.REJECTED, f"no significant gain: {gain:.3f}× (lower bound {low:.3f}×)"


def learnings(variant: Variant, settled: Settled, found: Measurements, gain: float) -> list[str]:
    """What a later variant can use."""
    lines = []
    for function, chosen in settled.branches.items():
        for branch in chosen:
            values = ", ".join(f"{name}={value}" for name, value in branch.values.items())
            lines.append(f"`{function}` answers {values} where {describe(branch)}: {branch.note}")
    failures = [trial for trial in settled.trials if trial.failure]
    if failures:
        lines.append(f"{len(failures)} of {len(settled.trials)} trials could not run, the first: {failures[0].failure}")
    for item in found.comparisons:
        if item.verdict is Verdict.SLOWER:
            lines.append(f"slower by {item.clock} time at {item.point}: {item.ratio:.3f}×")
    if found.comparisons:
        lines.append(f"predicted {variant.hypothesis.predicted_gain:.2f}×, found {gain:.2f}×")
    return lines


def describe(branch: Branch) -> str:
    """The branch's condition in words."""
    parts = [f"dtype of {branch.itemsize} bytes"]
    for name, (low, high) in branch.shape.items():
        first = 0 if low is None else low + 1
        parts.append(
            f"{name} {first}" if first == high else f"{name} from {first} to {'any' if high is None else high}"
        )
    return ", ".join(parts)
