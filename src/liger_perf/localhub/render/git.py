"""Refs, commits, trees, blobs, files and differences."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from liger_perf.localhub.clock import stamp
from liger_perf.localhub.commits import Commit, Distance, FileChange, Person
from liger_perf.localhub.gitstore import Entry
from liger_perf.localhub.links import node_id
from liger_perf.localhub.render.people import simple_user
from liger_perf.localhub.signing import Verification
from liger_perf.localhub.state import ACTIONS_BOT, GITHUB_ADDRESS, GITHUB_ITSELF
from liger_perf.localhub.world import World


def ref(world: World, name: str, sha: str) -> dict[str, Any]:
    """`git-ref`."""
    url = world.links.repo(f"/git/commits/{sha}")
    return {
        "ref": name,
        "node_id": node_id("Ref", name),
        "url": world.links.repo(f"/git/{quote(name)}"),
        "object": {"type": "commit", "sha": sha, "url": url},
    }


def _verification(value: Verification) -> dict[str, Any]:
    return {
        "verified": value.verified,
        "reason": value.reason,
        "signature": value.signature,
        "payload": value.payload,
        "verified_at": stamp(value.verified_at) if value.verified_at else None,
    }


def _person(value: Person) -> dict[str, str]:
    return {"name": value.name, "email": value.email, "date": stamp(value.date)}


def git_commit(world: World, value: Commit) -> dict[str, Any]:
    """`git-commit`: the object, as the git data API shows it."""
    links = world.links
    return {
        "sha": value.sha,
        "node_id": node_id("Commit", value.sha),
        "url": links.repo(f"/git/commits/{value.sha}"),
        "html_url": links.html(f"/commit/{value.sha}"),
        "author": _person(value.author),
        "committer": _person(value.committer),
        "message": value.message,
        "tree": {"sha": value.tree, "url": links.repo(f"/git/trees/{value.tree}")},
        "parents": [
            {
                "sha": sha,
                "url": links.repo(f"/git/commits/{sha}"),
                "html_url": links.html(f"/commit/{sha}"),
            }
            for sha in value.parents
        ],
        "verification": _verification(value.verification),
    }


def commit(world: World, value: Commit, files: Sequence[FileChange] | None = None) -> dict[str, Any]:
    """`commit`: as lists and comparisons show it; alone it names its files too."""
    links = world.links
    url = links.repo(f"/commits/{value.sha}")
    shown: dict[str, Any] = {
        "sha": value.sha,
        "node_id": node_id("Commit", value.sha),
        "url": url,
        "html_url": links.html(f"/commit/{value.sha}"),
        "comments_url": f"{url}/comments",
        "commit": {
            "author": _person(value.author),
            "committer": _person(value.committer),
            "comment_count": 0,
            "message": value.message,
            "tree": {"sha": value.tree, "url": links.repo(f"/git/trees/{value.tree}")},
            "url": links.repo(f"/git/commits/{value.sha}"),
            "verification": _verification(value.verification),
        },
        "author": _known(world, value.author),
        "committer": _known(world, value.committer),
        "parents": [
            {"sha": sha, "url": links.repo(f"/commits/{sha}"), "html_url": links.html(f"/commit/{sha}")}
            for sha in value.parents
        ],
    }
    if files is not None:
        additions, deletions = sum(f.additions for f in files), sum(f.deletions for f in files)
        shown["stats"] = {"additions": additions, "deletions": deletions, "total": additions + deletions}
        shown["files"] = [diff_entry(world, value.sha, file) for file in files]
    return shown


def _known(world: World, person: Person) -> dict[str, Any] | None:
    """GitHub finds the account by the address in the commit, which anybody can write there."""
    if person.email == GITHUB_ADDRESS:
        return simple_user(world.links, GITHUB_ITSELF)
    for user in (ACTIONS_BOT, *world.state.users.values()):
        if user.email == person.email:
            return simple_user(world.links, user)
    return None


def short_blob(world: World, sha: str) -> dict[str, str]:
    """`short-blob`: what creating one answers."""
    return {"sha": sha, "url": world.links.repo(f"/git/blobs/{sha}")}


def blob(world: World, sha: str, data: bytes) -> dict[str, Any]:
    """`blob`."""
    return {
        **short_blob(world, sha),
        "node_id": node_id("Blob", sha),
        "size": len(data),
        "content": base64.encodebytes(data).decode(),
        "encoding": "base64",
    }


def tree(world: World, sha: str, entries: Sequence[Entry]) -> dict[str, Any]:
    """`git-tree`."""
    kinds = {"blob": "blobs", "tree": "trees", "commit": "commits"}
    shown = [
        {
            "path": entry.path,
            "mode": entry.mode,
            "type": entry.kind,
            "sha": entry.sha,
            "url": world.links.repo(f"/git/{kinds[entry.kind]}/{entry.sha}"),
            **({"size": entry.size} if entry.size is not None else {}),
        }
        for entry in entries
    ]
    return {"sha": sha, "url": world.links.repo(f"/git/trees/{sha}"), "tree": shown, "truncated": False}


def content(world: World, revision: str, entry: Entry, data: bytes | None = None) -> dict[str, Any]:
    """`content-file` with the data, an item of `content-directory` without."""
    links, path = world.links, quote(entry.path)
    kind = {"tree": "dir", "commit": "submodule"}.get(entry.kind, "symlink" if entry.mode == "120000" else "file")
    at = quote(revision, safe="")
    url = links.repo(f"/contents/{path}?ref={at}")
    git = links.repo(f"/git/{'trees' if kind == 'dir' else 'blobs'}/{entry.sha}")
    html = links.html(f"/{'tree' if kind == 'dir' else 'blob'}/{at}/{path}")
    shown: dict[str, Any] = {
        "name": entry.path.rsplit("/", 1)[-1],
        "path": entry.path,
        "sha": entry.sha,
        "size": entry.size or 0,
        "type": kind,
        "url": url,
        "git_url": git,
        "html_url": html,
        "download_url": links.html(f"/raw/{at}/{path}") if kind == "file" else None,
        "_links": {"self": url, "git": git, "html": html},
    }
    if data is not None:
        shown |= {"content": base64.encodebytes(data).decode(), "encoding": "base64"}
    return shown


def diff_entry(world: World, sha: str, value: FileChange) -> dict[str, Any]:
    """`diff-entry`: one file of a pull request, a commit or a comparison."""
    links, path = world.links, quote(value.path)
    shown: dict[str, Any] = {
        "sha": value.sha,
        "filename": value.path,
        "status": value.status,
        "additions": value.additions,
        "deletions": value.deletions,
        "changes": value.additions + value.deletions,
        "blob_url": links.html(f"/blob/{sha}/{path}"),
        "raw_url": links.html(f"/raw/{sha}/{path}"),
        "contents_url": links.repo(f"/contents/{path}?ref={sha}"),
    }
    if value.patch is not None:
        shown["patch"] = value.patch
    if value.old_path is not None:
        shown["previous_filename"] = value.old_path
    return shown


def comparison(
    world: World,
    basehead: str,
    base: Commit,
    merge_base: Commit,
    ahead: Sequence[Commit],
    between: Distance,
    files: Sequence[FileChange],
    head_sha: str,
) -> dict[str, Any]:
    """`commit-comparison`."""
    links, words = world.links, quote(basehead)
    behind = "diverged" if ahead else "behind"
    status = behind if between.behind else ("ahead" if ahead else "identical")
    return {
        "url": links.repo(f"/compare/{words}"),
        "html_url": links.html(f"/compare/{words}"),
        "permalink_url": links.html(f"/compare/{words}"),
        "diff_url": links.html(f"/compare/{words}.diff"),
        "patch_url": links.html(f"/compare/{words}.patch"),
        "base_commit": commit(world, base),
        "merge_base_commit": commit(world, merge_base),
        "status": status,
        "ahead_by": len(between.ahead),
        "behind_by": between.behind,
        "total_commits": len(between.ahead),
        "commits": [commit(world, one) for one in ahead],
        "files": [diff_entry(world, head_sha, file) for file in files],
    }


def branch(world: World, name: str, value: Commit) -> dict[str, Any]:
    """`branch-with-protection`; the hub protects none."""
    url = world.links.repo(f"/branches/{quote(name)}")
    checks = {"enforcement_level": "off", "contexts": [], "checks": []}
    return {
        "name": name,
        "commit": commit(world, value),
        "_links": {"self": url, "html": world.links.html(f"/tree/{quote(name)}")},
        "protected": False,
        "protection": {"enabled": False, "required_status_checks": checks},
        "protection_url": f"{url}/protection",
    }
