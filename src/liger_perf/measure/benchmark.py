"""The CSV of the repository's own benchmark script: read, find what one run added, write."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence

from liger_perf.model.errors import WorkerError
from liger_perf.model.measurements import BenchmarkRow

# The order of Liger's columns is the order of the fields (benchmark/scripts/utils.py, BenchmarkDataCSVRow).
COLUMNS = BenchmarkRow.__struct_fields__
_NUMBERS = ("y_value_50", "y_value_20", "y_value_80")


def parse_rows(csv_text: str) -> tuple[BenchmarkRow, ...]:
    """All rows of a benchmark CSV. An empty text has no rows; columns beyond Liger's own are ignored.

    Raises:
        WorkerError: columns are missing, a line is cut short, or a measurement is no number.
    """
    if not csv_text.strip():
        return ()
    reader = csv.DictReader(io.StringIO(csv_text, newline=""))
    missing = [column for column in COLUMNS if column not in (reader.fieldnames or ())]
    if missing:
        raise WorkerError(
            f"The benchmark's CSV lacks columns: {', '.join(missing)}.",
            where="benchmark CSV",
            todo="Check that the benchmark script writes the columns of benchmark/scripts/utils.py.",
        )
    return tuple(_row(fields, reader.line_num) for fields in reader)


def _row(fields: dict[str, str | None], line: int) -> BenchmarkRow:
    texts: dict[str, str] = {}
    for column in COLUMNS:
        text = fields[column]
        if text is None:
            raise WorkerError(f"Line {line} of the benchmark's CSV has no {column}.", where="benchmark CSV")
        texts[column] = text
    numbers: dict[str, float] = {}
    for column in _NUMBERS:
        text = texts.pop(column)
        try:
            # Liger writes an absent quantile as an empty field or as nan.
            numbers[column] = float(text) if text else float("nan")
        except ValueError:
            raise WorkerError(
                f"Line {line} of the benchmark's CSV: {column} is {text!r}, not a number.", where="benchmark CSV"
            ) from None
    return BenchmarkRow(**texts, **numbers)  # type: ignore[arg-type]  # texts holds every other column


def _identity(row: BenchmarkRow) -> tuple[str, ...]:
    # As text, because nan differs from itself and would make an old row look new.
    return tuple(str(getattr(row, column)) for column in COLUMNS)


def new_rows(before: Sequence[BenchmarkRow], after: Sequence[BenchmarkRow]) -> tuple[BenchmarkRow, ...]:
    """The rows of `after` that a run added or changed.

    New rows are recognised, not names: the CSV's kernel_name is not always the file's, the provider not always liger.
    A row that was measured again counts through its timestamp or its values.
    """
    known = Counter(_identity(row) for row in before)
    added = []
    for row in after:
        identity = _identity(row)
        if known[identity]:
            known[identity] -= 1
        else:
            added.append(row)
    return tuple(added)


def write_rows(rows: Sequence[BenchmarkRow]) -> str:
    """The CSV text of `rows`: Liger's column order, and line ends and floats as its own writer has them."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows(_identity(row) for row in rows)
    return text.getvalue()


def own_provider_rows(rows: Sequence[BenchmarkRow], own_providers: Sequence[str]) -> tuple[BenchmarkRow, ...]:
    """The rows of the providers that launched the kernel's own file."""
    return tuple(row for row in rows if row.kernel_provider in own_providers)
