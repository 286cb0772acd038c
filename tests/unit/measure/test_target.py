from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liger_perf.measure.target import Metric, Target, is_met, parse_target
from liger_perf.model.errors import UsageError, WorkerError
from measure.builders import row


@pytest.mark.parametrize(
    ("text", "metric", "mode", "limit", "x_name", "x"),
    [
        ("forward under 0.3ms at hidden_size=4096", Metric.SPEED, "forward", 0.3, "hidden_size", "4096"),
        ("memory below 2 GB", Metric.MEMORY, "", 2048, "", ""),
        ("backward below 80 us at T=8192", Metric.SPEED, "backward", 0.08, "T", "8192"),
        ("Full < 80µs", Metric.SPEED, "full", 0.08, "", ""),
        ("peak memory less than 512 MiB at T=8192", Metric.MEMORY, "", 512, "T", "8192"),
        ("full at most .5 s", Metric.SPEED, "full", 500, "", ""),
    ],
)
def test_targets(text: str, metric: Metric, mode: str, limit: float, x_name: str, x: str) -> None:
    found = parse_target(text)
    assert (found.metric, found.mode, found.x_name, found.x) == (metric, mode, x_name, x)
    assert found.limit == pytest.approx(limit)
    assert found.inclusive == ("at most" in text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "forward 0.3ms",
        "forward under ms",
        "forward under -1ms",
        "forward under 0.3",
        "forward under 0.3ms at 4096",
        "sideways under 0.3ms",
        "forward under 0ms",
        "forward over 0.3ms",
    ],
)
def test_malformed_targets_say_what_was_read_and_what_is_allowed(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_target(text)
    assert repr(text) in caught.value.what
    assert "forward under 0.3ms at hidden_size=4096" in caught.value.todo


@pytest.mark.parametrize("text", ["forward under 2 GB", "memory below 3 ms", "full under 3 parsecs"])
def test_a_unit_of_another_metric_is_named(text: str) -> None:
    with pytest.raises(UsageError, match="no unit of"):
        parse_target(text)


@given(st.text(max_size=40))
def test_reading_never_crashes(text: str) -> None:
    try:
        found = parse_target(text)
    except UsageError:
        return
    assert isinstance(found, Target)


def test_met_only_where_every_row_in_question_is_within() -> None:
    target = parse_target("forward under 0.3ms at T=4096")
    within, beyond = row(x_value="4096", y_value_50=0.29), row(x_value="4096", y_value_50=0.3)
    elsewhere = row(x_value="8192", y_value_50=9.0)
    other_pass = row(x_value="4096", y_value_50=9.0, kernel_operation_mode="backward")
    memory = row(x_value="4096", y_value_50=9.0, metric_name="memory", metric_unit="MB")
    assert is_met(target, [within, elsewhere, other_pass, memory])
    assert not is_met(target, [within, beyond])
    assert not is_met(target, [elsewhere])
    assert not is_met(target, [row(x_value="4096", y_value_50=math.nan)])
    assert is_met(parse_target("forward at most 0.3 ms at T=4096"), [beyond])
    assert not is_met(parse_target("forward under 0.3 ms"), [within, elsewhere])
    assert not is_met(parse_target("forward under 0.3 ms at H=4096"), [within])


def test_memory_is_compared_in_the_rows_unit() -> None:
    memory = row(metric_name="memory", metric_unit="MB", y_value_50=2047.0, kernel_operation_mode="full")
    assert is_met(parse_target("memory below 2 GB"), [memory])
    assert not is_met(parse_target("memory below 1.9 GB"), [memory])
    with pytest.raises(WorkerError, match="'pages'"):
        is_met(parse_target("memory below 2 GB"), [row(metric_name="memory", metric_unit="pages")])
