"""What a command leads to, once it was read and is allowed."""

from __future__ import annotations

from typing import assert_never

import msgspec

from liger_perf.bot import replies
from liger_perf.bot.approvals import Pending, judge
from liger_perf.bot.authority import Allowed
from liger_perf.bot.commands import Approve, Cancel, Command, Help, List, Optimize, Reject, Resume, Status
from liger_perf.bot.effects import AddLabel, AddReaction, CancelRun, PostComment
from liger_perf.bot.events import User
from liger_perf.bot.moves import Run, Wait, next_move, standing
from liger_perf.bot.progress import Effects, advance, end, judged, save, status_body
from liger_perf.bot.state import FINAL_ENDINGS, Conversation, Ending, Facts, View


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Where a command came from. `key` is the same whenever it comes again; `comment_id` 0 for none."""

    key: str
    thread: int
    user: User
    comment_id: int = 0

    def say(self, what: str, body: str) -> PostComment:
        return PostComment(key=f"{self.key}/{what}", thread=self.thread, body=body)


def answer(command: Command, origin: Origin, allowed: Allowed, facts: Facts) -> Effects:
    """The effects of one command."""
    match command:
        case Optimize():
            return _start(command, origin, allowed, facts)
        case Approve() | Reject():
            return _decide(origin, facts)
        case Status():
            view = facts.latest(origin.thread)
            return (origin.say("status", status_body(view, facts) if view else replies.nothing_open()),)
        case Cancel():
            return _cancel(origin, facts)
        case Resume():
            return _resume(origin, facts)
        case List():
            return (origin.say("list", replies.kernels(facts.kernels)),)
        case Help():
            return (origin.say("help", replies.help_text(facts.policy)),)
        case _:
            assert_never(command)


def _start(command: Optimize, origin: Origin, allowed: Allowed, facts: Facts) -> Effects:
    name = f"{command.request.kernel}-{origin.key}"
    known = facts.view(name)
    if known is not None:  # the same command delivered again: go on where it was left
        return advance(known, facts)
    other = facts.latest(origin.thread)
    if other is not None and other.conversation.ending is None:
        return (origin.say("already", replies.already_open(other.conversation)),)
    if facts.frozen is None:
        return (origin.say("refused", replies.undecided("which commit and files are meant")),)
    if command.budget_s is not None:
        # To promise it in the first reply and not to keep it would be worse.
        return (origin.say("refused", replies.unfit("a budget of GPU time cannot be kept yet; leave it out")),)
    request = msgspec.structs.replace(command.request, device=facts.policy.device)
    talk = Conversation(
        id=name,
        thread=origin.thread,
        comment_id=origin.comment_id,
        requester=origin.user,
        command=msgspec.structs.replace(command, request=request),
        frozen=facts.frozen,
        started_at=facts.now,
        final_waits=allowed.final_waits,
    )
    first: Effects = (save(talk),)
    if origin.comment_id:
        first += (AddReaction(key=f"{origin.key}/eyes", comment_id=origin.comment_id, content="eyes"),)
    if facts.policy.label:
        first += (AddLabel(key=f"{name}/label", thread=origin.thread, label=facts.policy.label),)
    return (*first, *advance(View(conversation=talk), facts))


def _open_view(origin: Origin, facts: Facts) -> View | None:
    view = facts.latest(origin.thread)
    return view if view is not None and view.conversation.ending is None else None


def _nothing(origin: Origin, facts: Facts) -> Effects:
    """There is no open session; no words where this very command ended it."""
    view = facts.latest(origin.thread)
    if view is not None and view.conversation.handled == origin.key:
        return ()
    return (origin.say("nothing", replies.nothing_open()),)


def _decide(origin: Origin, facts: Facts) -> Effects:
    """An approval or a rejection by comment: evidence like any other, and the comment itself is part of it."""
    view = _open_view(origin, facts)
    if view is None:
        return _nothing(origin, facts)
    talk, move = view.conversation, next_move(view, facts.policy)
    if talk.handled == origin.key or (isinstance(move, Run) and talk.checkpoint is not None):
        return advance(view, facts)  # recorded already, and killed before it went on
    if not isinstance(move, Wait) or talk.checkpoint is None:
        return (origin.say("nothing", replies.nothing_asked(standing(move))),)
    evidence = facts.evidence.get(talk.id)
    if evidence is None:
        return (origin.say("refused", replies.undecided("what the answers are")),)
    judgement = judge(talk.checkpoint, evidence, facts.policy, facts.roles)
    if isinstance(judgement, Pending):
        return (origin.say("pending", replies.not_counted(judgement.reason, judgement.ignored)),)
    handled = msgspec.structs.replace(talk, handled=origin.key)
    return judged(msgspec.structs.replace(view, conversation=handled), judgement, facts)


def _cancel(origin: Origin, facts: Facts) -> Effects:
    view = facts.latest(origin.thread)
    if view is None:
        return _nothing(origin, facts)
    # Recorded before the job ends, so that its end is not taken for a crash; sent again where a kill came between.
    stop = CancelRun(key=f"{origin.key}/cancel", session=view.conversation.id)
    if view.conversation.handled == origin.key:
        return (stop,)
    if view.conversation.ending is not None:
        return _nothing(origin, facts)
    return (*end(view, Ending.CANCELLED, "cancelled", replies.cancelled(origin.user), handled=origin.key), stop)


def _resume(origin: Origin, facts: Facts) -> Effects:
    """A new round: questions are asked again, attempts counted anew, a failure that was told is tried again."""
    view = facts.latest(origin.thread)
    if view is None or view.conversation.ending in FINAL_ENDINGS:
        return _nothing(origin, facts)
    if view.conversation.handled == origin.key:
        return advance(view, facts)
    at_work = isinstance(next_move(view, facts.policy), Run) and view.elsewhere is not False
    waits = isinstance(next_move(view, facts.policy), Wait)
    if view.conversation.ending is None and (at_work or waits):
        return (origin.say("status", status_body(view, facts)),)
    talk = msgspec.structs.replace(
        view.conversation,
        ending=None,
        checkpoint=None,
        round=view.conversation.round + 1,
        attempts={},
        failures=view.failures,
        handled=origin.key,
    )
    again = msgspec.structs.replace(view, conversation=talk)
    return (save(talk), *advance(again, facts))
