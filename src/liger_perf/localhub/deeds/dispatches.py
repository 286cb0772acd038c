"""Dispatches: the only events that a job's own token can start a workflow with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from liger_perf.localhub.actors import Actor
from liger_perf.localhub.records import Run, Workflow
from liger_perf.localhub.refused import not_found, unprocessable
from liger_perf.localhub.render import webhooks
from liger_perf.localhub.state import found
from liger_perf.localhub.world import World

INPUTS_LIMIT = 25


def workflow_by(world: World, key: str) -> Workflow:
    """A workflow by its id or by the name of its file.

    Raises:
        Refused: there is none, 404.
    """
    if key.isdigit():
        return found(world.state.workflows, int(key))
    for workflow in world.state.workflows.values():
        if workflow.file == key:
            return workflow
    raise not_found()


def dispatch(world: World, actor: Actor, workflow: Workflow, ref: str, inputs: Mapping[str, Any]) -> Run:
    """Start a workflow on a branch.

    Raises:
        Refused: no such branch, or too many inputs, 422.
    """
    branch = ref.removeprefix("refs/heads/")
    sha = world.git.ref(f"refs/heads/{branch}")
    if sha is None:
        raise unprocessable(f"No ref found for: {ref}")
    if len(inputs) > INPUTS_LIMIT:
        raise unprocessable(f"you may only define up to {INPUTS_LIMIT} `inputs` for a `workflow_dispatch` event")
    run = world.state.add_run(workflow, "workflow_dispatch", branch, sha, actor.user, dict(inputs))
    full = f"refs/heads/{branch}"
    payload = webhooks.workflow_dispatch(world, workflow, full, inputs, actor.user)
    world.emit(actor, "workflow_dispatch", payload, ref=full, sha=sha, run=run.id)
    return run


def dispatch_repository(world: World, actor: Actor, event_type: str, client_payload: Mapping[str, Any]) -> None:
    """Send a `repository_dispatch` event; it runs on the default branch."""
    payload = webhooks.repository_dispatch(world, event_type, client_payload, actor.user)
    world.emit(actor, "repository_dispatch", payload)
