"""A session: what the journal says, folded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import msgspec

from liger_perf.model.errors import LigerPerfError
from liger_perf.model.variants import Decision
from liger_perf.session.entries import (
    Approved,
    Entry,
    Finished,
    HypothesisFixed,
    RecordedFile,
    Stage,
    StageFailed,
    StageFinished,
    Started,
    VariantDone,
)


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One optimisation of one kernel. `failure` is the last stage's failure, if nothing succeeded since."""

    started: Started
    finished: tuple[StageFinished, ...] = ()
    approved: tuple[Approved, ...] = ()
    hypotheses: tuple[HypothesisFixed, ...] = ()
    variants: tuple[VariantDone, ...] = ()
    failure: StageFailed | None = None
    closed: bool = False

    def outcome(self, stage: Stage) -> StageFinished | None:
        """How a stage ended, or None where it has not ended well."""
        return next((entry for entry in self.finished if entry.stage is stage), None)

    def approval(self, stage: Stage) -> Approved | None:
        """The last approval of a stage's result; a later one replaces an earlier choice."""
        return next((entry for entry in reversed(self.approved) if entry.stage is stage), None)

    @property
    def choices(self) -> tuple[str, ...]:
        """The variants that a person may choose: no rejected one, whatever its gain."""
        return tuple(entry.variant for entry in self.variants if entry.decision is not Decision.REJECTED)

    @property
    def winner(self) -> str:
        """The chosen variant; empty where none is to be applied."""
        approval, outcome = self.approval(Stage.OPTIMIZE), self.outcome(Stage.OPTIMIZE)
        if approval is not None and approval.choice:
            return approval.choice
        return outcome.winner if outcome is not None else ""

    @property
    def files(self) -> tuple[RecordedFile, ...]:
        """All files that count. Those of a failed stage do not: they make room when the stage runs again."""
        stages = (file for entry in self.finished for file in entry.files)
        variants = (file for entry in self.variants for file in (entry.result, *entry.files))
        return (*stages, *variants)


def fold(entries: Sequence[Entry]) -> Session | None:
    """The session that a journal tells of; None for a journal without an entry.

    Raises:
        LigerPerfError: the entries contradict each other.
    """
    if not entries:
        return None
    first, *others = entries
    if not isinstance(first, Started):
        raise LigerPerfError("the journal does not begin with a start", todo="start a new session")
    session = Session(started=first)
    for entry in others:
        session = apply(session, entry)
    return session


def apply(session: Session, entry: Entry) -> Session:
    """The session after one more entry.

    Raises:
        LigerPerfError: the entry cannot follow.
    """
    _refuse_contradiction(session, entry)
    replace = msgspec.structs.replace
    match entry:
        case StageFinished():
            return replace(session, finished=(*session.finished, entry), failure=None)
        case Approved():
            return replace(session, approved=(*session.approved, entry))
        case HypothesisFixed():
            others = tuple(item for item in session.hypotheses if item.variant != entry.variant)
            return replace(session, hypotheses=(*others, entry))
        case VariantDone():
            return replace(session, variants=(*session.variants, entry))
        case StageFailed():
            return replace(session, failure=entry)
        case Finished():
            return replace(session, closed=True)
        case Started():
            raise LigerPerfError("the journal starts twice", todo="start a new session")
        case _:
            assert_never(entry)


def _refuse_contradiction(session: Session, entry: Entry) -> None:
    what = ""
    if session.closed:
        what = "the session is finished and takes nothing more"
    elif isinstance(entry, StageFinished) and session.outcome(entry.stage) is not None:
        what = f"stage {entry.stage} is finished already"
    elif isinstance(entry, Approved) and session.outcome(entry.stage) is None:
        what = f"stage {entry.stage} cannot be approved before it is finished"
    elif isinstance(entry, Approved) and entry.choice and entry.choice not in session.choices:
        what = f"{entry.choice} is no variant of this session that may be chosen"
    elif isinstance(entry, VariantDone | HypothesisFixed) and _is_done(session, entry.variant):
        what = f"variant {entry.variant} is recorded already"
    elif isinstance(entry, VariantDone) and all(item.variant != entry.variant for item in session.hypotheses):
        what = f"variant {entry.variant} has a result but no hypothesis that was fixed before it"
    if what:
        allowed = ", ".join(session.choices) or "none"
        raise LigerPerfError(what, todo=f"variants that may be chosen: {allowed}" if "chosen" in what else "")


def _is_done(session: Session, variant: str) -> bool:
    return any(entry.variant == variant for entry in session.variants)
