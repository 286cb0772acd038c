"""Markdown tables and the numbers in them. Every number carries its unit, every change its sign."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from liger_perf.model.measurements import BenchmarkRow, Comparison, DeviceFacts

UNKNOWN = "–"

_NUMBER = re.compile(r"[+±-]?\d[\d.]*( ?(×|%|µs|ms|s|min|B|KB|MB))?( \([^()]*\))?")


def banner(device: DeviceFacts) -> str:
    """The first line of every page of a simulated run; empty on a real GPU."""
    if not device.simulated:
        return ""
    return (
        "> `SIMULATED` Every figure on this page comes from a model of a GPU, not from one. "
        "None of them is evidence about real hardware" + (f": {device.model_error}.\n" if device.model_error else ".\n")
    )


def page(device: DeviceFacts, *sections: str) -> str:
    """Join sections by one blank line, below the banner where there is one; empty sections leave no trace."""
    return joined(banner(device), *sections)


def joined(*sections: str) -> str:
    """A page's sections without its banner."""
    parts = [part.strip("\n") for part in sections]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(device: DeviceFacts, caption: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table below its caption. Columns whose cells are numbers are set to the right.

    Raises:
        ValueError: a row is not as long as the header.
    """
    if any(len(row) != len(header) for row in rows):
        raise ValueError(f"a row of the table {caption!r} is not as long as its header")
    title = f"**{'SIMULATED: ' if device.simulated else ''}{caption}**"
    if not rows:
        return f"{title}\n\nNone."
    rules = [" ---: " if _numeric([row[at] for row in rows]) else " --- " for at in range(len(header))]
    lines = [_line(header), "|" + "|".join(rules) + "|", *(_line(row) for row in rows)]
    return f"{title}\n\n" + "\n".join(lines)


def bullets(items: Sequence[str], otherwise: str = "None.") -> str:
    """A list, or the text for an empty one."""
    return "\n".join(f"- {flat(item)}" for item in items) if items else otherwise


def flat(text: str) -> str:
    """One line: a line break would end a table row or a list item."""
    return " ".join(text.split())


def sentence(text: str) -> str:
    """One line that begins and ends as a sentence does; a name at its begin, such as v2, stays as it is."""
    line = flat(text)
    if line.split(" ")[0].isalpha():
        line = line[0].upper() + line[1:]
    return line if not line or line.endswith((".", "!", "?")) else f"{line}."


def code(text: str) -> str:
    """Inline code; long enough fences survive backticks within."""
    fence = "``" if "`" in text else "`"
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def fenced(text: str, language: str) -> str:
    """A code block whose fence is longer than any fence within."""
    longest = max((len(line) - len(line.lstrip("`")) for line in text.splitlines()), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(flat(cell).replace("|", "\\|") for cell in cells) + " |"


def _numeric(cells: Sequence[str]) -> bool:
    known = [cell for cell in cells if cell != UNKNOWN]
    return bool(known) and all(_NUMBER.fullmatch(cell) for cell in known)


def significant(value: float, digits: int = 3) -> str:
    """`digits` significant digits without an exponent: 0.0402, 1.23, 98.7, 1234."""
    if not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    # Rounding first: 0.9996 becomes 1.00 and not 1.000.
    rounded = float(f"{value:.{digits - 1}e}")
    return f"{rounded:.{max(0, digits - 1 - math.floor(math.log10(abs(rounded))))}f}"


def time(us: float | None) -> str:
    """A time given in µs: "61.2 µs", "1.23 ms", "2.50 s"."""
    if us is None or not math.isfinite(us):
        return UNKNOWN
    for limit, factor, unit in ((999.5, 1.0, "µs"), (999.5e3, 1e3, "ms")):
        if abs(us) < limit:
            return f"{significant(us / factor)} {unit}"
    return f"{significant(us / 1e6)} s"


def size(nbytes: float | None) -> str:
    """Bytes in MB of 2^20 bytes, as the repository's benchmark counts them."""
    return UNKNOWN if nbytes is None else f"{significant(nbytes / 2**20)} MB"


def seconds(value: float) -> str:
    """Seconds of GPU time: "42.0 s", "12.5 min"."""
    return f"{significant(value)} s" if value < 120 else f"{significant(value / 60)} min"


def measured(row: BenchmarkRow | None) -> str:
    """The median of a benchmark row in its unit; milliseconds are shown as times are elsewhere."""
    if row is None:
        return UNKNOWN
    if row.metric_unit == "ms":
        return time(row.y_value_50 * 1e3)
    return f"{significant(row.y_value_50, 4)} {row.metric_unit}" if math.isfinite(row.y_value_50) else UNKNOWN


def ratio(value: float | None) -> str:
    """A ratio, higher is better: "1.40×"."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:.2f}×"


def percent(fraction: float | None, *, signed: bool = True) -> str:
    """A fraction in percent; with its sign where it is a change: "-28.6 %"."""
    if fraction is None or not math.isfinite(fraction):
        return UNKNOWN
    # Adding zero turns the negative zero that rounding leaves into a positive one.
    value = round(fraction * 100, 1) + 0.0
    return f"{value:+.1f} %" if signed else f"{value:.1f} %"


def change(item: Comparison) -> str:
    """The change of time from original to candidate: below zero is faster."""
    return percent(1 / item.ratio - 1)


def change_interval(item: Comparison) -> str:
    """The interval of that change."""
    if item.low is None or item.high is None:
        return UNKNOWN
    return f"[{percent(1 / item.high - 1)}, {percent(1 / item.low - 1)}]"


def noise(fraction: float) -> str:
    """Noise as "±0.5 %". From 100 % on it means that the A/A run allowed no interval."""
    return "unknown" if fraction >= 1 else f"±{percent(fraction, signed=False)}"
