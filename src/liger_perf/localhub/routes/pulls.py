"""Pull requests."""

from __future__ import annotations

from liger_perf.localhub.actors import Needs
from liger_perf.localhub.commits import changes, distance
from liger_perf.localhub.deeds import issues as issue_deeds
from liger_perf.localhub.deeds import pulls as deeds
from liger_perf.localhub.records import Issue
from liger_perf.localhub.refused import not_found
from liger_perf.localhub.render import pulls as render
from liger_perf.localhub.render.git import diff_entry
from liger_perf.localhub.routes.registry import Answer, Ask, route
from liger_perf.localhub.state import found

READ = Needs(("pull_requests",))
WRITE = Needs(("pull_requests",), "write", role="read")


@route("GET", "/pulls", READ)
def list_pulls(ask: Ask) -> Answer:
    """Newest first."""
    state, head, base = ask.query.get("state", "open"), ask.query.get("head"), ask.query.get("base")

    def wanted(issue: Issue) -> bool:
        pull = issue.pull
        return (
            pull is not None
            and state in ("all", issue.state)
            and head in (None, f"{pull.head_owner}:{pull.head_ref}")
            and base in (None, pull.base_ref)
        )

    newest_first = ask.query.get("direction", "desc") == "desc"
    items = sorted(ask.world.state.issues.values(), key=lambda issue: issue.number, reverse=newest_first)
    return ask.listed([issue for issue in items if wanted(issue)], render.simple_pull)


@route("POST", "/pulls", WRITE)
def create_pull(ask: Ask) -> Answer:
    """Open a pull request from a branch of the repository."""
    issue = deeds.open_pull(
        ask.world,
        ask.by,
        title=ask.body.get("title", ""),
        body=ask.body.get("body"),
        head=ask.body["head"],
        base=ask.body["base"],
        draft=bool(ask.body.get("draft", False)),
        maintainer_can_modify=bool(ask.body.get("maintainer_can_modify", False)),
    )
    return Answer(201, render.pull_request(ask.world, issue))


@route("GET", "/pulls/{pull_number}", READ)
def get_pull(ask: Ask) -> Answer:
    """One pull request."""
    return Answer(200, render.pull_request(ask.world, _pull(ask)))


@route("PATCH", "/pulls/{pull_number}", WRITE)
def update_pull(ask: Ask) -> Answer:
    """Title, body and state."""
    number = _pull(ask).number
    issue = issue_deeds.change_issue(ask.world, ask.by, number, dict(ask.body))
    return Answer(200, render.pull_request(ask.world, issue))


@route("GET", "/pulls/{pull_number}/files", READ)
def list_files(ask: Ask) -> Answer:
    """What the pull request changes, from where it left its base."""
    pull = _pull(ask).pull
    assert pull is not None
    git = ask.world.git
    files = changes(git, distance(git, pull.base_sha, pull.head_sha).merge_base, pull.head_sha)
    return ask.listed(files, lambda world, file: diff_entry(world, pull.head_sha, file))


def _pull(ask: Ask) -> Issue:
    issue = found(ask.world.state.issues, ask.number("pull_number"))
    if issue.pull is None:
        raise not_found()
    return issue
