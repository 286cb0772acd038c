"""Whether the turns of a loop can overlap: does a load of one turn read what a store of another turn writes?

Pipelining issues the loads of the coming turns before the stores of the present one. That is safe where each pair of a
load and a store either cannot share memory, or has one and the same address in every turn, and the addresses of two
turns never meet. Whatever is not proved counts as unsafe.
"""

from __future__ import annotations

from typing import Protocol

import libcst as cst

from liger_perf.kernels.dataflow import INDEX, LANES, OPAQUE, Dataflow, Form, Monomial, lanes
from liger_perf.kernels.jitted import loop_call
from liger_perf.kernels.memory import Access, accesses
from liger_perf.kernels.source import Source, called, dotted, positional, walk

_PURE_BUILTINS = frozenset(("min", "max", "abs", "float", "int", "bool", "len"))
_MEMORY = ("tl.load", "tl.store", "tl.atomic")
_ORDERED = ("tl.debug_barrier", "tl.device_print", "tl.device_assert", "tl.inline_asm_elementwise")


class Layout(Protocol):
    """What is known of the memory behind a kernel's parameters."""

    def may_alias(self, first: str, second: str) -> bool:
        """Whether two pointers may point into the same memory."""
        ...

    def same_base(self, first: str, second: str) -> bool:
        """Whether two pointers that share memory always start at the same element."""
        ...

    def same_value(self, first: str, second: str) -> bool:
        """Whether two scalar parameters always had the same value."""
        ...

    def at_least(self, stride: str, width: tuple[str, ...]) -> bool:
        """Whether a stride was always positive and at least as large as each of the parameters in `width`."""
        ...


def unsafe_reason(source: Source, flow: Dataflow, loop: cst.For, extents: tuple[str, ...], layout: Layout) -> str:
    """Why the loop must not be pipelined; empty where it may. `extents` are the parameters that bound masked lanes."""
    reason = _control_reason(source, loop)
    if reason:
        return reason
    inside = accesses(source, flow, loop.body)
    loads = [access for access in inside if access.kind == "load"]
    stores = [access for access in inside if access.kind == "store"]
    if any(access.kind == "atomic" for access in inside):
        return "the loop holds atomic operations"
    if not stores:
        return ""
    if any(not access.pointer for access in inside):
        return "an address in the loop does not start from a plain pointer parameter"
    for store in stores:
        for load in loads:
            if load.pointer == store.pointer or layout.may_alias(load.pointer, store.pointer):
                reason = _pair_reason(source, flow, loop, (load, store), extents, layout)
                if reason:
                    return f"the load of {load.pointer} and the store to {store.pointer}: {reason}"
    return ""


def _control_reason(source: Source, loop: cst.For) -> str:
    jitted = {node.name.value: node for node in source.functions()}
    for node in walk(loop.body):
        if isinstance(node, cst.While | cst.Break | cst.Continue | cst.Return):
            return "the number of turns depends on data"
        name = called(node)
        if name in _ORDERED:
            return f"{name} orders the turns"
        helper = jitted.get(name)
        if helper is not None and any(called(part).startswith(_MEMORY) for part in walk(helper)):
            return f"{name} reads or writes memory"
        if name.isidentifier() and helper is None and name not in _PURE_BUILTINS and not _from_triton(source, name):
            return f"{name} is not known to leave memory alone"
    return ""


def _from_triton(source: Source, name: str) -> bool:
    if name in ("load", "store") or name.startswith("atomic_"):
        return False  # under a bare name accesses are not seen
    for node in walk(source.module):
        if isinstance(node, cst.ImportFrom) and node.module is not None and not isinstance(node.names, cst.ImportStar):
            imported = [dotted(alias.asname.name) if alias.asname else dotted(alias.name) for alias in node.names]
            if name in imported and dotted(node.module).split(".")[0] == "triton":
                return True
    return False


