from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from gidgethub import sansio

from liger_perf.bot.events import CommentCreated, Continued, Dispatched, Event, Ignored, Swept, User, read_event
from liger_perf.model.errors import LigerPerfError

PERSON = {"login": "mona", "id": 7, "type": "User", "site_admin": False}
MONA = User(login="mona", id=7)


def payload(**changes: Any) -> dict[str, Any]:
    comment = {"id": 99, "body": "/optimize rms_norm", "created_at": "2026-01-02T03:04:05Z", "user": PERSON}
    return {
        "action": changes.get("action", "created"),
        "issue": {"number": 5, "title": "slow", **changes.get("issue", {})},
        "comment": {**comment, **changes.get("comment", {})},
        "sender": changes.get("sender", changes.get("comment", {}).get("user", PERSON)),
    }


def read(name: str, data: Any) -> Event:
    return read_event(sansio.Event(data, event=name, delivery_id="run-1"))


def test_a_comment() -> None:
    assert read("issue_comment", payload()) == CommentCreated(
        thread=5,
        is_pull_request=False,
        comment_id=99,
        author=MONA,
        body="/optimize rms_norm",
        created_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    )


def test_a_comment_on_a_pull_request() -> None:
    event = read("issue_comment", payload(issue={"pull_request": {"url": "…"}}))
    assert isinstance(event, CommentCreated)
    assert event.is_pull_request


def test_an_empty_comment() -> None:
    event = read("issue_comment", payload(comment={"body": None}))
    assert isinstance(event, CommentCreated)
    assert event.body == ""


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (payload(action="edited"), "a comment was edited; only new ones count"),
        (payload(action="deleted"), "a comment was deleted; only new ones count"),
        (payload(comment={"user": {**PERSON, "type": "Bot"}}), "a program wrote the comment"),
        (payload(comment={"user": {**PERSON, "login": "x[bot]"}}), "a program wrote the comment"),
        (payload(comment={"user": {**PERSON, "type": "Organization"}}), "a program wrote the comment"),
        (payload(sender={**PERSON, "id": 8}), "the comment was not sent by its author"),
        ([], "a comment was None; only new ones count"),
    ],
)
def test_is_ignored(data: Any, why: str) -> None:
    assert read("issue_comment", data) == Ignored(why=why)


def test_a_deleted_account_is_ignored() -> None:
    data = payload()
    data["comment"]["user"] = None
    assert read("issue_comment", data) == Ignored(why="the comment's author is gone")


def test_other_events_are_ignored() -> None:
    assert isinstance(read("push", {}), Ignored)
    assert isinstance(read("pull_request_review_comment", payload()), Ignored)


def test_what_is_missing_is_said() -> None:
    with pytest.raises(LigerPerfError, match="issue_comment event cannot be read"):
        read("issue_comment", {"action": "created"})


def test_started_by_hand() -> None:
    inputs = {"kernel": "rms_norm", "issue": "12", "variants": 4, "autonomous": True, "target": None}
    assert read("workflow_dispatch", {"sender": PERSON, "inputs": inputs}) == Dispatched(
        delivery="run-1",
        actor=MONA,
        thread=12,
        inputs={"kernel": "rms_norm", "variants": "4", "autonomous": "true", "target": ""},
    )
    with pytest.raises(LigerPerfError, match="as the issue to report to"):
        read("workflow_dispatch", {"sender": PERSON, "inputs": {"issue": "../1"}})


def test_going_on_needs_no_person() -> None:
    program = {**PERSON, "type": "Bot"}
    assert read("workflow_dispatch", {"sender": program, "inputs": {"session": "s1"}}) == Continued(session="s1")
    assert isinstance(read("workflow_dispatch", {"sender": program, "inputs": None}), Ignored)


def test_the_schedule() -> None:
    assert read("schedule", {"schedule": "*/15 * * * *"}) == Swept()
