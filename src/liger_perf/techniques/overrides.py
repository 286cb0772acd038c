"""Lets the answer of a settings function replace what a launch passes.

A value is never passed twice: where the shipped launch spreads a dictionary, the value goes into that dictionary.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from liger_perf.kernels.reader import read_one_kernel
from liger_perf.kernels.source import Edit, Source, bound, called, dotted, keyword, names, parsed, walk
from liger_perf.techniques.arguments import append_argument, break_long_lists
from liger_perf.techniques.base import Refusal
from liger_perf.techniques.settings_function import arguments, launches, tuned_variable
from liger_perf.techniques.statements import block_statement, line_before


def override_option(text: str, kernel: str, option: str) -> str | Refusal:
    """Let the settings replace a launch option such as num_warps, wherever the launch takes it from.

    Without settings the launch stays exactly as it was: an option that it did not pass is not passed, since backends
    without warps reject it.
    """
    source = parsed(text)
    facts = read_one_kernel(source, kernel)
    if facts is None or option in facts.params:
        return Refusal(f"{kernel}: {option} is a parameter of the kernel, not a launch option")
    edits: list[Edit] = []
    for function, call, variable in _tunable_launches(source, kernel):
        given = keyword(call, option)
        splat = next((arg for arg in call.args if arg.star == "**"), None)
        if given is not None:
            edits += _replaced(source, given.value, variable, option)
        elif splat is None:
            addition = f'**({{"{option}": {variable}["{option}"]}} if "{option}" in {variable} else {{}})'
            edits += append_argument(source, call, addition)
        elif variable in names(splat.value):
            continue
        elif _is_local_dictionary(function, dotted(splat.value)):
            edits += _put_into(source, function, call, dotted(splat.value), variable, option)
        else:
            return Refusal(f"{kernel}: {option} may be inside **{source.get(splat.value)}, which comes from elsewhere")
    return _applied(source, edits, kernel)


def override_block(text: str, kernel: str, block: str) -> str | Refusal:
    """Let the settings replace a constexpr that the launch passes; refuses where the grid follows from its value."""
    source = parsed(text)
    facts = read_one_kernel(source, kernel)
    edits: list[Edit] = []
    for function, call, variable in _tunable_launches(source, kernel):
        value = arguments(facts.params, call).get(block) if facts is not None else None
        if value is None:
            return Refusal(f"{kernel}: the launch does not pass {block}")
        grid = call.func.slice if isinstance(call.func, cst.Subscript) else []
        reads = {name for element in grid for name in names(element)}
        reads |= {name for grid_name in reads for name in _read_by(function, grid_name)}
        if names(value) & reads and called(value) != f"{variable}.get":
            return Refusal(f"{kernel}: the grid of the launch is computed from {block}")
        edits += _replaced(source, value, variable, block)
    return _applied(source, edits, kernel)


def override_constexpr(text: str, kernel: str, parameter: str, key: str, default: int) -> str:
    """Pass a constexpr that the rewrite added to the kernel: `LOOP_STAGES=tuned.get("loop_stages", 1)`."""
    source = parsed(text)
    edits: list[Edit] = []
    for _, call, variable in _tunable_launches(source, kernel):
        if keyword(call, parameter) is None:
            edits += append_argument(source, call, f'{parameter}={variable}.get("{key}", {default})')
    return _applied(source, edits, kernel)


def _tunable_launches(source: Source, kernel: str) -> Iterator[tuple[cst.FunctionDef, cst.Call, str]]:
    for function, calls in launches(source, kernel):
        tuned = tuned_variable(source, function, kernel)
        if tuned is not None:
            for call in calls:
                yield function, call, tuned[0]


def _applied(source: Source, edits: list[Edit], kernel: str) -> str:
    return break_long_lists(source.edited(edits), kernel) if edits else source.text


def _replaced(source: Source, value: cst.CSTNode, variable: str, key: str) -> list[Edit]:
    if called(value) == f"{variable}.get":
        return []
    start, end = source.span(value)
    return [Edit(start, end, f'{variable}.get("{key}", {source.get(value)})')]


def _put_into(
    source: Source, function: cst.FunctionDef, call: cst.Call, dictionary: str, variable: str, option: str
) -> list[Edit]:
    statement = block_statement(source, [call])
    condition = f'"{option}" in {variable}'
    done = any(isinstance(node, cst.If) and source.get(node.test) == condition for node in walk(function.body))
    if statement is None or done:
        return []
    position, indent = line_before(source, statement), source.indent(statement)
    lines = f'{indent}if {condition}:\n{indent}    {dictionary}["{option}"] = {variable}["{option}"]\n'
    return [Edit(position, position, lines)]


def _is_local_dictionary(function: cst.FunctionDef, name: str) -> bool:
    """Whether a name is first bound to a dictionary literal in this function, so that no caller sees a change."""
    bindings = bound(function.body).get(name, [])
    return bool(bindings) and all(isinstance(n, cst.Assign) and isinstance(n.value, cst.Dict) for n in bindings)


def _read_by(function: cst.FunctionDef, name: str) -> set[str]:
    """The names that the assignments of `name` read."""
    return {
        read
        for node in bound(function.body).get(name, [])
        if isinstance(node, cst.Assign)
        for read in names(node.value)
    }