def _pair_reason(
    source: Source, flow: Dataflow, loop: cst.For, pair: tuple[Access, Access], extents: tuple[str, ...], layout: Layout
) -> str:
    """Why a load and a store that may share memory must keep their order; empty where they need not."""
    load, store = pair
    index = f"{INDEX}{dotted(loop.target)}:{source.span(loop)[0]}"
    if load.position > store.position:
        return "what was stored is loaded again in the same turn"
    if any(_varies(source, loop, atom) for access in pair for m in access.offset for atom in m):
        return "an address depends on data"
    loaded, stored = _split(load.offset, index), _split(store.offset, index)
    if not _counts_turns(flow, stored[0], index) or not _counts_turns(flow, loaded[0], index):
        return "an address does not move with the loop"
    if _without_strides(flow, loaded) != _without_strides(flow, stored):
        return "they may touch different elements in the same turn"
    if load.pointer != store.pointer and not layout.same_base(load.pointer, store.pointer):
        return "they start at different elements of the same memory"
    strides = sorted({name for half in (loaded, stored) for m in half[0] for name in m if name in flow.params})
    if not all(layout.same_value(strides[0], other) for other in strides[1:]):
        return "their strides differ"
    moving = stored[0] if strides else {**stored[0], **stored[1]}
    if not _step_covers(source, flow, loop, moving):
        return "two turns may overlap"
    across = lanes(stored[1]) if strides else set()
    masked = load.masked and store.masked and extents
    width = extents if masked else tuple(atom.removeprefix(f"{LANES}(").removesuffix(")") for atom in across)
    if strides and not layout.at_least(strides[0], width if across else ()):
        return "a row may be wider than its stride"
    return ""


def _counts_turns(flow: Dataflow, turning: Form, index: str) -> bool:
    """Whether exactly one product holds the index, once, times nothing but parameters."""
    counting = [(monomial, factor) for monomial, factor in turning.items() if index in monomial]
    if len(counting) != 1 or counting[0][1] <= 0:
        return False
    return all(atom == index or atom in flow.params for atom in counting[0][0]) and counting[0][0].count(index) == 1


def _varies(source: Source, loop: cst.For, atom: str) -> bool:
    """Whether an atom is something unknown that is computed inside the loop."""
    if not atom.startswith(OPAQUE):
        return False
    start, end = source.span(loop.body)
    position = int(atom.split("[")[0].rsplit(":", 1)[1])
    return start <= position < end


def _split(form: Form, index: str) -> tuple[dict[Monomial, int], dict[Monomial, int]]:
    """The products that count turns (with the lanes that share their stride), and the rest."""
    strides = {name for monomial in form if index in monomial for name in monomial if name != index}
    turning = {m: factor for m, factor in form.items() if index in m or (strides and strides <= set(m))}
    return turning, {m: factor for m, factor in form.items() if m not in turning}


def _without_strides(flow: Dataflow, split: tuple[dict[Monomial, int], dict[Monomial, int]]) -> object:
    """Both halves, with runtime parameters in the first taken out: aliases have the same stride under another name."""
    turning = {tuple(atom for atom in monomial if atom not in flow.params): f for monomial, f in split[0].items()}
    return turning, split[1]


def _step_covers(source: Source, flow: Dataflow, loop: cst.For, touched: dict[Monomial, int]) -> bool:
    """Whether the step of the loop is at least the number of lanes that one turn adds to the index."""
    blocks = {atom.removeprefix(f"{LANES}(").removesuffix(")") for atom in lanes(touched)}
    call = loop_call(loop)
    arguments = positional(call) if call is not None else []
    if not blocks:
        return len(arguments) < 3 or _is_positive_number(arguments[2].value)
    if len(blocks) > 1 or len(arguments) < 3:
        return False
    step = flow.form(arguments[2].value)
    return len(step) == 1 and all(factor > 0 and blocks <= set(monomial) for monomial, factor in step.items())


def _is_positive_number(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Integer) and node.evaluated_value > 0
