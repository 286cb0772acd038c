"""Workflow runs: started, cancelled, looked at."""

from __future__ import annotations

from github import GithubException
from github.WorkflowRun import WorkflowRun

from liger_perf.adapters.github.site import Site, Unanswered, is_status
from liger_perf.bot.state import Conversation

_OPEN = ("queued", "in_progress", "waiting", "pending", "requested")


class Jobs:
    """Runs of one workflow. `run` is the one that this process belongs to."""

    def __init__(self, site: Site, workflow: str, run: str) -> None:
        self._site = site
        self._workflow = workflow
        self._run = run

    def start(self, session: str) -> None:
        """Start the workflow to go on with a session.

        Raises:
            GithubException: GitHub refuses.
        """
        repository = self._site.repository
        repository.get_workflow(self._workflow).create_dispatch(
            repository.default_branch, {"session": session}, throw=True
        )

    def at_work(self, talk: Conversation) -> bool | None:
        """Whether another run works on the session or is queued for it; None where GitHub does not say."""
        try:
            return any(self._others(talk))
        except Unanswered:
            return None

    def cancel(self, talk: Conversation) -> None:
        """Cancel the runs that work on the session; nothing where they have ended.

        Raises:
            GithubException: GitHub refuses.
        """
        for run in self._others(talk):
            try:
                run.cancel()
            except GithubException as error:
                if not is_status(error, 404, 409):
                    raise

    def _run_of(self, number: int) -> WorkflowRun | None:
        """A run; None where it was deleted, which only an ended one can be."""
        try:
            return self._site.repository.get_workflow_run(number)
        except GithubException as error:
            if is_status(error, 404):
                return None
            raise

    def _others(self, talk: Conversation) -> list[WorkflowRun]:
        repository, found = self._site.repository, dict[int, WorkflowRun]()
        if talk.run and talk.run != self._run:
            run = self._run_of(int(talk.run))
            if run is not None and run.status in _OPEN:
                found[run.id] = run
        for status in ("queued", "in_progress"):
            for run in repository.get_workflow_runs(status=status):
                # The workflow names its runs by the session that they go on with.
                if str(run.id) != self._run and talk.id in (run.display_title or "").split():
                    found[run.id] = run
        return list(found.values())
