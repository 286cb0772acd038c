"""What a workflow file says, as far as the runner needs it: to what it listens, and the one step of its one job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from liger_perf.localhub.actors import Level
from liger_perf.localhub.events import Event

PATH = ".github/workflows/liger-perf.yml"
LISTENS = frozenset({"issue_comment", "workflow_dispatch", "schedule"})
LIMIT_S = 6 * 3600.0


@dataclass(frozen=True)
class Grace:
    """How a job is ended: SIGINT, after `interrupt_s` SIGTERM, `terminate_s` later it is killed. GitHub's times."""

    interrupt_s: float = 7.5
    terminate_s: float = 2.5


@dataclass(frozen=True)
class Job:
    """A workflow with one job of one step.

    Args:
        argv: the step's command; it inherits nothing of the caller's environment.
        inputs: `with:` of the step, without the token.
        path: the workflow's file.
        listens: names of the events.
        begins_with: only new comments that begin so start the job, as the workflow's `if:` says.
        permissions: of GITHUB_TOKEN; None for those of the hub's `actions_token`.
        environment: what the image of a container action would set.
        limit_s: `timeout-minutes`, in seconds.
        grace: how it is ended on a cancel and at the limit.
    """

    argv: Sequence[str]
    inputs: Mapping[str, str] = field(default_factory=dict)
    path: str = PATH
    listens: frozenset[str] = LISTENS
    begins_with: str = "/optimize"
    permissions: Mapping[str, Level] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    limit_s: float = LIMIT_S
    grace: Grace = field(default_factory=Grace)

    def wants(self, event: Event) -> bool:
        """Does the workflow start on this event?"""
        if event.name not in self.listens:
            return False
        match event.name:
            case "issue_comment":
                return event.action == "created" and event.payload["comment"]["body"].startswith(self.begins_with)
            case "workflow_dispatch":
                return bool(event.payload["workflow"] == self.path)
            case _:
                return True
