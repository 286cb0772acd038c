"""What people do, and what a workflow run gets of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from liger_perf.localhub import ContractBroken, Hub, Refused
from liger_perf.localhub.actors import Actor
from liger_perf.localhub.commits import read_commit
from liger_perf.localhub.deeds import dispatches, issues
from support.hub import KERNEL, WORKFLOW, new_hub

SAMPLE = Path(__file__).parent / "samples" / "issue_comment.created.json"


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return new_hub(tmp_path)


def missing(theirs: Any, ours: Any, path: str = "") -> list[str]:
    """What theirs holds and ours lacks, by name, all the way down; values do not count."""
    if not isinstance(theirs, dict) or not isinstance(ours, dict):
        return []
    lacking = [f"{path}/{name}" for name in theirs if name not in ours]
    return lacking + [
        one for name in theirs if name in ours for one in missing(theirs[name], ours[name], f"{path}/{name}")
    ]


def test_a_comment_has_the_shape_of_githubs(hub: Hub) -> None:
    number = hub.human("mallory").open_issue("Slow").number
    hub.human("alice").comment(number, "/optimize rms_norm")
    event = hub.events.pop()
    assert (event.name, event.action, event.actor) == ("issue_comment", "created", "alice")
    assert (event.ref, event.sha) == ("refs/heads/main", hub.default_sha)
    theirs = json.loads(SAMPLE.read_text())
    # Only pull requests are drafts; the repository belongs to a person here, to an organisation there.
    assert set(missing(theirs, event.payload)) == {"/issue/draft", "/organization", "/repository/custom_properties"}


def test_an_edit_tells_what_stood_there(hub: Hub) -> None:
    alice, bob = hub.human("alice"), hub.human("bob")
    comment = alice.comment(alice.open_issue("Slow").number, "/optimize rms_norm")
    edited = bob.edit(comment.id, "/optimize swiglu")
    event = hub.events.pop()
    assert (event.action, event.payload["changes"]) == ("edited", {"body": {"from": "/optimize rms_norm"}})
    assert (event.payload["comment"]["user"]["login"], event.payload["sender"]["login"]) == ("alice", "bob")
    assert (edited.edited, comment.edited) == (True, False)


def test_a_reaction_sends_nothing(hub: Hub) -> None:
    alice = hub.human("alice")
    comment = alice.comment(alice.open_issue("Slow").number, "Ready?")
    sent = len(hub.events)
    first, again = alice.react(comment.id), alice.react(comment.id)
    assert (len(hub.events), first) == (sent, again)
    alice.unreact(comment.id)
    assert hub.state.reactions_of(comment.id) == []
    with pytest.raises(Refused, match="404"):
        alice.unreact(comment.id)


def test_who_may_edit_and_delete_whose_comment(hub: Hub) -> None:
    number = hub.human("alice").open_issue("Slow").number
    comment = hub.human("alice").comment(number, "mine")
    for login in ("carol", "mallory"):
        with pytest.raises(Refused, match="403"):
            hub.human(login).edit(comment.id, "theirs")
    hub.human("bob").delete(comment.id)
    assert hub.events.pop().action == "deleted"
    with pytest.raises(Refused, match="404"):
        hub.human("bob").delete(comment.id)


@pytest.mark.parametrize("body", ["", "  \n", "x" * 65537])
def test_bodies_that_github_refuses(hub: Hub, body: str) -> None:
    number = hub.human("alice").open_issue("Slow").number
    with pytest.raises(Refused, match="422"):
        hub.human("alice").comment(number, body)


def test_a_locked_issue(hub: Hub) -> None:
    number = hub.human("mallory").open_issue("Slow").number
    hub.human("bob").lock(number)
    with pytest.raises(Refused, match="403"):
        hub.human("mallory").comment(number, "let me")
    hub.human("carol").comment(number, "I may")


def test_a_job_starts_no_workflow_by_what_it_writes(hub: Hub) -> None:
    number = hub.human("alice").open_issue("Slow").number
    sent = len(hub.events)
    job, app = Actor(hub.state.user("github-actions[bot]"), "actions"), Actor(hub.human("bob").user, "app")
    issues.comment(hub, job, number, "Profile")
    assert len(hub.events) == sent
    issues.comment(hub, app, number, "Profile")
    workflow = dispatches.workflow_by(hub, "optimize.yml")
    dispatches.dispatch(hub, job, workflow, "main", {"kernel": "rms_norm"})
    dispatches.dispatch_repository(hub, job, "next", {"session": "1"})
    assert [event.name for event in hub.events][sent:] == ["issue_comment", "workflow_dispatch", "repository_dispatch"]
    assert hub.events[-2].payload["inputs"] == {"kernel": "rms_norm"}
    assert hub.events[-2].payload["workflow"] == WORKFLOW


def test_a_push_moves_the_pull_request(hub: Hub) -> None:
    bob = hub.human("bob")
    first = bob.push("feature", {KERNEL: "BLOCK = 2048\n"})
    number = bob.open_pull("feature").number
    second = bob.push("feature", {"README.md": None})
    pull = hub.state.issues[number].pull
    assert pull is not None
    assert pull.head_sha == second == hub.git.ref(f"refs/pull/{number}/head")
    opened, pushed, moved = list(hub.events)[-3:]
    assert (opened.name, opened.sha) == ("pull_request", first)
    assert (pushed.name, pushed.payload["commits"][0]["removed"]) == ("push", ["README.md"])
    assert (moved.action, moved.payload["before"], moved.payload["after"]) == ("synchronize", first, second)
    bob.close(number)
    bob.push("feature", {KERNEL: "BLOCK = 1\n"})
    assert hub.state.issues[number].pull == pull


def test_a_fork_needs_no_role_and_can_move_at_any_time(hub: Hub) -> None:
    mallory = hub.human("mallory")
    with pytest.raises(Refused, match="403"):
        mallory.push("feature", {KERNEL: "BLOCK = 0\n"})
    issue = mallory.open_fork_pull({KERNEL: "BLOCK = 0\n"})
    sha = mallory.push_to_fork(issue.number, {KERNEL: "import os\n"})
    payload = hub.events.pop().payload
    head = payload["pull_request"]["head"]
    assert (head["sha"], head["repo"]["full_name"], head["repo"]["fork"]) == (sha, "mallory/liger", True)
    assert hub.git.refs("refs/heads/") == {"refs/heads/main": hub.default_sha}
    with pytest.raises(Refused, match="404"):
        hub.human("bob").push_to_fork(issue.number, {KERNEL: "x = 1\n"})


def test_the_date_of_a_commit_is_what_its_author_likes(hub: Hub) -> None:
    long_ago = datetime(2001, 1, 1, tzinfo=UTC)
    sha = hub.human("bob").push("feature", {KERNEL: "BLOCK = 2\n"}, dated=long_ago)
    commit = read_commit(hub.git, hub.signer, sha)
    assert (commit.author.date, commit.verification.verified) == (long_ago, False)


def test_force_and_removal(hub: Hub) -> None:
    bob = hub.human("bob")
    bob.push("feature", {KERNEL: "BLOCK = 2\n"})
    bob.force_push("feature", hub.default_sha)
    bob.delete_branch("feature")
    assert [event.payload.get("deleted") for event in hub.events] == [False, False, True]
    with pytest.raises(Refused, match="422"):
        bob.delete_branch("main")


def test_a_role_taken_away_counts_at_once(hub: Hub) -> None:
    bob = hub.human("bob")
    bob.push("feature", {KERNEL: "BLOCK = 2\n"})
    hub.person("bob")
    with pytest.raises(Refused, match="403"):
        bob.push("feature", {KERNEL: "BLOCK = 3\n"})


def test_a_payload_that_github_would_not_send_is_not_sent(hub: Hub) -> None:
    with pytest.raises(ContractBroken, match="sender"):
        hub.emit(hub.human("alice").actor, "workflow_dispatch", {"inputs": None, "ref": "x", "workflow": "y"})
    with pytest.raises(ContractBroken):
        hub.check()


def test_a_hub_from_a_folder_and_from_a_repository(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "kernel.py").write_text("BLOCK = 1\n")
    (source / ".gitignore").write_text("*.log\n")
    (source / "x.log").write_text("no")
    first = Hub.create(tmp_path / "a", source=source)
    assert {entry.path for entry in first.git.tree(first.default_sha)} == {"kernel.py", ".gitignore"}
    clone = tmp_path / "clone"
    first.git.run("clone", "--quiet", str(first.git.folder), str(clone))
    second = Hub.create(tmp_path / "b", source=clone)
    assert second.default_sha == first.default_sha
