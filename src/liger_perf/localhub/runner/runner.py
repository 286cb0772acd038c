"""The runner itself: from the hub's events to workflow runs, one process for each."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from liger_perf.localhub.events import Event
from liger_perf.localhub.hub import Hub
from liger_perf.localhub.records import Run, Workflow
from liger_perf.localhub.render.webhooks import schedule
from liger_perf.localhub.runner.job import Job
from liger_perf.localhub.runner.observer import Kill, Observer
from liger_perf.localhub.runner.process import JobProcess
from liger_perf.localhub.runner.workplace import Workplace, environment

EndedBy: TypeAlias = Literal["itself", "cancel", "limit", "kill"]
TICK_S = 0.05
STARTING_S = 60.0
KEPT_LINES = 5000
CRON = "*/15 * * * *"


class TooManyRuns(AssertionError):
    """The jobs go on starting jobs."""


@dataclass(frozen=True)
class Ended:
    """A job that has ended.

    Args:
        run: the record as it stands at the end.
        exit_code: of the process; 128 + n for a signal n.
        lines: the last lines it printed; all of them are in the log of `folder`.
        outputs: what it wrote to GITHUB_OUTPUT.
        summary: what it wrote to GITHUB_STEP_SUMMARY.
        requests: how many requests it made to the API.
        ended_by: what ended it.
        folder: event, log, outputs and summary.
    """

    run: Run
    event: Event
    exit_code: int
    lines: tuple[str, ...]
    outputs: Mapping[str, str]
    summary: str
    seconds: float
    requests: int
    ended_by: EndedBy
    folder: Path

    @property
    def log(self) -> str:
        return "\n".join(self.lines)


class Runner:
    """Plays the runner of one workflow. It empties `hub.events`: what the workflow does not listen to is dropped.

    `run_next` may be called from several threads; each call then is a runner of its own.

    Args:
        folder: where the jobs' folders are made.
        on_line: called with each line that a job prints, from the thread that runs it.
        on_start: called when a job starts.
    """

    def __init__(
        self,
        hub: Hub,
        job: Job,
        folder: Path,
        *,
        on_line: Callable[[Run, str], None] = lambda run, line: None,
        on_start: Callable[[Run, Event], None] = lambda run, event: None,
    ) -> None:
        self.hub = hub
        self.job = job
        self.ended: list[Ended] = []
        self._folder = folder
        self._on_line = on_line
        self._on_start = on_start
        self._events: dict[int, Event] = {}
        self._kill: Kill | None = None
        self._workflow = _workflow(hub, job.path)

    # Events

    def sweep(self) -> Run:
        """What the workflow's schedule starts: a run on the default branch."""
        hub = self.hub
        with hub.lock:
            payload = schedule(hub, self._workflow, CRON)
            event = Event("schedule", payload, hub.default_ref, hub.default_sha, hub.owner.login)
            return self._queue(event)

    def collect(self) -> None:
        """Make a queued run for each event that the workflow listens to."""
        with self.hub.lock:
            while self.hub.events:
                event = self.hub.events.popleft()
                if self.job.wants(event):
                    self._queue(event)

    def rerun(self, run_id: int) -> Run:
        """Queue a run again, with the same event: another attempt of it."""
        with self.hub.lock:
            return self.hub.state.again(run_id)

    def _queue(self, event: Event) -> Run:
        state = self.hub.state
        if event.run is not None:
            run = state.runs[event.run]
        else:
            branch = event.ref.removeprefix("refs/heads/")
            run = state.add_run(self._workflow, event.name, branch, event.sha, state.user(event.actor))
        self._events[run.id] = event
        return run

    # Jobs

    def kill_after(self, requests: int, *, carried_out: bool = False, method: str = "", path: str = "") -> None:
        """Kill the next job at its n-th request to the API, counted from 1.

        Args:
            carried_out: False: before anything is done for the request; True: it is done, and no answer arrives.
            method: count only requests with this method.
            path: count only requests whose path this pattern is found in.
        """
        self._kill = Kill(requests, carried_out, method, path)

    def run_until_idle(self, most: int = 50) -> list[Ended]:
        """Run jobs until no event and no queued run is left.

        Raises:
            TooManyRuns: that never happens.
        """
        ended: list[Ended] = []
        while one := self.run_next():
            ended.append(one)
            if len(ended) > most:
                raise TooManyRuns(f"{len(ended)} jobs, and still there are more")
        return ended

    def run_next(self) -> Ended | None:
        """Run the oldest queued job to its end; None where none waits.

        Raises:
            OSError: the command cannot be started.
        """
        claimed = self._claim()
        if claimed is None:
            return None
        run, event, kill = claimed
        place = Workplace.make(self._folder / f"{run.id}-{run.attempt}", event)
        self._on_start(run, event)
        ended = self._run(run, event, place, kill)
        self.ended.append(ended)
        return ended

    def _claim(self) -> tuple[Run, Event, Kill | None] | None:
        self.collect()
        with self.hub.lock:
            for run in self.hub.state.runs.values():
                if run.status == "queued" and run.id in self._events:
                    kill, self._kill = self._kill, None
                    return self.hub.state.set_run(run.id, "in_progress"), self._events[run.id], kill
        return None

    def _run(self, run: Run, event: Event, place: Workplace, kill: Kill | None) -> Ended:
        started, token = time.monotonic(), self.hub.actions_token(self.job.permissions)
        lines: deque[str] = deque(maxlen=KEPT_LINES)
        ended_by: EndedBy = "cancel"  # also where the caller is interrupted
        code = 1
        starting: Future[JobProcess] = Future()
        # In place before the process is: its first request may come before this thread goes on.
        observer = Observer(self.hub.tokens.actor(f"Bearer {token}"), kill, lambda: starting.result(STARTING_S).kill())
        try:
            with self._observed(observer):
                code = self._to_the_end(run, place, event, token, starting, lines)
            ended_by = self._ended_by(run, observer, started)
        finally:
            self.hub.tokens.revoke(token)
            conclusion = _conclusion(ended_by, code)
            with self.hub.lock:
                run = self.hub.state.set_run(run.id, "completed", conclusion)
            place.clear()
        seconds = time.monotonic() - started
        outputs, summary = place.outputs(), place.summary()
        return Ended(
            run, event, code, tuple(lines), outputs, summary, seconds, observer.requests, ended_by, place.folder
        )

    def _to_the_end(
        self, run: Run, place: Workplace, event: Event, token: str, starting: Future[JobProcess], lines: deque[str]
    ) -> int:
        """Start the process and read its lines until it has ended; the exit status."""
        started = time.monotonic()
        process = JobProcess(self.job.argv, environment(self.hub, self.job, run, event, place, token), place.workspace)
        starting.set_result(process)
        try:
            with place.log.open("w", encoding="utf-8") as log:
                for line in self._lines(run, process, started):
                    shown = line.replace(token, "***")
                    lines.append(shown)
                    print(shown, file=log, flush=True)
                    self._on_line(run, shown)
        except BaseException:
            process.end(self.job.grace)
            raise
        finally:
            code = process.close()
        return code

    @contextlib.contextmanager
    def _observed(self, observer: Observer) -> Iterator[None]:
        self.hub.gates.append(observer.gate)
        self.hub.witnesses.append(observer.witness)
        try:
            yield
        finally:
            self.hub.gates.remove(observer.gate)
            self.hub.witnesses.remove(observer.witness)

    def _lines(self, run: Run, process: JobProcess, started: float) -> Iterator[str]:
        """The lines of the job until it has ended, which this also brings about on a cancel and at the limit."""
        while process.running():
            line = process.line(TICK_S)
            if line is not None:
                yield line
            cancelling = self.hub.state.runs[run.id].cancelling
            if cancelling == "forced":
                process.kill()
            elif cancelling == "asked" or time.monotonic() - started > self.job.limit_s:
                process.ask_to_end(self.job.grace)
            process.send_due()
            self.collect()
        process.close()
        while (line := process.line(0)) is not None:
            yield line

    def _ended_by(self, run: Run, observer: Observer, started: float) -> EndedBy:
        if observer.killed:
            return "kill"
        if self.hub.state.runs[run.id].cancelling != "no":
            return "cancel"
        return "limit" if time.monotonic() - started > self.job.limit_s else "itself"


def _conclusion(ended_by: EndedBy, code: int) -> str:
    """GitHub calls a job that ran into its limit cancelled, too."""
    if ended_by in ("cancel", "limit"):
        return "cancelled"
    return "success" if code == 0 else "failure"


def _workflow(hub: Hub, path: str) -> Workflow:
    for workflow in hub.state.workflows.values():
        if workflow.path == path:
            return workflow
    return hub.workflow(path)
