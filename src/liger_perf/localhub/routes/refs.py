"""Refs and branches."""

from __future__ import annotations

from liger_perf.localhub.actors import Needs
from liger_perf.localhub.commits import read_commit
from liger_perf.localhub.deeds import refs as deeds
from liger_perf.localhub.refused import not_found
from liger_perf.localhub.render import git as render
from liger_perf.localhub.routes.registry import Answer, Ask, route

READ = Needs(("contents",))
WRITE = Needs(("contents",), "write", role="write")


@route("GET", "/git/ref/{ref}", READ)
def get_ref(ask: Ask) -> Answer:
    """One ref, by its whole name after `refs/`."""
    name = f"refs/{ask.values['ref']}"
    sha = ask.world.git.ref(name)
    if sha is None:
        raise not_found()
    return Answer(200, render.ref(ask.world, name, sha))


@route("GET", "/git/matching-refs/{ref}", READ)
def matching_refs(ask: Ask) -> Answer:
    """Every ref whose name starts so; none is no error. GitHub does not page this list."""
    pairs = sorted(ask.world.git.refs(f"refs/{ask.values['ref']}").items())
    return Answer(200, [render.ref(ask.world, name, sha) for name, sha in pairs])


@route("POST", "/git/refs", WRITE)
def create_ref(ask: Ask) -> Answer:
    """Create a ref."""
    name, sha = ask.body["ref"], ask.body["sha"]
    deeds.create_ref(ask.world, ask.by, name, sha)
    shown = render.ref(ask.world, name, sha)
    return Answer(201, shown, {"Location": shown["url"]})


@route("PATCH", "/git/refs/{ref}", WRITE)
def update_ref(ask: Ask) -> Answer:
    """Move a ref."""
    name, sha = f"refs/{ask.values['ref']}", ask.body["sha"]
    deeds.update_ref(ask.world, ask.by, name, sha, force=bool(ask.body.get("force", False)))
    return Answer(200, render.ref(ask.world, name, sha))


@route("DELETE", "/git/refs/{ref}", WRITE)
def delete_ref(ask: Ask) -> Answer:
    """Remove a ref."""
    deeds.delete_ref(ask.world, ask.by, f"refs/{ask.values['ref']}")
    return Answer(204)


@route("GET", "/branches/{branch}", READ)
def get_branch(ask: Ask) -> Answer:
    """A branch and the commit it is at."""
    name = ask.values["branch"]
    sha = ask.world.git.ref(f"refs/heads/{name}")
    if sha is None:
        raise not_found()
    return Answer(200, render.branch(ask.world, name, read_commit(ask.world.git, ask.world.signer, sha)))
