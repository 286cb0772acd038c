"""Pull requests, from a branch of the repository or from somebody's fork."""

from __future__ import annotations

from dataclasses import replace

from liger_perf.localhub.actors import Actor
from liger_perf.localhub.commits import distance
from liger_perf.localhub.gitstore import ABSENT
from liger_perf.localhub.records import Issue, Pull
from liger_perf.localhub.refused import invalid
from liger_perf.localhub.render import webhooks
from liger_perf.localhub.world import World


def open_pull(
    world: World,
    actor: Actor,
    *,
    title: str,
    body: str | None,
    head: str,
    base: str,
    draft: bool = False,
    maintainer_can_modify: bool = False,
) -> Issue:
    """Open a pull request from a branch of the repository, named with or without its owner.

    Raises:
        Refused: 422.
    """
    owner, _, name = head.rpartition(":")
    head_sha = world.git.ref(f"refs/heads/{name}") if owner in ("", world.owner.login) else None
    if head_sha is None:
        raise invalid("PullRequest", "head", f"No branch called {head}", code="invalid")
    for issue in world.state.issues.values():
        if issue.pull and issue.state == "open" and (issue.pull.head_ref, issue.pull.base_ref) == (name, base):
            raise invalid("PullRequest", "base", f"A pull request already exists for {world.owner.login}:{name}.")
    number, login = world.state.new_id(), world.owner.login
    pull = Pull(number, base, ABSENT, name, head_sha, login, draft, maintainer_can_modify)
    return open_from(world, actor, title=title, body=body, base=base, head=pull)


def open_from(world: World, actor: Actor, *, title: str, body: str | None, base: str, head: Pull) -> Issue:
    """Open a pull request whose head commit is in the store already, as commits of forks are on GitHub too.

    Raises:
        Refused: the base is missing, or there is nothing to merge, 422.
    """
    base_sha = world.git.ref(f"refs/heads/{base}")
    if base_sha is None:
        raise invalid("PullRequest", "base", f"No branch called {base}", code="invalid")
    if not distance(world.git, base_sha, head.head_sha).ahead:
        raise invalid("PullRequest", "head", f"No commits between {base} and {head.head_ref}")
    pull = replace(head, base_sha=base_sha)
    issue = world.state.add_issue(actor.user, title, body, pull)
    world.git.set_ref(f"refs/pull/{issue.number}/head", pull.head_sha, ABSENT)
    payload = webhooks.opened(world, issue, actor.user)
    world.emit(actor, "pull_request", payload, ref=f"refs/pull/{issue.number}/merge", sha=pull.head_sha)
    return issue
