"""Payloads of events, built from the same resources as the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from liger_perf.localhub.clock import stamp
from liger_perf.localhub.commits import Person, changes, is_ancestor, read_commit
from liger_perf.localhub.gitstore import ABSENT
from liger_perf.localhub.records import Comment, Issue, User, Workflow
from liger_perf.localhub.render import issues
from liger_perf.localhub.render.people import simple_user
from liger_perf.localhub.render.pulls import pull_request
from liger_perf.localhub.render.repository import repository
from liger_perf.localhub.world import World

_KINDS = {
    "added": {"added", "renamed", "copied"},
    "removed": {"removed"},
    "modified": {"modified", "changed"},
}


def _frame(world: World, sender: User) -> dict[str, Any]:
    return {"repository": repository(world), "sender": simple_user(world.links, sender)}


def issue_comment(
    world: World, action: str, comment: Comment, sender: User, before: str | None = None
) -> dict[str, Any]:
    """`issue_comment`; `before` is the body that an edit replaced."""
    issue = world.state.issues[comment.issue]
    changed = {"changes": {"body": {"from": before}}} if before is not None else {}
    return {
        "action": action,
        **changed,
        "issue": issues.issue(world, issue),
        "comment": issues.comment(world, comment),
        **_frame(world, sender),
    }


def opened(world: World, issue: Issue, sender: User) -> dict[str, Any]:
    """`issues`, or `pull_request` for one, with the action `opened`."""
    if issue.pull is None:
        return {"action": "opened", "issue": issues.issue(world, issue), **_frame(world, sender)}
    shown = pull_request(world, issue)
    return {"action": "opened", "number": issue.number, "pull_request": shown, **_frame(world, sender)}


def synchronised(world: World, issue: Issue, before: str, sender: User) -> dict[str, Any]:
    """`pull_request` with the action `synchronize`: the head has moved."""
    assert issue.pull is not None
    return {
        "action": "synchronize",
        "number": issue.number,
        "before": before,
        "after": issue.pull.head_sha,
        "pull_request": pull_request(world, issue),
        **_frame(world, sender),
    }


def push(world: World, ref: str, old: str, new: str, sender: User) -> dict[str, Any]:
    """`push`."""
    commits = [_pushed(world, sha) for sha in _new_commits(world, old, new)]
    return {
        "ref": ref,
        "before": old,
        "after": new,
        "created": old == ABSENT,
        "deleted": new == ABSENT,
        "forced": ABSENT not in (old, new) and not is_ancestor(world.git, old, new),
        "base_ref": None,
        "compare": world.links.html(f"/compare/{old[:12]}...{new[:12]}"),
        "commits": commits,
        "head_commit": None if new == ABSENT else _pushed(world, new),
        "pusher": {"name": sender.login, "email": sender.email},
        **_frame(world, sender),
    }


def _new_commits(world: World, old: str, new: str) -> list[str]:
    if new == ABSENT:
        return []
    without = world.default_sha if old == ABSENT else old
    return world.git.text("rev-list", "--reverse", "--max-count=20", new, f"^{without}").split()


def _pushed(world: World, sha: str) -> dict[str, Any]:
    commit = read_commit(world.git, world.signer, sha)
    files = changes(world.git, commit.parents[0], sha) if commit.parents else []
    paths = {kind: [file.path for file in files if file.status in statuses] for kind, statuses in _KINDS.items()}
    return {
        "id": sha,
        "tree_id": commit.tree,
        "distinct": True,
        "message": commit.message,
        "timestamp": stamp(commit.committer.date),
        "url": world.links.html(f"/commit/{sha}"),
        "author": _pusher(world, commit.author),
        "committer": _pusher(world, commit.committer),
        **paths,
    }


def _pusher(world: World, person: Person) -> dict[str, str]:
    known = [user.login for user in world.state.users.values() if user.email == person.email]
    return {"name": person.name, "email": person.email, **({"username": known[0]} if known else {})}


def workflow_dispatch(
    world: World, workflow: Workflow, ref: str, inputs: Mapping[str, Any], sender: User
) -> dict[str, Any]:
    """`workflow_dispatch`."""
    return {"inputs": dict(inputs) or None, "ref": ref, "workflow": workflow.path, **_frame(world, sender)}


def schedule(world: World, workflow: Workflow, cron: str) -> dict[str, Any]:
    """`schedule`: no webhook, so GitHub describes it nowhere; a run finds this in its file."""
    return {"schedule": cron, "workflow": workflow.path, **_frame(world, world.owner)}


def repository_dispatch(
    world: World, event_type: str, client_payload: Mapping[str, Any], sender: User
) -> dict[str, Any]:
    """`repository_dispatch`: the action is the type that the sender chose."""
    return {
        "action": event_type,
        "branch": world.default_branch,
        "client_payload": dict(client_payload),
        "installation": {"id": 1, "node_id": "MDIzOkludGVncmF0aW9uSW5zdGFsbGF0aW9uMQ=="},
        **_frame(world, sender),
    }
