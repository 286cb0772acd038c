"""Loads, stores and atomics of a jitted kernel, with their addresses."""

from __future__ import annotations

import libcst as cst
import msgspec

from liger_perf.kernels.dataflow import INDEX, OPAQUE, PROGRAM, Dataflow, Form, Monomial, lanes
from liger_perf.kernels.source import Source, called, keyword, positional, walk


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """One tl.load, tl.store or tl.atomic_*.

    `pointer` is the parameter that the address starts from, empty where that is not known; `offset` the rest of the
    address. `position` is where the call stands in the file, in bytes.
    """

    kind: str
    pointer: str
    offset: Form
    masked: bool
    position: int

    @property
    def lanes(self) -> set[str]:
        return lanes(self.offset)

    @property
    def by_row(self) -> bool:
        """Whether each program, or each turn of a loop, reads another part: the address depends on either."""
        return any(PROGRAM in atom or atom.startswith((INDEX, OPAQUE)) for monomial in self.offset for atom in monomial)


def accesses(source: Source, flow: Dataflow, inside: cst.CSTNode) -> list[Access]:
    """All accesses inside a node, in the order of the text."""
    found = []
    for node in walk(inside):
        name = called(node)
        kind = _kind(name)
        if isinstance(node, cst.Call) and kind:
            found.append(_access(source, flow, node, kind))
    return found


def _kind(name: str) -> str:
    if name in ("tl.load", "tl.store"):
        return name.removeprefix("tl.")
    if ".atomic_" in name:
        return "atomic"
    # Block pointers and descriptors carry their address out of sight.
    return "load" if name.endswith(".load") else "store" if name.endswith(".store") else ""


def _access(source: Source, flow: Dataflow, call: cst.Call, kind: str) -> Access:
    arguments = positional(call)
    named = keyword(call, "pointer")
    node = named.value if named is not None else arguments[0].value if arguments else None
    form: Form = {}
    if node is not None and called(call).startswith("tl."):
        form = flow.form(node)
    pointer = _pointer(flow, form)
    masked = keyword(call, "mask") is not None or len(arguments) > (1 if kind == "load" else 2)
    offset = {monomial: factor for monomial, factor in form.items() if monomial != (pointer,)}
    return Access(kind=kind, pointer=pointer, offset=offset, masked=masked, position=source.span(call)[0])


def _pointer(flow: Dataflow, form: Form) -> str:
    """The parameter that is the base: it stands alone in the sum, once."""
    alone: list[Monomial] = [m for m, factor in form.items() if len(m) == 1 and m[0] in flow.params and factor == 1]
    candidates = [name for name in flow.params if (name,) in alone]
    if len(candidates) > 1:
        # One is an offset. Taking it for the pointer would hide that two accesses share memory.
        candidates = [name for name in candidates if "ptr" in name.lower()]
    return candidates[0] if len(candidates) == 1 else ""
