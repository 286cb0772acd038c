"""The check against GitHub's description, which everything else here leans on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from liger_perf.localhub.contract import Call, github
from liger_perf.localhub.routes.registry import ROUTES

SAMPLES = Path(__file__).parent / "samples"
COMMENTS = "/repos/{owner}/{repo}/issues/{issue_number}/comments"
AT = {"owner": "octo", "repo": "liger", "issue_number": "1"}
JSON = {"Content-Type": "application/json"}


def sample(name: str) -> dict[str, Any]:
    loaded = json.loads((SAMPLES / f"{name}.json").read_text())
    assert isinstance(loaded, dict)
    return loaded


def reaction() -> dict[str, Any]:
    return {"id": 1, "node_id": "x", "user": None, "content": "+1", "created_at": "2026-01-05T09:00:00Z"}


def answer_error(verb: str, template: str, values: dict[str, str], status: int, body: object) -> str | None:
    call = Call(verb, template, {**AT, **values})
    return github().answer_error(call, status, JSON, b"" if body is None else json.dumps(body).encode())


@pytest.mark.parametrize("action", ["created", "edited"])
def test_what_github_sent_passes(action: str) -> None:
    assert github().payload_error(f"issue-comment-{action}", sample(f"issue_comment.{action}")) is None


def test_a_payload_without_its_comment_does_not_pass() -> None:
    payload = sample("issue_comment.created")
    del payload["comment"]["user"]
    assert "user" in str(github().payload_error("issue-comment-created", payload))


REACTIONS = "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions"


def test_a_described_answer_passes() -> None:
    assert answer_error("GET", REACTIONS, {"comment_id": "1"}, 200, [reaction()]) is None


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda one: one.pop("created_at"), "created_at"),
        (lambda one: one.update(content="thumbs"), "thumbs"),
        (lambda one: one.update(created_at="yesterday"), "date-time"),
        (lambda one: one.update(extra=1), "extra"),
        (lambda one: one.update(id="1"), "integer"),
    ],
)
def test_an_answer_with_one_flaw_does_not_pass(change: Callable[[dict[str, Any]], object], word: str) -> None:
    broken = reaction()
    change(broken)
    assert word in str(answer_error("GET", REACTIONS, {"comment_id": "1"}, 200, [broken]))


@pytest.mark.parametrize(("status", "body"), [(202, {}), (200, None), (500, {"oops": 1}), (418, ["teapot"])])
def test_a_status_or_body_that_nobody_describes_does_not_pass(status: int, body: object) -> None:
    assert answer_error("GET", REACTIONS, {"comment_id": "1"}, status, body) is not None


def test_a_body_where_none_is_described_does_not_pass() -> None:
    template = "/repos/{owner}/{repo}/issues/comments/{comment_id}"
    assert answer_error("DELETE", template, {"comment_id": "1"}, 204, None) is None
    assert answer_error("DELETE", template, {"comment_id": "1"}, 204, {}) is not None


@pytest.mark.parametrize(
    ("query", "body", "passes"),
    [
        ("", {"body": "hello"}, True),
        ("", {}, False),
        ("", {"body": 5}, False),
        ("", {"body": "hello", "boddy": "x"}, False),
        ("per_page=5", {"body": "hello"}, False),
    ],
)
def test_requests(query: str, body: dict[str, Any], passes: bool) -> None:
    call = Call("POST", COMMENTS, AT, query, json.dumps(body).encode())
    assert (github().request_error(call) is None) is passes


def test_a_value_of_the_path_may_hold_slashes() -> None:
    template = "/repos/{owner}/{repo}/git/ref/{ref}"
    call = Call("GET", template, {"owner": "octo", "repo": "liger", "ref": "heads/a/b"})
    assert github().request_error(call) is None


def test_every_route_is_described() -> None:
    assert ROUTES
    undescribed = [
        (route.verb, route.template) for route in ROUTES if not github().describes(route.verb, route.template)
    ]
    assert undescribed == []
