"""The last stage: the winner in an exported tree, full tests as a hard gate, style, plots, report, patch.

The checkout is not written to. «Applied» means that the patch was made: after a failed gate there is none.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from liger_perf.model.errors import LigerPerfError, StageError
from liger_perf.model.final import FinalReport, GateResult, Outcome, Plot
from liger_perf.model.variants import VariantResult
from liger_perf.report.final import final_json, final_markdown
from liger_perf.report.plots import speedup_plot
from liger_perf.stages import workspace as names
from liger_perf.stages.context import StageContext, StageOutcome
from liger_perf.stages.patch import make_patch
from liger_perf.stages.plotting import Plots, draw
from liger_perf.stages.style import StyleOutcome, check_style
from liger_perf.stages.testing import TestOutcome, run_tests

replace = msgspec.structs.replace


Assemble = Callable[[StageContext, str], FinalReport]
"""(context, winner's name) → what the earlier stages found: profile, variants, stop, comparisons on the whole grid."""


def run_finalize(assemble: Assemble, variant: str, context: StageContext) -> StageOutcome:
    """Finalize a session with the chosen variant; an empty name reports that none won.

    Raises:
        StageError: the full tests failed (hard gate). The REVERTED report was written, there is no patch.
        LigerPerfError: the variant is unknown, or a process failed.
    """
    report = assemble(context, variant)
    if not variant:
        return _finish(context, replace(report, outcome=Outcome.NO_WINNER))
    result = _result(context, variant)
    source = names.without_head(context.workspace.read(names.variant_source(context.paths.kernel, variant)).decode())
    judged = _judge(context, result, source)
    report = replace(report, gates=judged.gates)
    if not judged.tests.ok:
        return _revert(context, report, judged.tests)
    diff = make_patch(context.paths.ops, context.original, judged.source)
    if not diff:
        raise StageError(f"{variant} does not differ from the original", where=context.paths.ops)
    context.progress.note("drawing the plots")
    plots = _plots(context, report, result)
    patch = names.patch(context.paths.kernel)
    context.workspace.write(patch, diff)
    done = replace(
        report,
        outcome=Outcome.APPLIED,
        reason=f"{variant} passed all {judged.tests.passed} tests; the patch is {patch}",
        diff=diff,
        plots=plots.pictures,
        recommendations=(*report.recommendations, *(f"plot missing: {why}" for why in plots.missing)),
    )
    return _finish(context, done)


class _Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The gates' results, the last full tests, and the source as the style check left it."""

    gates: tuple[GateResult, ...]
    tests: TestOutcome
    source: str


def _judge(context: StageContext, result: VariantResult, source: str) -> _Judged:
    context.progress.note("running the full tests")
    tests = _full_tests(context, source)
    if not tests.ok:
        return _Judged(gates=(_smoke_gate(result), _test_gate(tests)), tests=tests, source=source)
    context.progress.note(f"tests: {tests.counts}; checking the style")
    style = _style(context, source)
    if style.source != source:
        # What is handed over must be what was tested.
        context.progress.note("the style fix changed the file; full tests again")
        tests = _full_tests(context, style.source)
    checked = GateResult(name="style", passed=style.passed, detail=style.detail)
    return _Judged(gates=(_smoke_gate(result), _test_gate(tests), checked), tests=tests, source=style.source)


def _finish(context: StageContext, report: FinalReport) -> StageOutcome:
    context.workspace.write(names.REPORT_PAGE, final_markdown(report))
    context.workspace.write(names.REPORT_DATA, final_json(report))
    return StageOutcome(summary=summary_text(report), page=names.REPORT_PAGE, winner=report.winner)


def _revert(context: StageContext, report: FinalReport, tests: TestOutcome) -> StageOutcome:
    reason = f"the full tests failed ({tests.counts}); the winner is not applied"
    _finish(context, replace(report, outcome=Outcome.REVERTED, reason=reason, diff=""))
    raise StageError(
        reason,
        where=tests.command,
        todo=f"read {context.workspace.root / names.REPORT_PAGE}; another variant: `liger-perf finalize SESSION vN`",
        details=tests.tail,
    )


def _result(context: StageContext, variant: str) -> VariantResult:
    for result in context.earlier:
        if result.name == variant:
            return result
    raise LigerPerfError(f"{variant} is no variant of this session")


def _full_tests(context: StageContext, source: str) -> TestOutcome:
    tree = context.trees.export("final")
    try:
        context.trees.replace(tree, context.paths.ops, source)
        return run_tests(context.lab, tree, [context.paths.test], full=True)
    finally:
        context.trees.remove(tree)


def _style(context: StageContext, source: str) -> StyleOutcome:
    # A tree of its own: what the tests wrote must not be able to reach the patch.
    tree = context.trees.export("style")
    try:
        context.trees.replace(tree, context.paths.ops, source)
        return check_style(context.lab, tree, context.paths.ops)
    finally:
        context.trees.remove(tree)


def _plots(context: StageContext, report: FinalReport, result: VariantResult) -> Plots:
    tree = context.trees.export("plots")
    # A visualizer need not show the device's name, but it shows its providers'.
    label = "liger_optimized_SIMULATED" if context.device.simulated else "liger_optimized"
    try:
        plots = draw(context.lab, tree, context.workspace, report.profile.baseline, result.rows, label=label)
    finally:
        context.trees.remove(tree)
    if not report.final:
        return plots
    context.workspace.write(names.SPEEDUP, speedup_plot(report.final, context.device))
    where = "on the whole grid" if report.fresh else "at the script's own points"
    speedup = Plot(path=names.SPEEDUP, title=f"original over optimized, judged {where}")
    return Plots(pictures=(*plots.pictures, speedup), missing=plots.missing)


def summary_text(report: FinalReport) -> str:
    """The report in a few lines, for the last checkpoint."""
    lines = [f"{report.outcome}: {report.reason}"]
    if report.winner:
        untried = "" if report.fresh else "; not tried on the whole grid"
        lines.append(f"gain of the target {report.gain:.3f}×, lower bound {report.gain_low:.3f}×{untried}")
    states = {True: "passed", False: "FAILED", None: "not run"}
    lines += [f"{gate.name}: {states[gate.passed]}, {gate.detail}" for gate in report.gates]
    return "\n".join(lines)


def _smoke_gate(result: VariantResult) -> GateResult:
    smoke = result.smoke
    return GateResult(
        name="smoke test", passed=smoke.passed, detail=smoke.reason or f"worst error {smoke.worst_error:g}"
    )


def _test_gate(tests: TestOutcome) -> GateResult:
    return GateResult(name="full tests", passed=tests.ok, detail=f"{tests.command}: {tests.counts}")
