"""The winner's trial: fresh runs on the whole grid, with restarted workers.

Shapes on which it turns out slower go back to the shipped settings, and the narrowed file is tried again as a variant
of its own. What is recommended has passed every guardrail on the whole grid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from liger_perf.measure import guardrails
from liger_perf.measure.judge import SMALLEST_EFFECT
from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import SettingsCall
from liger_perf.model.measurements import Clock, Comparison, Verdict
from liger_perf.model.variants import Change, Decision, SmokeResult
from liger_perf.search import narrowing
from liger_perf.stages import attempt, workspace
from liger_perf.stages.attempt import Bench, Branches, Draft, Settled
from liger_perf.stages.judging import Judged, JudgePlan, join, judge, samples_csv
from liger_perf.techniques.base import Opportunity
from liger_perf.techniques.settings_body import clear_settings

if TYPE_CHECKING:
    from liger_perf.stages.optimize import Best, Optimizer

NARROWINGS = 2
RESTARTS = 8


class Final(msgspec.Struct, frozen=True, kw_only=True):
    """The recommended winner; an empty name where there is none."""

    name: str
    why: str
    source: str = ""
    branches: Branches = {}
    comparisons: tuple[Comparison, ...] = ()
    gain: float = 1.0
    gain_low: float = 0.0


def settle(optimizer: Optimizer, bench: Bench) -> Final:
    """Try the best accepted variant on the whole grid; narrow it where it loses; recommend it, or nothing."""
    if optimizer.best.name == "original":
        return Final(name="", why="no variant gained significantly within the guardrails")
    values = values_on_whole_grid(bench, optimizer.best)
    if not values.passed:
        where = f" at {values.worst}" if values.worst else ""
        return Final(name="", why=f"{optimizer.best.name} fails on the whole grid{where}: {values.reason}")
    samples: dict[str, str] = {}
    try:
        return _settle(optimizer, bench, samples)
    finally:
        # Only now: a narrowed variant's entry would record them, and a resumed stage could not write them again.
        for path, text in samples.items():
            bench.context.workspace.write(path, text)


def _settle(optimizer: Optimizer, bench: Bench, samples: dict[str, str]) -> Final:
    for narrowings in range(len(optimizer.narrowed), NARROWINGS + 1):
        best = optimizer.best
        try:
            judged = on_whole_grid(bench, best)
        except WorkerError as error:
            return Final(name="", why=f"{best.name} failed on the whole grid: {error.what}")
        final = conclude(optimizer, best, judged)
        samples[workspace.final_samples(best.name)] = samples_csv(judged, bench.context.device.name)
        if final.name:
            return final
        losing = losing_points(judged.comparisons())
        optimizer.context.progress.note(f"{best.name} on the whole grid: {final.why}")
        # One that was narrowed before an interruption was rejected: it would be the best now.
        done = narrowings == NARROWINGS or best.name in optimizer.narrowed or not losing
        if done or not narrow(optimizer, bench, judged, losing):
            return final
    raise AssertionError("the loop ends by a return")


def values_on_whole_grid(bench: Bench, best: Best) -> SmokeResult:
    """The smoke test at every width and dtype; the variants' own was at one. Narrowing later adds no shape to it."""
    context = bench.context
    tree = context.trees.export("values")
    try:
        context.trees.replace(tree, context.paths.ops, best.source)
        context.progress.stage("values", "outputs and gradients at every width and dtype of the grid")
        return bench.smoke_test.on_grid(tree, bench.grid, bench.tuning.modes, best.branches)
    finally:
        context.trees.remove(tree)


def on_whole_grid(bench: Bench, best: Best) -> Judged:
    """Fresh runs after the selection: every point of the script and of the wider grid, every pass.

    A guardrail that fails only for want of samples gets as many restarts again, once.
    """
    context = bench.context
    simulated = context.device.simulated
    restarts = 2 if simulated else RESTARTS
    plan = JudgePlan(
        cells=bench.grid, modes=bench.tuning.modes, restarts=restarts, blocks=1, runs=1 if simulated else 4
    )
    tree = context.trees.export("winner")
    trees = (bench.original_tree, tree)
    try:
        context.trees.replace(tree, context.paths.ops, best.source)
        judged = judge(context.lab, trees, context.paths, plan, context.progress)
        checks = guardrails.check(context.request, judged.comparisons(), judged.memory_ratios)
        if not simulated and any(guardrails.more_rounds_may_help(check) for check in checks):
            context.progress.note("a bound is too wide to conclude: as many restarts again")
            more = judge(context.lab, trees, context.paths, plan, context.progress, first_restart=restarts)
            judged = join(judged, more)
        return judged
    finally:
        context.trees.remove(tree)


