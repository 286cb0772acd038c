"""Gathers all that the bot's rules want to know when something happens."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import assert_never

from liger_perf.adapters.github.branches import SessionBranches, Stored
from liger_perf.adapters.github.jobs import Jobs
from liger_perf.adapters.github.readings import Readings
from liger_perf.adapters.github.site import said
from liger_perf.bot.approvals import NO, YES
from liger_perf.bot.authority import Policy, Thread
from liger_perf.bot.commands import Approve, Optimize, Reject
from liger_perf.bot.effects import (
    CheckpointPosted,
    JobCrashed,
    Outcome,
    PullRequestFailed,
    PullRequestOpened,
    StageRefused,
)
from liger_perf.bot.events import CommentCreated, Continued, Dispatched, Event, Ignored, Swept, User
from liger_perf.bot.evidence import Evidence
from liger_perf.bot.parser import parse, parse_inputs
from liger_perf.bot.state import Facts, Frozen, Page, View
from liger_perf.kernels.layout import list_kernels
from liger_perf.model.errors import LigerPerfError
from liger_perf.session import journal as journals
from liger_perf.session.entries import Stage, StageFailed
from liger_perf.session.model import Session, fold
from liger_perf.stages.workspace import SPEEDUP

_PICTURE = ".png"


class Gatherer:
    """Asks GitHub, once for each thing that happens. `page` is the repository's address for people."""

    def __init__(
        self,
        readings: Readings,
        branches: SessionBranches,
        jobs: Jobs,
        policy: Policy,
        *,
        page: str,
        on_gpu: bool,
        run: str,
        warn: Callable[[str], None],
    ) -> None:
        self._readings = readings
        self._branches = branches
        self._jobs = jobs
        self._policy = policy
        self._page = page
        self._on_gpu = on_gpu
        self._run = run
        self._warn = warn

    def facts(self, event: Event | Outcome) -> Facts:
        """All that is known now.

        Raises:
            GithubException: GitHub does not answer what must be known.
        """
        number, person = _thread_and_person(event)
        thread, branch = self._readings.thread(number) if number else (Thread(number=0), self._readings.default_branch)
        sha = thread.head or (self._readings.head(branch) if person else "")
        kernels = list_kernels(self._readings.tree(sha)) if sha else ()
        stored = list(self._load(event))
        views = tuple(self._view(one) for one in sorted(stored, key=_age))
        evidence = {one.conversation.id: self._evidence(one) for one in stored if one.conversation.checkpoint}
        found = {name: one for name, one in evidence.items() if one is not None}
        people = {user.id: user for one in found.values() for user in _voters(one)}
        if person:
            people[person.id] = person
        return Facts(
            policy=self._policy,
            now=datetime.now(UTC),
            kernels=kernels,
            roles={user.id: self._readings.role(user) for user in people.values()},
            thread=thread,
            on_gpu=self._on_gpu,
            run=self._run,
            frozen=self._frozen(event, kernels, sha, branch),
            views=views,
            evidence=found,
        )

    def stored(self, name: str) -> Stored:
        """A session that must be there.

        Raises:
            LigerPerfError: it is gone, or cannot be trusted.
        """
        found = self._branches.load(name)
        if found is None:
            raise LigerPerfError(f"session {name} has no branch any more", todo="start anew")
        return found

    def _load(self, event: Event | Outcome) -> Iterable[Stored]:
        only = _session(event)
        for name in (only,) if only else self._branches.names():
            try:
                found = self._branches.load(name)
            except LigerPerfError as error:
                # One branch that someone spoilt must not stop all others.
                self._warn(f"{error.what}: {error.where}")
                continue
            if found is not None:
                yield found

    def _view(self, stored: Stored) -> View:
        talk = stored.conversation
        entries = journals.decode(stored.journal).entries
        session = fold(entries)
        open_now = talk.ending is None
        return View(
            conversation=talk,
            session=session,
            failures=sum(isinstance(entry, StageFailed) for entry in entries),
            pages=self._pages(stored, session) if session is not None and open_now else {},
            elsewhere=self._jobs.at_work(talk) if open_now else False,
        )

    def _pages(self, stored: Stored, session: Session) -> dict[Stage, Page]:
        """The page of the last stage that ended well: the only one that is shown next."""
        if not session.finished:
            return {}
        last = session.finished[-1]
        folder = f"optimization/{stored.conversation.kernel}"
        text = self._branches.file(stored, f"{folder}/{last.page}") or b""
        base = f"{self._page}/blob/{stored.head}/{folder}"
        # The judge's ratios first: they are what the decision fell on.
        paths = sorted((one.path for one in last.files if one.path.endswith(_PICTURE)), key=_is_script)
        pictures = tuple((_title(path), f"{base}/{path}?raw=true") for path in paths)
        page = Page(text=text.decode(), file=last.page, url=f"{base}/{last.page}", pictures=pictures)
        return {last.stage: page}

    def _evidence(self, stored: Stored) -> Evidence | None:
        talk = stored.conversation
        if talk.checkpoint is None or talk.ending is not None:
            return None
        patch: str | None = ""
        if talk.checkpoint.stage is Stage.FINALIZE:
            content = self._branches.file(stored, f"optimization/{talk.kernel}/{talk.kernel}.patch")
            patch = hashlib.sha256(content).hexdigest() if content is not None else None
        return self._readings.evidence(talk, talk.checkpoint, patch)

    def _frozen(self, event: Event | Outcome, kernels: tuple[str, ...], sha: str, branch: str) -> Frozen | None:
        match event:
            case CommentCreated():
                command = parse(event.body, kernels)
            case Dispatched():
                command = parse_inputs(event.inputs, kernels)
            case _:
                return None
        if not isinstance(command, Optimize):
            return None
        # A commit that someone named need not exist.
        return said(lambda: self._readings.frozen(command.request.kernel, command.sha or sha, branch))


def _thread_and_person(event: Event | Outcome) -> tuple[int, User | None]:
    match event:
        case CommentCreated():
            return event.thread, event.author
        case Dispatched():
            return event.thread, event.actor
        case _:
            return 0, None


def _session(event: Event | Outcome) -> str:
    """The one session that it is about; empty where it may be any."""
    match event:
        case CheckpointPosted():
            return event.effect.session
        case Ignored() | CommentCreated() | Dispatched() | Swept():
            return ""
        case Continued() | PullRequestOpened() | PullRequestFailed() | JobCrashed() | StageRefused():
            return event.session
        case _:
            assert_never(event)


def _age(stored: Stored) -> tuple[datetime, str]:
    """The oldest first."""
    talk = stored.conversation
    return talk.started_at or datetime.min.replace(tzinfo=UTC), talk.id


def _voters(evidence: Evidence) -> Iterable[User]:
    for reaction in evidence.reactions or ():
        if reaction.user is not None and reaction.content in (YES, *NO):
            yield reaction.user
    for comment in evidence.comments or ():
        if comment.author is not None and isinstance(parse(comment.body, ()), Approve | Reject):
            yield comment.author


def _is_script(path: str) -> bool:
    """Whether a plot is of the repository's script."""
    return path != SPEEDUP


def _title(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(_PICTURE).replace("_", " ")
