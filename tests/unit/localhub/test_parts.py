"""Pages, time, signatures, tokens and roles."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liger_perf.localhub.actors import Actor, Kind, Level, Needs, Tokens, authorise
from liger_perf.localhub.clock import START, SteppingClock, stamp
from liger_perf.localhub.pages import cut
from liger_perf.localhub.records import Role, User
from liger_perf.localhub.refused import Refused
from liger_perf.localhub.repairs import repaired
from liger_perf.localhub.routes.registry import find
from liger_perf.localhub.signing import Signer, split

COMMIT = b"tree 1\nauthor A <a@b> 0 +0000\ncommitter A <a@b> 0 +0000\n\nSubject\n\nBody\n"
URL = "http://hub/list"


@given(st.integers(0, 250), st.integers(1, 120))
def test_following_next_finds_every_item_once(count: int, size: int) -> None:
    items, seen = list(range(count)), []
    query = {"per_page": str(size)}
    while True:
        page = cut(items, query, URL)
        seen += page.items
        following = re.search(r'<[^>]*[?&]page=(\d+)[^>]*>; rel="next"', page.headers.get("Link", ""))
        if following is None:
            break
        query["page"] = following[1]
    assert seen == items


def test_a_page_past_the_end_is_empty_and_leads_back() -> None:
    page = cut([1, 2, 3], {"per_page": "2", "page": "9"}, URL)
    assert (list(page.items), 'page=2>; rel="prev"' in page.headers["Link"]) == ([], True)


def test_the_clock_never_says_the_same_twice() -> None:
    clock = SteppingClock()
    first = clock()
    clock.advance(60)
    assert ((clock() - first).total_seconds(), first > START) == (61, True)
    assert stamp(datetime(2026, 1, 5, 9, 0, 0, 999, UTC)) == "2026-01-05T09:00:00Z"


def test_a_signature_covers_the_whole_commit() -> None:
    signer = Signer(b"key")
    signed = signer.sign(COMMIT)
    assert split(signed)[0] == COMMIT
    assert signer.verify(signed, START).verified
    assert signer.verify(COMMIT, START).reason == "unsigned"
    assert signer.verify(signed.replace(b"Subject", b"Changed"), START).reason == "unknown_key"
    assert not Signer(b"another").verify(signed, START).verified


def test_tokens_come_as_bearer_and_as_password() -> None:
    tokens, actor = Tokens(), Actor(User(1, "alice"))
    tokens.add("secret", actor)
    basic = base64.b64encode(b"x-access-token:secret").decode()
    assert [tokens.actor(text) for text in (None, "Bearer secret", "token secret", f"Basic {basic}")] == [
        None,
        *[actor] * 3,
    ]
    tokens.revoke("secret")
    for text in ("Bearer secret", "Basic !", "Digest secret"):
        with pytest.raises(Refused, match="401"):
            tokens.actor(text)


@pytest.mark.parametrize(
    ("kind", "role", "held", "needs", "status"),
    [
        ("person", "write", "write", Needs(("contents",), "write", role="write"), None),
        ("person", "triage", "write", Needs(("contents",), "write", role="write"), 403),
        ("person", None, "write", Needs(("issues",), "write"), None),
        ("person", "admin", "read", Needs(("contents",), "write", role="write"), 403),
        ("person", "admin", "write", Needs(("checks",), "write", apps_only=True), 403),
        ("actions", None, "write", Needs(("contents",), "write", role="write"), None),
        ("actions", None, "read", Needs(("contents",), "write", role="write"), 403),
        ("actions", None, None, Needs(("contents",)), 403),
        ("actions", None, None, Needs(), None),
    ],
)
def test_who_may(kind: Kind, role: Role | None, held: Level | None, needs: Needs, status: int | None) -> None:
    user = User(1, "somebody", role=role)
    actor = Actor(user, kind, dict.fromkeys(needs.scopes, held) if held else {})
    if status is None:
        authorise(actor, needs, user)
        return
    with pytest.raises(Refused, match=str(status)):
        authorise(actor, needs, user)


def test_without_a_token_one_may_read() -> None:
    authorise(None, Needs(("contents",)), None)
    with pytest.raises(Refused, match="401"):
        authorise(None, Needs(("issues",), "write"), None)


@pytest.mark.parametrize(
    ("role", "custom", "legacy", "name"),
    [("maintain", None, "write", "maintain"), ("triage", None, "read", "triage"), (None, None, "read", "read"),
     ("admin", None, "admin", "admin"), ("write", "kernel-owner", "write", "kernel-owner")],
)  # fmt: skip
def test_the_older_permission_hides_the_role(role: Role | None, custom: str | None, legacy: str, name: str) -> None:
    user = User(1, "somebody", role=role, custom_role=custom)
    assert (user.legacy_permission, user.role_name) == (legacy, name)


def test_the_most_telling_route_is_found() -> None:
    base = "/repos/o/r"
    templates = {
        path: find("GET", base + path)
        for path in ("/issues/7", "/issues/comments", "/commits/a%2Fb/check-runs", "/commits/a/b", "/git/ref/heads/a/b")
    }
    names = {path: hit[0].handler.__name__ if hit else None for path, hit in templates.items()}
    assert list(names.values()) == ["get_issue", "list_all_comments", "list_checks", "get_commit", "get_ref"]
    assert find("GET", "/repos/o/r/nothing/here") is None


def test_repairs_let_null_through_and_nothing_else() -> None:
    schema = {"nullable": True, "enum": ["a"], "properties": {"discriminator": {"oneOf": [{}], "nullable": True}}}
    fixed = repaired(schema)
    assert fixed["enum"] == ["a", None]
    assert fixed["properties"]["discriminator"]["oneOf"][1] == {"nullable": True, "enum": [None]}
    assert repaired({"enum": ["a"]}) == {"enum": ["a"]}
