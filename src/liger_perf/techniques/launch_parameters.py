"""Number of warps and free block sizes by shape, dtype and architecture.

What: the launch takes num_warps, and the width of column loops, from the kernel's settings function; the kernel's body
stays as it is. num_stages is searched only for kernels with tl.dot: without one it changes no instruction.
When: the benchmark launches the kernel, its launch values are plain, and it is not autotuned.
Predicts: 1.1×. Measured on one H200: geglu forward 1.33× with 32 warps, group_norm backward 2.03× with one, most
kernels at the roof 1.0×.
Risks: a block that must cover a row is never touched; 32 warps are 1024 threads, the most that a program may have. What
helps one width hurts another, so each branch names its widths.
Source: Liger-Kernel #1267 (15 % on B200), sglang #22351 (1.14× on H200).
"""

from __future__ import annotations

from liger_perf.kernels.facts import JitKernel
from liger_perf.kernels.reader import read_one_kernel
from liger_perf.kernels.source import parsed
from liger_perf.model.variants import Change
from liger_perf.techniques.base import Evidence, Knob, Opportunity, Refusal, Rewrite
from liger_perf.techniques.evidence import launched_kernels
from liger_perf.techniques.examples import (
    AUTOTUNED,
    DICTIONARY,
    FOREIGN_DICTIONARY,
    NORM_BACKWARD,
    SOFTMAX,
    WARPS_PARAMETER,
)
from liger_perf.techniques.overrides import override_block, override_option
from liger_perf.techniques.settings_function import make_tunable, settings_name

WARPS = (1, 2, 4, 8, 16, 32)
STAGES = (1, 2, 3, 4, 5)
BLOCKS = tuple(2**power for power in range(8, 17))


class LaunchParameters:
    """See the module's docstring."""

    key = "launch_parameters"
    title = "Launch values by shape, dtype and GPU"
    origin = "Liger-Kernel #1267; sglang #22351"

    def consider(self, evidence: Evidence) -> Opportunity | Refusal:
        """Applies to every launched kernel whose launch values can be replaced."""
        candidates = [kernel for kernel in launched_kernels(evidence) if not kernel.autotuned]
        if not candidates:
            return Refusal("the benchmark launches no kernel of this file whose launch values are set by hand")
        gain = evidence.earlier.get(self.key, 1.1)
        return Opportunity(
            kernels=tuple(kernel.name for kernel in candidates),
            reason="launch values are the same for every GPU and dtype: other values may fit this one better",
            predicted_gain=gain,
        )

    def rewrite(self, source: str, evidence: Evidence) -> Rewrite | Refusal:
        """Make every launched kernel tunable; kernels that refuse stay as they are."""
        knobs: list[Knob] = []
        changes: list[Change] = []
        refusals: list[str] = []
        for kernel in launched_kernels(evidence):
            result = _rewrite_kernel(source, kernel.name)
            if isinstance(result, Refusal):
                refusals.append(result.reason)
                continue
            source = result.source
            knobs += result.knobs
            changes += result.changes
        if not knobs:
            return Refusal("; ".join(refusals) or "the benchmark launches no kernel of this file")
        return Rewrite(source=source, knobs=tuple(knobs), changes=tuple(changes))


def _rewrite_kernel(source: str, name: str) -> Rewrite | Refusal:
    tunable = make_tunable(source, name)
    if isinstance(tunable, Refusal):
        return tunable
    text = override_option(tunable, name, "num_warps")
    if isinstance(text, Refusal):
        return text
    kernel = read_one_kernel(parsed(source), name)
    assert kernel is not None
    knobs = [Knob(kernel=name, function=settings_name(name), name="num_warps", values=WARPS, option=True)]
    text, extra = _further_knobs(text, kernel)
    changed = Change(
        what=f"{name}: {', '.join(knob.name for knob in knobs + extra)} come from {settings_name(name)}",
        why="the best values depend on width, dtype and GPU; where nothing was measured the shipped ones stay",
    )
    return Rewrite(source=text, knobs=(*knobs, *extra), changes=(changed,))


def _further_knobs(text: str, kernel: JitKernel) -> tuple[str, list[Knob]]:
    """num_stages for kernels with dots, and each free block; what cannot be replaced is left out."""
    function = settings_name(kernel.name)
    knobs = []
    if kernel.dots:
        staged = override_option(text, kernel.name, "num_stages")
        if not isinstance(staged, Refusal):
            text = staged
            knobs.append(Knob(kernel=kernel.name, function=function, name="num_stages", values=STAGES, option=True))
    for block in kernel.free_blocks:
        blocked = override_block(text, kernel.name, block)
        if not isinstance(blocked, Refusal):
            text = blocked
            knobs.append(Knob(kernel=kernel.name, function=function, name=block, values=BLOCKS, constexpr=block))
    return text, knobs


VALID = (NORM_BACKWARD, DICTIONARY, SOFTMAX)
INVALID = (AUTOTUNED, WARPS_PARAMETER, FOREIGN_DICTIONARY)
