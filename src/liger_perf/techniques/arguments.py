"""Adds arguments to calls and parameters to functions in the layout that they have.

A list with one item a line gets another line; a list on one line grows, and is broken into lines where it would pass
the limit of Liger-Kernel's formatter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from liger_perf.kernels.dataflow import is_jitted, parameters
from liger_perf.kernels.host import launched
from liger_perf.kernels.source import Edit, Source, parsed, walk

LINE_LENGTH = 120

_COMMA = re.compile(r"\s*,[ \t]*(#.*)?$")
_NOTHING = re.compile(r"[ \t]*(#.*)?$")


def append_argument(source: Source, call: cst.Call, text: str) -> list[Edit]:
    """Add `text` as the last argument, but before `**options`."""
    splat = next((arg for arg in call.args if arg.star == "**"), None)
    if splat is not None:
        start, _ = source.span(splat)
        alone = not source.bytes[source.line_start(start) : start].strip()
        return [Edit(start, start, f"{text},\n{source.indent(splat)}" if alone else f"{text}, ")]
    return _append(source, call.args, text)


def append_parameter(source: Source, function: cst.FunctionDef, text: str) -> list[Edit]:
    """Add `text` as the last parameter."""
    return _append(source, parameters(function), text)


def _append(source: Source, items: Sequence[cst.CSTNode], text: str) -> list[Edit]:
    start, end = source.span(items[-1])
    line_end = source.line_end(end)
    rest = source.bytes[end:line_end].decode()
    indent = source.indent(items[-1])
    alone = not source.bytes[source.line_start(start) : start].strip()
    if alone and _COMMA.match(rest):
        return [Edit(line_end, line_end, f"\n{indent}{text},")]
    if alone and _NOTHING.match(rest):
        return [Edit(end, end, ","), Edit(line_end, line_end, f"\n{indent}{text}")]
    return [Edit(end, end, f", {text}")]


def break_long_lists(text: str, kernel: str) -> str:
    """Put each parameter of `kernel`, and each argument of its launches, on a line of its own where a line is too long.

    Lists that hold comments are left alone: whoever wrote them has broken them already.
    """
    source = parsed(text)
    edits: list[Edit] = []
    for node in walk(source.module):
        items: Sequence[cst.CSTNode] = ()
        if isinstance(node, cst.FunctionDef) and node.name.value == kernel and is_jitted(node):
            items = parameters(node)
        elif isinstance(node, cst.Call) and launched(node) == kernel:
            items = node.args
        if items and _is_too_long(source, items):
            edits.append(_one_a_line(source, items, _statement_indent(source, node)))
    return source.edited(edits)


def _is_too_long(source: Source, items: Sequence[cst.CSTNode]) -> bool:
    start, end = source.line_start(source.span(items[0])[0]), source.span(items[-1])[1]
    lines = source.bytes[start : source.line_end(end)].decode().splitlines()
    return any(len(line) > LINE_LENGTH for line in lines) and not any("#" in line for line in lines)


def _one_a_line(source: Source, items: Sequence[cst.CSTNode], outer: str) -> Edit:
    before, after = source.span(items[0])[0], source.span(items[-1])[1]
    start = source.bytes.rfind(b"(", 0, before) + 1
    end = source.bytes.find(b")", after)
    inner = outer + "    "
    lines = "".join(f"{inner}{source.get(item)},\n" for item in items)
    return Edit(start, end, f"\n{lines}{outer}")


def _statement_indent(source: Source, node: cst.CSTNode) -> str:
    if isinstance(node, cst.FunctionDef):
        return source.indent(node)
    lines = (cst.SimpleStatementLine,)
    return source.indent(next((above for above in source.ancestors(node) if isinstance(above, lines)), node))
