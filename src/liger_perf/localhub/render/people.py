"""Users, collaborators and apps."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from liger_perf.localhub.clock import START, stamp
from liger_perf.localhub.links import Links, node_id
from liger_perf.localhub.records import ROLES, User

_APP_IDS = {"github-actions": 15368}
_APP_NAMES = {"github-actions": "GitHub Actions"}


def simple_user(links: Links, user: User) -> dict[str, Any]:
    """`simple-user`, as it stands in every other resource."""
    api = {
        "followers_url": "/followers",
        "following_url": "/following{/other_user}",
        "gists_url": "/gists{/gist_id}",
        "starred_url": "/starred{/owner}{/repo}",
        "subscriptions_url": "/subscriptions",
        "organizations_url": "/orgs",
        "repos_url": "/repos",
        "events_url": "/events{/privacy}",
        "received_events_url": "/received_events",
    }
    return {
        "login": user.login,
        "id": user.id,
        "node_id": node_id("User", user.id),
        "avatar_url": f"{links.base}/avatars/{user.id}",
        "gravatar_id": "",
        "url": links.user(user.login),
        "html_url": f"{links.base}/{quote(user.login, safe='')}",
        "type": user.kind,
        "site_admin": False,
        **{name: links.user(user.login, path) for name, path in api.items()},
    }


def public_user(links: Links, user: User) -> dict[str, Any]:
    """`public-user`: what `/users/{username}` and `/user` answer."""
    empty = dict.fromkeys(("name", "company", "location", "email", "hireable", "bio"))
    counts = dict.fromkeys(("public_repos", "public_gists", "followers", "following"), 0)
    moment = {"created_at": stamp(START), "updated_at": stamp(START)}
    return {**simple_user(links, user), **empty, **counts, **moment, "blog": "", "user_view_type": "public"}


def permission(links: Links, user: User) -> dict[str, Any]:
    """`repository-collaborator-permission`: the older field and the role's own name."""
    rank = ROLES.index(user.role) if user.role else 0
    rights = dict(zip(("pull", "triage", "push", "maintain", "admin"), (rank >= i for i in range(5)), strict=True))
    collaborator = {**simple_user(links, user), "permissions": rights, "role_name": user.role_name}
    return {"permission": user.legacy_permission, "role_name": user.role_name, "user": collaborator}


def app(links: Links, slug: str, owner: User) -> dict[str, Any]:
    """`integration`: the GitHub App behind a comment or a check."""
    number = _APP_IDS.get(slug, 900_000)
    return {
        "id": number,
        "slug": slug,
        "node_id": node_id("App", number),
        "owner": simple_user(links, owner),
        "name": _APP_NAMES.get(slug, slug),
        "description": "",
        "external_url": links.api(f"/apps/{slug}"),
        "html_url": links.api(f"/apps/{slug}"),
        "created_at": stamp(START),
        "updated_at": stamp(START),
        "permissions": {"issues": "write", "metadata": "read", "contents": "write", "checks": "write"},
        "events": [],
    }
