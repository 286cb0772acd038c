"""Facts about one jitted kernel: loops, accesses, what bounds rows and columns, which blocks are free."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from liger_perf.kernels.dataflow import (
    INDEX,
    LANES,
    OPAQUE,
    PROGRAM,
    Dataflow,
    Form,
    Monomial,
    is_autotuned,
    lanes,
    parameters,
)
from liger_perf.kernels.facts import JitKernel, Loop
from liger_perf.kernels.memory import Access, accesses
from liger_perf.kernels.source import Source, called, dotted, positional, walk

RANGES = ("range", "tl.range", "tl.static_range")
_REDUCTIONS = frozenset(
    f"tl.{name}" for name in ("sum", "max", "min", "argmax", "argmin", "reduce", "associative_scan", "cumsum")
)
_TRANSCENDENTALS = frozenset(f"tl.{name}" for name in ("exp", "exp2", "log", "log2", "math.exp", "math.log"))
_COMPARISONS = (cst.LessThan, cst.LessThanEqual, cst.NotEqual)


def read_kernel(source: Source, function: cst.FunctionDef) -> JitKernel:
    """All facts of one function under @triton.jit."""
    flow = Dataflow(source, function)
    found = accesses(source, flow, function.body)
    loops = tuple(_loop(source, flow, node) for node in _for_loops(function))
    constexprs = tuple(param.name.value for param in parameters(function) if _is_constexpr(source, param))
    bounds = list(_bounds(source, flow))
    by_rows = _row_lanes(flow, found, constexprs)
    extents = _ordered(flow, (name for form, name in bounds if lanes(form) - by_rows))
    rows = set(_loop_and_min_bounds(source, flow)) | {name for form, name in bounds if lanes(form) <= by_rows}
    covering = {_lane_block(atom) for form, _ in bounds for atom in lanes(form) if list(form) == [(atom,)]}
    calls = [called(node) for node in walk(function.body) if isinstance(node, cst.Call)]
    return JitKernel(
        name=function.name.value,
        params=flow.params,
        constexprs=constexprs,
        loops=loops,
        loads=tuple(access.pointer for access in found if access.kind == "load"),
        stores=tuple(access.pointer for access in found if access.kind == "store"),
        reductions=sum(name in _REDUCTIONS for name in calls),
        dots=sum(name in ("tl.dot", "tl.dot_scaled") for name in calls),
        atomics=sum(access.kind == "atomic" for access in found),
        exps=sum(name in ("tl.exp", "tl.math.exp") for name in calls),
        extents=extents,
        row_extents=_ordered(flow, (name for name in rows if name not in extents and name not in constexprs)),
        covering_blocks=tuple(name for name in constexprs if name in covering),
        free_blocks=tuple(
            name for name in constexprs if name not in covering and _is_free(source, flow, name, bounds, found)
        ),
        precision_ops=_precision_ops(source, function),
        docstring=function.get_docstring() or "",
        autotuned=is_autotuned(function),
        main_inputs=main_inputs(found),
        transcendentals=sum(name in _TRANSCENDENTALS for name in calls),
        counts_programs="tl.num_programs" in calls,
        line=source.line(function),
    )


def main_inputs(found: list[Access]) -> tuple[str, ...]:
    """The pointers of which every program, or every turn of a loop, loads whole rows of its own.

    Those whose row is found by a stride come first: a bias is walked by columns alone.
    """
    inputs = [access for access in found if access.kind == "load" and access.pointer and access.lanes and access.by_row]
    inputs.sort(key=lambda access: not any(_is_strided(monomial) for monomial in access.offset))
    return tuple(dict.fromkeys(access.pointer for access in inputs))


def _is_strided(monomial: Monomial) -> bool:
    return len(monomial) > 1 and any(PROGRAM in atom or atom.startswith((INDEX, OPAQUE)) for atom in monomial)


def loop_call(loop: cst.For) -> cst.Call | None:
    """The range call that a loop runs over, or None."""
    return loop.iter if isinstance(loop.iter, cst.Call) and called(loop.iter) in RANGES else None


def _for_loops(function: cst.FunctionDef) -> Iterator[cst.For]:
    for node in walk(function.body):
        if isinstance(node, cst.For) and loop_call(node) is not None:
            yield node


def _loop(source: Source, flow: Dataflow, node: cst.For) -> Loop:
    call = loop_call(node)
    assert call is not None
    inside = accesses(source, flow, node.body)
    arguments = positional(call)
    step = source.get(arguments[2]) if len(arguments) == 3 else ""
    return Loop(
        kind=called(call),
        arguments=tuple(source.get(argument) for argument in call.args),
        index=source.get(node.target),
        loads=sum(access.kind == "load" for access in inside),
        stores=sum(access.kind == "store" for access in inside),
        reductions=sum(called(part) in _REDUCTIONS for part in walk(node.body)),
        line=source.line(node),
        steps_by=step if step.isidentifier() else "",
    )


def _is_constexpr(source: Source, param: cst.Param) -> bool:
    return param.annotation is not None and dotted(param.annotation.annotation).endswith("constexpr")


def _bounds(source: Source, flow: Dataflow) -> Iterator[tuple[Form, str]]:
    """Every comparison of lanes with a parameter: the form on the left, the parameter on the right."""
    for node in walk(flow.function.body):
        match node:
            case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]):
                if isinstance(operator, _COMPARISONS):
                    form, bound = flow.form(left), list(flow.form(right))
                    if lanes(form) and len(bound) == 1 and len(bound[0]) == 1 and bound[0][0] in flow.params:
                        yield form, bound[0][0]
            case _:
                pass


def _row_lanes(flow: Dataflow, found: list[Access], constexprs: tuple[str, ...]) -> set[str]:
    """Lanes that only ever stand in an address times a runtime parameter, that is a stride: they count rows."""
    strides = set(flow.params) - set(constexprs)
    alone: set[str] = set()
    multiplied: set[str] = set()
    for access in found:
        for monomial in access.offset:
            atoms = {atom.split("[")[0] for atom in monomial if atom.startswith(LANES)}
            (multiplied if strides & set(monomial) else alone).update(atoms)
    return multiplied - alone


def _loop_and_min_bounds(source: Source, flow: Dataflow) -> Iterator[str]:
    """Parameters that stand alone in min(…) or as the end of a range."""
    for node in walk(flow.function.body):
        if not isinstance(node, cst.Call):
            continue
        arguments = [argument.value for argument in positional(node)]
        if called(node) in ("min", "tl.minimum"):
            candidates = arguments
        elif called(node) in RANGES and len(arguments) > 1:
            candidates = arguments[1:2]
        else:
            candidates = []
        yield from (dotted(argument) for argument in candidates if dotted(argument) in flow.params)


def _lane_block(atom: str) -> str:
    return atom.removeprefix(f"{LANES}(").removesuffix(")")


def _is_free(source: Source, flow: Dataflow, block: str, bounds: list[tuple[Form, str]], found: list[Access]) -> bool:
    """Whether `block` is only the step of loops that mask what exceeds their end."""
    atom = f"{LANES}({block})"
    loops = [node for node in _for_loops(flow.function) if _steps_by(source, node) == block]
    touching = [access for access in found if atom in access.lanes]
    uses = [node for node in walk(flow.function.body) if isinstance(node, cst.Name) and node.value == block]
    if not loops or not touching or not all(_is_plain_use(source, node) for node in uses):
        return False
    spans = [source.span(loop) for loop in loops]
    stepped = all(any(start < access.position < end for start, end in spans) for access in touching)
    indexed = all(any(a.startswith(INDEX) for m in access.offset for a in m) for access in touching)
    ends = {source.get(positional(call)[1]) for loop in loops if (call := loop_call(loop)) is not None}
    masked = all(access.masked for access in touching) and ends <= {
        name for form, name in bounds if atom in lanes(form) and any(a.startswith(INDEX) for m in form for a in m)
    }
    return stepped and indexed and masked


def _steps_by(source: Source, loop: cst.For) -> str:
    call = loop_call(loop)
    arguments = positional(call) if call is not None else []
    return source.get(arguments[2]) if len(arguments) == 3 else ""


def _is_plain_use(source: Source, node: cst.Name) -> bool:
    call = next((above for above in source.ancestors(node) if isinstance(above, cst.Call)), None)
    return call is not None and called(call) in (*RANGES, "tl.arange")


def _precision_ops(source: Source, function: cst.FunctionDef) -> tuple[str, ...]:
    """Casts in order, each once: `x.to(tl.float32)`."""
    casts = [
        " ".join(source.get(node).split())
        for node in walk(function.body)
        if isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in ("to", "cast")
        and node.args
        and PROGRAM not in source.get(node)
    ]
    return tuple(dict.fromkeys(text for text in casts if len(text) <= 80))


def _ordered(flow: Dataflow, found: Iterator[str]) -> tuple[str, ...]:
    chosen = set(found)
    return tuple(name for name in flow.params if name in chosen)
