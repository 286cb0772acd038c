"""Workflows, their runs, and check runs."""

from __future__ import annotations

from typing import Any

from liger_perf.localhub.clock import stamp
from liger_perf.localhub.commits import Commit, read_commit
from liger_perf.localhub.links import node_id
from liger_perf.localhub.records import CheckRun, Run, Workflow
from liger_perf.localhub.render.people import app, simple_user
from liger_perf.localhub.render.repository import minimal_repository
from liger_perf.localhub.world import World


def workflow(world: World, value: Workflow) -> dict[str, Any]:
    """`workflow`."""
    links = world.links
    return {
        "id": value.id,
        "node_id": node_id("Workflow", value.id),
        "name": value.name,
        "path": value.path,
        "state": "active",
        "created_at": stamp(value.created_at),
        "updated_at": stamp(value.created_at),
        "url": links.repo(f"/actions/workflows/{value.id}"),
        "html_url": links.html(f"/blob/{world.default_branch}/{value.path}"),
        "badge_url": links.html(f"/workflows/{value.file}/badge.svg"),
    }


def run(world: World, value: Run) -> dict[str, Any]:
    """`workflow-run`."""
    url = run_url(world, value)
    of = world.state.workflows[value.workflow]
    head = read_commit(world.git, world.signer, value.head_sha)
    actor = simple_user(world.links, value.actor)
    shown = {
        "id": value.id,
        "node_id": node_id("WorkflowRun", value.id),
        "name": of.name,
        "display_title": of.name,
        "path": of.path,
        "workflow_id": of.id,
        "run_number": value.number,
        "run_attempt": value.attempt,
        "event": value.event,
        "status": value.status,
        "conclusion": value.conclusion,
        "head_branch": value.branch,
        "head_sha": value.head_sha,
        "head_commit": _head_commit(head),
        "actor": actor,
        "triggering_actor": actor,
        "created_at": stamp(value.created_at),
        "updated_at": stamp(value.updated_at),
        "run_started_at": stamp(value.created_at),
        "pull_requests": [],
        "repository": minimal_repository(world),
        "head_repository": minimal_repository(world),
        "url": url,
        "html_url": world.links.html(f"/actions/runs/{value.id}"),
        "workflow_url": world.links.repo(f"/actions/workflows/{of.id}"),
        "check_suite_url": world.links.repo(f"/check-suites/{value.id}"),
    }
    return shown | {f"{name}_url": f"{url}/{name}" for name in ("jobs", "logs", "artifacts", "cancel", "rerun")}


def _head_commit(head: Commit) -> dict[str, Any]:
    people = {"author": head.author, "committer": head.committer}
    return {
        "id": head.sha,
        "tree_id": head.tree,
        "message": head.message,
        "timestamp": stamp(head.committer.date),
        **{name: {"name": person.name, "email": person.email} for name, person in people.items()},
    }


def run_url(world: World, value: Run) -> str:
    return world.links.repo(f"/actions/runs/{value.id}")


def dispatched(world: World, value: Run) -> dict[str, Any]:
    """`workflow-dispatch-response`: only where `return_run_details` was asked for."""
    html = world.links.html(f"/actions/runs/{value.id}")
    return {"workflow_run_id": value.id, "run_url": run_url(world, value), "html_url": html}


def check_run(world: World, value: CheckRun) -> dict[str, Any]:
    """`check-run`."""
    url = world.links.repo(f"/check-runs/{value.id}")
    html = world.links.html(f"/runs/{value.id}")
    return {
        "id": value.id,
        "node_id": node_id("CheckRun", value.id),
        "name": value.name,
        "head_sha": value.head_sha,
        "external_id": value.external_id,
        "url": url,
        "html_url": html,
        "details_url": value.details_url or html,
        "status": value.status,
        "conclusion": value.conclusion,
        "started_at": stamp(value.started_at),
        "completed_at": stamp(value.completed_at) if value.completed_at else None,
        "output": {
            "title": value.output.get("title"),
            "summary": value.output.get("summary"),
            "text": value.output.get("text"),
            "annotations_count": len(value.output.get("annotations", ())),
            "annotations_url": f"{url}/annotations",
        },
        "check_suite": {"id": value.id},
        "app": app(world.links, "github-actions", world.owner),
        "pull_requests": [],
    }
