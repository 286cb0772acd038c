"""Workflows, runs, dispatches and check runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from liger_perf.localhub.actors import Needs
from liger_perf.localhub.deeds import dispatches as deeds
from liger_perf.localhub.deeds import runs
from liger_perf.localhub.records import Run
from liger_perf.localhub.refused import unprocessable
from liger_perf.localhub.render import actions as render
from liger_perf.localhub.routes.registry import Answer, Ask, route
from liger_perf.localhub.state import found

READ = Needs(("actions",))
CANCEL = Needs(("actions",), "write", role="write")
CHECKS = Needs(("checks",), "write", apps_only=True)


@route("GET", "/actions/workflows", READ)
def list_workflows(ask: Ask) -> Answer:
    """The workflows that the hub knows."""
    return ask.listed(list(ask.world.state.workflows.values()), render.workflow, "workflows")


@route("GET", "/actions/workflows/{workflow_id}", READ)
def get_workflow(ask: Ask) -> Answer:
    """A workflow by id or file name."""
    return Answer(200, render.workflow(ask.world, deeds.workflow_by(ask.world, ask.values["workflow_id"])))


@route("POST", "/actions/workflows/{workflow_id}/dispatches", Needs(("actions",), "write", role="write"))
def dispatch_workflow(ask: Ask) -> Answer:
    """Start a workflow: 204, or 200 with the run where it was asked for."""
    workflow = deeds.workflow_by(ask.world, ask.values["workflow_id"])
    run = deeds.dispatch(ask.world, ask.by, workflow, ask.body["ref"], ask.body.get("inputs", {}))
    return Answer(200, render.dispatched(ask.world, run)) if ask.body.get("return_run_details") else Answer(204)


@route("POST", "/dispatches", Needs(("contents",), "write", role="write"))
def dispatch_repository(ask: Ask) -> Answer:
    """Send a `repository_dispatch` event."""
    deeds.dispatch_repository(ask.world, ask.by, ask.body["event_type"], ask.body.get("client_payload", {}))
    return Answer(204)


@route("GET", "/actions/runs", READ)
def list_runs(ask: Ask) -> Answer:
    """Newest first."""
    return ask.listed(_runs(ask, list(ask.world.state.runs.values())), render.run, "workflow_runs")


@route("GET", "/actions/workflows/{workflow_id}/runs", READ)
def list_workflow_runs(ask: Ask) -> Answer:
    """The runs of one workflow."""
    workflow = deeds.workflow_by(ask.world, ask.values["workflow_id"])
    runs = [run for run in ask.world.state.runs.values() if run.workflow == workflow.id]
    return ask.listed(_runs(ask, runs), render.run, "workflow_runs")


def _runs(ask: Ask, runs: list[Run]) -> list[Run]:
    def wanted(run: Run) -> bool:
        return (
            ask.query.get("event", run.event) == run.event
            and ask.query.get("branch", run.branch) == run.branch
            and ask.query.get("actor", run.actor.login) == run.actor.login
            and ask.query.get("head_sha", run.head_sha) == run.head_sha
            and ask.query.get("status", run.status) in (run.status, run.conclusion)
        )

    return [run for run in reversed(runs) if wanted(run)]


@route("GET", "/actions/runs/{run_id}", READ)
def get_run(ask: Ask) -> Answer:
    """One run."""
    return Answer(200, render.run(ask.world, found(ask.world.state.runs, ask.number("run_id"))))


@route("POST", "/actions/runs/{run_id}/cancel", CANCEL)
def cancel_run(ask: Ask) -> Answer:
    """Ask for the end of a run; whoever asks sees later when it has ended."""
    runs.cancel(ask.world, ask.number("run_id"))
    return Answer(202, {})


@route("POST", "/actions/runs/{run_id}/force-cancel", CANCEL)
def force_cancel_run(ask: Ask) -> Answer:
    """The same, without waiting for what the job does about it."""
    runs.cancel(ask.world, ask.number("run_id"), force=True)
    return Answer(202, {})


@route("POST", "/check-runs", CHECKS)
def create_check(ask: Ask) -> Answer:
    """Only an app can make one, and a job's token is one."""
    if ask.world.git.kind(ask.body["head_sha"]) != "commit":
        raise unprocessable(f"No commit found for SHA: {ask.body['head_sha']}")
    values = {"status": "queued", **_check_values(ask.body)}
    made = ask.world.state.add_check(ask.body["head_sha"], **_completed(ask, values))
    return Answer(201, render.check_run(ask.world, made))


@route("PATCH", "/check-runs/{check_run_id}", CHECKS)
def update_check(ask: Ask) -> Answer:
    """Change what was given; an output replaces the former one."""
    check = found(ask.world.state.checks, ask.number("check_run_id"))
    made = ask.world.state.change_check(check.id, **_completed(ask, _check_values(ask.body)))
    return Answer(200, render.check_run(ask.world, made))


@route("GET", "/check-runs/{check_run_id}", Needs(("checks",)))
def get_check(ask: Ask) -> Answer:
    """One check run."""
    return Answer(200, render.check_run(ask.world, found(ask.world.state.checks, ask.number("check_run_id"))))


@route("GET", "/commits/{ref}/check-runs", Needs(("checks",)))
def list_checks(ask: Ask) -> Answer:
    """The check runs of a commit."""
    sha = ask.world.git.resolve(ask.values["ref"])
    checks = [check for check in ask.world.state.checks.values() if check.head_sha == sha]
    name = ask.query.get("check_name")
    return ask.listed([check for check in checks if name in (None, check.name)], render.check_run, "check_runs")


def _check_values(body: Mapping[str, Any]) -> dict[str, Any]:
    names = ("name", "status", "conclusion", "details_url", "external_id", "output")
    values = {name: body[name] for name in names if name in body}
    dates = {name: datetime.fromisoformat(body[name]) for name in ("started_at", "completed_at") if name in body}
    return values | dates


def _completed(ask: Ask, values: dict[str, Any]) -> dict[str, Any]:
    """A conclusion completes the check, with or without a time."""
    if values.get("conclusion"):
        values["status"] = "completed"
        values.setdefault("completed_at", ask.world.state.clock())
    return values
