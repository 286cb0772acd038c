"""Software pipelining of loops over rows or columns.

What: `range(a, b)` becomes `tl.range(a, b, num_stages=LOOP_STAGES)`, so that the loads of the next turns are under way
while this one computes. LOOP_STAGES is a new last parameter with default 1, which compiles to the shipped code; the
launch takes it from the settings function.
When: an innermost loop of a launched kernel without tl.dot loads from memory, and it is proved that no turn loads what
another turn stores (kernels/disjoint.py).
Predicts: 1.35× where each program runs more than four turns, else 1.05×.
Risks: each further stage holds one more set of loads in shared memory; counts that fit no captured launch are left out,
and wide rows must keep fewer stages. The proof rests on the aliases and strides of the captured launches.
Source: pytorch #167161; measured on one H200: rms_norm backward 8192×4096 bf16 97 → 68 µs.
"""

from __future__ import annotations

import libcst as cst
import msgspec

from liger_perf.kernels.dataflow import Dataflow
from liger_perf.kernels.disjoint import unsafe_reason
from liger_perf.kernels.facts import JitKernel
from liger_perf.kernels.jitted import RANGES, loop_call
from liger_perf.kernels.memory import accesses
from liger_perf.kernels.reader import read_one_kernel
from liger_perf.kernels.source import Edit, Source, called, keyword, names, parsed, walk
from liger_perf.model.launches import Launch
from liger_perf.model.variants import Change
from liger_perf.techniques.arguments import append_parameter
from liger_perf.techniques.base import Evidence, Knob, Opportunity, Refusal, Rewrite
from liger_perf.techniques.evidence import argument, launched_kernels, launches_of
from liger_perf.techniques.examples import NORM_BACKWARD, SOFTMAX, changed
from liger_perf.techniques.memory_layout import CapturedLayout
from liger_perf.techniques.overrides import override_constexpr
from liger_perf.techniques.settings_function import make_tunable, settings_name

KEY = "loop_stages"
PARAMETER = "LOOP_STAGES"
STAGES = (1, 2, 3, 4)
COMMENT = "# Loads of the next turns start while this one computes; LOOP_STAGES=1 compiles to a plain range."
_FEW_TURNS = 4


class Pipelining:
    """See the module's docstring."""

    key = "pipelining"
    title = "Pipelined loads in plain loops"
    origin = "pytorch #167161"

    def consider(self, evidence: Evidence) -> Opportunity | Refusal:
        """Applies where a launched kernel without dots loads in a loop; whether that is safe, `rewrite` decides."""
        kernels = [kernel for kernel in launched_kernels(evidence) if _may_gain(kernel)]
        if not kernels:
            return Refusal("no launched kernel loads from memory in a loop that could be pipelined")
        turns = [_turns(kernel, launch) for kernel in kernels for launch in launches_of(evidence, kernel.name)]
        return Opportunity(
            kernels=tuple(kernel.name for kernel in kernels),
            reason="each turn of a loop waits for its own loads",
            predicted_gain=evidence.earlier.get(self.key, 1.35 if max(turns) > _FEW_TURNS else 1.05),
        )

    def rewrite(self, source: str, evidence: Evidence) -> Rewrite | Refusal:
        """Pipeline every loop that is proved safe; refuse where there is none."""
        knobs: list[Knob] = []
        changes: list[Change] = []
        refusals: list[str] = []
        for kernel in launched_kernels(evidence):
            if not _may_gain(kernel):
                continue
            result = _rewrite_kernel(source, kernel.name, evidence)
            if isinstance(result, Refusal):
                refusals.append(f"{kernel.name}: {result.reason}")
                continue
            source = result.source
            knobs += result.knobs
            changes += result.changes
        if not knobs:
            return Refusal("; ".join(refusals) or "no launched kernel loads from memory in a loop")
        return Rewrite(source=source, knobs=tuple(knobs), changes=tuple(changes))


