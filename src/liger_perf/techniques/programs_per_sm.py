"""More than one program per multiprocessor in backward passes that sum partial gradients.

What: where the grid is the number of multiprocessors, that number is multiplied by `programs_per_sm` from the settings
function before the partial buffers, the rows per program and the grid follow from it.
When: one variable is the grid, the leading extent of float32 buffers summed afterwards, and the divisor of the rows per
program; every kernel launched with that grid takes the rows per program or counts the programs itself.
Predicts: 1.25×. Measured on one H200 with two programs: rms_norm backward 1.40×, layer_norm backward 1.42× at 8192×4096
bf16, but nothing at 8192 columns.
Risks: each program adds one row of partial sums, so memory grows and the final sum takes longer; the order of the sum
changes the last bits of the weight's gradient. Rows per program may be a constexpr: one more compilation per value.
Source: Liger-Kernel #945; aiter #5175; pytorch #185814.
"""

from __future__ import annotations

import libcst as cst

from liger_perf.kernels.facts import KernelFile, PartialSum
from liger_perf.kernels.host import grid_elements, host_functions, launch_calls, launched
from liger_perf.kernels.reader import read_facts
from liger_perf.kernels.source import Edit, Source, bound, dotted, names, parsed, walk
from liger_perf.model.variants import Change
from liger_perf.techniques.base import Evidence, Knob, Opportunity, Refusal, Rewrite
from liger_perf.techniques.evidence import launched_kernels, launches_of
from liger_perf.techniques.examples import DICTIONARY, NORM_BACKWARD, SOFTMAX, changed
from liger_perf.techniques.settings_function import COMMENT, make_tunable, settings_name, tuned_variable
from liger_perf.techniques.statements import line_before

KEY = "programs_per_sm"
VALUES = (1, 2, 3, 4)
_COMMENT = "# Several programs a multiprocessor hide memory latency; each adds a row to the partial sums."


class ProgramsPerSm:
    """See the module's docstring."""

    key = "programs_per_sm"
    title = "Several programs a multiprocessor for partial sums"
    origin = "Liger-Kernel #945; aiter #5175"

    def consider(self, evidence: Evidence) -> Opportunity | Refusal:
        """Applies where a launched kernel sums partial results over one program per multiprocessor."""
        found = [partial for partial in _partial_sums(evidence.file, evidence) if _is_narrow(partial, evidence)]
        if not found:
            return Refusal("no launched kernel sums partial results of one program per multiprocessor")
        return Opportunity(
            kernels=tuple(partial.kernel for partial in found),
            reason="one program a multiprocessor waits for memory most of the time",
            predicted_gain=evidence.earlier.get(self.key, 1.25),
        )

    def rewrite(self, source: str, evidence: Evidence) -> Rewrite | Refusal:
        """Multiply the number of programs wherever the pattern holds."""
        partials = _partial_sums(read_facts(parsed(source)), evidence)
        knobs: list[Knob] = []
        changes: list[Change] = []
        refusals: list[str] = []
        for partial in partials:
            result = _rewrite(source, partial)
            if isinstance(result, Refusal):
                refusals.append(f"{partial.kernel}: {result.reason}")
                continue
            source = result
            function = settings_name(partial.kernel)
            knobs.append(Knob(kernel=partial.kernel, function=function, name=KEY, values=VALUES))
            changes.append(_change(partial))
        if not knobs:
            return Refusal("; ".join(refusals) or "no launched kernel sums partial results over its grid")
        return Rewrite(source=source, knobs=tuple(knobs), changes=tuple(changes))


def _change(partial: PartialSum) -> Change:
    return Change(
        what=f"{partial.function}: {partial.programs} is multiplied by {KEY}; {', '.join(partial.buffers)} get as many "
        "times more rows",
        why="two or more programs a multiprocessor overlap their memory accesses; the final sums read more rows",
    )


def _partial_sums(file: KernelFile, evidence: Evidence) -> list[PartialSum]:
    seen = {kernel.name for kernel in launched_kernels(evidence)}
    return [partial for partial in file.partial_sums if partial.kernel in seen]


def _is_narrow(partial: PartialSum, evidence: Evidence) -> bool:
    """Whether a captured grid is no larger than the number of multiprocessors."""
    grids = [launch.grid[0] for launch in launches_of(evidence, partial.kernel) if launch.grid]
    return any(grid <= evidence.device.sm_count for grid in grids)


