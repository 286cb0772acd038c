"""Gives a kernel its settings function and lets its launches ask it.

    tuned = _rms_norm_backward_kernel_settings(n_rows, n_cols, X.dtype, X.device)

The function answers an empty dictionary, which is the shipped configuration, until `settings_body.write_settings` fills
it with what was measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import libcst as cst
import msgspec

from liger_perf.kernels.facts import JitKernel
from liger_perf.kernels.host import grid_elements, host_functions, launch_calls, launched
from liger_perf.kernels.reader import read_one_kernel
from liger_perf.kernels.source import Edit, Source, bound, called, dotted, names, parsed, walk
from liger_perf.techniques.arguments import LINE_LENGTH
from liger_perf.techniques.base import Refusal
from liger_perf.techniques.statements import block_statement, line_before, unused_name

COMMENT = "# Launch values measured to be faster for this shape, dtype and GPU; empty keeps the shipped ones."

_SCOPES = (cst.FunctionDef, cst.Lambda, cst.BaseComp)


class _Query(msgspec.Struct, frozen=True, kw_only=True):
    """The call of a settings function in one host function: the statement before which it stands, its arguments."""

    statement: cst.CSTNode
    variable: str
    shape: tuple[tuple[str, str], ...]
    tensor: str


def settings_name(kernel: str) -> str:
    """`_rms_norm_forward_kernel` → `_rms_norm_forward_kernel_settings`."""
    return f"_{kernel.lstrip('_')}_settings"


def make_tunable(text: str, kernel: str) -> str | Refusal:
    """Add the settings function of `kernel` and ask it before each launch. Changes nothing where that was done."""
    source = parsed(text)
    facts = read_one_kernel(source, kernel)
    if facts is None:
        return Refusal(f"{kernel} is not a jitted function of this file")
    if facts.autotuned:
        return Refusal(f"{kernel} is autotuned: its launch values already come from measurements")
    if not _imports_torch(source):
        return Refusal("the file does not import torch, which the settings function needs to ask for the device")
    if _is_foreign(source, kernel):
        return Refusal(f"the file uses the name {settings_name(kernel)} for something else")
    sites = list(launches(source, kernel))
    if not sites:
        return Refusal(f"no function of this file launches {kernel}")
    queries = []
    for function, calls in sites:
        if tuned_variable(source, function, kernel) is not None:
            continue
        query = _query(source, facts, function, calls, _rows_name(source, facts, sites))
        if isinstance(query, Refusal):
            return query
        queries.append(query)
    return source.edited(_edits(source, kernel, sites[0][0], queries)) if queries else text


def axes(text: str, kernel: str) -> tuple[str, str]:
    """Which parameters of the kernel's settings function are the width and the rows; empty where there is none."""
    source = parsed(text)
    facts, function = read_one_kernel(source, kernel), source.function(settings_name(kernel))
    if facts is None or function is None:
        return "", ""
    params = [param.name.value for param in function.params.params if param.name.value not in ("dtype", "device")]
    width = next((name for name in facts.extents if name in params), "")
    return width, next((name for name in params if name not in facts.extents), "")


def launches(source: Source, kernel: str) -> Iterator[tuple[cst.FunctionDef, list[cst.Call]]]:
    """The host functions that launch `kernel`, each with its launches."""
    for _, function in host_functions(source):
        calls = [call for call in launch_calls(source, function) if launched(call) == kernel]
        if calls:
            yield function, calls


def tuned_variable(source: Source, function: cst.FunctionDef, kernel: str) -> tuple[str, cst.Assign] | None:
    """The variable that holds the answer of the kernel's settings function, and its statement; None without one."""
    for node in walk(function.body):
        if isinstance(node, cst.Assign) and called(node.value) == settings_name(kernel):
            return dotted(node.targets[0].target), node
    return None


def arguments(params: tuple[str, ...], call: cst.Call) -> dict[str, cst.BaseExpression]:
    """The expressions of a launch by parameter."""
    # Behind `*values` nobody knows which parameter an argument is for.
    certain = takewhile(lambda arg: not arg.star, (arg for arg in call.args if arg.keyword is None))
    given = dict(zip(params, (arg.value for arg in certain), strict=False))
    for arg in call.args:
        if arg.keyword is not None:
            given[arg.keyword.value] = arg.value
    return given


def asking_lines(indent: str, kernel: str, variable: str, shape: tuple[tuple[str, str], ...], tensor: str) -> str:
    """The comment and the statement that ask the settings function."""
    values = ", ".join([*(text for _, text in shape), f"{tensor}.dtype", f"{tensor}.device"])
    line = f"{indent}{variable} = {settings_name(kernel)}({values})\n"
    if len(line) > LINE_LENGTH:
        line = f"{indent}{variable} = {settings_name(kernel)}(\n{indent}    {values}\n{indent})\n"
    return f"{indent}{COMMENT}\n{line}"


def _edits(source: Source, kernel: str, first: cst.FunctionDef, queries: list[_Query]) -> list[Edit]:
    function = settings_name(kernel)
    edits = []
    if source.function(function) is None:
        # Above the statement of the file that holds the host function, be it a class or an `if`.
        *_, top, _ = (first, *source.ancestors(first))
        position = line_before(source, top)
        parameters = ", ".join([*(name for name, _ in queries[0].shape), "dtype", "device"])
        edits.append(
            Edit(
                position,
                position,
                f"def {function}({parameters}):\n"
                f'    """Faster launch values for {kernel}, as measured."""\n'
                f"    return {{}}\n\n\n",
            )
        )
    for query in queries:
        position = line_before(source, query.statement)
        lines = asking_lines(source.indent(query.statement), kernel, query.variable, query.shape, query.tensor)
        edits.append(Edit(position, position, lines))
    return edits


