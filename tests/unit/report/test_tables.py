from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liger_perf.report import judge_tables, rows, tables
from report import builders

DEVICE = builders.device()


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (0.04, "0.0400 µs"),
        (0.9996, "1.00 µs"),
        (9.876, "9.88 µs"),
        (98.76, "98.8 µs"),
        (999.4, "999 µs"),
        (999.6, "1.00 ms"),
        (1234.0, "1.23 ms"),
        (2.5e6, "2.50 s"),
        (None, "–"),
        (math.nan, "–"),
    ],
)
def test_times(us: float | None, text: str) -> None:
    assert tables.time(us) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [(-0.2857, "-28.6 %"), (0.05, "+5.0 %"), (0.0, "+0.0 %"), (-0.0001, "+0.0 %"), (None, "–"), (math.inf, "–")],
)
def test_changes_carry_their_sign(fraction: float | None, text: str) -> None:
    assert tables.percent(fraction) == text


def test_other_numbers() -> None:
    assert tables.percent(0.05, signed=False) == "5.0 %"
    assert tables.ratio(1.396) == "1.40×"
    assert tables.ratio(None) == "–"
    assert tables.noise(0.004) == "±0.4 %"
    assert tables.noise(1.0) == "unknown"
    assert tables.size(200 * 2**20) == "200 MB"
    assert tables.seconds(42.0) == "42.0 s"
    assert tables.seconds(750.0) == "12.5 min"
    assert tables.measured(builders.row("full", "1", 256.0, metric="memory")) == "256.0 MB"
    assert tables.measured(builders.row("full", "1", math.nan)) == "–"


def test_faster_is_a_negative_change_and_the_interval_turns_round() -> None:
    item = builders.judged("backward", "1", 100.0, 80.0, spread=0.2)
    assert tables.change(item) == "-20.0 %"
    # Ratios 1.0 and 1.5 are changes of 0 and −33.3 %.
    assert tables.change_interval(item) == "[-33.3 %, +0.0 %]"


@given(st.floats(1e-6, 1e12))
def test_three_digits_say_the_number_to_half_a_percent(value: float) -> None:
    text = tables.significant(value)
    assert float(text) == pytest.approx(value, rel=5.1e-3)
    assert "e" not in text


@given(st.text())
def test_no_text_breaks_a_table(text: str) -> None:
    found = tables.table(DEVICE, "caption", ("a", "b"), [(text, "1")])
    last = found.split("\n")[-1]
    assert last.startswith("| ")
    assert last.endswith("| 1 |")
    assert len(found.split("\n")) == 5


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="not as long"):
        tables.table(DEVICE, "caption", ("a", "b"), [("1",)])


def test_a_fence_is_longer_than_those_within() -> None:
    assert tables.fenced("a\n````\nb", "diff").startswith("`````diff\n")
    assert tables.code("a`b") == "`` a`b ``"


def test_pairs_beside_every_other_provider() -> None:
    pairs = list(rows.against_others(builders.BASELINE, "speed"))
    found = [(p.row.kernel_operation_mode, p.row.x_value, p.other and p.other.kernel_provider) for p in pairs]
    assert found == [
        ("forward", "1024", None),
        ("forward", "8192", "huggingface"),
        ("backward", "1024", None),
        ("backward", "8192", "huggingface"),
        ("backward", "8192", "torch_compile"),
    ]
    assert [pair.ratio for pair in pairs if pair.other] == pytest.approx([3.0, 3.0, 0.8])


def test_the_representative_size_is_the_largest() -> None:
    assert rows.representative_x(builders.BASELINE) == "T=8192"


def test_the_prediction_error_is_measured_over_predicted() -> None:
    assert judge_tables.prediction_error(builders.VARIANT, builders.RESULT) == pytest.approx(1.12 / 1.25 - 1)


def test_points_are_ordered_by_configuration_then_size() -> None:
    keys = [builders.key("full", x, cell) for cell in (builders.FP32, None) for x in ("8192", "llama", "1024")]
    ordered = [rows.point_label(key) for key in sorted(keys, key=rows.place_order)]
    assert ordered[:3] == ["T=1024", "T=8192", "T=llama"]
    assert ordered[3:] == ["T=1024, dtype=float32", "T=8192, dtype=float32", "T=llama, dtype=float32"]


@pytest.mark.parametrize(
    ("cells", "rule"),
    [
        (["1.40×", "–"], " ---: "),
        (["61.2 µs (-28.6 %)"], " ---: "),
        (["–"], " --- "),
        (["8 warps of it"], " --- "),
        (["2 (reduction)", "x"], " --- "),
    ],
)
def test_columns_of_numbers_stand_to_the_right(cells: list[str], rule: str) -> None:
    found = tables.table(DEVICE, "caption", ("a",), [(cell,) for cell in cells])
    assert found.split("\n")[3] == f"|{rule}|"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("largest gain", "Largest gain."),
        ("v2 passed all", "v2 passed all."),
        ("`f` is gone.", "`f` is gone."),
        ("no\nline break", "No line break."),
        ("", ""),
    ],
)
def test_sentence(text: str, expected: str) -> None:
    assert tables.sentence(text) == expected
