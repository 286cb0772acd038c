from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liger_perf.measure import benchmark
from liger_perf.model.errors import WorkerError
from measure.builders import row

LIGER_HEADER = (
    "kernel_name,kernel_provider,kernel_operation_mode,metric_name,metric_unit,x_name,x_label,x_value,"
    "y_value_50,y_value_20,y_value_80,extra_benchmark_config_str,gpu_name,timestamp,liger_version"
)
LIGER_LINE = (
    "cross_entropy,liger,forward,speed,ms,V,vocab size,4096,0.5324159860610962,0.5291008353233337,0.53476482629776,"
    '"{""B"": 8, ""T"": 2048}",NVIDIA A100-SXM4-80GB,2024-09-03 15:31:39,0.2.1'
)


def test_a_file_as_liger_writes_it_survives_unchanged() -> None:
    text = f"{LIGER_HEADER}\r\n{LIGER_LINE}\r\n"
    (found,) = benchmark.parse_rows(text)
    assert found.x_value == "4096"
    assert found.y_value_20 == 0.5291008353233337
    assert found.extra_benchmark_config_str == '{"B": 8, "T": 2048}'
    assert benchmark.write_rows([found]) == text


def test_missing_columns_are_named() -> None:
    header = LIGER_HEADER.replace("y_value_20,", "").replace(",timestamp", "")
    with pytest.raises(WorkerError, match="y_value_20, timestamp"):
        benchmark.parse_rows(header + "\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (LIGER_LINE.replace("0.5324159860610962", "fast"), "Line 2.*y_value_50.*'fast'"),
        (LIGER_LINE.rsplit(",", 1)[0], "Line 2.*liger_version"),
    ],
)
def test_malformed_lines_are_refused(line: str, said: str) -> None:
    with pytest.raises(WorkerError, match=said):
        benchmark.parse_rows(f"{LIGER_HEADER}\n{line}\n")


def test_an_absent_file_has_no_rows() -> None:
    assert benchmark.parse_rows("") == ()
    assert benchmark.parse_rows(LIGER_HEADER + "\n") == ()


def test_new_rows_are_recognised_by_content_not_by_name() -> None:
    old, other = row(), row(kernel_name="mhc", kernel_provider="liger_tiled")
    again = row(timestamp="2025-01-02 12:00:00")
    assert benchmark.new_rows([old, other], [again, other, row(x_value="2048")]) == (again, row(x_value="2048"))


def test_an_unchanged_row_without_a_measurement_is_not_new() -> None:
    text = f"{LIGER_HEADER}\n{LIGER_LINE.replace('0.5324159860610962', 'nan')}\n"
    assert benchmark.new_rows(benchmark.parse_rows(text), benchmark.parse_rows(text)) == ()


def test_own_providers() -> None:
    rows = [row(), row(kernel_provider="huggingface"), row(kernel_provider="liger_tiled")]
    assert benchmark.own_provider_rows(rows, ("liger", "liger_tiled")) == (rows[0], rows[2])


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0")),
            st.floats(allow_nan=False),
        )
    )
)
def test_rows_round_trip(values: list[tuple[str, float]]) -> None:
    rows = tuple(row(extra_benchmark_config_str=text, y_value_50=number) for text, number in values)
    text = benchmark.write_rows(rows)
    assert benchmark.parse_rows(text) == rows
    assert next(csv.reader(io.StringIO(text))) == LIGER_HEADER.split(",")
