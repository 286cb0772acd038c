"""Files at a commit, commits with their files, comparisons."""

from __future__ import annotations

from liger_perf.localhub.commits import changes, distance, read_commit
from liger_perf.localhub.refused import not_found
from liger_perf.localhub.render import git as render
from liger_perf.localhub.routes.refs import READ
from liger_perf.localhub.routes.registry import Answer, Ask, route

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@route("GET", "/contents/{path}", READ)
def get_contents(ask: Ask) -> Answer:
    """A file with its content, or the entries of a folder."""
    git, path = ask.world.git, ask.values["path"].strip("/")
    revision = ask.query.get("ref", ask.world.default_branch)
    sha = git.resolve(revision)
    entries = git.tree(sha, path=path) if path else git.tree(sha)
    if not entries:
        raise not_found()
    if path and entries[0].kind == "blob":
        data = git.read("blob", entries[0].sha)
        return Answer(200, render.content(ask.world, revision, entries[0], data))
    inside = git.tree(sha, path=f"{path}/") if path else entries
    return Answer(200, [render.content(ask.world, revision, entry) for entry in inside])


@route("GET", "/commits", READ)
def list_commits(ask: Ask) -> Answer:
    """The commits that a branch or SHA leads to, newest first, or those of them that touch a path."""
    world = ask.world
    start = world.git.resolve(ask.query.get("sha", world.default_branch))
    path = ("--", ask.query["path"]) if "path" in ask.query else ()
    shas = world.git.text("rev-list", start, *path).split()
    return ask.listed(shas, lambda _, sha: render.commit(world, read_commit(world.git, world.signer, sha)))


@route("GET", "/commits/{ref}", READ)
def get_commit(ask: Ask) -> Answer:
    """A commit by SHA, branch or tag, with the files that it changes."""
    world = ask.world
    commit = read_commit(world.git, world.signer, world.git.resolve(ask.values["ref"]))
    files = changes(world.git, commit.parents[0] if commit.parents else EMPTY_TREE, commit.sha)
    return Answer(200, render.commit(world, commit, files))


@route("GET", "/compare/{basehead}", READ)
def compare(ask: Ask) -> Answer:
    """Two commits, written `base...head`."""
    world, basehead = ask.world, ask.values["basehead"]
    base_name, dots, head_name = basehead.partition("...")
    if not dots:
        raise not_found()
    own = f"{world.owner.login}:"
    base, head = (world.git.resolve(name.removeprefix(own)) for name in (base_name, head_name))
    between = distance(world.git, base, head)
    commits = {sha: read_commit(world.git, world.signer, sha) for sha in {base, between.merge_base, *between.ahead}}
    shown = render.comparison(
        world,
        basehead,
        commits[base],
        commits[between.merge_base],
        [commits[sha] for sha in between.ahead],
        between,
        changes(world.git, between.merge_base, head),
        head,
    )
    return Answer(200, shown)
