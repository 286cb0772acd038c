"""`comparison.md`: every variant beside every other, rejected ones too."""

from __future__ import annotations

from collections.abc import Sequence

from liger_perf.model.measurements import BenchmarkRow, BenchmarkRun, Clock, DeviceFacts
from liger_perf.model.options import Request
from liger_perf.model.variants import StopReason, Variant, VariantResult
from liger_perf.report import judge_tables, rows, tables

_PASSES = ("forward", "backward", "full")


def comparison_markdown(
    *,
    request: Request,
    device: DeviceFacts,
    baseline: BenchmarkRun,
    variants: Sequence[Variant],
    results: Sequence[VariantResult],
    winner: str,
    why: str,
    stop: StopReason,
) -> str:
    """The whole page.

    Args:
        winner: name of the winning variant; empty where none won.
        why: why it won, or why none did.
    """
    return tables.page(
        device,
        f"# Variants of `{request.kernel}`",
        judged_table(results, baseline, device),
        script_table(results, baseline, device),
        judge_tables.prediction_table(variants, results, device),
        f"## Winner: {winner or 'none'}\n\n{tables.sentence(why)}",
        learnings(results),
        f"## Why the loop stopped\n\n{stop.value[0].upper()}{stop.value[1:]}.",
    )


def judged_table(results: Sequence[VariantResult], baseline: BenchmarkRun, device: DeviceFacts) -> str:
    """The judge's change of time by pass at the representative x, gain of the target, cost, verdict."""
    place = rows.representative_x(baseline)
    header = (
        "Variant",
        "Strategy",
        "Parent",
        *(f"Time {mode}" for mode in _PASSES),
        "Gain of the target (lower bound)",
        "Verdict",
        "Inner trials",
        "GPU time",
    )
    body = [_judged_row(result, place) for result in results]
    caption = f"Judge at {place or 'the representative x'}: device time, change against the original [95 % interval]"
    return tables.table(device, caption, header, body)


def _judged_row(result: VariantResult, place: str) -> tuple[str, ...]:
    gain = f"{tables.ratio(result.target_gain)} ({tables.ratio(result.target_gain_low)})"
    return (
        result.name,
        result.title,
        result.parent,
        *(_pass_cell(result, mode, place) for mode in _PASSES),
        gain if result.comparisons else "–",
        result.decision.value,
        str(len(result.trials)),
        tables.seconds(result.device_seconds),
    )


def _pass_cell(result: VariantResult, mode: str, place: str) -> str:
    item = rows.at_place(result.comparisons, mode, place, Clock.DEVICE)
    if item is None:
        return "–"
    return f"{tables.time(item.b_us)}, {tables.change(item)} {tables.change_interval(item)}"


def script_table(results: Sequence[VariantResult], baseline: BenchmarkRun, device: DeviceFacts) -> str:
    """The repository's own benchmark at the representative x: speed by pass and peak memory."""
    place = rows.representative_x(baseline)
    own = tuple(row for row in baseline.rows if row.kernel_provider in baseline.own_providers)
    body = [("v0", "original", *_script_cells(own, baseline, place, compare=False))]
    body += [(r.name, r.title, *_script_cells(r.rows, baseline, place, compare=True)) for r in results]
    header = ("Variant", "Strategy", *(f"Speed {mode}" for mode in _PASSES), "Peak memory")
    caption = f"The repository's benchmark at {place or 'the representative x'} (medians, change against v0)"
    return tables.table(device, caption, header, body)


def _script_cells(
    found: Sequence[BenchmarkRow], baseline: BenchmarkRun, place: str, *, compare: bool
) -> tuple[str, ...]:
    cells: dict[str, str] = {}
    for pair in rows.against_baseline(found, baseline):
        if rows.x_label(pair.row) != place:
            continue
        name = "memory" if pair.row.metric_name == "memory" else pair.row.kernel_operation_mode
        # The first configuration and provider stand for the rest; all of them are in the variant's notes.
        cells.setdefault(name, rows.change_text(pair) if compare else tables.measured(pair.row))
    return tuple(cells.get(name, "–") for name in (*_PASSES, "memory"))


def learnings(results: Sequence[VariantResult]) -> str:
    """What was learnt, by variant."""
    items = [f"{result.name}: {learnt}" for result in results for learnt in result.learnings]
    return "## What was learnt\n\n" + tables.bullets(items)
