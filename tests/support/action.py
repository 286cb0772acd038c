"""A hub with a small repository, and the action in this process: one call for one event, over fake stages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from liger_perf.action.carry import Report
from liger_perf.action.main import run
from liger_perf.action.settings import read_settings
from liger_perf.adapters.terminal import Terminal
from liger_perf.app import Wiring
from liger_perf.localhub import Hub, SteppingClock, serve
from liger_perf.localhub.events import Event
from liger_perf.localhub.records import Comment, Issue, Workflow
from support.fake_stages import FakeStages, wiring
from support.repository import make_repository

WORKFLOW = ".github/workflows/liger-perf.yml"
KERNEL = "src/liger_kernel/ops/rms_norm.py"
SWEEP = Event("schedule", {}, "refs/heads/main", "", "github")


@dataclass
class Bench:
    """The hub, its people (alice maintains, bob writes, carol triages, mallory is a stranger), and the action."""

    hub: Hub
    workflow: Workflow
    folder: Path
    stages: FakeStages = field(default_factory=lambda: FakeStages(edit="x * 2"))
    inputs: dict[str, str] = field(default_factory=dict)
    machines: int = 0

    def __post_init__(self) -> None:
        self.made: Wiring = wiring(self.stages)

    def new_machine(self) -> None:
        """What was on the runner's disk is gone."""
        self.machines += 1

    def handle(self, event: Event, *, token: str = "") -> Report:
        """One event in a job of its own."""
        job = self.hub.state.add_run(self.workflow, event.name, "main", self.hub.default_sha, self.hub.owner)
        self.hub.state.set_run(job.id, "in_progress")
        folder = self.folder / f"machine-{self.machines}"
        folder.mkdir(exist_ok=True)
        path = folder / "event.json"
        path.write_text(json.dumps(event.payload))
        environment = {
            "GITHUB_EVENT_NAME": event.name,
            "GITHUB_EVENT_PATH": str(path),
            "GITHUB_REPOSITORY": self.hub.full_name,
            "GITHUB_API_URL": self.hub.base_url,
            "GITHUB_SERVER_URL": self.hub.base_url,
            "GITHUB_RUN_ID": str(job.id),
            "GITHUB_WORKFLOW_REF": f"{self.hub.full_name}/{WORKFLOW}@refs/heads/main",
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "RUNNER_TEMP": str(folder),
            "INPUT_TOKEN": token or self.hub.actions_token(),
            "INPUT_DEVICE": "simulated",
            "INPUT_SIMULATED-PULL-REQUESTS": "true",
            **{f"INPUT_{name.upper()}": value for name, value in self.inputs.items()},
        }
        try:
            return run(read_settings(environment), Terminal(interactive=False), self.made)
        finally:
            self.hub.state.set_run(job.id, "completed", "success")

    def work(self) -> None:
        """Every event that is waiting."""
        while self.hub.events:
            self.handle(self.hub.events.popleft())

    def sweep(self) -> None:
        self.handle(SWEEP)

    def comment(self, login: str, number: int, body: str) -> int:
        """Someone comments, and the action deals with it."""
        written = self.hub.human(login).comment(number, body).id
        self.work()
        return written

    def said(self, number: int) -> list[str]:
        """What the bot has written in a thread, in order."""
        return [comment.body for comment in self.bots(number)]

    def bots(self, number: int) -> list[Comment]:
        return [one for one in self.hub.state.comments_of(number) if one.author.login == "github-actions[bot]"]

    def question(self, number: int) -> int:
        """The comment that asks, the last of them."""
        return next(one.id for one in reversed(self.bots(number)) if "Shall I" in one.body)

    @property
    def pulls(self) -> list[Issue]:
        """The pull requests that are open."""
        return [one for one in self.hub.state.issues.values() if one.pull is not None and one.state == "open"]

    def changed(self, pull: Issue) -> list[str]:
        """The files that a pull request changes."""
        assert pull.pull is not None
        names = self.hub.git.run("diff", "--name-only", self.hub.default_sha, pull.pull.head_sha)
        return names.decode().split()


@contextmanager
def action_bench(folder: Path) -> Iterator[Bench]:
    source = make_repository(folder / "source", git=False)
    hub = Hub.create(folder / "hub", source=source, clock=SteppingClock(datetime.now(UTC).replace(microsecond=0)))
    for login, role in (("alice", "maintain"), ("bob", "write"), ("carol", "triage"), ("mallory", None)):
        hub.person(login, role)
    workflow = hub.workflow(WORKFLOW, "Optimize")
    with serve(hub):
        yield Bench(hub, workflow, folder)
