"""Builds the tunable file of a technique on top of the best so far."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from liger_perf.kernels.reader import read_kernel_file
from liger_perf.model.variants import Change
from liger_perf.stages.attempt import Draft
from liger_perf.stages.strategy import FIRST
from liger_perf.techniques.base import Evidence, Knob, Refusal, Rewrite, Technique
from liger_perf.techniques.evidence import restrict
from liger_perf.techniques.registry import by_key


def draft(parent: str, technique: Technique, accepted: Sequence[str], evidence: Evidence) -> Draft | Refusal:
    """The technique's rewrite of `parent` with the knobs that belong together: its own, those of the techniques already
    in the parent, and the launch parameters of the same kernels. A technique without knobs stands alone."""
    alone = technique.rewrite(parent, on(parent, evidence))
    if isinstance(alone, Refusal):
        return alone
    if not alone.knobs:
        return Draft(source=alone.source, knobs=(), changes=alone.changes)
    return build(parent, technique, accepted, evidence, frozenset(knob.kernel for knob in alone.knobs))


def build(
    parent: str, technique: Technique, accepted: Sequence[str], evidence: Evidence, kernels: frozenset[str]
) -> Draft | Refusal:
    """As `draft`, touching only these kernels."""
    only = restrict(evidence, kernels)
    source, changes = parent, technique_changes(parent, technique, only)
    knobs: dict[tuple[str, str], Knob] = {}
    for key in dict.fromkeys((FIRST, *accepted, technique.key)):
        found = by_key(key).rewrite(source, on(source, only))
        if isinstance(found, Rewrite):
            source = found.source
            knobs.update({(knob.function, knob.name): knob for knob in found.knobs})
        elif key == technique.key:
            return found
    return Draft(source=source, knobs=tuple(knobs.values()), changes=changes)


def technique_changes(parent: str, technique: Technique, evidence: Evidence) -> tuple[Change, ...]:
    """What the technique itself would change: the notes tell that, not the plumbing beside it."""
    found = technique.rewrite(parent, on(parent, evidence))
    return found.changes if isinstance(found, Rewrite) else ()


def on(source: str, evidence: Evidence) -> Evidence:
    """The evidence with the facts of this source."""
    return msgspec.structs.replace(evidence, file=read_kernel_file(source))
