"""Where statements can be inserted in a host function, and under which name."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from liger_perf.kernels.source import Source, walk


def block_statement(source: Source, nodes: Sequence[cst.CSTNode]) -> cst.CSTNode | None:
    """The statement that holds the first node, in the innermost block that holds them all; None without a block."""
    paths = [[node, *source.ancestors(node)] for node in nodes]
    for below, above in zip(paths[0], paths[0][1:], strict=False):
        if isinstance(above, cst.IndentedBlock) and all(above in path for path in paths):
            return below
    return None


def line_before(source: Source, statement: cst.CSTNode) -> int:
    """The start of the line of a statement, or of the decorators and comment lines that stand directly above it."""
    position = source.line_start(source.span(statement)[0])
    if isinstance(statement, cst.FunctionDef | cst.ClassDef) and statement.decorators:
        position = source.line_start(source.span(statement.decorators[0])[0])
    while position > 0:
        above = source.line_start(position - 1)
        line = source.bytes[above : position - 1].strip()
        if not line.startswith(b"#"):
            break
        position = above
    return position


def unused_name(source: Source, function: cst.FunctionDef, wanted: str) -> str:
    """`wanted`, or `wanted_2` and so on where the function or the file uses the name already."""
    taken = {node.value for node in walk(function) if isinstance(node, cst.Name)}
    taken |= {node.value for node in walk(source.module) if isinstance(node, cst.Name) and _is_global(source, node)}
    number = 1
    name = wanted
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    return name


def _is_global(source: Source, node: cst.CSTNode) -> bool:
    return not any(isinstance(above, cst.FunctionDef | cst.ClassDef) for above in source.ancestors(node))
