"""From an event and what is known to planned effects. Pure: the same facts give the same plan, key by key."""

from __future__ import annotations

from typing import assert_never

from liger_perf.bot import replies
from liger_perf.bot.answers import Origin, answer
from liger_perf.bot.authority import Allowed, Denied, Undecided, Unfit, may
from liger_perf.bot.commands import Optimize, ParseError
from liger_perf.bot.effects import (
    AddReaction,
    CheckpointPosted,
    Effect,
    JobCrashed,
    OpenIssue,
    Outcome,
    PostComment,
    PullRequestFailed,
    PullRequestOpened,
    StageRefused,
    WriteSummary,
)
from liger_perf.bot.events import CommentCreated, Continued, Dispatched, Event, Ignored, Swept
from liger_perf.bot.moves import Wait, next_move
from liger_perf.bot.parser import parse, parse_inputs
from liger_perf.bot.progress import Effects, advance, happened
from liger_perf.bot.state import Facts, View


def plan(event: Event | Outcome, facts: Facts) -> Effects:
    """What is to be done, in this order."""
    match event:
        case Ignored():
            return ()
        case CommentCreated():
            return _comment(event, facts)
        case Dispatched():
            return _dispatched(event, facts)
        case Continued(session=name):
            view = facts.view(name)
            return advance(view, facts) if view else ()
        case Swept():
            return tuple(effect for view in facts.views for effect in _sweep(view, facts))
        case CheckpointPosted() | PullRequestOpened() | PullRequestFailed() | JobCrashed() | StageRefused():
            return happened(event, facts)
        case _:
            assert_never(event)


def _sweep(view: View, facts: Facts) -> Effects:
    """Look for answers, and start again what nobody works on. A job that cannot be seen may be at work."""
    waits = isinstance(next_move(view, facts.policy), Wait)
    return advance(view, facts) if waits or view.elsewhere is False else ()


def _comment(event: CommentCreated, facts: Facts) -> Effects:
    command = parse(event.body, facts.kernels)
    if command is None:
        return ()
    origin = Origin(key=str(event.comment_id), thread=event.thread, user=event.author, comment_id=event.comment_id)
    known = None if isinstance(command, ParseError) else command
    verdict = may(known, event.author, facts.roles, facts.thread, facts.policy)
    if not isinstance(verdict, Allowed):
        # Someone without the role is answered once a thread, however many comments they write.
        key = f"denied/{event.author.id}" if isinstance(verdict, Denied) else f"{event.comment_id}/refused"
        refusal = PostComment(key=key, thread=event.thread, body=_refusal(verdict))
        noted = AddReaction(key=f"{origin.key}/confused", comment_id=event.comment_id, content="confused")
        return (refusal, noted)
    if isinstance(command, ParseError):
        return (origin.say("unread", replies.parse_error(command)),)
    return answer(command, origin, verdict, facts)


def _dispatched(event: Dispatched, facts: Facts) -> Effects:
    """Started by hand: without an issue to report to, one is opened first, and the event planned again."""
    command = parse_inputs(event.inputs, facts.kernels)
    key = f"run-{event.delivery}"
    if isinstance(command, ParseError):
        return (_report(event, key, replies.parse_error(command)),)
    verdict = may(command, event.actor, facts.roles, facts.thread, facts.policy)
    if not isinstance(verdict, Allowed):
        return (_report(event, key, _refusal(verdict)),)
    if not event.thread:
        return (_issue(event, key, command),)
    return answer(command, Origin(key=key, thread=event.thread, user=event.actor), verdict, facts)


def _report(event: Dispatched, key: str, body: str) -> Effect:
    if event.thread:
        return PostComment(key=f"{key}/refused", thread=event.thread, body=body)
    return WriteSummary(key=f"{key}/refused", body=body)


def _issue(event: Dispatched, key: str, command: Optimize) -> OpenIssue:
    kernel = command.request.kernel
    body = replies.issue_opened(event.actor, kernel)
    return OpenIssue(key=f"{key}/issue", title=f"Optimize the {kernel} kernel", body=body)


def _refusal(verdict: Denied | Unfit | Undecided) -> str:
    match verdict:
        case Denied(needs=needs):
            return replies.not_allowed(needs)
        case Unfit(why=why):
            return replies.unfit(why)
        case Undecided(what=what):
            return replies.undecided(what)
        case _:
            assert_never(verdict)
