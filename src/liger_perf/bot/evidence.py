"""What an approval is judged by: the checkpoint as it was recorded, and what GitHub says now."""

from __future__ import annotations

import hashlib
from datetime import datetime
from enum import StrEnum

import msgspec

from liger_perf.bot.events import User
from liger_perf.session.entries import Stage


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A question that the bot asked in a comment, recorded when it was posted.

    Attributes:
        body_digest: of the body as it was sent, by `digest`.
        choices: the variants that may be taken; `proposed` is the one that a thumb takes, empty for none.
        blobs: git's names of the kernel file, its imports, its test and its benchmark, by path, frozen at the start.
        patch_digest: SHA-256 of the patch; empty at all checkpoints but the last.
    """

    stage: Stage
    comment_id: int
    body_digest: str
    created_at: datetime
    deadline: datetime
    blobs: dict[str, str]
    choices: tuple[str, ...] = ()
    proposed: str = ""
    patch_digest: str = ""


class Comment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment as it is now. `author` None: the account is gone."""

    id: int
    author: User | None
    body: str
    created_at: datetime
    updated_at: datetime


class Absence(StrEnum):
    """Why there is no comment to look at."""

    DELETED = "deleted"
    UNREAD = "unread"


class Reaction(msgspec.Struct, frozen=True, kw_only=True):
    """A reaction on the checkpoint's comment; `content` in GitHub's words ("+1", "-1", "confused")."""

    user: User | None
    content: str
    created_at: datetime


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """All that GitHub says. None means that it did not answer, or not to the last page.

    Attributes:
        comment: the one with the checkpoint's id.
        comments: of the thread, those after the checkpoint's at least.
        blobs: as they are on the branch now; a path that is gone is missing.
        patch_digest: of the patch that would be opened.
        misplaced: how many thumbs up stand on other comments of the bot's that are as new as the question.
    """

    now: datetime
    comment: Comment | Absence
    reactions: tuple[Reaction, ...] | None
    comments: tuple[Comment, ...] | None
    blobs: dict[str, str] | None
    patch_digest: str | None = ""
    misplaced: int = 0


def digest(body: str) -> str:
    """SHA-256 of a comment's body; GitHub may change line ends and drops blanks at the end."""
    return hashlib.sha256(body.replace("\r\n", "\n").strip().encode()).hexdigest()
