"""The one verifier behind a reaction, a comment and the sweep: from a checkpoint and the evidence to what follows."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from liger_perf.bot.approval_rules import (
    COMMENT_RULES,
    FROZEN_RULES,
    READ_RULES,
    VOTE_RULES,
    Case,
    CaseRule,
    Reason,
    Vote,
)
from liger_perf.bot.authority import Policy, Roles
from liger_perf.bot.commands import Approve, Reject
from liger_perf.bot.events import User
from liger_perf.bot.evidence import Absence, Checkpoint, Comment, Evidence
from liger_perf.bot.parser import parse

YES = "+1"
NO = ("-1", "confused")


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing follows yet. `ignored` says which answers do not count, and why."""

    reason: Reason
    ignored: tuple[str, ...] = ()


class Granted(msgspec.Struct, frozen=True, kw_only=True):
    """`by` approved; `choice` is a variant, or empty where there is none to take."""

    by: User
    choice: str


class Refused(msgspec.Struct, frozen=True, kw_only=True):
    """This checkpoint can no longer be approved."""

    reason: Reason


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """`by` said no."""

    by: User
    why: str


Judgement = Pending | Granted | Refused | Rejected


def judge(checkpoint: Checkpoint, evidence: Evidence, policy: Policy, roles: Roles) -> Judgement:
    """What follows from the answers to a checkpoint.

    A no of someone who may approve wins over every yes. What GitHub did not say leaves it pending: it is never a yes
    and never a no. Of several approvals the last one counts.
    """
    if evidence.comment is Absence.UNREAD:
        return Pending(reason=Reason.COMMENT_UNREAD)
    if evidence.comment is Absence.DELETED:
        return Refused(reason=Reason.COMMENT_DELETED)
    case = Case(checkpoint=checkpoint, evidence=evidence, comment=evidence.comment, policy=policy, roles=roles)
    if reason := _first(COMMENT_RULES, case):
        return Refused(reason=reason)
    votes, ignored = _counted(case)
    known = [vote for vote in votes if case.role(vote) is not None]
    for vote in known:
        if not vote.yes:
            return Rejected(by=vote.user, why=vote.why)
    if reason := _first(FROZEN_RULES, case):
        return Refused(reason=reason)
    if reason := _first(READ_RULES, case):
        return Pending(reason=reason, ignored=ignored)
    if any(case.role(vote) is None for vote in votes if not (vote.yes and known)):
        # Beside a yes that counts, another's yes changes nothing, but another's no may.
        return Pending(reason=Reason.ROLE_UNKNOWN, ignored=ignored)
    if known:
        last = max(known, key=lambda vote: (vote.at, vote.comment is not None))
        return Granted(by=last.user, choice=last.choice or checkpoint.proposed)
    if evidence.now > checkpoint.deadline:
        return Refused(reason=Reason.EXPIRED)
    return Pending(reason=Reason.NOBODY, ignored=ignored)


def _first(rules: Sequence[CaseRule], case: Case) -> Reason | None:
    return next((reason for rule in rules if (reason := rule(case))), None)


def _counted(case: Case) -> tuple[list[Vote], tuple[str, ...]]:
    """The answers that no rule is against, and why the others do not count."""
    counted: list[Vote] = []
    ignored: list[str] = []
    for vote in _votes(case.evidence):
        why = next((text for rule in VOTE_RULES if (text := rule(case, vote))), "")
        if why:
            ignored.append(f"{vote.user.login}: {why}")
        else:
            counted.append(vote)
    if case.evidence.misplaced:
        ignored.append("a thumb on another comment: it counts on the question only")
    return counted, tuple(ignored)


def _votes(evidence: Evidence) -> list[Vote]:
    """The answers, without those of accounts that are gone."""
    reactions = [
        Vote(user=reaction.user, at=reaction.created_at, yes=reaction.content == YES)
        for reaction in evidence.reactions or ()
        if reaction.user is not None and (reaction.content == YES or reaction.content in NO)
    ]
    return reactions + [vote for comment in evidence.comments or () if (vote := _written(comment))]


def _written(comment: Comment) -> Vote | None:
    command = parse(comment.body, ())
    user, when = comment.author, comment.created_at
    if user is None:
        return None
    if isinstance(command, Approve):
        return Vote(user=user, at=when, yes=True, choice=command.choice, comment=comment)
    if isinstance(command, Reject):
        return Vote(user=user, at=when, yes=False, why=command.why, comment=comment)
    return None