def _query(
    source: Source, kernel: JitKernel, function: cst.FunctionDef, calls: list[cst.Call], rows: str
) -> _Query | Refusal:
    """Where and with what a host function can ask; a refusal where an argument is not certain there."""
    given = [arguments(kernel.params, call) for call in calls]
    shape: dict[str, cst.BaseExpression] = {}
    for name in (*kernel.row_extents, *kernel.extents):
        texts = {source.get(arguments[name]) if name in arguments else "" for arguments in given}
        if len(texts) > 1 or not _is_simple(given[0].get(name)):
            return Refusal(f"{kernel.name}: the launch gives no plain value for {name}")
        shape[name] = given[0][name]
    if rows:
        shape = {rows: grid_elements(source, function, calls[0])[0], **shape}
    tensors = [_tensor(source, function, name, given) for name in kernel.main_inputs]
    tensor = next((text for text in tensors if text), "")
    statement = block_statement(source, calls)
    if not shape or not tensor or statement is None:
        missing = "extent" if not shape else "input tensor that is always given" if not tensor else "common block"
        return Refusal(f"{kernel.name}: the launch has no plain {missing}")
    if any(isinstance(node, _SCOPES) for call in calls for node in _inside(source, call, source.parent(statement))):
        return Refusal(f"{kernel.name}: a launch stands in a nested function, whose names are not known outside")
    last = source.span(calls[-1])[0]
    read = {tensor}.union(*(names(node) for node in shape.values()))
    rebound = {
        name
        for name, nodes in bound(statement).items()
        if any(source.span(node)[0] < last and source.span(node) != source.span(statement) for node in nodes)
    }
    if read & rebound:
        return Refusal(f"{kernel.name}: {', '.join(sorted(read & rebound))} changes between the launches")
    variable = unused_name(source, function, "tuned")
    texts_by_name = tuple((name, source.get(node)) for name, node in shape.items())
    return _Query(statement=statement, variable=variable, shape=texts_by_name, tensor=tensor)


def _is_foreign(source: Source, kernel: str) -> bool:
    """Whether the name of the settings function is taken by what is none."""
    name = settings_name(kernel)
    function = source.function(name)
    if function is None:
        return any(isinstance(node, cst.Name) and node.value == name for node in walk(source.module))
    params = [param.name.value for param in function.params.params]
    return params[-2:] != ["dtype", "device"] or source.parent(function) is not source.module


def _inside(source: Source, node: cst.CSTNode, block: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """What lies around `node` inside of `block`."""
    return takewhile(lambda above: above is not block, source.ancestors(node))


def _rows_name(source: Source, kernel: JitKernel, sites: list[tuple[cst.FunctionDef, list[cst.Call]]]) -> str:
    """The name for the number of programs along the first axis, where the kernel itself knows no number of rows.

    Empty where it does, or where a launch gives no plain value.
    """
    firsts = [next(iter(grid_elements(source, function, call)), None) for function, calls in sites for call in calls]
    first = dotted(firsts[0]) if firsts[0] is not None else ""
    plain = all(_is_simple(node) for node in firsts)
    alike = all(
        len({source.get(element) for call in calls for element in grid_elements(source, function, call)[:1]}) == 1
        for function, calls in sites
    )
    name = first if first.isidentifier() else "n_rows"
    return "" if kernel.row_extents or not plain or not alike or name in kernel.extents else name


def _tensor(source: Source, function: cst.FunctionDef, name: str, given: list[dict[str, cst.BaseExpression]]) -> str:
    """The tensor given for a pointer, if it is a plain name that is never None."""
    found = {dotted(arguments[name]) if name in arguments else "" for arguments in given}
    if len(found) != 1:
        return ""
    tensor = found.pop()
    return tensor if tensor.isidentifier() and not _may_be_none(source, function, tensor) else ""


def _may_be_none(source: Source, function: cst.FunctionDef, name: str) -> bool:
    """Whether the function compares the name with None, gives it None, or defaults it to None."""
    for param in function.params.params:
        if param.name.value == name and param.default is not None and dotted(param.default) == "None":
            return True
    for node in bound(function.body).get(name, []):
        if isinstance(node, cst.Assign) and "None" in names(node.value):
            return True
    return any(
        isinstance(node, cst.Comparison) and dotted(node.left) == name and "None" in names(node)
        for node in walk(function.body)
    )


def _is_simple(node: cst.CSTNode | None) -> bool:
    """Names, attributes, integers, integer subscripts and sums or products of these: no calls."""
    match node:
        case cst.Name() | cst.Integer():
            return True
        case cst.Attribute(value=value):
            return _is_simple(value)
        case cst.Subscript(value=value, slice=[cst.SubscriptElement(slice=cst.Index(value=index))]):
            return _is_simple(value) and isinstance(index, cst.Integer | cst.UnaryOperation)
        case cst.BinaryOperation(left=left, right=right):
            return _is_simple(left) and _is_simple(right)
        case _:
            return False


def _imports_torch(source: Source) -> bool:
    return any(
        isinstance(node, cst.ImportAlias) and dotted(node.name) == "torch" and node.asname is None
        for node in walk(source.module)
    )
