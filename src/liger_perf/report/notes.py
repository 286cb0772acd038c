"""`<kernel>_vN_notes.md`: the notebook of one variant. The first part is fixed before any run, the second after."""

from __future__ import annotations

from collections.abc import Sequence

from liger_perf.model.measurements import BenchmarkRun, DeviceFacts
from liger_perf.model.variants import Decision, Trial, Variant, VariantResult
from liger_perf.report import judge_tables, rows, tables

SHOWN_TRIALS = 10
"""Trials shown a point, fastest first; a search makes hundreds, and their raw times are kept beside the notes."""


def hypothesis_section(variant: Variant, device: DeviceFacts) -> str:
    """Hypothesis, changes and expected outcome."""
    idea = variant.hypothesis
    notes = ", ".join(idea.uses_notes_of) or "none"
    body = [(change.what, change.why) for change in variant.hypothesis.changes]
    return tables.page(
        device,
        f"# {variant.name}: {tables.flat(variant.title)}",
        f"Technique {tables.code(variant.technique)}, parent {tables.code(variant.parent)}.",
        f"## Hypothesis\n\nBottleneck aimed at: {tables.flat(idea.bottleneck)}\n\n{idea.reasoning.strip()}\n\n"
        f"Earlier notes used: {notes}",
        "## Changes\n\n" + tables.table(device, "What is changed, and why", ("Change", "Reason"), body),
        f"## Expected outcome\n\nPredicted gain of the target: {tables.ratio(idea.predicted_gain)} "
        f"(higher is better). {tables.flat(idea.expectation)}",
    )


def result_section(variant: Variant, result: VariantResult, *, baseline: BenchmarkRun, device: DeviceFacts) -> str:
    """Results at every point, guardrails, verdict and learnings; see whole_notes, whose first part has the banner."""
    return tables.joined(
        _smoke(result),
        _measured(result, baseline, device),
        _prediction(variant, result),
        "## Guardrails\n\n" + judge_tables.guardrail_table(result.guardrails, device),
        _verdict(result),
        _trials(result.trials, device),
        "## Learnings\n\n" + tables.bullets(result.learnings),
    )


def whole_notes(hypothesis: str, result: str) -> str:
    """The file after the runs: the hypothesis exactly as it was fixed, then the results."""
    return f"{hypothesis}\n{result}"


def _smoke(result: VariantResult) -> str:
    smoke = result.smoke
    state = "passed" if smoke.passed else "**FAILED**"
    count = len(smoke.compared)
    compared = f"{count} tensor{'' if count == 1 else 's'}" if count else "nothing"
    text = f"## Smoke test\n\nThe smoke test {state}. Compared with the original: {compared}"
    text += f" (named in `results/{result.name}.json`)." if count else "."
    if smoke.worst:
        text += f" Worst: {tables.code(smoke.worst)}, error {smoke.worst_error:.3g}."
    return text + (f"\n\n{tables.flat(smoke.reason)}" if smoke.reason else "")


def _measured(result: VariantResult, baseline: BenchmarkRun, device: DeviceFacts) -> str:
    header = ("Metric", "Pass", "x", "Provider", "Baseline", "Variant", "Change", "Configuration")
    body = [
        (
            pair.row.metric_name,
            pair.row.kernel_operation_mode,
            rows.x_label(pair.row),
            pair.row.kernel_provider,
            tables.measured(pair.other),
            tables.measured(pair.row),
            tables.percent(pair.change),
            pair.row.extra_benchmark_config_str,
        )
        for pair in rows.against_baseline(result.rows, baseline)
    ]
    return "\n\n".join(
        [
            "## Results",
            judge_tables.judge_table(
                result.comparisons, device, f"Judge: baseline against {result.name}, paired and interleaved"
            ),
            tables.table(
                device, "The repository's own benchmark script, whole (medians; below zero is better)", header, body
            ),
        ]
    )


def _prediction(variant: Variant, result: VariantResult) -> str:
    if not result.comparisons:
        return ""
    error = judge_tables.prediction_error(variant, result)
    low = tables.ratio(result.target_gain_low) if result.target_gain_low else "unknown"
    return (
        f"Gain of the target: {tables.ratio(result.target_gain)} (lower bound {low}), "
        f"predicted {tables.ratio(variant.hypothesis.predicted_gain)}; measured over predicted {tables.percent(error)}."
    )


def _verdict(result: VariantResult) -> str:
    meaning = {
        Decision.ACCEPTED: "better, and nothing measured is worse",
        Decision.REJECTED: "not to be used",
        Decision.MIXED: "better in parts, not good enough as it is",
    }
    return (
        f"## Verdict: {result.decision.value}\n\n{result.decision.value} means: {meaning[result.decision]}. "
        f"{tables.sentence(result.reason)}\n\n"
        f"GPU time spent: {tables.seconds(result.device_seconds)}."
    )


def _trials(trials: Sequence[Trial], device: DeviceFacts) -> str:
    if not trials:
        return ""
    by_point: dict[str, list[Trial]] = {}
    for trial in trials:
        by_point.setdefault(trial.point, []).append(trial)
    body = [row for point, found in by_point.items() for row in _trial_rows(point, found)]
    failed = sum(trial.device_us is None for trial in trials)
    caption = f"Inner trials: {len(trials)}, of which {failed} failed; the fastest {SHOWN_TRIALS} at each point"
    header = ("Pass", "Point", "Settings", "Device time (median)", "Over the fastest")
    text = "## Inner trials\n\n" + tables.table(device, caption, header, body)
    reasons: dict[str, int] = {}
    for trial in trials:
        if trial.device_us is None:
            reason = trial.failure or "no reason given"
            reasons[reason] = reasons.get(reason, 0) + 1
    if reasons:
        text += "\n\nFailures:\n\n" + tables.bullets([f"{count} × {reason}" for reason, count in reasons.items()])
    return text


def _trial_rows(point: str, trials: Sequence[Trial]) -> list[tuple[str, ...]]:
    timed = sorted((trial.device_us, at) for at, trial in enumerate(trials) if trial.device_us is not None)
    return [
        (
            point.split("/")[1],
            rows.point_label(point),
            _settings(trials[at]),
            tables.time(device_us),
            tables.percent(device_us / timed[0][0] - 1),
        )
        for device_us, at in timed[:SHOWN_TRIALS]
    ]


def _settings(trial: Trial) -> str:
    parts = [
        f"{tables.code(function)}: " + ", ".join(f"{name}={value}" for name, value in values.items())
        for function, values in trial.settings.items()
        if values
    ]
    return "; ".join(parts) or "as shipped"
