"""The repository, in the three sizes in which GitHub shows it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from liger_perf.localhub.clock import stamp
from liger_perf.localhub.links import Links, node_id
from liger_perf.localhub.records import ROLES, User
from liger_perf.localhub.render.people import simple_user
from liger_perf.localhub.world import World

REPOSITORY_ID = 900_001
FORK_ID = 910_000

_URLS = {
    "forks_url": "/forks",
    "keys_url": "/keys{/key_id}",
    "collaborators_url": "/collaborators{/collaborator}",
    "teams_url": "/teams",
    "hooks_url": "/hooks",
    "issue_events_url": "/issues/events{/number}",
    "events_url": "/events",
    "assignees_url": "/assignees{/user}",
    "branches_url": "/branches{/branch}",
    "tags_url": "/tags",
    "blobs_url": "/git/blobs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "trees_url": "/git/trees{/sha}",
    "statuses_url": "/statuses/{sha}",
    "languages_url": "/languages",
    "stargazers_url": "/stargazers",
    "contributors_url": "/contributors",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "commits_url": "/commits{/sha}",
    "git_commits_url": "/git/commits{/sha}",
    "comments_url": "/comments{/number}",
    "issue_comment_url": "/issues/comments{/number}",
    "contents_url": "/contents/{+path}",
    "compare_url": "/compare/{base}...{head}",
    "merges_url": "/merges",
    "archive_url": "/{archive_format}{/ref}",
    "downloads_url": "/downloads",
    "issues_url": "/issues{/number}",
    "pulls_url": "/pulls{/number}",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "labels_url": "/labels{/name}",
    "releases_url": "/releases{/id}",
    "deployments_url": "/deployments",
}


def minimal_repository(world: World, owner: User | None = None) -> dict[str, Any]:
    """`minimal-repository`; with `owner`, that user's fork of it."""
    owner = owner or world.owner
    fork = owner.login != world.owner.login
    name = world.full_name.partition("/")[2]
    number = FORK_ID + owner.id if fork else REPOSITORY_ID
    links = Links(world.base_url, f"{owner.login}/{name}")
    return {
        "id": number,
        "node_id": node_id("Repository", number),
        "name": name,
        "full_name": links.full_name,
        "private": world.private,
        "owner": simple_user(links, owner),
        "html_url": links.html(),
        "description": None,
        "fork": fork,
        "url": links.repo(),
        **{key: links.repo(path) for key, path in _URLS.items()},
    }


def repository(world: World, owner: User | None = None) -> dict[str, Any]:
    """`repository`: in pull requests and in webhooks."""
    small = minimal_repository(world, owner)
    moment = stamp(world.state.created_at)
    open_issues = sum(issue.state == "open" for issue in world.state.issues.values())
    host = urlsplit(world.base_url).netloc
    counts = ("size", "stargazers_count", "watchers_count", "forks_count", "forks", "watchers")
    return {
        **small,
        "created_at": moment,
        "updated_at": moment,
        "pushed_at": moment,
        "git_url": f"git://{host}/{small['full_name']}.git",
        "ssh_url": f"git@{host}:{small['full_name']}.git",
        "clone_url": f"{world.base_url}/{small['full_name']}.git",
        "svn_url": small["html_url"],
        "homepage": None,
        "language": "Python",
        "license": None,
        "mirror_url": None,
        "archived": False,
        "disabled": False,
        "open_issues": open_issues,
        "open_issues_count": open_issues,
        "default_branch": world.default_branch,
        "topics": [],
        "visibility": "private" if world.private else "public",
        **dict.fromkeys(counts, 0),
        **dict.fromkeys(("has_issues", "has_projects", "has_downloads", "has_wiki"), True),
        **dict.fromkeys(("has_pages", "has_discussions", "is_template", "web_commit_signoff_required"), False),
    }


def full_repository(world: World, reader: User | None) -> dict[str, Any]:
    """`full-repository`: what `/repos/{owner}/{repo}` answers to this reader."""
    whole = {**repository(world), "network_count": 0, "subscribers_count": 0}
    if reader is not None:
        rank = ROLES.index(reader.role) if reader.role else 0
        names = ("pull", "triage", "push", "maintain", "admin")
        whole["permissions"] = {name: rank >= index for index, name in enumerate(names)}
    return whole
