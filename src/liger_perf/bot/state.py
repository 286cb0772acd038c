"""What the bot keeps of a session beside the engine's journal, and what it sees of one when something happens."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

import msgspec

from liger_perf.bot.authority import Policy, Roles, Thread
from liger_perf.bot.commands import Optimize
from liger_perf.bot.events import User
from liger_perf.bot.evidence import Checkpoint, Evidence
from liger_perf.model.options import Request
from liger_perf.session.entries import Stage
from liger_perf.session.model import Session


class Ending(StrEnum):
    """Why nothing more happens by itself."""

    DONE = "done"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    REFUSED = "the checkpoint was tampered with"
    STALE = "what was frozen has changed"
    FAILED = "failed"


FINAL_ENDINGS = frozenset({Ending.DONE, Ending.STALE})
"""Going on would be no use: a new session is needed."""


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """What a session works on: the commit, the branch that it was on (a pull request goes there; empty for none), and
    git's names of the files that approvals are bound to, by path."""

    sha: str
    blobs: dict[str, str]
    base: str = ""


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """One session as its thread sees it. Made durable by the effect Save.

    Attributes:
        comment_id: of the comment that started it; 0 where it was started by hand.
        final_waits: the last checkpoint needs an approver, whatever the mode.
        checkpoint: the question that waits for an answer.
        round: counts the times a person made it go on, so that a question can be asked again.
        attempts: how often each stage was started in this round.
        run: the workflow run that started a stage last; empty for none.
        failures: how many failures of the journal were told.
        handled: key of the last command that changed it, so that the same one delivered again changes nothing.
        final_by: who approved the pull request.
    """

    id: str
    thread: int
    comment_id: int
    requester: User
    command: Optimize
    frozen: Frozen
    started_at: datetime | None = None
    final_waits: bool = True
    checkpoint: Checkpoint | None = None
    round: int = 1
    attempts: dict[Stage, int] = {}
    run: str = ""
    failures: int = 0
    handled: str = ""
    final_by: User | None = None
    pull_request: str = ""
    ending: Ending | None = None

    @property
    def request(self) -> Request:
        return self.command.request

    @property
    def kernel(self) -> str:
        return self.command.request.kernel


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A stage's page; `url` where the whole file can be read; `pictures` as (title, address)."""

    text: str
    file: str
    url: str = ""
    pictures: tuple[tuple[str, str], ...] = ()


class View(msgspec.Struct, frozen=True, kw_only=True):
    """A session as it is now.

    Attributes:
        session: folded from the engine's journal; None before the first stage began.
        failures: how many failures the journal holds.
        pages: of the stages that ended well.
        elsewhere: whether another job works on it or is queued for it; None where GitHub did not say.
    """

    conversation: Conversation
    session: Session | None = None
    failures: int = 0
    pages: dict[Stage, Page] = {}
    elsewhere: bool | None = False

    @property
    def simulated(self) -> bool:
        return self.session is not None and self.session.started.device.simulated


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """How long it will take, in minutes, and how many sessions are ahead in the queue."""

    least: int
    most: int
    ahead: int = 0


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known when something happens.

    Attributes:
        on_gpu: whether this job may run stages; otherwise it starts one that may.
        run: the workflow run that this is.
        frozen: what a new session would work on; None where it could not be found out.
        views: the sessions of the repository that are not forgotten, the oldest first.
        evidence: by session id, for those that wait.
    """

    policy: Policy
    now: datetime
    kernels: tuple[str, ...]
    roles: Roles
    thread: Thread
    on_gpu: bool = False
    run: str = ""
    frozen: Frozen | None = None
    views: tuple[View, ...] = ()
    evidence: dict[str, Evidence] = {}
    estimate: Estimate | None = None

    def view(self, name: str) -> View | None:
        return next((view for view in self.views if view.conversation.id == name), None)

    def latest(self, thread: int) -> View | None:
        """The thread's last session, ended or not."""
        return next((view for view in reversed(self.views) if view.conversation.thread == thread), None)
