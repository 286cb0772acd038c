"""Branches: making, moving and removing them, and what follows from it."""

from __future__ import annotations

from dataclasses import replace

from liger_perf.localhub.actors import Actor
from liger_perf.localhub.commits import is_ancestor
from liger_perf.localhub.gitstore import ABSENT, GitFailed
from liger_perf.localhub.records import Issue
from liger_perf.localhub.refused import unprocessable
from liger_perf.localhub.render import webhooks
from liger_perf.localhub.world import World

HEADS = "refs/heads/"


def create_ref(world: World, actor: Actor, name: str, sha: str) -> None:
    """Create a ref: the way to take a lock, since only one can.

    Raises:
        Refused: it is there already, the name is bad, or the object is missing, 422.
    """
    if not name.startswith("refs/") or name.count("/") < 2 or not world.git.good_name(name):
        raise unprocessable(f"{name} is not a valid ref name.")
    if world.git.kind(sha) is None:
        raise unprocessable("Object does not exist")
    _set(world, actor, name, sha, ABSENT, "Reference already exists")


def update_ref(world: World, actor: Actor, name: str, sha: str, *, force: bool) -> None:
    """Move a ref; without force only forward.

    Raises:
        Refused: 422.
    """
    old = world.git.ref(name)
    if old is None:
        raise unprocessable("Reference does not exist")
    if world.git.kind(sha) != "commit":
        raise unprocessable("Object does not exist")
    if not force and not is_ancestor(world.git, old, sha):
        raise unprocessable("Update is not a fast forward")
    _set(world, actor, name, sha, old, "Update is not a fast forward")


def delete_ref(world: World, actor: Actor, name: str) -> None:
    """Remove a ref.

    Raises:
        Refused: 422.
    """
    old = world.git.ref(name)
    if old is None:
        raise unprocessable("Reference does not exist")
    if name == world.default_ref:
        raise unprocessable("Cannot delete the default branch")
    _set(world, actor, name, ABSENT, old, "Reference cannot be deleted")


def _set(world: World, actor: Actor, name: str, new: str, old: str, refusal: str) -> None:
    if name.startswith("refs/pull/"):
        raise unprocessable("refs/pull is reserved")
    try:
        world.git.set_ref(name, new, old)
    except GitFailed:
        raise unprocessable(refusal) from None
    moved(world, actor, name, old, new)


def moved(world: World, actor: Actor, name: str, old: str, new: str) -> None:
    """What follows once a ref has moved, by whatever way: open pull requests follow it, events are sent."""
    if old == new:
        return
    world.emit(actor, "push", webhooks.push(world, name, old, new, actor.user), ref=name, sha=_shown(world, new))
    if new == ABSENT or not name.startswith(HEADS):
        return
    branch = name.removeprefix(HEADS)
    for issue in list(world.state.issues.values()):
        pull = issue.pull
        if pull is None or issue.state != "open":
            continue
        if pull.base_ref == branch:
            world.state.issues[issue.number] = replace(issue, pull=replace(pull, base_sha=new))
        if (pull.head_ref, pull.head_owner) == (branch, world.owner.login):
            follow(world, actor, issue, new)


def follow(world: World, actor: Actor, issue: Issue, sha: str) -> Issue:
    """The head of a pull request is another commit now."""
    assert issue.pull is not None
    before = issue.pull.head_sha
    issue = world.state.change_issue(issue.number, pull=replace(issue.pull, head_sha=sha))
    name = f"refs/pull/{issue.number}/head"
    world.git.set_ref(name, sha, world.git.ref(name) or ABSENT)
    payload = webhooks.synchronised(world, issue, before, actor.user)
    world.emit(actor, "pull_request", payload, ref=f"refs/pull/{issue.number}/merge", sha=sha)
    return issue


def _shown(world: World, new: str) -> str:
    return world.default_sha if new == ABSENT else new
