"""Issues and labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from liger_perf.localhub.actors import Needs
from liger_perf.localhub.clock import stamp
from liger_perf.localhub.deeds import issues as deeds
from liger_perf.localhub.records import Issue
from liger_perf.localhub.refused import invalid, not_found
from liger_perf.localhub.render import issues as render
from liger_perf.localhub.routes.registry import Answer, Ask, route
from liger_perf.localhub.state import found

EITHER = ("issues", "pull_requests")
READ = Needs(EITHER)
WRITE = Needs(EITHER, "write")
TRIAGE = Needs(EITHER, "write", role="triage")


@route("GET", "/issues", READ)
def list_issues(ask: Ask) -> Answer:
    """Newest first; pull requests are among them."""
    state, since = ask.query.get("state", "open"), ask.query.get("since", "")
    labels = {name.lower() for name in ask.query.get("labels", "").split(",") if name}

    def wanted(issue: Issue) -> bool:
        return (
            state in ("all", issue.state)
            and labels <= {name.lower() for name in issue.labels}
            and stamp(issue.updated_at) >= since
            and ask.query.get("creator", issue.author.login).lower() == issue.author.login.lower()
        )

    key = {"updated": "updated_at"}.get(ask.query.get("sort", ""), "created_at")
    newest_first = ask.query.get("direction", "desc") == "desc"
    items = sorted(ask.world.state.issues.values(), key=lambda issue: getattr(issue, key), reverse=newest_first)
    return ask.listed([issue for issue in items if wanted(issue)], render.issue)


@route("POST", "/issues", Needs(("issues",), "write"))
def create_issue(ask: Ask) -> Answer:
    """Anybody may open one; labels count only from those who may triage."""
    bot = ask.by.kind != "person"
    names = _names(ask.body) if bot or ask.world.live(ask.by.user).may("triage") else ()
    issue = deeds.open_issue(ask.world, ask.by, str(ask.body["title"]), ask.body.get("body"), names)
    return Answer(201, render.issue_answer(ask.world, issue))


@route("GET", "/issues/{issue_number}", READ)
def get_issue(ask: Ask) -> Answer:
    """An issue, or what a pull request is as an issue."""
    return Answer(200, render.issue_answer(ask.world, found(ask.world.state.issues, ask.number("issue_number"))))


@route("PATCH", "/issues/{issue_number}", WRITE)
def update_issue(ask: Ask) -> Answer:
    """Title, body, state, labels."""
    issue = deeds.change_issue(ask.world, ask.by, ask.number("issue_number"), dict(ask.body))
    return Answer(200, render.issue_answer(ask.world, issue))


@route("GET", "/issues/{issue_number}/labels", READ)
def list_issue_labels(ask: Ask) -> Answer:
    """The labels of an issue."""
    issue = found(ask.world.state.issues, ask.number("issue_number"))
    return ask.listed([ask.world.state.labels[name.lower()] for name in issue.labels], render.label)


@route("POST", "/issues/{issue_number}/labels", TRIAGE)
def add_issue_labels(ask: Ask) -> Answer:
    """Add labels; all that the issue has are answered."""
    issue = deeds.add_labels(ask.world, ask.number("issue_number"), _names(ask.body))
    return Answer(200, render.labels_of(ask.world, issue))


@route("DELETE", "/issues/{issue_number}/labels/{name}", TRIAGE)
def remove_issue_label(ask: Ask) -> Answer:
    """Remove one; those that stay are answered."""
    issue = deeds.remove_label(ask.world, ask.number("issue_number"), ask.values["name"])
    return Answer(200, render.labels_of(ask.world, issue))


@route("GET", "/labels", READ)
def list_labels(ask: Ask) -> Answer:
    """The labels of the repository."""
    return ask.listed(list(ask.world.state.labels.values()), render.label)


@route("POST", "/labels", Needs(EITHER, "write", role="write"))
def create_label(ask: Ask) -> Answer:
    """Make a label.

    Raises:
        Refused: it is there already, 422.
    """
    name = ask.body["name"]
    if name.lower() in ask.world.state.labels:
        raise invalid("Label", "name", "already_exists", code="already_exists")
    made = ask.world.state.add_label(name, ask.body.get("color", "ededed"), ask.body.get("description"))
    return Answer(201, render.label(ask.world, made))


@route("GET", "/labels/{name}", READ)
def get_label(ask: Ask) -> Answer:
    """One label."""
    made = ask.world.state.labels.get(ask.values["name"].lower())
    if made is None:
        raise not_found()
    return Answer(200, render.label(ask.world, made))


def _names(body: Mapping[str, Any]) -> tuple[str, ...]:
    """Labels come by name or as objects."""
    return tuple(value if isinstance(value, str) else value["name"] for value in body.get("labels", ()))
