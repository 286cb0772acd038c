"""`report.md` and `report.json`: what was done to the kernel, on what evidence, and how to see it again."""

from __future__ import annotations

import re
from typing import Any, assert_never

import msgspec

from liger_perf.model.final import ArchitectureCheck, FinalReport, GateResult, Outcome
from liger_perf.model.measurements import Clock, Comparison
from liger_perf.model.variants import Change, Decision, Variant, VariantResult
from liger_perf.report import comparison, judge_tables, rows, tables

JSON_VERSION = 1
SETTINGS = re.compile(r"\b_\w+_settings\b")
JUDGED_ONLY = "the runs on which it was judged: it was not tried again, nor on the whole grid"


def final_markdown(report: FinalReport) -> str:
    """The whole page."""
    profile = report.profile
    return tables.page(
        profile.device,
        f"# Optimisation report: `{profile.request.kernel}`",
        _summary(report),
        _profile(report),
        _comparison(report),
        _changes(report),
        _rejected(report),
        _plots(report),
        _correctness(report),
        _architectures(report),
        "## Recommendations\n\n" + tables.bullets(report.recommendations),
        "## Reproduction\n\n" + tables.fenced("\n".join(report.reproduction) or "# no commands were given", "sh"),
    )


def final_json(report: FinalReport) -> str:
    """The same as JSON, with the figures that the page derives: version, ratios, changes in percent."""
    value: dict[str, Any] = {
        "version": JSON_VERSION,
        "simulated": report.profile.device.simulated,
        "kernel": report.profile.request.kernel,
        "outcome": report.outcome.value,
        "winner": report.winner or None,
        "gain": report.gain if report.winner else None,
        "gain_low": report.gain_low if report.winner else None,
        "changes_percent": {
            f"{item.clock.value} {item.point}": round((1 / item.ratio - 1) * 100, 3) for item in report.final
        },
        "report": msgspec.to_builtins(report),
    }
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def _summary(report: FinalReport) -> str:
    match report.outcome:
        case Outcome.APPLIED:
            head = f"**APPLIED: {report.winner}**"
        case Outcome.REVERTED:
            head = f"**REVERTED: {report.winner} is not applied; the kernel is as it was**"
        case Outcome.NO_WINNER:
            head = "**NO WINNER: the kernel is as it was**"
        case _:
            assert_never(report.outcome)
    text = f"## Summary\n\n{head}\n\n{tables.sentence(report.reason)}"
    if not report.winner:
        return text
    low = tables.ratio(report.gain_low) if report.gain_low else "unknown"
    request = report.profile.request
    text += (
        f"\n\nGain of the target (goal {request.goal.value}, scope {request.scope}): {tables.ratio(report.gain)}, "
        f"lower bound {low}, from {'runs made after the selection' if report.fresh else JUDGED_ONLY}."
        f"\n\n{_least_gain(report)}"
    )
    caption = f"Original against {report.winner}, " + (
        "whole grid, fresh runs" if report.fresh else "the script's own points, the runs on which it was judged"
    )
    return f"{text}\n\n" + judge_tables.judge_table(report.final, report.profile.device, caption)


def _least_gain(report: FinalReport) -> str:
    """The points that gained least and most by device time: a mean must not hide a size that lost."""
    device = [item for item in report.final if item.clock is Clock.DEVICE]
    if not device:
        return "No device time was compared."
    least, most = min(device, key=lambda item: item.ratio), max(device, key=lambda item: item.ratio)
    return f"Least: {_where_and_change(least)}, most: {_where_and_change(most)}; {len(device)} measurements."


def _where_and_change(item: Comparison) -> str:
    return f"{item.mode} at {rows.point_label(item.point)} {tables.change(item)} {tables.change_interval(item)}"


def _profile(report: FinalReport) -> str:
    profile = report.profile
    body = [
        (
            found.mode,
            rows.point_label(found.point),
            tables.time(found.device_us),
            tables.time(found.wall_us),
            tables.percent(found.share, signed=False),
            found.bottleneck.value + (", at the roof" if found.at_roof else ""),
        )
        for found in profile.diagnoses
    ]
    header = ("Pass", "Point", "Device time", "Wall time", "Share of copy bandwidth", "Bottleneck")
    device = profile.device
    place = (
        f"{tables.code(profile.paths.ops)}, tier {profile.tier} ({profile.tier_description}), on {device.name} "
        f"(sm_{device.capability[0]}{device.capability[1]}, {device.sm_count} SMs, copy {device.copy_gbs:.0f} GB/s)."
    )
    return f"## Profile\n\n{place}\n\n" + tables.table(device, "As shipped", header, body)


