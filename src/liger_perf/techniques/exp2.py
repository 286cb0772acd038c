"""Exponentials in base two.

What: `tl.exp(x)` becomes `tl.exp2((x) * _LOG2E)` inside jitted kernels; the hardware computes powers of two only.
When: the argument of every exponential is provably float32: it passes a cast to tl.float32 or a maximum or sum, which
Triton promotes. tl.exp takes nothing narrower, so the result keeps its dtype.
Predicts: 1.05×: bandwidth hides the arithmetic of most kernels.
Risks: the last bit may differ. The difference x - max is formed before the multiplication and is not folded into it:
folding would round the maximum twice and make exp(0) differ from 1.
Source: Liger-Kernel #1266 (13.9 % on H100 for bf16 cross entropy, 0 % for float32).
"""

from __future__ import annotations

import libcst as cst

from liger_perf.kernels.dataflow import Dataflow, is_jitted
from liger_perf.kernels.source import Edit, Source, bound, called, names, parsed, positional, walk
from liger_perf.model.variants import Change
from liger_perf.techniques.base import Evidence, Opportunity, Refusal, Rewrite
from liger_perf.techniques.evidence import launched_kernels
from liger_perf.techniques.examples import NORM_BACKWARD, SOFTMAX, changed
from liger_perf.techniques.statements import line_before

CONSTANT = "_LOG2E"
COMMENT = "# log2(e): e^x = 2^(x * log2(e)), and the hardware computes powers of two only."
_DEFINITION = f"{CONSTANT}: tl.constexpr = tl.constexpr(1.4426950408889634)"
_PROMOTING = ("tl.max", "tl.sum", "tl.float32", "float")


class Exp2:
    """See the module's docstring."""

    key = "exp2"
    title = "Exponentials in base two"
    origin = "Liger-Kernel #1266"

    def consider(self, evidence: Evidence) -> Opportunity | Refusal:
        """Applies where a launched kernel computes exponentials."""
        kernels = [kernel for kernel in launched_kernels(evidence) if kernel.exps]
        if not kernels:
            return Refusal("no launched kernel computes an exponential with tl.exp")
        return Opportunity(
            kernels=tuple(kernel.name for kernel in kernels),
            reason="tl.exp multiplies by log2(e) and checks its range around the hardware's power of two",
            predicted_gain=evidence.earlier.get(self.key, 1.05),
        )

    def rewrite(self, source: str, evidence: Evidence) -> Rewrite | Refusal:
        """Rewrite every launched kernel of which all exponentials are provably float32."""
        tree = parsed(source)
        if not _has_constant(tree) and any(isinstance(n, cst.Name) and n.value == CONSTANT for n in walk(tree.module)):
            return Refusal(f"the file uses the name {CONSTANT} for something else")
        edits: list[Edit] = []
        changes: list[Change] = []
        refusals: list[str] = []
        for kernel in launched_kernels(evidence):
            function = tree.function(kernel.name)
            calls = _exponentials(function) if function is not None else []
            if function is None or not calls:
                continue
            flow = Dataflow(tree, function)
            if not all(_is_float32(tree, flow, positional(call)[0].value, set()) for call in calls):
                refusals.append(f"{kernel.name}: an exponential's argument is not provably float32")
                continue
            edits += [edit for call in calls for edit in _edits(tree, call)]
            why = "the multiplication is explicit and the compiler may share it; the hardware computes only 2^x"
            changes.append(Change(what=f"{kernel.name}: {len(calls)} tl.exp become tl.exp2", why=why))
        if not edits:
            unchanged = _has_constant(tree)
            return _nothing(source, refusals) if not unchanged else Rewrite(source=source, knobs=(), changes=())
        return Rewrite(source=tree.edited(edits + _constant(tree)), knobs=(), changes=tuple(changes))


def _nothing(source: str, refusals: list[str]) -> Refusal:
    return Refusal("; ".join(refusals) or "no launched kernel computes an exponential with tl.exp")


def _exponentials(function: cst.FunctionDef) -> list[cst.Call]:
    return [
        node
        for node in walk(function.body)
        if isinstance(node, cst.Call) and called(node) == "tl.exp" and len(node.args) == 1 and positional(node)
    ]


def _edits(source: Source, call: cst.Call) -> list[Edit]:
    name_start, name_end = source.span(call.func)
    start, end = source.span(call.args[0])
    plain = isinstance(call.args[0].value, cst.Name | cst.Call)
    opening, closing = ("", "") if plain else ("(", ")")
    return [
        Edit(name_start, name_end, "tl.exp2"),
        Edit(start, start, opening),
        Edit(end, end, f"{closing} * {CONSTANT}"),
    ]


def _constant(source: Source) -> list[Edit]:
    """The definition, before the first jitted function; nothing where the file has it."""
    if _has_constant(source):
        return []
    first = next(node for node in source.functions() if is_jitted(node))
    position = line_before(source, first)
    text = f"{COMMENT}\n{_DEFINITION}\n\n\n"
    return [Edit(position, position, text)]


def _has_constant(source: Source) -> bool:
    """Whether the file defines the constant as this technique does, and nothing else under its name."""
    found = bound(source.module).get(CONSTANT, [])
    return len(found) == 1 and source.get(found[0]) == _DEFINITION


def _is_float32(source: Source, flow: Dataflow, node: cst.CSTNode, seen: set[str]) -> bool:
    """Whether a cast to float32, or an operation that promotes to it, takes part in a value."""
    for part in walk(node):
        if called(part) in _PROMOTING or source.get(part) == "tl.float32":
            return True
    for name in names(node) - seen:
        seen.add(name)
        for binding in bound(flow.function.body).get(name, []):
            value = binding.value if isinstance(binding, cst.Assign | cst.AugAssign) else None
            if value is not None and _is_float32(source, flow, value, seen):
                return True
    return False


VALID = (SOFTMAX,)
INVALID = (
    NORM_BACKWARD,
    changed(
        SOFTMAX, "@triton.jit", "_LOG2E = 1.0\n\n\n@triton.jit", name="another constant of that name", why="_LOG2E"
    ),
    changed(SOFTMAX, "    n_rows, ", "    _LOG2E = 1.44\n    n_rows, ", name="a local of that name", why="_LOG2E"),
    changed(
        NORM_BACKWARD,
        "dY * tl.sum(X, axis=0)",
        "tl.exp(n_cols)",
        name="an argument of unknown dtype",
        why="not provably float32",
    ),
)
