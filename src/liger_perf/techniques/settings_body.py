"""Fills a settings function with the branches that a search measured.

The gate stands first: on any architecture but the one that was measured the function answers {}, the shipped values.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from liger_perf.kernels.source import Edit, parsed
from liger_perf.model.branches import Branch, Provenance
from liger_perf.techniques.device_gate import GATE, with_gate

MAX_BRANCHES = 4


def write_settings(text: str, function: str, branches: Sequence[Branch], provenance: Provenance) -> str:
    """Replace what follows the docstring of the settings function `function`.

    Raises:
        ValueError: the file has no such function, or there are no branches, or more than a reader can check. Without
            branches the caller starts again from the original file: an untouched kernel stays as it was.
    """
    if not 0 < len(branches) <= MAX_BRANCHES:
        raise ValueError(f"{function} wants 1 to {MAX_BRANCHES} branches, not {len(branches)}")
    lines = [*_gate(provenance), *(line for branch in branches for line in _branch(branch))]
    return with_gate(_with_body(text, function, lines), function, provenance.capability)


def clear_settings(text: str, function: str) -> str:
    """Make the settings function `function` answer {} again: the shipped values everywhere.

    Raises:
        ValueError: the file has no such function.
    """
    return _with_body(text, function, [])


def _with_body(text: str, function: str, lines: Sequence[str]) -> str:
    source = parsed(text)
    node = source.function(function)
    if node is None or not isinstance(node.body, cst.IndentedBlock) or node.get_docstring() is None:
        raise ValueError(f"the file has no settings function {function}")
    start = source.span(node.body.body[0])[1]
    end = source.span(node.body.body[-1])[1]
    return source.edited([Edit(start, end, "".join(f"\n    {line}" for line in (*lines, "return {}")))])


def _gate(provenance: Provenance) -> list[str]:
    major, minor = provenance.capability
    return [
        f"# Measured on {provenance.gpu} (sm_{major}{minor}) with liger-perf {provenance.version}; other",
        "# architectures and shapes keep the shipped values.",
        f"if not {GATE}(device):",
        "    return {}",
    ]


def _branch(branch: Branch) -> list[str]:
    bounds = [_bounds(name, low, high) for name, (low, high) in branch.shape.items()]
    test = " and ".join([f"dtype.itemsize == {branch.itemsize}", *(bound for bound in bounds if bound)])
    values = ", ".join(f'"{key}": {value}' for key, value in sorted(branch.values.items()))
    note = [f"# {branch.note}"] if branch.note else []
    return [*note, f"if {test}:", f"    return {{{values}}}"]


def _bounds(name: str, low: int | None, high: int | None) -> str:
    """`2048 < n_cols <= 4096`; whole powers of two read better as exclusive bounds, other numbers as inclusive ones."""
    if low is not None and high is not None and low + 1 == high:
        return f"{name} == {high}"
    power_of_two = low is not None and low > 0 and low & (low - 1) == 0
    if low is None:
        return "" if high is None else f"{name} <= {high}"
    if high is None:
        return f"{name} > {low}" if power_of_two else f"{name} >= {low + 1}"
    return f"{low} < {name} <= {high}" if power_of_two else f"{low + 1} <= {name} <= {high}"
