"""One event: read what the runner hands over, build the adapters, carry the event's effects out."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any

from gidgethub import sansio
from github import GithubException

from liger_perf.action.carry import Carrier, Report
from liger_perf.action.facts import Gatherer
from liger_perf.action.settings import Settings, read_settings
from liger_perf.action.stage import StageRunner
from liger_perf.adapters.github.branches import SessionBranches
from liger_perf.adapters.github.jobs import Jobs
from liger_perf.adapters.github.pulls import Pulls
from liger_perf.adapters.github.readings import Readings
from liger_perf.adapters.github.site import Site, Unanswered, brief, connect
from liger_perf.adapters.github.threads import Threads
from liger_perf.adapters.probe import has_nvidia_device
from liger_perf.adapters.terminal import Terminal
from liger_perf.app import Wiring, real_wiring
from liger_perf.bot.authority import Policy
from liger_perf.bot.events import CommentCreated, Continued, Event, Ignored, read_event
from liger_perf.bot.parser import parse
from liger_perf.model.errors import EXIT_FAILED, EXIT_INTERRUPTED, LigerPerfError, UsageError
from liger_perf.model.options import device_kind

_SESSION = re.compile(r"[a-z][a-z0-9_]{0,60}-(?:run-)?\d{1,20}", re.ASCII)

HELP = """\
liger-perf-action: deals with one event of a GitHub Actions job, and ends.

It takes no arguments: everything comes from the job's environment and from the action's inputs (INPUT_…); action.yml
describes them. Events: issue_comment, workflow_dispatch, schedule. On a command line use `liger-perf` instead.
"""


def main(arguments: list[str] | None = None, wiring: Wiring | None = None) -> int:
    """The exit code: 0 where everything that there was to say was said, 1 where not, 2 for a bad configuration."""
    words = sys.argv[1:] if arguments is None else arguments
    if words:
        print(HELP)
        return 0 if words in (["--help"], ["-h"]) else UsageError("").exit_code
    signal.signal(signal.SIGTERM, _interrupt)
    terminal = Terminal(interactive=False)
    try:
        settings = read_settings(os.environ)
        # Nothing that is started from here on can find it in this process's variables.
        os.environ.pop("INPUT_TOKEN", None)
        report = run(settings, terminal, wiring or real_wiring())
        _write_outputs(settings, report)
    except LigerPerfError as error:
        terminal.error(error)
        return error.exit_code
    except Unanswered as error:
        where = "; ".join(str(part) for part in error.args[:1]) if isinstance(error, GithubException) else ""
        terminal.error(
            LigerPerfError(
                f"GitHub did not do what it was asked: {brief(error)}",
                where=where,
                todo="run the job again: what was done already is not done twice",
            )
        )
        return EXIT_FAILED
    except KeyboardInterrupt:
        terminal.warn("interrupted; what was recorded is kept, and the next sweep or /optimize resume goes on")
        return EXIT_INTERRUPTED
    return 0


def run(settings: Settings, terminal: Terminal, wiring: Wiring) -> Report:
    """Deal with the event.

    Raises:
        LigerPerfError: the event cannot be read, or a session cannot be trusted.
        GithubException: GitHub refuses, or does not answer.
    """
    event = _event(settings)
    if isinstance(event, Ignored):
        terminal.note(f"nothing to do: {event.why}")
        return Report()
    if isinstance(event, Continued) and not _SESSION.fullmatch(event.session):
        raise UsageError(f"{event.session!r} is no session's id", todo="allowed: such as rms_norm-1234567")
    if isinstance(event, CommentCreated) and parse(event.body, ()) is None:
        terminal.note("nothing to do: the comment is no command")
        return Report()
    site = connect(
        api_url=settings.api_url,
        server_url=settings.server_url,
        token=settings.token,
        repository=settings.repository,
        bot=settings.bot,
        polite=not settings.loopback,
    )
    return _carrier(settings, site, terminal, wiring).carry(event)


def _event(settings: Settings) -> Event:
    try:
        data: Any = json.loads(settings.event_path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(
            "the event's file cannot be read", where=str(settings.event_path), details=str(error)
        ) from error
    return read_event(sansio.Event(data, event=settings.event, delivery_id=settings.run))


def _carrier(settings: Settings, site: Site, terminal: Terminal, wiring: Wiring) -> Carrier:
    readings = Readings(site)
    branches = SessionBranches(site, f"{settings.run}.{settings.attempt}")
    jobs = Jobs(site, settings.workflow, settings.run)
    gatherer = Gatherer(
        readings,
        branches,
        jobs,
        _policy(settings, site),
        page=site.page,
        on_gpu=settings.stages,
        run=settings.run,
        warn=terminal.warn,
    )
    stages = StageRunner(
        wiring,
        branches,
        settings.temporary / "liger-perf",
        remote=f"{site.page}.git",
        token=settings.token,
        terminal=terminal,
    )
    return Carrier(
        gatherer=gatherer,
        threads=Threads(site),
        branches=branches,
        jobs=jobs,
        pulls=Pulls(site, readings),
        stages=stages,
        summary=settings.summary,
        note=terminal.note,
    )


def _policy(settings: Settings, site: Site) -> Policy:
    return Policy(
        bot=site.bot,
        approve_roles=settings.approve_roles,
        start_roles=settings.start_roles,
        ask_roles=settings.start_roles | settings.approve_roles | {"triage"},
        checkpoint_days=settings.checkpoint_days,
        simulated_pull_requests=settings.simulated_pull_requests,
        device=device_kind(settings.device, nvidia=has_nvidia_device()),
        label=settings.label,
    )


def _write_outputs(settings: Settings, report: Report) -> None:
    if settings.output is None:
        return
    values: Mapping[str, str] = {"session": report.session, "pull-request": report.pull_request}
    with settings.output.open("a", encoding="utf-8") as file:
        file.writelines(f"{name}={value}\n" for name, value in values.items())


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
