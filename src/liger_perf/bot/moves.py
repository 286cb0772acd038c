"""What a session needs next as its thread sees it: the engine's steps, with questions and a pull request."""

from __future__ import annotations

from typing import assert_never

import msgspec

from liger_perf.bot.authority import Policy
from liger_perf.bot.state import View
from liger_perf.session.entries import Stage
from liger_perf.session.machine import AwaitApproval, Done, RunFinalize, RunOptimize, RunProfile, next_step
from liger_perf.session.model import Session


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A stage is to be run."""

    stage: Stage


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A stage's result is to be shown, and whether to go on is to be asked."""

    stage: Stage


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """It was asked; a person has to answer."""

    stage: Stage


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """The pull request is to be opened, with the patch of this SHA-256."""

    patch_digest: str


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing is to be applied; `simulated` says that there would be something."""

    simulated: bool = False


class Stop(msgspec.Struct, frozen=True):
    """It has ended, and goes on only when a person says so."""


Move = Run | Ask | Wait | Open | Finish | Stop


def next_move(view: View, policy: Policy) -> Move:
    """The one thing to do next."""
    if view.conversation.ending is not None:
        return Stop()
    if view.session is None:
        return Run(stage=Stage.PROFILE)
    match step := next_step(view.session):
        case RunProfile():
            return Run(stage=Stage.PROFILE)
        case RunOptimize():
            return Run(stage=Stage.OPTIMIZE)
        case RunFinalize():
            return Run(stage=Stage.FINALIZE)
        case AwaitApproval(stage=stage):
            return _question(view, stage)
        case Done():
            return _after_the_report(view, view.session, policy)
        case _:
            assert_never(step)


def patch_digest(session: Session) -> str:
    """SHA-256 of the patch as the journal recorded it; empty where there is none to apply."""
    outcome = session.outcome(Stage.FINALIZE)
    if outcome is None or not outcome.winner:
        return ""
    name = f"{session.started.request.kernel}.patch"
    return next((file.sha256 for file in outcome.files if file.path == name), "")


def standing(move: Move) -> str:
    """A move in words."""
    match move:
        case Run(stage=stage):
            return f"{stage} is running or queued"
        case Ask(stage=stage):
            return f"the result of {stage} is about to be shown"
        case Wait(stage=stage):
            return f"waiting for an answer to the result of {stage}"
        case Open():
            return "the pull request is about to be opened"
        case Finish():
            return "finished, nothing to apply"
        case Stop():
            return "stopped"
        case _:
            assert_never(move)


def _question(view: View, stage: Stage) -> Move:
    asked = view.conversation.checkpoint
    return Wait(stage=stage) if asked is not None and asked.stage is stage else Ask(stage=stage)


def _after_the_report(view: View, session: Session, policy: Policy) -> Move:
    patch = patch_digest(session)
    if not patch:
        return Finish()
    if view.simulated and not policy.simulated_pull_requests:
        return Finish(simulated=True)
    if view.conversation.final_waits and view.conversation.final_by is None:
        return _question(view, Stage.FINALIZE)
    return Open(patch_digest=patch)
