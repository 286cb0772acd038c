"""Where a session stands, in words."""

from __future__ import annotations

from pathlib import Path
from typing import assert_never

from liger_perf.session.entries import Stage
from liger_perf.session.machine import AwaitApproval, Done, RunFinalize, RunOptimize, RunProfile, next_step
from liger_perf.session.model import Session


def session_text(name: str, session: Session, workspace: Path, state_option: str) -> str:
    """The lines of `status` for one session."""
    request = session.started.request
    variants = ", ".join(f"{entry.variant} {entry.decision}" for entry in session.variants) or "none yet"
    lines = [
        f"{name}: {_standing(session)}",
        f"   {request.kernel}, goal {request.goal}, scope {request.scope}, {session.started.device.name}",
        f"   variants: {variants}",
        f"   workspace: {workspace}",
    ]
    if session.failure is not None:
        lines.append(f"   last failure, in {session.failure.stage}: {session.failure.what}")
    command = _command(name, session)
    if command:
        lines.append(f"   next: liger-perf {command}{state_option}")
    return "\n".join(lines)


def _standing(session: Session) -> str:
    match step := next_step(session):
        case RunProfile():
            return "profile is to be run"
        case RunOptimize(first=first):
            return f"optimizing, variant {first} is next"
        case AwaitApproval(stage=stage):
            return f"waits for approval of {stage}"
        case RunFinalize(variant=variant):
            return f"{variant or 'no winner'} is to be finalized"
        case Done():
            return f"finished, winner: {session.winner or 'none'}"
        case _:
            assert_never(step)


def _command(name: str, session: Session) -> str:
    step = next_step(session)
    if isinstance(step, AwaitApproval):
        choices = f" [{'|'.join(session.choices)}]" if step.stage is Stage.OPTIMIZE and session.choices else ""
        return f"resume {name} --approve{choices}"
    return "" if session.closed else f"resume {name}"
