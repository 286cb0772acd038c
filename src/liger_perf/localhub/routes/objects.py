"""Blobs, trees and commits: the git data API."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from liger_perf.localhub.commits import Person, read_commit, write_commit
from liger_perf.localhub.gitstore import GitFailed, GitStore, TreeChange
from liger_perf.localhub.refused import not_found, unprocessable
from liger_perf.localhub.render import git as render
from liger_perf.localhub.routes.refs import READ, WRITE
from liger_perf.localhub.routes.registry import Answer, Ask, route
from liger_perf.localhub.state import GITHUB_ADDRESS

WEB_FLOW = ("GitHub", GITHUB_ADDRESS)


@route("POST", "/git/blobs", WRITE)
def create_blob(ask: Ask) -> Answer:
    """Write a blob from text or base64."""
    content = ask.body["content"].encode()
    if ask.body.get("encoding", "utf-8") == "base64":
        try:
            content = base64.b64decode(content)
        except binascii.Error:
            raise unprocessable("content is not valid Base64") from None
    shown = render.short_blob(ask.world, ask.world.git.write("blob", content))
    return Answer(201, shown, {"Location": shown["url"]})


@route("GET", "/git/blobs/{file_sha}", READ)
def get_blob(ask: Ask) -> Answer:
    """A blob, in base64."""
    sha = ask.values["file_sha"]
    return Answer(200, render.blob(ask.world, sha, ask.world.git.read("blob", sha)))


@route("POST", "/git/trees", WRITE)
def create_tree(ask: Ask) -> Answer:
    """Write a tree: entries over a base, given as blobs or as their content."""
    git, base = ask.world.git, ask.body.get("base_tree")
    if base and git.kind(base) not in ("tree", "commit"):
        raise not_found()
    changes = [_tree_change(git, entry) for entry in ask.body["tree"]]
    try:
        sha = git.write_tree(base, changes)
    except GitFailed as error:
        raise unprocessable(f"tree is not valid: {error}") from None
    shown = render.tree(ask.world, sha, git.tree(sha))
    return Answer(201, shown, {"Location": shown["url"]})


def _tree_change(git: GitStore, entry: Mapping[str, Any]) -> TreeChange:
    if "content" in entry:
        sha: str | None = git.write("blob", entry["content"].encode())
    else:
        sha = entry.get("sha")
        if sha is not None and git.kind(sha) is None and entry.get("type") != "commit":
            raise unprocessable(f"tree.sha {sha} is not a valid object")
    return TreeChange(entry["path"], entry.get("mode", "100644"), sha)


@route("GET", "/git/trees/{tree_sha}", READ)
def get_tree(ask: Ask) -> Answer:
    """A tree, with what is below it where `recursive` is given at all."""
    git = ask.world.git
    revision = ask.values["tree_sha"]
    sha = revision if git.kind(revision) == "tree" else git.text("rev-parse", f"{git.resolve(revision)}^{{tree}}")
    return Answer(200, render.tree(ask.world, sha, git.tree(sha, recursive="recursive" in ask.query)))


@route("POST", "/git/commits", WRITE)
def create_commit(ask: Ask) -> Answer:
    """Write a commit. GitHub signs it for a bot that names neither author nor committer."""
    git, body = ask.world.git, ask.body
    if git.kind(body["tree"]) != "tree":
        raise unprocessable("Tree SHA does not exist")
    if any(git.kind(parent) != "commit" for parent in body.get("parents", ())):
        raise unprocessable("Parent SHA does not exist or is not a commit object")
    now, user = ask.world.state.clock(), ask.by.user
    own = Person(user.login, user.email, now)
    author = _person(body.get("author"), own)
    plain = ask.by.signs and not {"author", "committer", "signature"} & body.keys()
    committer = Person(*WEB_FLOW, now) if plain else _person(body.get("committer"), author)
    signer = ask.world.signer if plain else None
    sha = write_commit(git, body["tree"], body.get("parents", ()), author, committer, body["message"], signer)
    shown = render.git_commit(ask.world, read_commit(git, ask.world.signer, sha))
    return Answer(201, shown, {"Location": shown["url"]})


def _person(given: Mapping[str, str] | None, default: Person) -> Person:
    if given is None:
        return default
    date = datetime.fromisoformat(given["date"]) if "date" in given else default.date
    return Person(given.get("name", default.name), given.get("email", default.email), date)


@route("GET", "/git/commits/{commit_sha}", READ)
def get_git_commit(ask: Ask) -> Answer:
    """A commit object."""
    sha = ask.values["commit_sha"]
    return Answer(200, render.git_commit(ask.world, read_commit(ask.world.git, ask.world.signer, sha)))