def _comparison(report: FinalReport) -> str:
    device, baseline = report.profile.device, report.profile.baseline
    return "\n\n".join(
        [
            "## Variants",
            comparison.judged_table(report.results, baseline, device),
            comparison.script_table(report.results, baseline, device),
            judge_tables.prediction_table(report.variants, report.results, device),
            f"Winner: {report.winner or 'none'}. {tables.sentence(report.winner_reason)}".rstrip(),
            f"Why the loop stopped: {report.stop.value}.",
        ]
    )


def _changes(report: FinalReport) -> str:
    won = _variant(report, report.winner)
    if won is None:
        return ""
    body = [(change.what, change.why) for change in _inherited_changes(report, won)]
    return "\n\n".join(
        [
            "## Winning changes" + ("" if report.outcome is Outcome.APPLIED else " (not applied)"),
            tables.table(report.profile.device, "What is changed, and why", ("Change", "Reason"), body),
            tables.fenced(report.diff, "diff"),
        ]
    )


def _variant(report: FinalReport, name: str) -> Variant | None:
    return next((variant for variant in report.variants if variant.name == name), None)


def _inherited_changes(report: FinalReport, won: Variant) -> list[Change]:
    """The winner's changes after those of the variants that it builds on; a parent can be named only once.

    Without those to kernels for which the search found nothing: their settings functions are not in the file.
    """
    chain = [won]
    seen = {won.name}
    while (parent := _variant(report, chain[0].parent)) is not None and parent.name not in seen:
        chain.insert(0, parent)
        seen.add(parent.name)
    changes = dict.fromkeys(change for variant in chain for change in variant.hypothesis.changes)
    return [change for change in changes if all(name in won.source for name in SETTINGS.findall(change.what))]


def _rejected(report: FinalReport) -> str:
    body = [
        (result.name, result.title, result.decision.value, result.reason, _failed(result))
        for result in report.results
        if result.decision is not Decision.ACCEPTED
    ]
    header = ("Variant", "Strategy", "Verdict", "Reason", "Guardrails not passed")
    return "## Rejected approaches\n\n" + tables.table(report.profile.device, "What did not work", header, body)


def _failed(result: VariantResult) -> str:
    return ", ".join(check.name for check in result.guardrails if not check.passed) or "–"


def _plots(report: FinalReport) -> str:
    prefix = "SIMULATED: " if report.profile.device.simulated else ""
    items = [f"![{prefix}{tables.flat(plot.title)}]({plot.path})" for plot in report.plots]
    return "## Plots\n\n" + ("\n\n".join(items) or "None.")


def _correctness(report: FinalReport) -> str:
    body = [(gate.name, _gate_state(gate), gate.detail) for gate in report.gates]
    table = tables.table(report.profile.device, "Gates of the winner", ("Gate", "Result", "Detail"), body)
    return "## Correctness\n\n" + table


def _gate_state(gate: GateResult) -> str:
    return {True: "passed", False: "**FAILED**", None: "not run"}[gate.passed]


def _architectures(report: FinalReport) -> str:
    if not report.architectures:
        why = "nothing won" if not report.winner else "only the recommended variant is compiled for others"
        return f"## Architectures\n\nNone was tried: {why}."
    body = [
        (
            f"sm_{check.arch} ({check.name})",
            "yes" if check.measured else "**not measured**",
            {True: "yes", False: "**no**", None: "not tried"}[check.compiled],
            _where_it_applies(check),
            check.note or "–",
        )
        for check in report.architectures
    ]
    header = ("Architecture", "Measured", "Compiles", "What runs there", "Compiled with the shipped values")
    text = tables.table(report.profile.device, "Where the winner was measured and where not", header, body)
    return "## Architectures\n\n" + text


def _where_it_applies(check: ArchitectureCheck) -> str:
    return "the shipped values" if check.gated else "the winner"
