"""The judge's figures as tables, each generated from the values that carry the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from liger_perf.model.measurements import Comparison, DeviceFacts
from liger_perf.model.variants import GuardrailCheck, Variant, VariantResult
from liger_perf.report import rows, tables


def judge_table(
    comparisons: Sequence[Comparison], device: DeviceFacts, caption: str = "Judge: original against candidate"
) -> str:
    """One row a comparison: both medians, the change of time with its interval, noise and verdict."""
    header = (
        "Pass",
        "Point",
        "Clock",
        "Original",
        "Candidate",
        "Change of time",
        "95 % interval",
        "Ratio (higher is faster)",
        "Noise",
        "Verdict",
        "Samples",
    )
    body = [
        (
            item.mode,
            rows.point_label(item.point),
            item.clock.value,
            tables.time(item.a_us),
            tables.time(item.b_us),
            tables.change(item),
            tables.change_interval(item),
            tables.ratio(item.ratio),
            tables.noise(item.noise),
            item.verdict.value,
            str(item.samples),
        )
        for item in comparisons
    ]
    return tables.table(device, caption, header, body)


def guardrail_table(checks: Sequence[GuardrailCheck], device: DeviceFacts) -> str:
    """One row a guardrail, at its worst point. A loss is positive, a gain negative."""
    header = ("Guardrail", "Allowed loss", "Worst point", "Loss", "Upper bound", "Passed", "Note")
    body = [
        (
            check.name,
            tables.percent(check.threshold, signed=False),
            f"{_pass_of(check.worst_point)}{rows.point_label(check.worst_point)}" if check.worst_point else "–",
            tables.percent(check.loss) if check.worst_point else "–",
            tables.percent(check.loss_upper),
            "yes" if check.passed else "**no**",
            check.explanation or "–",
        )
        for check in checks
    ]
    return tables.table(device, "Guardrails, each at its worst point", header, body)


def _pass_of(key: str) -> str:
    return f"{key.split('/')[1]} "


def prediction_error(variant: Variant, result: VariantResult) -> float:
    """Measured gain over predicted gain, less 1: above 0 the prediction was too low."""
    return result.target_gain / variant.hypothesis.predicted_gain - 1


def prediction_table(variants: Sequence[Variant], results: Sequence[VariantResult], device: DeviceFacts) -> str:
    """Predicted against measured gain of the target, a row a variant that has a result."""
    by_name = {result.name: result for result in results}
    body = []
    for variant in variants:
        result = by_name.get(variant.name)
        if result is None:
            continue
        body.append(
            (
                variant.name,
                variant.title,
                tables.ratio(variant.hypothesis.predicted_gain),
                tables.ratio(result.target_gain) if result.comparisons else "–",
                tables.percent(prediction_error(variant, result)) if result.comparisons else "–",
            )
        )
    header = ("Variant", "Strategy", "Predicted gain", "Measured gain", "Measured over predicted")
    return tables.table(device, "Predictions: gain of the target, higher is better", header, body)
