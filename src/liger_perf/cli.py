"""The command line: reads options, calls the app, turns its end into words and an exit status."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

from liger_perf import __version__
from liger_perf.adapters import terminal as texts
from liger_perf.adapters.probe import has_nvidia_device
from liger_perf.app import Wiring, new_terminal, real_wiring
from liger_perf.cli_call import Call
from liger_perf.cli_options import (
    Device,
    GoalOption,
    Gpu,
    Kernel,
    Names,
    Repo,
    Scope,
    SessionName,
    State,
    Target,
    Variants,
    split_names,
)
from liger_perf.model.errors import EXIT_FAILED, EXIT_INTERRUPTED, LigerPerfError, UsageError
from liger_perf.model.options import DeviceChoice, Goal, Request, TargetGpu, device_kind
from liger_perf.session.entries import Stage
from liger_perf.session.machine import AwaitApproval, RunFinalize, RunOptimize, next_step
from liger_perf.session.status import session_text
from liger_perf.settings import state_directory

EPILOG = (
    "Begin with: liger-perf list --repo DIR, then liger-perf run rms_norm --repo DIR. "
    "The checkout is never written to; the result is a patch of one file and a report in the session's workspace."
)


def build(wiring: Wiring) -> typer.Typer:
    """The commands, over the given parts."""
    cli = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    commands = _Commands(wiring)
    cli.callback(invoke_without_command=True, epilog=EPILOG)(_root)
    for name in ("run", "profile", "optimize", "finalize", "resume", "approve", "status"):
        cli.command(name)(getattr(commands, name))
    cli.command("list")(commands.list_kernels)
    return cli


def _root(
    context: typer.Context, show_version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False
) -> None:
    """Optimise an existing Triton kernel: profile, try variants, judge them, hand over a one-file patch."""
    if show_version:
        print(f"liger-perf {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


class _Commands:
    """One method a command; `build` registers them."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def run(
        self,
        kernel: Kernel,
        repo: Repo = Path("."),
        goal: GoalOption = Goal.BALANCED,
        scope: Scope = "general",
        gpu: Gpu = TargetGpu.AUTO,
        variants: Variants = 8,
        target: Target = "",
        device: Device = DeviceChoice.AUTO,
        autonomous: Annotated[bool, typer.Option("--autonomous", help="Do not stop at checkpoints.")] = False,
        state: State = None,
    ) -> None:
        """Run all three stages, asking at the checkpoints between them.

        \b
        Examples:
          liger-perf run rms_norm --repo ~/Liger-Kernel
          liger-perf run cross_entropy --goal speed --scope backward --autonomous
          liger-perf run rms_norm --device simulated --variants 3
          liger-perf run rms_norm --target "forward under 0.3ms at hidden_size=4096"
        """
        request = Request(
            kernel=kernel,
            goal=goal,
            scope=scope,
            gpu=gpu,
            autonomous=autonomous,
            max_variants=variants,
            target=target,
            device=device_kind(device, nvidia=has_nvidia_device()),
        )
        self._start(request, repo, state)

    def profile(
        self,
        kernel: Kernel,
        repo: Repo = Path("."),
        goal: GoalOption = Goal.BALANCED,
        scope: Scope = "general",
        gpu: Gpu = TargetGpu.AUTO,
        variants: Variants = 8,
        target: Target = "",
        device: Device = DeviceChoice.AUTO,
        state: State = None,
    ) -> None:
        """Start a session and only profile.

        Tells the baseline, the bottleneck, and what would be tried in which order. Go on with `optimize`.
        """
        request = Request(
            kernel=kernel,
            goal=goal,
            scope=scope,
            gpu=gpu,
            max_variants=variants,
            target=target,
            device=device_kind(device, nvidia=has_nvidia_device()),
        )
        self._start(request, repo, state, until=Stage.PROFILE)

    def optimize(self, session: SessionName = "", state: State = None) -> None:
        """Approve the profile and try variants.

        Each is judged against the original. Go on with `finalize`.
        """
        self._go_on([session] if session else None, state, Stage.OPTIMIZE)

    def finalize(self, names: Names = None, state: State = None) -> None:
        """Approve the winner, or the variant named, and finish.

        Runs the full tests and the style check, draws the plots, writes the report and the patch.
        """
        self._go_on(names, state, Stage.FINALIZE)

    def resume(
        self,
        names: Names = None,
        approve: Annotated[bool, typer.Option("--approve", help="Approve what the session waits for.")] = False,
        state: State = None,
    ) -> None:
        """Go on after a checkpoint, Ctrl-C or a failure.

        Nothing that was recorded is done twice.

        \b
        Examples:
          liger-perf resume
          liger-perf resume --approve
          liger-perf resume SESSION --approve v2
        """
        session, choice = split_names(names)
        if choice and not approve:
            raise UsageError(f"{choice} was named, but not --approve", todo=f"liger-perf resume --approve {choice}")
        with Call(self._wiring, state) as call:
            name = session or call.app.sessions.latest_open()
            call.drive(lambda: call.app.resume(name, approve=call.app.approval(name, choice) if approve else None))

    def approve(self, names: Names = None, state: State = None) -> None:
        """Record an approval and do nothing else.

        It is that of what the session waits for; `resume` then goes on.
        """
        session, choice = split_names(names)
        with Call(self._wiring, state) as call:
            name = session or call.app.sessions.latest_open()
            call.app.approve(name, choice)
            call.terminal.say(texts.stopped_text(name, "resume", call.state_option))

    def status(
        self,
        session: Annotated[str, typer.Argument(metavar="SESSION", help="One session; without it, all.")] = "",
        state: State = None,
    ) -> None:
        """Show where sessions stand and how to go on."""
        with Call(self._wiring, state) as call:
            names = [session] if session else call.app.sessions.names()
            for name in names:
                try:
                    found, root = call.app.sessions.read(name), call.app.sessions.workspace(name)
                except LigerPerfError as error:
                    if session:
                        raise
                    call.terminal.say(f"{name}: {error.what}")
                else:
                    call.terminal.say(session_text(name, found, root, call.state_option))
            if not names:
                call.terminal.say("no sessions; start one with: liger-perf run KERNEL --repo DIR")

    def list_kernels(self, repo: Repo = Path("."), state: State = None) -> None:
        """List the kernels that can be optimised.

        Those are the ones with kernel file, benchmark script and test.
        """
        with Call(self._wiring, state) as call:
            for kernel in call.app.kernels(repo):
                call.terminal.say(kernel)

    def _start(self, request: Request, repo: Path, state: Path | None, until: Stage | None = None) -> None:
        with Call(self._wiring, state) as call:
            call.drive(lambda: call.app.start(request, repo, until))

    def _go_on(self, names: list[str] | None, state: Path | None, stage: Stage) -> None:
        session, choice = split_names(names)
        with Call(self._wiring, state) as call:
            name = session or call.app.sessions.latest_open()
            step = next_step(call.app.sessions.read(name))
            before = Stage.PROFILE if stage is Stage.OPTIMIZE else Stage.OPTIMIZE
            running = RunOptimize if stage is Stage.OPTIMIZE else RunFinalize
            waits = isinstance(step, AwaitApproval) and step.stage is before
            if not waits and not isinstance(step, running):
                raise UsageError(f"session {name} is not ready for {stage}", todo=f"see `liger-perf status {name}`")
            approve = call.app.approval(name, choice) if waits or choice else None
            call.drive(lambda: call.app.resume(name, until=stage, approve=approve))


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def call(arguments: Sequence[str], wiring: Wiring) -> int:
    """Run one command; answers the exit status. No error ends in a traceback."""
    try:
        result = build(wiring)(list(arguments), prog_name="liger-perf", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except LigerPerfError as error:
        new_terminal().error(error)
        return error.exit_code
    except KeyboardInterrupt:
        new_terminal().warn(texts.interrupted_text("", ""))
        return EXIT_INTERRUPTED
    except Exception as error:
        if callable(message := getattr(error, "format_message", None)):
            command = getattr(getattr(error, "ctx", None), "command_path", "liger-perf")
            new_terminal().error(UsageError(message().replace("Value error, ", ""), todo=f"see `{command} --help`"))
            return UsageError.exit_code
        new_terminal().error(_defect(error))
        return EXIT_FAILED


def _defect(error: Exception) -> LigerPerfError:
    """A defect of this program: told in short, the traceback in a file."""
    log = state_directory(None, os.environ) / "defect.log"
    where = f"traceback in {log}"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("".join(traceback.format_exception(error)))
    except OSError:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{last.filename}, line {last.lineno}"
    return LigerPerfError(
        f"a defect of liger-perf: {type(error).__name__}: {error}",
        where=where,
        todo="please report it with that file; the session can be resumed",
    )


def main() -> None:
    """The console entry."""
    # Ended from outside as if by Ctrl-C: workers are killed and the way to resume is said.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    sys.exit(call(sys.argv[1:], real_wiring()))
