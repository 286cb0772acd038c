"""Facts about host functions: launches, shared memory between tensors, partial sums over one program per SM."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from liger_perf.kernels.dataflow import is_jitted
from liger_perf.kernels.facts import JitKernel, PartialSum
from liger_perf.kernels.source import Source, bound, called, dotted, keyword, names, positional, walk

_ALLOCATIONS = ("torch.empty", "torch.zeros")
_CEILINGS = ("math.ceil", "triton.cdiv", "cdiv", "ceil")


def host_functions(source: Source) -> Iterator[tuple[str, cst.FunctionDef]]:
    """Functions and methods that Triton does not compile, with the name «function» or «Class.method»."""
    for node in source.functions():
        around = [n for n in source.ancestors(node) if isinstance(n, cst.FunctionDef | cst.ClassDef)]
        if is_jitted(node) or any(isinstance(n, cst.FunctionDef) for n in around):
            continue
        yield ".".join([*(n.name.value for n in reversed(around)), node.name.value]), node


def launch_calls(source: Source, function: cst.FunctionDef) -> Iterator[cst.Call]:
    """Every `name[grid](…)` whose name is a jitted function of the file, or ends like a kernel's."""
    jitted = {node.name.value for node in source.functions() if is_jitted(node)}
    for node in walk(function):
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Subscript):
            target = dotted(node.func.value)
            if target in jitted or target.endswith("_kernel"):
                yield node


def launched(call: cst.Call) -> str:
    """The name of the kernel that a launch launches."""
    return dotted(call.func.value) if isinstance(call.func, cst.Subscript) else ""


def aliases(source: Source, function: cst.FunctionDef) -> list[tuple[str, str]]:
    """Pairs (a, b) of plain names where `a = b`, or `a = b if … else …`, may let both name one tensor."""
    found = []
    for name, nodes in bound(function.body).items():
        for node in nodes:
            if isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Name):
                value = node.value
                options = [value.body, value.orelse] if isinstance(value, cst.IfExp) else [value]
                found += [(name, option.value) for option in options if isinstance(option, cst.Name)]
    constants = {"True", "False", "None"}
    return [(left, right) for left, right in found if right not in constants]


def grid_elements(source: Source, function: cst.FunctionDef, call: cst.Call) -> list[cst.BaseExpression]:
    """The elements of a launch's grid where it is a tuple, given directly or through one assignment."""
    assert isinstance(call.func, cst.Subscript)
    elements = call.func.slice
    if len(elements) != 1 or not isinstance(elements[0].slice, cst.Index):
        return []
    grid = elements[0].slice.value
    if isinstance(grid, cst.Name):
        bindings = bound(function.body).get(grid.value, [])
        if len(bindings) != 1 or not isinstance(bindings[0], cst.Assign):
            return []
        grid = bindings[0].value
    return [element.value for element in grid.elements] if isinstance(grid, cst.Tuple) else []


def partial_sums(
    source: Source, kernels: tuple[JitKernel, ...], name: str, function: cst.FunctionDef
) -> Iterator[PartialSum]:
    """Launches whose grid is one variable that also sizes buffers summed afterwards and divides the rows."""
    bindings = bound(function.body)
    for call in launch_calls(source, function):
        kernel = next((kernel for kernel in kernels if kernel.name == launched(call)), None)
        grid = grid_elements(source, function, call)
        if kernel is None or len(grid) != 1 or not isinstance(grid[0], cst.Name):
            continue
        programs = grid[0].value
        buffers = tuple(buffer for buffer in bindings if _is_buffer(source, bindings[buffer], programs))
        rows = next((var for var in bindings if _divides(source, bindings[var], programs)), "")
        passed = {node for arg in call.args for node in names(arg)}
        if rows in passed and buffers and all(_is_summed(function, buffer) for buffer in buffers):
            yield PartialSum(function=name, kernel=kernel.name, programs=programs, buffers=buffers, rows=rows)


def _is_buffer(source: Source, bindings: list[cst.CSTNode], programs: str) -> bool:
    """Whether a variable is an allocation in float32 whose leading extent is `programs`, or None."""
    values = [node.value for node in bindings if isinstance(node, cst.Assign)]
    options = [part for value in values for part in _options(value)]
    calls = [part for part in options if called(part) in _ALLOCATIONS]
    others = [part for part in options if part not in calls]
    if not calls or len(values) != len(bindings) or any(dotted(part) != "None" for part in others):
        return False
    return all(isinstance(call, cst.Call) and _leads(source, call, programs) for call in calls)


def _options(value: cst.BaseExpression) -> list[cst.BaseExpression]:
    return [value.body, value.orelse] if isinstance(value, cst.IfExp) else [value]


def _leads(source: Source, call: cst.Call, programs: str) -> bool:
    arguments = positional(call)
    dtype = keyword(call, "dtype")
    if not arguments or dtype is None or source.get(dtype.value) != "torch.float32":
        return False
    first = arguments[0].value
    if isinstance(first, cst.Tuple | cst.List):
        first = first.elements[0].value
    return dotted(first) == programs


def _divides(source: Source, bindings: list[cst.CSTNode], programs: str) -> bool:
    """Whether a variable is the rounded-up quotient of something by `programs`."""
    if len(bindings) != 1 or not isinstance(bindings[0], cst.Assign):
        return False
    value = bindings[0].value
    if called(value) not in _CEILINGS or not isinstance(value, cst.Call):
        return False
    text = source.get(value).replace(" ", "")
    return text.endswith((f"/{programs})", f",{programs})")) and programs in names(value)


def _is_summed(function: cst.FunctionDef, buffer: str) -> bool:
    return any(called(node) == f"{buffer}.sum" for node in walk(function))
