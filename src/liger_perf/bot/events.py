"""From what GitHub hands to a workflow to closed event types. What is not for the bot is Ignored, and says why."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
from gidgethub import sansio

from liger_perf.model.errors import LigerPerfError


class User(msgspec.Struct, frozen=True, kw_only=True):
    """An account as GitHub describes it. Accounts are compared by `id`: a login can be given up and taken again."""

    login: str
    id: int
    type: str = "User"

    @property
    def is_person(self) -> bool:
        return self.type == "User" and not self.login.endswith("[bot]")


class CommentCreated(msgspec.Struct, frozen=True, kw_only=True):
    """A person wrote a comment in an issue or a pull request."""

    thread: int
    is_pull_request: bool
    comment_id: int
    author: User
    body: str
    created_at: datetime


class Dispatched(msgspec.Struct, frozen=True, kw_only=True):
    """A person started the workflow by hand. `thread` 0 means that no issue was named; `delivery` names the run."""

    delivery: str
    actor: User
    inputs: dict[str, str]
    thread: int = 0


class Continued(msgspec.Struct, frozen=True, kw_only=True):
    """The workflow was started to go on with a session. It does only what that session's own record allows."""

    session: str


class Swept(msgspec.Struct, frozen=True):
    """It is time to look at every open session."""


class Ignored(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing for the bot."""

    why: str


Event = CommentCreated | Dispatched | Continued | Swept | Ignored


class _Issue(msgspec.Struct, frozen=True):
    number: int
    pull_request: dict[str, Any] | None = None


class _Comment(msgspec.Struct, frozen=True):
    id: int
    body: str | None
    created_at: datetime
    user: User | None = None


class _CommentPayload(msgspec.Struct, frozen=True):
    issue: _Issue
    comment: _Comment
    sender: User


class _DispatchPayload(msgspec.Struct, frozen=True):
    sender: User
    inputs: dict[str, Any] | None = None


class _Name(StrEnum):
    COMMENT = "issue_comment"
    DISPATCH = "workflow_dispatch"
    SCHEDULE = "schedule"


def read_event(delivery: sansio.Event) -> Event:
    """The event that a delivery tells of.

    Raises:
        LigerPerfError: a delivery of a known kind lacks what it should hold.
    """
    try:
        match delivery.event:
            case _Name.COMMENT:
                return _comment(delivery.data)
            case _Name.DISPATCH:
                return _dispatch(delivery)
            case _Name.SCHEDULE:
                return Swept()
            case other:
                return Ignored(why=f"the bot does not listen to {other!r}")
    except msgspec.ValidationError as error:
        raise LigerPerfError(f"the {delivery.event} event cannot be read", details=str(error)) from error


def _comment(data: Any) -> Event:
    action = data.get("action") if isinstance(data, dict) else None
    if action != "created":
        # An edited comment is not what its author wrote: whoever may write can edit anyone's.
        return Ignored(why=f"a comment was {action}; only new ones count")
    payload = msgspec.convert(data, _CommentPayload)
    author, comment = payload.comment.user, payload.comment
    if author is None:
        return Ignored(why="the comment's author is gone")
    if author.id != payload.sender.id:
        return Ignored(why="the comment was not sent by its author")
    if not author.is_person:
        return Ignored(why="a program wrote the comment")
    return CommentCreated(
        thread=payload.issue.number,
        is_pull_request=payload.issue.pull_request is not None,
        comment_id=comment.id,
        author=author,
        body=comment.body or "",
        created_at=comment.created_at,
    )


def _dispatch(delivery: sansio.Event) -> Event:
    payload = msgspec.convert(delivery.data, _DispatchPayload)
    inputs = {name: _input_text(value) for name, value in (payload.inputs or {}).items()}
    session = inputs.pop("session", "").strip()
    if session:
        return Continued(session=session)
    if not payload.sender.is_person:
        return Ignored(why="a program started the workflow, and named no session")
    thread = inputs.pop("issue", "").strip().lstrip("#")
    if thread and not (thread.isascii() and thread.isdigit() and len(thread) < 19 and int(thread)):
        raise LigerPerfError(
            f"read {thread!r} as the issue to report to", todo="allowed: the number of an issue, or nothing"
        )
    return Dispatched(
        delivery=delivery.delivery_id, actor=payload.sender, inputs=inputs, thread=int(thread) if thread else 0
    )


def _input_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