def conclude(optimizer: Optimizer, best: Best, judged: Judged) -> Final:
    """Recommend where every guardrail holds on the whole grid and the target surely gains; else say why not."""
    request, comparisons = optimizer.context.request, judged.comparisons()
    gain, low = guardrails.target_gain(request, comparisons, judged.memory_ratios)
    failed = [check for check in guardrails.check(request, comparisons, judged.memory_ratios) if not check.passed]
    if failed:
        why = "; ".join(f"«{check.name}» at {check.worst_point}: {check.explanation}" for check in failed)
        return Final(name="", why=f"{best.name} fails on the whole grid: {why}")
    if low <= 1 + SMALLEST_EFFECT:
        return Final(name="", why=f"{best.name} gains {gain:.3f}× on the whole grid, at least {low:.3f}×: nothing sure")
    device = [item for item in comparisons if item.clock is Clock.DEVICE]
    faster = sum(item.verdict is Verdict.FASTER for item in device)
    why = (
        "largest gain of the target among the accepted; on the whole grid "
        f"{faster} of {len(device)} points are faster by device time, none is judged slower, and every guardrail holds"
    )
    return Final(
        name=best.name,
        why=why,
        source=best.source,
        branches=best.branches,
        comparisons=comparisons,
        gain=gain,
        gain_low=low,
    )


def losing_points(comparisons: tuple[Comparison, ...]) -> list[Comparison]:
    """Points judged slower, by either clock, or whose loss may be beyond the guardrail for other metrics."""
    limit = guardrails.NON_TARGET_LIMIT
    return [
        item
        for item in comparisons
        if item.verdict is Verdict.SLOWER
        or (item.clock is Clock.DEVICE and (item.low is None or 1 / item.low - 1 > limit))
    ]


def narrow(optimizer: Optimizer, bench: Bench, judged: Judged, losing: list[Comparison]) -> bool:
    """Hand in the best variant with the losing shapes taken out. False where that cannot help."""
    best = optimizer.best
    branches = narrowed(best.branches, judged.calls, [item.point for item in losing])
    if branches == best.branches or not any(branches.values()):
        return False
    changes = tuple(
        Change(what=f"{item.point}: shipped settings again", why=f"{item.ratio:.3f}× of the {item.clock} time's speed")
        for item in losing
    )
    draft = Draft(source=best.source, knobs=(), changes=changes)
    opportunity = Opportunity(
        kernels=tuple(sorted(branches)),
        reason="the whole grid showed shapes on which the settings lose",
        predicted_gain=best.gain,
    )
    variant = optimizer.propose(best.techniques[-1], f"{best.name} without the shapes that lose", draft, opportunity)
    text = optimizer.announce(variant)
    before = optimizer.context.lab.device_seconds
    kept = {function: found for function, found in branches.items() if found}
    source = attempt.fill(best.source, kept, optimizer.context)
    for function in set(branches) - set(kept):
        source = clear_settings(source, function)
    settled = Settled(source=source, branches=kept, trials=())
    found = attempt.measure(bench, settled)
    result = optimizer.record(bench, variant, settled, found, text, before, narrows=best.name)
    return result.decision is Decision.ACCEPTED


def narrowed(branches: Branches, calls: dict[str, tuple[SettingsCall, ...]], losing: list[str]) -> Branches:
    """The branches with the shapes of the losing points taken out."""
    shapes = [call for found in calls.values() for call in found]
    result = {function: list(found) for function, found in branches.items()}
    for call in (call for point in losing for call in calls.get(point, ())):
        kept = []
        for branch in result.get(call.function, []):
            if not branch.covers(call.shape, call.itemsize):
                kept.append(branch)
                continue
            same = [shape for shape in shapes if (shape.function, shape.itemsize) == (call.function, branch.itemsize)]
            part = narrowing.without(branch, call.shape, [shape.shape for shape in same])
            if part is not None:
                kept.append(part)
        if call.function in result:
            result[call.function] = kept
    return result