def _rewrite(text: str, partial: PartialSum) -> str | Refusal:
    tunable = make_tunable(text, partial.kernel)
    if isinstance(tunable, Refusal):
        return tunable
    source = parsed(tunable)
    function = dict(host_functions(source)).get(partial.function)
    tuned = tuned_variable(source, function, partial.kernel) if function is not None else None
    if function is None or tuned is None:
        return Refusal(f"{partial.function} does not ask for settings")
    variable, asking = tuned
    if any(_is_multiplication(source, node, partial.programs, variable) for node in walk(function)):
        return tunable
    reason = (
        _other_use(source, function, partial)
        or _other_reader(source, function, partial)
        or _other_launch(source, function, partial)
    )
    if reason:
        return Refusal(reason)
    following = _following(source, function, partial.programs)
    if following is None:
        return Refusal(f"{partial.programs} is not set before it is used")
    if not _is_known_before(source, function, asking.value, following):
        return Refusal(f"the arguments of {settings_name(partial.kernel)} are not known where the programs are counted")
    return source.edited(_edits(source, partial, variable, asking, following))


def _edits(
    source: Source, partial: PartialSum, variable: str, asking: cst.Assign, following: cst.CSTNode
) -> list[Edit]:
    """Move the question up to the count of programs and multiply."""
    indent = source.indent(following)
    lines = [COMMENT, source.get(asking), _COMMENT, f'{partial.programs} *= {variable}.get("{KEY}", 1)']
    old, end = source.line_start(source.span(asking)[0]), source.span(asking)[1]
    comment = source.line_start(old - 1)
    if source.bytes[comment:old].strip().decode() == COMMENT:
        old = comment
    position = line_before(source, following)
    # A blank line that parts the count from what follows stays below.
    blank = source.line_start(position - 1)
    if not source.bytes[blank:position].strip():
        position = blank
    inserted = "".join(f"{indent}{line}\n" for line in lines)
    if old < position:
        return [Edit(position, position, f"{indent}{_COMMENT}\n{indent}{lines[-1]}\n")]
    return [Edit(position, position, inserted), Edit(old, source.next_line(end), "")]


def _is_multiplication(source: Source, node: cst.CSTNode, programs: str, variable: str) -> bool:
    return (
        isinstance(node, cst.AugAssign)
        and dotted(node.target) == programs
        and source.get(node.value) == f'{variable}.get("{KEY}", 1)'
    )


def _other_use(source: Source, function: cst.FunctionDef, partial: PartialSum) -> str:
    """What else the host function does with the number of programs; empty where nothing."""
    bindings = bound(function.body)
    allowed = [node for name in (*partial.buffers, partial.rows) for node in bindings[name]]
    allowed += [node for call in launch_calls(source, function) for node in grid_elements(source, function, call)]
    allowed += bindings.get(partial.programs, [])
    spans = [source.span(node) for node in allowed]
    for node in walk(function):
        if isinstance(node, cst.Name) and node.value == partial.programs:
            start, end = source.span(node)
            if not any(first <= start and end <= last for first, last in spans):
                return f"{partial.programs} is used for more than the grid, the buffers and the rows per program"
    return ""


def _other_reader(source: Source, function: cst.FunctionDef, partial: PartialSum) -> str:
    """What else reads what follows from the number of programs: the buffers, the rows, the grid; empty where nothing.

    A buffer may be given to a launch, asked for a stride, compared with None and summed over its programs, no more.
    """
    calls = list(launch_calls(source, function))
    grids = {dotted(node) for call in calls for node in _grid(call)}
    for node in walk(function.body):
        if not isinstance(node, cst.Name) or node.value not in {*partial.buffers, partial.rows, *grids}:
            continue
        around = [node, *source.ancestors(node)]
        binds = any(isinstance(above, cst.AssignTarget) for above in around)
        keyword = isinstance(around[1], cst.Arg) and around[1].keyword is node
        if binds or keyword or (isinstance(around[1], cst.Attribute) and around[1].attr is node):
            continue
        launch = next((above for above in around if any(above is call for call in calls)), None)
        allowed = launch is not None and (node.value in grids or _is_handed_over(source, node))
        if not allowed and not (node.value in partial.buffers and _is_plain_sum(source, node)):
            return f"{node.value} follows from {partial.programs} and is used for more than the launch and its sums"
    return ""


def _grid(call: cst.Call) -> list[cst.BaseExpression]:
    elements = call.func.slice if isinstance(call.func, cst.Subscript) else ()
    return [element.slice.value for element in elements if isinstance(element.slice, cst.Index)]


