"""Carries planned effects out, in order, and plans again with what became of them, until nothing is left to do."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never

import msgspec

from liger_perf.action.facts import Gatherer
from liger_perf.action.stage import StageRunner
from liger_perf.adapters.github.branches import (
    CONVERSATION,
    JOURNAL,
    SessionBranches,
    Stored,
    Superseded,
    encoded,
)
from liger_perf.adapters.github.jobs import Jobs
from liger_perf.adapters.github.pulls import NotOpened, Pulls
from liger_perf.adapters.github.threads import Threads
from liger_perf.bot.effects import (
    AddLabel,
    AddReaction,
    CancelRun,
    CheckpointPosted,
    EditStatus,
    Effect,
    OpenIssue,
    OpenPullRequest,
    Outcome,
    PostCheckpoint,
    PostComment,
    PullRequestFailed,
    PullRequestOpened,
    RecordApproval,
    RunStage,
    Save,
    StartJob,
    WriteSummary,
)
from liger_perf.bot.events import Continued, Dispatched, Event
from liger_perf.bot.router import plan
from liger_perf.kernels.layout import kernel_paths
from liger_perf.model.errors import StageError, UsageError
from liger_perf.session import journal as journals
from liger_perf.session.entries import Approved
from liger_perf.session.model import apply, fold

Follow = tuple[Event | Outcome, ...]

_TRIES = 5


@dataclass
class Report:
    """What the job leaves behind for later steps of the workflow."""

    session: str = ""
    pull_request: str = ""


@dataclass(kw_only=True)
class Carrier:
    """All adapters of one job. `note` tells the log what is done."""

    gatherer: Gatherer
    threads: Threads
    branches: SessionBranches
    jobs: Jobs
    pulls: Pulls
    stages: StageRunner
    summary: Path | None
    note: Callable[[str], None]
    report: Report = field(default_factory=Report)

    def carry(self, event: Event) -> Report:
        """Deal with an event.

        Raises:
            UsageError: the session to go on with does not exist.
            LigerPerfError: a session cannot be trusted, or others wrote it again and again.
            GithubException: GitHub refuses, or does not answer.
        """
        waiting: deque[Event | Outcome] = deque([event])
        while waiting:
            waiting.extend(self._one(waiting.popleft()))
        return self.report

    def _one(self, event: Event | Outcome) -> Follow:
        for attempt in range(_TRIES):
            facts = self.gatherer.facts(event)
            if isinstance(event, Continued) and facts.view(event.session) is None:
                raise UsageError(f"there is no session {event.session!r} to go on with", todo="start one with a kernel")
            effects = plan(event, facts)
            try:
                return self._all(effects, event)
            except Superseded as error:
                # Decided on an older state: look again. What was posted stays posted, and is found by its key.
                if attempt == _TRIES - 1:
                    raise
                self.note(f"{error.what}: deciding again")
        raise AssertionError("the last try answers or raises")

    def _all(self, effects: tuple[Effect, ...], event: Event | Outcome) -> Follow:
        follow: Follow = ()
        for effect in effects:
            follow += self._effect(effect, event)
        return follow

    def _effect(self, effect: Effect, event: Event | Outcome) -> Follow:
        match effect:
            case PostComment():
                self.note(f"comment in #{effect.thread}")
                self.threads.post(effect)
            case PostCheckpoint():
                self.note(f"question after {effect.stage} in #{effect.thread}")
                posted = self.threads.post(effect)
                return (CheckpointPosted(effect=effect, comment_id=posted.id, created_at=posted.created_at),)
            case EditStatus():
                self.threads.edit_status(effect)
            case AddReaction():
                self.threads.react(effect)
            case AddLabel():
                self.threads.label(effect)
            case OpenIssue():
                return self._open_issue(effect, event)
            case WriteSummary():
                self._summarize(effect.body)
            case Save() | RecordApproval() | StartJob() | CancelRun() | RunStage() | OpenPullRequest():
                return self._session(effect)
            case _:
                assert_never(effect)
        return ()

    def _session(self, effect: Save | RecordApproval | StartJob | CancelRun | RunStage | OpenPullRequest) -> Follow:
        """The effects that a session's branch is needed for."""
        match effect:
            case Save():
                talk = effect.conversation
                self.report.session = talk.id
                self.branches.write(talk.id, {CONVERSATION: encoded(talk)}, f"Session {talk.id}: what was said")
            case RecordApproval():
                self._record(effect)
            case StartJob():
                self.note(f"starting a job for {effect.session}")
                self.jobs.start(effect.session)
            case CancelRun():
                self.jobs.cancel(self.gatherer.stored(effect.session).conversation)
            case RunStage():
                refused = self.stages.run(effect, self.gatherer.stored(effect.session))
                return (refused or Continued(session=effect.session),)
            case OpenPullRequest():
                return (self._open_pull(effect),)
            case _:
                assert_never(effect)
        return ()

    def _open_issue(self, effect: OpenIssue, event: Event | Outcome) -> Follow:
        number = self.threads.open_issue(effect)
        self.note(f"tracking issue #{number}")
        if not isinstance(event, Dispatched):
            return ()
        return (msgspec.structs.replace(event, thread=number),)

    def _record(self, effect: RecordApproval) -> None:
        stored = self.gatherer.stored(effect.session)
        journal = journals.decode(stored.journal)
        session = fold(journal.entries)
        if session is None or session.approval(effect.stage) is not None:
            return
        entry = Approved(stage=effect.stage, choice=effect.choice)
        apply(session, entry)  # refuses what the session cannot take
        line, _ = journals.encode(journal, entry)
        whole = stored.journal[: journal.size] + line
        self.branches.write(effect.session, {JOURNAL: whole}, f"Session {effect.session}: {effect.stage} approved")

    def _open_pull(self, effect: OpenPullRequest) -> PullRequestOpened | PullRequestFailed:
        stored = self.gatherer.stored(effect.session)
        path = kernel_paths(effect.kernel).ops
        try:
            opened = self.pulls.open(effect, patch=self._patch(stored), path=path, base=stored.conversation.frozen.base)
        except (NotOpened, StageError) as error:
            compare = error.compare_url if isinstance(error, NotOpened) else ""
            return PullRequestFailed(session=effect.session, why=error.what, compare_url=compare)
        self.note(f"pull request #{opened.number}")
        self.report.pull_request = opened.url
        return PullRequestOpened(session=effect.session, url=opened.url)

    def _patch(self, stored: Stored) -> bytes:
        kernel = stored.conversation.kernel
        return self.branches.file(stored, f"optimization/{kernel}/{kernel}.patch") or b""

    def _summarize(self, body: str) -> None:
        if self.summary is not None:
            with self.summary.open("a", encoding="utf-8") as file:
                file.write(f"{body}\n")
        self.note(body)
