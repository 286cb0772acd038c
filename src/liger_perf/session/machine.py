"""What a session needs next. Pure: no clock, no files, no device."""

from __future__ import annotations

import msgspec

from liger_perf.session.entries import Stage
from liger_perf.session.model import Session


class RunProfile(msgspec.Struct, frozen=True):
    """Profile the original."""


class AwaitApproval(msgspec.Struct, frozen=True):
    """A person decides whether to go on from the stage's result."""

    stage: Stage


class RunOptimize(msgspec.Struct, frozen=True):
    """Try variants, beginning with number `first`."""

    first: int


class RunFinalize(msgspec.Struct, frozen=True):
    """Apply the variant, test, report. An empty name reports that there is nothing to apply."""

    variant: str


class Done(msgspec.Struct, frozen=True):
    """Nothing is left."""


Step = RunProfile | AwaitApproval | RunOptimize | RunFinalize | Done


def next_step(session: Session) -> Step:
    """The one thing to do next. A stage that failed is what is done next: resuming tries it again."""
    if session.closed or session.outcome(Stage.FINALIZE) is not None:
        return Done()
    for stage in (Stage.PROFILE, Stage.OPTIMIZE):
        if session.outcome(stage) is None:
            return RunProfile() if stage is Stage.PROFILE else RunOptimize(first=len(session.variants) + 1)
        if not session.started.request.autonomous and session.approval(stage) is None:
            return AwaitApproval(stage=stage)
    return RunFinalize(variant=session.winner)
