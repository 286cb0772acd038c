"""The rules that an approval must meet, one function a rule; `approvals.judge` applies the tables in order."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum

import msgspec

from liger_perf.bot.authority import Policy, Roles
from liger_perf.bot.events import User
from liger_perf.bot.evidence import Checkpoint, Comment, Evidence, digest
from liger_perf.session.entries import Stage


class Reason(StrEnum):
    """Why nothing follows, in words that fit after "because"."""

    NOBODY = "nobody who may approve has answered yet"
    COMMENT_UNREAD = "GitHub did not show the checkpoint's comment"
    REACTIONS_UNREAD = "GitHub did not show all reactions"
    COMMENTS_UNREAD = "GitHub did not show all comments"
    BLOBS_UNREAD = "GitHub did not show the files as they are now"
    PATCH_UNREAD = "the patch could not be read"
    ROLE_UNKNOWN = "GitHub did not say what role someone has who answered"
    COMMENT_DELETED = "the checkpoint's comment was deleted"
    OTHER_COMMENT = "it is not the comment that was recorded"
    NOT_THE_BOTS = "the checkpoint's comment is not the bot's own"
    COMMENT_EDITED = "the checkpoint's comment was edited"
    BLOBS_CHANGED = "the kernel, what it imports, its test or its benchmark has changed since the start"
    PATCH_CHANGED = "the patch is not the one that was shown"
    NO_PATCH = "no patch was recorded"
    EXPIRED = "nobody approved in time"


class Vote(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, by reaction or by comment. `choice` is what it names; `at` when it was given."""

    user: User
    at: datetime
    yes: bool
    choice: str = ""
    why: str = ""
    comment: Comment | None = None


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule may look at. `comment` is the checkpoint's, as it is now."""

    checkpoint: Checkpoint
    evidence: Evidence
    comment: Comment
    policy: Policy
    roles: Roles

    def role(self, vote: Vote) -> str | None:
        """The voter's live role; None where GitHub did not say."""
        return self.roles.get(vote.user.id)


CaseRule = Callable[[Case], Reason | None]
VoteRule = Callable[[Case, Vote], str]


def same_comment(case: Case) -> Reason | None:
    return None if case.comment.id == case.checkpoint.comment_id else Reason.OTHER_COMMENT


def written_by_bot(case: Case) -> Reason | None:
    author, bot = case.comment.author, case.policy.bot
    return None if author and (author.id, author.type) == (bot.id, bot.type) else Reason.NOT_THE_BOTS


def unchanged_body(case: Case) -> Reason | None:
    return None if digest(case.comment.body) == case.checkpoint.body_digest else Reason.COMMENT_EDITED


COMMENT_RULES: tuple[CaseRule, ...] = (same_comment, written_by_bot, unchanged_body)
"""What must hold of the checkpoint's comment before any answer is looked at."""


def by_person(case: Case, vote: Vote) -> str:
    return "" if vote.user.is_person else "it is no person"


def not_the_bot_itself(case: Case, vote: Vote) -> str:
    # The bot may write as a person's account, with that person's token.
    return "it is the bot's own" if vote.user.id == case.policy.bot.id else ""


OLDER = ("it is older than the question", "it was written before the question")
"""Answers to what was asked before: no surprise to whoever gave them."""


def not_older(case: Case, vote: Vote) -> str:
    return OLDER[0] if vote.at < case.checkpoint.created_at else ""


def comment_follows(case: Case, vote: Vote) -> str:
    # Times have whole seconds; ids tell the order within one.
    follows = vote.comment is None or vote.comment.id > case.checkpoint.comment_id
    return "" if follows else OLDER[1]


def after_last_edit(case: Case, vote: Vote) -> str:
    # A body can be edited, approved and edited back; what was approved then was another text.
    return "the question was edited after it" if vote.at < case.comment.updated_at else ""


def in_time(case: Case, vote: Vote) -> str:
    return "it came after the deadline" if vote.at > case.checkpoint.deadline else ""


def unedited(case: Case, vote: Vote) -> str:
    # Whoever may write can edit anyone's comment into an approval.
    changed = vote.comment is not None and vote.comment.updated_at != vote.comment.created_at
    return "the comment was edited" if changed else ""


def known_choice(case: Case, vote: Vote) -> str:
    known = not vote.choice or vote.choice in case.checkpoint.choices
    return "" if known else f"{vote.choice} cannot be chosen here"


def sufficient_role(case: Case, vote: Vote) -> str:
    role = case.role(vote)
    return "" if role is None or role in case.policy.approve_roles else "the role does not suffice"


VOTE_RULES: tuple[VoteRule, ...] = (
    by_person,
    not_the_bot_itself,
    not_older,
    comment_follows,
    after_last_edit,
    in_time,
    unedited,
    known_choice,
    sufficient_role,
)
"""What must hold of an answer; the first text tells why it does not count."""


def patch_recorded(case: Case) -> Reason | None:
    last = case.checkpoint.stage is Stage.FINALIZE
    return Reason.NO_PATCH if last and not case.checkpoint.patch_digest else None


def unchanged_blobs(case: Case) -> Reason | None:
    now = case.evidence.blobs
    return None if now is None or now == case.checkpoint.blobs else Reason.BLOBS_CHANGED


def unchanged_patch(case: Case) -> Reason | None:
    now = case.evidence.patch_digest
    return None if now is None or now == case.checkpoint.patch_digest else Reason.PATCH_CHANGED


FROZEN_RULES: tuple[CaseRule, ...] = (patch_recorded, unchanged_blobs, unchanged_patch)
"""What must be as it was when the question was asked."""


def reactions_read(case: Case) -> Reason | None:
    return Reason.REACTIONS_UNREAD if case.evidence.reactions is None else None


def comments_read(case: Case) -> Reason | None:
    return Reason.COMMENTS_UNREAD if case.evidence.comments is None else None


def blobs_read(case: Case) -> Reason | None:
    return Reason.BLOBS_UNREAD if case.evidence.blobs is None else None


def patch_read(case: Case) -> Reason | None:
    return Reason.PATCH_UNREAD if case.evidence.patch_digest is None else None


READ_RULES: tuple[CaseRule, ...] = (reactions_read, comments_read, blobs_read, patch_read)
"""What GitHub must have shown before a yes counts: an answer that it did not show may be a no."""
