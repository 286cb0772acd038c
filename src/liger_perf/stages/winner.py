"""The winner's trial: fresh runs on the whole grid, with restarted workers.

Shapes on which it turns out slower go back to the shipped settings, and the narrowed file is tried again as a variant
of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from liger_perf.measure.guardrails import target_gain
from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import SettingsCall
from liger_perf.model.measurements import Clock, Comparison, Verdict
from liger_perf.model.variants import Change, Decision
from liger_perf.search import narrowing
from liger_perf.stages import attempt, workspace
from liger_perf.stages.attempt import Bench, Branches, Draft, Settled
from liger_perf.stages.judging import Judged, JudgePlan, judge, samples_csv
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
    """Try the best accepted variant on the whole grid; narrow it where it is slower; recommend it, or nothing."""
    context = optimizer.context
    if optimizer.best.name == "original":
        return Final(name="", why="no variant gained significantly within the guardrails")
    for attempt_number in range(NARROWINGS + 1):
        best = optimizer.best
        try:
            judged = on_whole_grid(bench, best)
        except WorkerError as error:
            return Final(name="", why=f"{best.name} failed on the whole grid: {error.what}")
        comparisons = judged.comparisons()
        context.workspace.write(workspace.final_samples(best.name), samples_csv(judged))
        slower = [item for item in comparisons if item.verdict is Verdict.SLOWER and item.clock is Clock.DEVICE]
        if not slower:
            return recommended(optimizer, best, judged, comparisons)
        points = ", ".join(item.point for item in slower)
        context.progress.note(f"{best.name} is slower on the whole grid at {points}")
        if attempt_number == NARROWINGS or not narrow(optimizer, bench, judged, slower):
            return Final(name="", why=f"{best.name} is slower at {points}, and no narrower settings were left")
    raise AssertionError("the loop ends by a return")


def on_whole_grid(bench: Bench, best: Best) -> Judged:
    """Fresh runs after the selection: every point of the script and of the wider grid, every pass."""
    context = bench.context
    simulated = context.device.simulated
    plan = JudgePlan(
        cells=bench.grid,
        modes=(),
        restarts=2 if simulated else RESTARTS,
        blocks=1 if simulated else 2,
        runs=1 if simulated else 4,
    )
    tree = context.trees.export("winner")
    try:
        context.trees.replace(tree, context.paths.ops, best.source)
        return judge(context.lab, (bench.original_tree, tree), context.paths, plan, context.progress)
    finally:
        context.trees.remove(tree)


def recommended(optimizer: Optimizer, best: Best, judged: Judged, comparisons: tuple[Comparison, ...]) -> Final:
    gain, low = target_gain(optimizer.context.request, comparisons, judged.memory_ratios)
    faster = sum(item.verdict is Verdict.FASTER for item in comparisons if item.clock is Clock.DEVICE)
    points = sum(item.clock is Clock.DEVICE for item in comparisons)
    why = (
        f"largest lower bound of the target among the accepted; on the whole grid {faster} of {points} points are faster by "
        f"device time and none is slower"
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


def narrow(optimizer: Optimizer, bench: Bench, judged: Judged, slower: list[Comparison]) -> bool:
    """Hand in the best variant with the slower shapes taken out. False where that cannot help."""
    best = optimizer.best
    branches = narrowed(best.branches, judged.calls, [item.point for item in slower])
    if branches == best.branches or not any(branches.values()):
        return False
    changes = tuple(
        Change(what=f"{item.point}: shipped settings again", why=f"{item.ratio:.3f}× on the whole grid")
        for item in slower
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
    result = optimizer.record(bench, variant, settled, attempt.measure(bench, settled), text, before)
    if result.decision is not Decision.ACCEPTED:
        return False
    optimizer.take(variant.name)
    return True


def narrowed(branches: Branches, calls: dict[str, tuple[SettingsCall, ...]], slow_points: list[str]) -> Branches:
    """The branches with the shapes of the slower points taken out."""
    shapes = [call for found in calls.values() for call in found]
    result = {function: list(found) for function, found in branches.items()}
    for call in (call for point in slow_points for call in calls.get(point, ())):
        kept = []
        for branch in result.get(call.function, []):
            if not branch.covers(call.shape, call.itemsize):
                kept.append(branch)
                continue
            mine = [
                other.shape for other in shapes if other.function == call.function and other.itemsize == branch.itemsize
            ]
            part = narrowing.without(branch, call.shape, mine)
            if part is not None:
                kept.append(part)
        if call.function in result:
            result[call.function] = kept
    return result
