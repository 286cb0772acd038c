"""One command at work: the app, the terminal, and what is said at its end."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import typer

from liger_perf.adapters import terminal as texts
from liger_perf.app import App, Wiring, new_terminal
from liger_perf.model.errors import EXIT_FAILED, EXIT_INTERRUPTED, LigerPerfError
from liger_perf.session.entries import Stage
from liger_perf.session.machine import AwaitApproval, next_step
from liger_perf.settings import state_directory
from liger_perf.stages.pipeline import End


class Call:
    """One command at work: the app, the terminal, and what to say at its end."""

    def __init__(self, wiring: Wiring, state: Path | None) -> None:
        self.state_option = f" --state {shlex.quote(str(state))}" if state is not None else ""
        self.terminal = new_terminal()
        self.app = App(wiring, state_directory(state, os.environ), self.terminal)

    def __enter__(self) -> Call:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, KeyboardInterrupt):
            self.terminal.warn(texts.interrupted_text(self.app.current, self.state_option))
            raise typer.Exit(EXIT_INTERRUPTED) from None
        if isinstance(error, LigerPerfError) and self.app.current and error.exit_code == EXIT_FAILED:
            error.todo = error.todo or texts.stopped_text(self.app.current, "resume", self.state_option)

    def drive(self, work: Callable[[], End]) -> None:
        """Do the work and say what comes next."""
        end = work()
        name = self.app.current
        session, root = self.app.sessions.read(name), self.app.sessions.workspace(name)
        step = next_step(session)
        if end in (End.WAITING, End.DECLINED) and isinstance(step, AwaitApproval):
            text = texts.waiting_text if end is End.WAITING else texts.declined_text
            self.terminal.say(text(name, step.stage, self.state_option))
        elif end is End.STOPPED:
            following = "optimize" if session.outcome(Stage.OPTIMIZE) is None else "finalize"
            self.terminal.say(texts.stopped_text(name, following, self.state_option))
        elif end is End.DONE and (patch := root / f"{session.started.request.kernel}.patch").is_file():
            self.terminal.say(texts.patch_text(str(patch), session.started.repository))
