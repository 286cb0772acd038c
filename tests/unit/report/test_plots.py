from __future__ import annotations

import csv
import io

from liger_perf.model.options import DeviceKind
from liger_perf.report import plots
from report import builders

PNG = b"\x89PNG\r\n\x1a\n"


def test_three_ways_original_optimised_and_baseline() -> None:
    text = plots.three_way_csv(builders.BASELINE.rows, builders.FASTER_ROWS, ("liger",))
    found = list(csv.DictReader(io.StringIO(text)))
    at = [row for row in found if row["kernel_operation_mode"] == "backward" and row["x_value"] == "8192"]
    assert {row["kernel_provider"]: row["y_value_50"] for row in at} == {
        "liger": "0.1",
        "huggingface": "0.3",
        "torch_compile": "0.08",
        "liger_optimized": "0.08",
    }
    # The variant's run of another provider would be a second curve of the same name.
    assert sum(row["kernel_provider"] == "huggingface" for row in found) == 3
    assert {row["kernel_provider"] for row in found} == {"liger", "huggingface", "torch_compile", "liger_optimized"}


def test_providers_are_renamed_as_liger_does_it() -> None:
    providers = ("liger-fp32-accum", "liger_tiled", "cutile")
    variant = [builders.row("full", "1", 1.0, provider=provider) for provider in providers]
    found = csv.DictReader(io.StringIO(plots.three_way_csv([], variant, providers)))
    assert [row["kernel_provider"] for row in found] == [
        "liger_optimized-fp32-accum",
        "liger_optimized_tiled",
        "liger_optimized_cutile",
    ]


def test_the_plot_is_a_picture_that_differs_where_simulated() -> None:
    real = plots.speedup_plot(builders.COMPARISONS, builders.device())
    assert real.startswith(PNG)
    assert real == plots.speedup_plot(builders.COMPARISONS, builders.device())
    assert real != plots.speedup_plot(builders.COMPARISONS, builders.device(DeviceKind.SIMULATED))


def test_without_comparisons_there_is_still_a_picture() -> None:
    assert plots.speedup_plot([], builders.device()).startswith(PNG)