class _Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Which loops of a kernel to pipeline, and the widest set of loads that one of their turns keeps."""

    loops: tuple[cst.For, ...]
    loads: tuple[tuple[str, frozenset[str]], ...]
    parameter: str
    done: bool


def _may_gain(kernel: JitKernel) -> bool:
    return not kernel.dots and not kernel.autotuned and any(loop.loads for loop in kernel.loops)


def _rewrite_kernel(text: str, name: str, evidence: Evidence) -> Rewrite | Refusal:
    captured = launches_of(evidence, name)
    tunable = make_tunable(text, name)
    if isinstance(tunable, Refusal):
        return tunable
    source = parsed(tunable)
    plan = _plan(source, name, captured)
    if isinstance(plan, Refusal):
        return plan
    stages = tuple(stage for stage in STAGES if _fits(plan, captured, stage, evidence.device.shared_memory_bytes))
    if len(stages) < 2:
        return Refusal("the loads of two turns do not fit into shared memory")
    pipelined = tunable if plan.done else _pipelined(source, name, plan)
    result = override_constexpr(pipelined, name, plan.parameter, KEY, 1)
    knob = Knob(kernel=name, function=settings_name(name), name=KEY, values=stages, constexpr=plan.parameter)
    change = Change(
        what=f"{name}: {len(plan.loops)} loop(s) run over tl.range with {plan.parameter} stages",
        why="the loads of the next turns overlap with the arithmetic of the present one",
    )
    return Rewrite(source=result, knobs=(knob,), changes=(change,))


def _plan(source: Source, name: str, captured: list[Launch]) -> _Plan | Refusal:
    function = source.function(name)
    facts = read_one_kernel(source, name)
    if function is None or facts is None:
        return Refusal("the kernel is not in this file")
    flow = Dataflow(source, function)
    layout = CapturedLayout(source, name, facts.params, captured)
    loops: list[cst.For] = []
    reasons: list[str] = []
    done = ""
    for node in _innermost(source, function):
        call = loop_call(node)
        assert call is not None
        stages = keyword(call, "num_stages")
        if stages is not None and source.get(stages.value).startswith(PARAMETER):
            done = source.get(stages.value)
        elif any(arg.keyword is not None for arg in call.args):
            reasons.append("the loop chooses its own options already")
            continue
        reason = unsafe_reason(source, flow, node, facts.extents, layout)
        if reason:
            reasons.append(reason)
        else:
            loops.append(node)
    if not loops:
        return Refusal("; ".join(dict.fromkeys(reasons)) or "no innermost loop loads from memory")
    widest = max((_loads(source, flow, loop) for loop in loops), key=len)
    return _Plan(loops=tuple(loops), loads=widest, parameter=done or _parameter(function), done=bool(done))


def _innermost(source: Source, function: cst.FunctionDef) -> list[cst.For]:
    """Loops that load, hold no further loop, and are not unrolled."""
    found = []
    for node in walk(function.body):
        if isinstance(node, cst.For) and (call := loop_call(node)) is not None and called(call) in RANGES[:2]:
            inner = [part for part in walk(node.body) if isinstance(part, cst.For | cst.While)]
            loads = any(called(part).endswith(".load") for part in walk(node.body))
            if not inner and loads:
                found.append(node)
    return found


def _parameter(function: cst.FunctionDef) -> str:
    """LOOP_STAGES, or LOOP_STAGES_2 and so on where the kernel uses the name for something else."""
    name, number = PARAMETER, 1
    while name in names(function):
        number += 1
        name = f"{PARAMETER}_{number}"
    return name


def _loads(source: Source, flow: Dataflow, loop: cst.For) -> tuple[tuple[str, frozenset[str]], ...]:
    """Pointer and lane blocks of each load with lanes: what a stage keeps in shared memory."""
    inside = accesses(source, flow, loop.body)
    blocks = [
        (access.pointer, frozenset(atom.removeprefix("arange(").removesuffix(")") for atom in access.lanes))
        for access in inside
        if access.kind == "load"
    ]
    return tuple((pointer, lanes) for pointer, lanes in blocks if lanes)


def _fits(plan: _Plan, captured: list[Launch], stages: int, limit: int) -> bool:
    """Whether `stages` fit for at least one launch: all but one stage wait in shared memory."""
    return any((stages - 1) * _bytes_per_turn(plan, launch) <= limit for launch in captured)


def _bytes_per_turn(plan: _Plan, launch: Launch) -> int:
    total = 0
    for pointer, blocks in plan.loads:
        given = argument(launch, pointer)
        count = given.tensor.itemsize if given is not None and given.tensor is not None else 0
        for block in blocks:
            value = launch.value(block) if block.isidentifier() else int(block) if block.isdigit() else 1
            count *= value if isinstance(value, int) else 1
        total += count
    return total


def _pipelined(source: Source, name: str, plan: _Plan) -> str:
    function = source.function(name)
    assert function is not None
    edits = append_parameter(source, function, f"{plan.parameter}: tl.constexpr = 1")
    for loop in plan.loops:
        call = loop_call(loop)
        assert call is not None
        start, end = source.span(call.func)
        last = source.span(call.args[-1])[1]
        line = source.line_start(source.span(loop)[0])
        comment = COMMENT.replace(PARAMETER, plan.parameter)
        edits.append(Edit(line, line, f"{source.indent(loop)}{comment}\n"))
        edits.append(Edit(start, end, "tl.range"))
        edits.append(Edit(last, last, f", num_stages={plan.parameter}"))
    return source.edited(edits)


def _turns(kernel: JitKernel, launch: Launch) -> int:
    """How many turns of its longest loop a program runs, as far as the launch tells."""
    rows = next((value for name in kernel.row_extents if isinstance(value := launch.value(name), int)), 0)
    programs = max(1, launch.grid[0] if launch.grid else 1)
    by_rows = -(-rows // programs)
    by_columns = 0
    for loop in kernel.loops:
        block, extent = launch.value(loop.steps_by), launch.value(loop.arguments[1]) if len(loop.arguments) > 1 else 0
        if loop.loads and isinstance(block, int) and isinstance(extent, int) and block > 0:
            by_columns = max(by_columns, -(-extent // block))
    return max(by_rows, by_columns)


_STORE = "tl.store(dX_ptr + row * dX_stride"
VALID = (NORM_BACKWARD, SOFTMAX)
INVALID = (
    changed(
        NORM_BACKWARD,
        _STORE,
        "tl.store(dX_ptr + (row + 1) * dX_stride",
        name="a row is read after its neighbour was written",
        why="different elements",
    ),
    changed(NORM_BACKWARD, _STORE, "tl.store(dX_ptr + pid * dX_stride", name="one row for all turns", why="move"),
    changed(
        NORM_BACKWARD,
        "tl.load(dY_ptr + row * dY_stride",
        "tl.load(dY_ptr + start * dY_stride",
        name="what is stored is loaded in every turn",
        why="move",
    ),
    changed(NORM_BACKWARD, _STORE, "tl.atomic_add(dX_ptr + row * dX_stride", name="atomics", why="atomic"),
    changed(
        NORM_BACKWARD, "        dW += dY * X\n", "        if row > 3:\n            break\n", name="break", why="data"
    ),
    changed(
        NORM_BACKWARD,
        "        dW += dY * X\n",
        "        store(dY_ptr + row, dW)\n        dW += dY * X\n",
        name="a store under a bare name",
        why="leave memory alone",
    ),
    changed(NORM_BACKWARD, "range(start, end)", "range(start, end, -1)", name="backwards", why="overlap"),
)
