"""What the bot wants done, as values. Carried out in one place, in order, each at most once.

`key` names an effect for ever. Comments carry it in a marker, so that one who was killed between two steps finds what
was posted: a comment counts only where the bot is its author, since anyone can write a marker.
"""

from __future__ import annotations

import re
from datetime import datetime

import msgspec

from liger_perf.bot.events import User
from liger_perf.bot.state import Conversation
from liger_perf.session.entries import Stage

_KEY = re.compile(r"[\w./-]{1,200}", re.ASCII)


def marker(key: str) -> str:
    """The last line of a comment, which nobody sees.

    Raises:
        ValueError: the key would not stay inside the marker.
    """
    if not _KEY.fullmatch(key) or "--" in key:
        raise ValueError(f"no key of an effect: {key!r}")
    return f"<!-- liger-perf:{key} -->"


def key_of(body: str) -> str | None:
    """The key of a comment that the bot wrote: its last line, since a page above may quote another comment."""
    lines = body.rstrip().splitlines()
    found = re.fullmatch(r"<!-- liger-perf:([\w./-]{1,200}) -->", lines[-1], re.ASCII) if lines else None
    return found[1] if found else None


class _Keyed(msgspec.Struct, frozen=True, kw_only=True):
    key: str


class _Text(_Keyed, frozen=True, kw_only=True):
    thread: int
    body: str

    @property
    def marked(self) -> str:
        """The body as it is sent."""
        return f"{self.body}\n\n{marker(self.key)}"


class PostComment(_Text, frozen=True, kw_only=True):
    """Post unless the bot has posted this key in the thread."""


class PostCheckpoint(_Text, frozen=True, kw_only=True):
    """Post a question, unless posted, and tell of it as CheckpointPosted."""

    session: str
    stage: Stage
    choices: tuple[str, ...] = ()
    proposed: str = ""
    patch_digest: str = ""


class EditStatus(_Text, frozen=True, kw_only=True):
    """Give the session's one status comment this body; post it where there is none."""


class AddReaction(_Keyed, frozen=True, kw_only=True):
    comment_id: int
    content: str


class AddLabel(_Keyed, frozen=True, kw_only=True):
    thread: int
    label: str


class OpenIssue(_Keyed, frozen=True, kw_only=True):
    """Open an issue, unless opened, and plan the event again with its number."""

    title: str
    body: str


class WriteSummary(_Keyed, frozen=True, kw_only=True):
    """Say it on the page of the run: there is no thread to say it in."""

    body: str


class Save(_Keyed, frozen=True, kw_only=True):
    """Make the conversation durable, unless someone else wrote it meanwhile: then nothing further is carried out."""

    conversation: Conversation


class RecordApproval(_Keyed, frozen=True, kw_only=True):
    """Append the approval to the session's journal, unless it is there."""

    session: str
    stage: Stage
    choice: str
    by: User


class StartJob(_Keyed, frozen=True, kw_only=True):
    """Start a job that may run stages, which goes on with the session."""

    session: str


class RunStage(_Keyed, frozen=True, kw_only=True):
    """Run the stage here, then go on with the session."""

    session: str
    stage: Stage


class CancelRun(_Keyed, frozen=True, kw_only=True):
    """Cancel the jobs that work on the session."""

    session: str


class OpenPullRequest(_Keyed, frozen=True, kw_only=True):
    """Open the pull request, unless opened, after a check that patch and files are still these; tell how it went."""

    session: str
    kernel: str
    branch: str
    title: str
    body: str
    patch_digest: str
    blobs: dict[str, str]


Effect = (
    PostComment
    | PostCheckpoint
    | EditStatus
    | AddReaction
    | AddLabel
    | OpenIssue
    | WriteSummary
    | Save
    | RecordApproval
    | StartJob
    | RunStage
    | CancelRun
    | OpenPullRequest
)


class CheckpointPosted(msgspec.Struct, frozen=True, kw_only=True):
    """The question stands in the thread, as the comment with this id."""

    effect: PostCheckpoint
    comment_id: int
    created_at: datetime


class PullRequestOpened(msgspec.Struct, frozen=True, kw_only=True):
    session: str
    url: str


class PullRequestFailed(msgspec.Struct, frozen=True, kw_only=True):
    """It could not be opened. `compare_url` is where a person can open it; empty where the branch is missing too."""

    session: str
    why: str
    compare_url: str = ""


class JobCrashed(msgspec.Struct, frozen=True, kw_only=True):
    """A job ended in a way that the journal does not tell. `run` names it, `run_url` is its page."""

    session: str
    what: str
    run: str
    run_url: str = ""


class StageRefused(msgspec.Struct, frozen=True, kw_only=True):
    """A stage could not begin, or ended in a way that its journal does not tell: what is wrong, and what to do."""

    session: str
    stage: Stage
    what: str
    details: tuple[str, ...] = ()


Outcome = CheckpointPosted | PullRequestOpened | PullRequestFailed | JobCrashed | StageRefused
