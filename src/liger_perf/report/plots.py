"""Data for the repository's own visualizer, and a picture of the judge's ratios."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from liger_perf.model.measurements import BenchmarkRow, Clock, Comparison, DeviceFacts
from liger_perf.report import rows

_MARKERS = "osD^v<>P"
# Okabe and Ito's palette: told apart with any kind of colour vision.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


def three_way_csv(
    baseline_rows: Sequence[BenchmarkRow],
    variant_rows: Sequence[BenchmarkRow],
    own_providers: Sequence[str],
    label: str = "liger_optimized",
) -> str:
    """A CSV for `benchmarks_visualizer.py --data-file`: all of the baseline's rows, and the variant's own ones with
    their provider renamed as Liger's LIGER_BENCH_PROVIDER_TAG does it (a leading "liger" replaced, suffixes kept).

    The rows of a run are the whole file, since the visualizer takes the first configuration that it meets.
    """
    renamed = [
        tuple(
            _renamed(value, label) if column == "kernel_provider" else value
            for column, value in zip(BenchmarkRow.__struct_fields__, _values(row), strict=True)
        )
        for row in variant_rows
        if row.kernel_provider in own_providers
    ]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(BenchmarkRow.__struct_fields__)
    writer.writerows([*(_values(row) for row in baseline_rows), *renamed])
    return text.getvalue()


def _values(row: BenchmarkRow) -> tuple[str, ...]:
    return tuple(str(getattr(row, column)) for column in BenchmarkRow.__struct_fields__)


def _renamed(provider: str, label: str) -> str:
    return label + provider.removeprefix("liger") if provider.startswith("liger") else f"{label}_{provider}"


def speedup_plot(comparisons: Sequence[Comparison], device: DeviceFacts) -> bytes:
    """PNG: original over candidate by point and pass, device time, with 95 % intervals. Above 1.0 is faster.

    Points are evenly spaced in the order of their size, so sizes that double look as on a logarithmic axis.
    """
    chosen = [item for item in comparisons if item.clock is Clock.DEVICE]
    chosen.sort(key=lambda item: rows.place_order(item.point))
    places = list(dict.fromkeys(rows.point_label(item.point) for item in chosen))
    figure = Figure(figsize=(min(24.0, max(6.0, 0.7 * len(places) + 3)), 5.0), dpi=110, layout="constrained")
    axes = figure.add_subplot()
    for at, mode in enumerate(dict.fromkeys(item.mode for item in chosen)):
        _series(axes, [item for item in chosen if item.mode == mode], places, at)
    axes.axhline(1.0, color="#444444", linewidth=1)
    axes.set_xticks(range(len(places)), places, rotation=35, ha="right")
    axes.set_ylabel("speed of the candidate over the original (×)")
    axes.set_title(f"{'SIMULATED: ' if device.simulated else ''}{device.name}, device time, 95 % intervals")
    axes.grid(axis="y", alpha=0.3)
    if chosen:
        axes.legend()
    if device.simulated:
        figure.text(0.5, 0.5, "SIMULATED", fontsize=56, color="#bbbbbb", alpha=0.5, rotation=25, ha="center")
    png = io.BytesIO()
    # Without a software version in its metadata the same data gives the same bytes.
    figure.savefig(png, format="png", metadata={"Software": None})
    return png.getvalue()


def _series(axes: Axes, items: Sequence[Comparison], places: Sequence[str], number: int) -> None:
    """One pass. Passes are shifted a little so that their intervals do not hide each other."""
    at = [places.index(rows.point_label(item.point)) + 0.12 * number for item in items]
    below = [item.ratio - item.low if item.low is not None else 0.0 for item in items]
    above = [item.high - item.ratio if item.high is not None else 0.0 for item in items]
    axes.errorbar(
        at,
        [item.ratio for item in items],
        yerr=[below, above],
        fmt=_MARKERS[number % len(_MARKERS)],
        color=_COLOURS[number % len(_COLOURS)],
        capsize=3,
        label=items[0].mode,
    )
