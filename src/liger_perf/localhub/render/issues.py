"""Issues, comments, reactions and labels."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import quote

from liger_perf.localhub.clock import stamp
from liger_perf.localhub.links import node_id
from liger_perf.localhub.records import REACTIONS, Comment, Issue, Label, Pull, Reaction
from liger_perf.localhub.render.people import app, simple_user
from liger_perf.localhub.world import World


def rollup(url: str, contents: list[str]) -> dict[str, Any]:
    """`reaction-rollup`: how many of each."""
    counts = Counter(contents)
    return {"url": url, "total_count": len(contents), **{content: counts[content] for content in REACTIONS}}


def label(world: World, value: Label) -> dict[str, Any]:
    """`label`."""
    return {
        "id": value.id,
        "node_id": node_id("Label", value.id),
        "url": world.links.repo(f"/labels/{quote(value.name, safe='')}"),
        "name": value.name,
        "color": value.color,
        "default": False,
        "description": value.description,
    }


def labels_of(world: World, issue: Issue) -> list[dict[str, Any]]:
    return [label(world, world.state.labels[name.lower()]) for name in issue.labels]


def reaction(world: World, value: Reaction) -> dict[str, Any]:
    """`reaction`."""
    return {
        "id": value.id,
        "node_id": node_id("Reaction", value.id),
        "user": simple_user(world.links, value.user),
        "content": value.content,
        "created_at": stamp(value.created_at),
    }


def comment(world: World, value: Comment) -> dict[str, Any]:
    """`issue-comment`, in answers and in webhooks alike."""
    links = world.links
    url = links.repo(f"/issues/comments/{value.id}")
    kind = "pull" if world.state.issues[value.issue].pull else "issues"
    return {
        "id": value.id,
        "node_id": node_id("IssueComment", value.id),
        "url": url,
        "html_url": links.html(f"/{kind}/{value.issue}#issuecomment-{value.id}"),
        "issue_url": links.repo(f"/issues/{value.issue}"),
        "user": simple_user(links, value.author),
        "author_association": world.live(value.author).association,
        "body": value.body,
        "created_at": stamp(value.created_at),
        "updated_at": stamp(value.updated_at),
        "reactions": rollup(f"{url}/reactions", [one.content for one in world.state.reactions_of(value.id)]),
        "performed_via_github_app": app(links, value.app, world.owner) if value.app else None,
    }


def issue(world: World, value: Issue) -> dict[str, Any]:
    """`issue`, in answers and in webhooks alike."""
    links = world.links
    url = links.repo(f"/issues/{value.number}")
    shown = {
        "id": value.id,
        "node_id": node_id("Issue", value.id),
        "number": value.number,
        "url": url,
        "repository_url": links.repo(),
        "labels_url": f"{url}/labels{{/name}}",
        "comments_url": f"{url}/comments",
        "events_url": f"{url}/events",
        "timeline_url": f"{url}/timeline",
        "html_url": links.html(f"/{'pull' if value.pull else 'issues'}/{value.number}"),
        "title": value.title,
        "body": value.body,
        "user": simple_user(links, value.author),
        "author_association": world.live(value.author).association,
        "labels": labels_of(world, value),
        "state": value.state,
        "state_reason": value.state_reason,
        "locked": value.locked,
        "active_lock_reason": None,
        "assignee": None,
        "assignees": [],
        "milestone": None,
        "comments": len(world.state.comments_of(value.number)),
        "created_at": stamp(value.created_at),
        "updated_at": stamp(value.updated_at),
        "closed_at": stamp(value.closed_at) if value.closed_at else None,
        "reactions": rollup(f"{url}/reactions", []),
        "performed_via_github_app": None,
    }
    return shown if value.pull is None else {**shown, **_pull_of(world, value.number, value.pull)}


def _pull_of(world: World, number: int, pull: Pull) -> dict[str, Any]:
    """What tells a pull request among the issues."""
    links = world.links
    urls = {
        "url": links.repo(f"/pulls/{number}"),
        "html_url": links.html(f"/pull/{number}"),
        "diff_url": links.html(f"/pull/{number}.diff"),
        "patch_url": links.html(f"/pull/{number}.patch"),
        "merged_at": None,
    }
    return {"draft": pull.draft, "pull_request": urls}


def issue_answer(world: World, value: Issue) -> dict[str, Any]:
    """The issue alone: it then says who closed it."""
    closed_by = simple_user(world.links, value.closed_by) if value.closed_by else None
    return {**issue(world, value), "closed_by": closed_by}