def _is_handed_over(source: Source, node: cst.Name) -> bool:
    """Whether a launch gets the variable itself or its stride, perhaps only under a condition."""
    above = source.parent(node)
    if isinstance(above, cst.Attribute):
        return above.attr.value == "stride"
    return isinstance(above, cst.Arg | cst.IfExp | cst.ComparisonTarget | cst.Comparison)


def _is_plain_sum(source: Source, node: cst.Name) -> bool:
    """Whether the name stands in `buffer.sum(dim=0)` or `buffer.sum()`, in a comparison with None, or in a `del`."""
    above = source.parent(node)
    if isinstance(above, cst.Comparison | cst.Del):
        return True
    call = source.parent(above) if isinstance(above, cst.Attribute) and above.attr.value == "sum" else None
    if not isinstance(call, cst.Call):
        return False
    if not call.args:
        return True
    first = call.args[0]
    return source.get(first.value) == "0" and (first.keyword is None or first.keyword.value in ("dim", "axis"))


def _other_launch(source: Source, function: cst.FunctionDef, partial: PartialSum) -> str:
    """A kernel launched with the same grid that would not follow; empty where all do."""
    kernels = {kernel.name: kernel for kernel in read_facts(source).kernels}
    for call in launch_calls(source, function):
        uses_grid = any(dotted(node) == partial.programs for node in grid_elements(source, function, call))
        takes_rows = any(partial.rows in names(arg) for arg in call.args)
        kernel = kernels.get(launched(call))
        if uses_grid and not takes_rows and (kernel is None or not kernel.counts_programs):
            return f"{launched(call)} is launched with the same grid and knows nothing of the number of programs"
    return ""


def _following(source: Source, function: cst.FunctionDef, programs: str) -> cst.CSTNode | None:
    """The statement of the function's own block after the one that sets the number of programs last."""
    assert isinstance(function.body, cst.IndentedBlock)
    bindings = [source.span(node) for node in bound(function.body).get(programs, [])]
    reads = [
        source.span(node)[0]
        for node in walk(function.body)
        if isinstance(node, cst.Name) and node.value == programs and source.span(node) not in bindings
    ]
    for statement, following in zip(function.body.body, function.body.body[1:], strict=False):
        start, end = source.span(statement)
        inside = [span for span in bindings if start <= span[0] and span[1] <= end]
        if inside and inside[-1] == bindings[-1]:
            targets = {first for first, _ in bindings}
            early = [read for read in reads if read < end and read not in targets]
            return None if early else following
    return None


def _is_known_before(source: Source, function: cst.FunctionDef, call: cst.CSTNode, statement: cst.CSTNode) -> bool:
    """Whether every name in the call has its final value before `statement`."""
    position = source.span(statement)[0]
    bindings = bound(function.body)
    params = {param.name.value for param in function.params.params}
    own = set(function.body.body)
    for name in names(call):
        nodes = bindings.get(name, [])
        surely = any(source.parent(node) in own or node in own for node in nodes)
        if any(source.span(node)[0] >= position for node in nodes) or (nodes and name not in params and not surely):
            return False
    return True


VALID = (NORM_BACKWARD, DICTIONARY)
INVALID = (
    SOFTMAX,
    changed(
        NORM_BACKWARD,
        "    grid = (sm_count,)\n",
        "    grid = (sm_count,)\n    X.programs = sm_count\n",
        name="the number of programs is used elsewhere",
        why="used for more",
    ),
    changed(
        NORM_BACKWARD, "dW.sum(dim=0)", "(dW.sum(dim=0) / grid[0])", name="the grid as a scale", why="grid follows"
    ),
    changed(NORM_BACKWARD, "dW.sum(dim=0)", "(dW.sum(dim=0) / len(dW))", name="a mean", why="dW follows"),
    changed(NORM_BACKWARD, "dW.sum(dim=0)", "dW.sum(dim=1)", name="summed over the columns", why="dW follows"),
    changed(
        NORM_BACKWARD,
        "    grid = (sm_count,)\n",
        "    grid = (sm_count,)\n    X = X * rows_per_program\n",
        name="the rows per program as a factor",
        why="rows_per_program follows",
    ),
    changed(
        NORM_BACKWARD,
        "    sm_count = 1\n",
        "    sm_count = 1\n    dW = torch.empty((sm_count, n_cols), dtype=torch.float16)\n",
        name="partial sums in float16",
        why="partial results",
    ),
    changed(
        NORM_BACKWARD,
        "    grid = (sm_count,)\n",
        "    grid = (sm_count,)\n    X = X.contiguous()\n    dY = dY.contiguous()\n",
        name="the tensor changes after the count",
        why="not known where",
    ),
)
