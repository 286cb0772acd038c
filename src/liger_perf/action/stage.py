"""Runs one stage of a session on this machine."""

from __future__ import annotations

from pathlib import Path

from liger_perf.action.mirror import Mirror
from liger_perf.adapters import git
from liger_perf.adapters.github.branches import SessionBranches, Stored, Superseded
from liger_perf.adapters.install import ensure_installed
from liger_perf.adapters.terminal import Terminal, error_lines
from liger_perf.app import App, Wiring
from liger_perf.bot.effects import RunStage, StageRefused
from liger_perf.model.errors import LigerPerfError
from liger_perf.session import journal as journals
from liger_perf.session.entries import Stage, StageFailed


class StageRunner:
    """Runs stages below `folder`. `remote` and `token` are for fetching the target's commit."""

    def __init__(
        self, wiring: Wiring, branches: SessionBranches, folder: Path, *, remote: str, token: str, terminal: Terminal
    ) -> None:
        self._wiring = wiring
        self._branches = branches
        self._folder = folder
        self._remote = remote
        self._token = token
        self._terminal = terminal

    def run(self, effect: RunStage, stored: Stored) -> StageRefused | None:
        """Run the stage. What became of it is in the journal; where it is not, that is answered.

        Raises:
            Superseded: someone else wrote the session meanwhile, such as a cancel.
        """
        try:
            self._run(effect.stage, stored)
        except Superseded:
            raise
        except LigerPerfError as error:
            self._terminal.error(error)
            now = self._branches.load(effect.session)
            if now is not None and _failures(now.journal) > _failures(stored.journal):
                return None
            details = tuple(error_lines(error)[1:])
            return StageRefused(session=effect.session, stage=effect.stage, what=error.what, details=details)
        return None

    def _run(self, stage: Stage, stored: Stored) -> None:
        talk = stored.conversation
        state = self._folder / "state"
        mirror = Mirror(self._branches, stored, state)
        mirror.restore()
        checkout = self._folder / "checkouts" / talk.id
        self._terminal.note(f"fetching commit {talk.frozen.sha[:12]}")
        git.fetch(self._remote, self._token, talk.frozen.sha, checkout)
        ensure_installed(checkout, self._folder / "install", self._terminal.note)
        app = App(self._wiring, state, self._terminal, mirror.record)
        if talk.id not in app.sessions.names():
            app.start(talk.request, checkout, until=stage, name=talk.id)
            return
        if app.sessions.read(talk.id).outcome(stage) is not None:
            return  # sent just now: it had ended on this disk, and was killed before the branch knew
        app.restore_base(talk.id, checkout)
        app.resume(talk.id, until=stage)


def _failures(journal: bytes) -> int:
    return sum(isinstance(entry, StageFailed) for entry in journals.decode(journal).entries)
