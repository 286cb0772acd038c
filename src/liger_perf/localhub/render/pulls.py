"""Pull requests."""

from __future__ import annotations

from typing import Any

from liger_perf.localhub.clock import stamp
from liger_perf.localhub.commits import changes, distance
from liger_perf.localhub.links import node_id
from liger_perf.localhub.records import Issue, User
from liger_perf.localhub.render.issues import labels_of
from liger_perf.localhub.render.people import simple_user
from liger_perf.localhub.render.repository import repository
from liger_perf.localhub.world import World


def simple_pull(world: World, issue: Issue) -> dict[str, Any]:
    """`pull-request-simple`, as lists show it."""
    pull = issue.pull
    assert pull is not None
    links, number = world.links, issue.number
    urls = _urls(world, number, pull.head_sha)
    html = urls["html"]
    return {
        "id": pull.id,
        "node_id": node_id("PullRequest", pull.id),
        "number": number,
        "url": urls["self"],
        "html_url": html,
        "diff_url": f"{html}.diff",
        "patch_url": f"{html}.patch",
        "_links": {name: {"href": value} for name, value in urls.items()},
        **{f"{name}_url": urls[name] for name in urls if name not in {"self", "html"}},
        "state": issue.state,
        "locked": issue.locked,
        "title": issue.title,
        "body": issue.body,
        "user": simple_user(links, issue.author),
        "author_association": world.live(issue.author).association,
        "labels": labels_of(world, issue),
        "created_at": stamp(issue.created_at),
        "updated_at": stamp(issue.updated_at),
        "closed_at": stamp(issue.closed_at) if issue.closed_at else None,
        "head": _end(world, world.state.user(pull.head_owner), pull.head_ref, pull.head_sha),
        "base": _end(world, world.owner, pull.base_ref, pull.base_sha),
        "draft": pull.draft,
        **dict.fromkeys(("merged_at", "merge_commit_sha", "assignee", "milestone", "auto_merge")),
        "active_lock_reason": None,
        **{name: [] for name in ("assignees", "requested_reviewers", "requested_teams")},
    }


def pull_request(world: World, issue: Issue) -> dict[str, Any]:
    """`pull-request`: one of them alone, and in webhooks."""
    pull = issue.pull
    assert pull is not None
    between = distance(world.git, pull.base_sha, pull.head_sha)
    files = changes(world.git, between.merge_base, pull.head_sha)
    return {
        **simple_pull(world, issue),
        "merged": False,
        "mergeable": None if issue.state == "closed" else True,
        "mergeable_state": "unknown" if issue.state == "closed" else "clean",
        "merged_by": None,
        "rebaseable": None,
        "comments": len(world.state.comments_of(issue.number)),
        "review_comments": 0,
        "maintainer_can_modify": pull.maintainer_can_modify,
        "commits": len(between.ahead),
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
        "changed_files": len(files),
    }


def _urls(world: World, number: int, head_sha: str) -> dict[str, str]:
    links = world.links
    url = links.repo(f"/pulls/{number}")
    return {
        "self": url,
        "html": links.html(f"/pull/{number}"),
        "issue": links.repo(f"/issues/{number}"),
        "comments": links.repo(f"/issues/{number}/comments"),
        "review_comments": f"{url}/comments",
        "review_comment": links.repo("/pulls/comments{/number}"),
        "commits": f"{url}/commits",
        "statuses": links.repo(f"/statuses/{head_sha}"),
    }


def _end(world: World, owner: User, name: str, sha: str) -> dict[str, Any]:
    return {
        "label": f"{owner.login}:{name}",
        "ref": name,
        "sha": sha,
        "user": simple_user(world.links, owner),
        "repo": repository(world, owner),
    }
