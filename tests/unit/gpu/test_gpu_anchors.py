"""The frozen device model against the recorded times that it was fitted to."""

from __future__ import annotations

import statistics
from pathlib import Path

from liger_perf.gpu.simulated import anchors

PAGE = Path(__file__).parents[3] / "docs" / "results" / "h200" / "device_model.md"


def test_the_models_error_is_what_the_page_says() -> None:
    assert PAGE.read_text() == anchors.page()


def test_the_model_is_close_and_ranks_what_it_was_frozen_for() -> None:
    rows = anchors.load().rows
    assert statistics.median(abs(row.error) for row in rows) < 0.10
    by_settings = {
        row.settings: row for row in rows if row.kernel == "_rms_norm_backward_kernel" and "T=8192" in row.point
    }
    plain = by_settings["num_warps=8 loop_stages=1 programs_per_sm=1"]
    for better in ("num_warps=8 loop_stages=3 programs_per_sm=1", "num_warps=8 loop_stages=1 programs_per_sm=2"):
        recorded = plain.device_us / by_settings[better].device_us
        predicted = recorded * (1 + plain.error) / (1 + by_settings[better].error)
        assert abs(predicted / recorded - 1) < 0.10


def test_the_error_is_said_in_one_phrase() -> None:
    assert anchors.error_text(anchors.load()).startswith(
        "on 66 recorded times of a real NVIDIA H200 the model is wrong by"
    )
