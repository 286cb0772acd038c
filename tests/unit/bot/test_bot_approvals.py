"""Forged and stale approvals: each is stopped by one rule, and counts as soon as that rule is taken out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from liger_perf.bot import approvals
from liger_perf.bot.approval_rules import Reason
from liger_perf.bot.approvals import Granted, Judgement, Pending, Refused, Rejected, judge
from liger_perf.bot.authority import Policy
from liger_perf.bot.events import User
from liger_perf.bot.evidence import Absence, Checkpoint, Comment, Evidence, Reaction, digest
from liger_perf.session.entries import Stage

BOT = User(login="github-actions[bot]", id=1, type="Bot")
MONA, HUBOT, ADA = User(login="mona", id=7), User(login="hubot", id=8, type="Bot"), User(login="ada", id=9)
WRITER = User(login="writer", id=20)
ROLES: Mapping[int, str | None] = {1: "admin", 7: "maintain", 8: "admin", 9: "admin", 20: "write"}
POLICY = Policy(bot=BOT)
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
BODY = "**Which variant?**\n\n- v1\n- v2\n\n<!-- liger-perf s/optimize/1 -->"
BLOBS = {"ops/k.py": "aa", "ops/utils.py": "bb", "test_k.py": "cc", "benchmark_k.py": "dd"}
PATCH = "e" * 64

CHECKPOINT = Checkpoint(
    stage=Stage.OPTIMIZE,
    comment_id=100,
    body_digest=digest(BODY),
    created_at=START,
    deadline=START + timedelta(days=14),
    blobs=BLOBS,
    choices=("v1", "v2"),
    proposed="v2",
)
LAST = msgspec.structs.replace(CHECKPOINT, stage=Stage.FINALIZE, choices=(), proposed="", patch_digest=PATCH)


UNPATCHED = msgspec.structs.replace(LAST, patch_digest="")


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def asked(**changes: Any) -> Comment:
    return msgspec.structs.replace(
        Comment(id=100, author=BOT, body=BODY, created_at=START, updated_at=START), **changes
    )


def thumb(user: User | None = MONA, content: str = "+1", minutes: float = 5) -> Reaction:
    return Reaction(user=user, content=content, created_at=at(minutes))


def said(body: str = "/optimize approve", user: User | None = MONA, minutes: float = 5, **changes: Any) -> Comment:
    comment = Comment(id=101, author=user, body=body, created_at=at(minutes), updated_at=at(minutes))
    return msgspec.structs.replace(comment, **changes)


def evidence(*answers: Reaction | Comment, **changes: Any) -> Evidence:
    found = Evidence(
        now=at(10),
        comment=asked(),
        reactions=tuple(answer for answer in answers if isinstance(answer, Reaction)),
        comments=tuple(answer for answer in answers if isinstance(answer, Comment)),
        blobs=BLOBS,
    )
    return msgspec.structs.replace(found, **changes)


def last(*answers: Reaction | Comment, **changes: Any) -> Evidence:
    return evidence(*answers, **{"patch_digest": PATCH, **changes})


def decide(found: Evidence, checkpoint: Checkpoint = CHECKPOINT, **roles: str | None) -> Judgement:
    known = {**ROLES, **{int(key[1:]): role for key, role in roles.items()}}
    return judge(checkpoint, found, POLICY, known)


LATE = {"now": at(60 * 24 * 15)}
Z = "\N{ZERO WIDTH SPACE}"
# Name, the rule that stops it, what GitHub says, the checkpoint.
FORGED: list[tuple[str, str, Evidence, Checkpoint]] = [
    ("another comment of the bot's", "same_comment", evidence(thumb(), comment=asked(id=99)), CHECKPOINT),
    ("a comment of another thread", "same_comment", evidence(said(), comment=asked(id=5)), CHECKPOINT),
    ("a copy by a maintainer", "written_by_bot", evidence(thumb(), comment=asked(author=ADA)), CHECKPOINT),
    ("a copy by another program", "written_by_bot", evidence(thumb(), comment=asked(author=HUBOT)), CHECKPOINT),
    (
        "the bot's login, taken by a person",
        "written_by_bot",
        evidence(thumb(), comment=asked(author=User(login=BOT.login, id=50))),
        CHECKPOINT,
    ),
    (
        "the bot's id as a person's account",
        "written_by_bot",
        evidence(thumb(), comment=asked(author=User(login=BOT.login, id=1))),
        CHECKPOINT,
    ),
    ("the author is gone", "written_by_bot", evidence(thumb(), comment=asked(author=None)), CHECKPOINT),
    ("a figure edited", "unchanged_body", evidence(thumb(), comment=asked(body=BODY + "!")), CHECKPOINT),
    ("the body emptied", "unchanged_body", evidence(thumb(), comment=asked(body="")), CHECKPOINT),
    ("an invisible edit", "unchanged_body", evidence(thumb(), comment=asked(body=BODY + Z)), CHECKPOINT),
    ("the marker edited", "unchanged_body", evidence(said(), comment=asked(body=BODY.replace("/1", "/2"))), CHECKPOINT),
    ("a letter's case edited", "unchanged_body", evidence(said(), comment=asked(body=BODY.lower())), CHECKPOINT),
    ("blanks inside edited", "unchanged_body", last(thumb(), comment=asked(body=BODY.replace(" ", "  "))), LAST),
    ("a program's reaction", "by_person", evidence(thumb(HUBOT)), CHECKPOINT),
    ("a program's comment", "by_person", evidence(said(user=HUBOT)), CHECKPOINT),
    ("a bot by its login", "by_person", evidence(thumb(User(login="x[bot]", id=9))), CHECKPOINT),
    ("an organisation", "by_person", evidence(thumb(User(login="org", id=9, type="Organization"))), CHECKPOINT),
    ("the bot approves itself", "not_the_bot_itself", evidence(thumb(User(login="owner", id=1))), CHECKPOINT),
    ("the bot writes an approval", "not_the_bot_itself", evidence(said(user=User(login="owner", id=1))), CHECKPOINT),
    ("an approval from before", "not_older", evidence(said(minutes=-5), comment=asked(updated_at=at(-9))), CHECKPOINT),
    ("a thumb from before", "not_older", evidence(thumb(minutes=-1), comment=asked(updated_at=at(-9))), CHECKPOINT),
    ("an earlier comment in the same second", "comment_follows", evidence(said(minutes=0, id=98)), CHECKPOINT),
    ("an approval by the question's own id", "comment_follows", evidence(said(id=100)), CHECKPOINT),
    (
        "edited, approved, edited back",
        "after_last_edit",
        evidence(thumb(), comment=asked(updated_at=at(7))),
        CHECKPOINT,
    ),
    ("a comment, then edited back", "after_last_edit", evidence(said(), comment=asked(updated_at=at(6))), CHECKPOINT),
    ("the last one, edited back", "after_last_edit", last(thumb(), comment=asked(updated_at=at(9))), LAST),
    ("a thumb after the deadline", "in_time", evidence(thumb(minutes=60 * 24 * 14 + 1), **LATE), CHECKPOINT),
    ("a comment after the deadline", "in_time", evidence(said(minutes=60 * 24 * 14 + 1), **LATE), CHECKPOINT),
    ("a status edited into an approval", "unedited", evidence(said(updated_at=at(6))), CHECKPOINT),
    ("a choice edited", "unedited", evidence(said("/optimize approve v1", updated_at=at(8))), CHECKPOINT),
    ("a variant that was rejected", "known_choice", evidence(said("/optimize approve v3")), CHECKPOINT),
    ("a variant where none can be chosen", "known_choice", last(said("/optimize approve v1")), LAST),
    ("someone who may write", "sufficient_role", evidence(thumb(WRITER)), CHECKPOINT),
    ("a comment of someone who may write", "sufficient_role", evidence(said(user=WRITER)), CHECKPOINT),
    ("a last question without a patch", "patch_recorded", evidence(thumb()), UNPATCHED),
    ("the kernel has changed", "unchanged_blobs", evidence(thumb(), blobs={**BLOBS, "ops/k.py": "x"}), CHECKPOINT),
    ("an import has changed", "unchanged_blobs", evidence(thumb(), blobs={**BLOBS, "ops/utils.py": "x"}), CHECKPOINT),
    ("the test has changed", "unchanged_blobs", evidence(said(), blobs={**BLOBS, "test_k.py": "x"}), CHECKPOINT),
    (
        "the benchmark has changed",
        "unchanged_blobs",
        evidence(thumb(), blobs={**BLOBS, "benchmark_k.py": "x"}),
        CHECKPOINT,
    ),
    ("a file is gone", "unchanged_blobs", evidence(thumb(), blobs=dict(list(BLOBS.items())[1:])), CHECKPOINT),
    ("another import has come", "unchanged_blobs", evidence(thumb(), blobs={**BLOBS, "ops/new.py": "x"}), CHECKPOINT),
    ("another patch", "unchanged_patch", last(thumb(), patch_digest="f" * 64), LAST),
    ("the patch is gone", "unchanged_patch", last(said(), patch_digest=""), LAST),
    ("not all reactions were read", "reactions_read", evidence(said(), reactions=None), CHECKPOINT),
    ("not all comments were read", "comments_read", evidence(thumb(), comments=None), CHECKPOINT),
    ("the files were not read", "blobs_read", evidence(thumb(), blobs=None), CHECKPOINT),
    ("the patch was not read", "patch_read", last(thumb(), patch_digest=None), LAST),
]
TABLES = ("COMMENT_RULES", "VOTE_RULES", "FROZEN_RULES", "READ_RULES")


@pytest.mark.parametrize(
    ("rule", "found", "checkpoint"), [case[1:] for case in FORGED], ids=[case[0] for case in FORGED]
)
def test_stopped_by_its_rule_alone(
    rule: str, found: Evidence, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not isinstance(decide(found, checkpoint), Granted | Rejected)
    for table in TABLES:
        kept = tuple(item for item in getattr(approvals, table) if item.__name__ != rule)
        monkeypatch.setattr(approvals, table, kept)
    assert isinstance(decide(found, checkpoint), Granted)


def test_every_rule_has_its_forgery() -> None:
    rules = {rule.__name__ for table in TABLES for rule in getattr(approvals, table)}
    assert {case[1] for case in FORGED} == rules
    assert len(FORGED) >= 40


@pytest.mark.parametrize(
    ("found", "by", "choice"),
    [
        (evidence(thumb()), MONA, "v2"),
        (evidence(thumb(minutes=0)), MONA, "v2"),
        (evidence(said()), MONA, "v2"),
        (evidence(said("/optimize approve v1")), MONA, "v1"),
        (evidence(thumb(), said("/optimize approve v1", ADA, 6)), ADA, "v1"),
        (evidence(said("/optimize approve v1", ADA, 6), thumb(minutes=7)), MONA, "v2"),
        (evidence(thumb(), said("/optimize approve v1")), MONA, "v1"),
        (evidence(thumb(WRITER), thumb()), MONA, "v2"),
        (evidence(thumb(), thumb(WRITER, "-1"), thumb(HUBOT, "confused")), MONA, "v2"),
        (evidence(thumb(), said("/optimize reject", WRITER)), MONA, "v2"),
        (evidence(thumb(content="heart"), thumb(ADA)), ADA, "v2"),
        (evidence(thumb(), comment=asked(body=BODY.replace("\n", "\r\n") + "\n")), MONA, "v2"),
        (evidence(thumb(), **LATE), MONA, "v2"),  # given in time, seen late
    ],
)
def test_granted(found: Evidence, by: User, choice: str) -> None:
    assert decide(found) == Granted(by=by, choice=choice)


def test_the_last_one() -> None:
    assert decide(last(thumb(), patch_digest=PATCH), LAST) == Granted(by=MONA, choice="")


@pytest.mark.parametrize(
    ("found", "by", "why"),
    [
        (evidence(thumb(content="-1")), MONA, ""),
        (evidence(thumb(content="confused")), MONA, ""),
        (evidence(said("/optimize reject too risky")), MONA, "too risky"),
        (evidence(thumb(), thumb(ADA, "-1")), ADA, ""),
        (evidence(thumb(ADA, "-1", 1), thumb(minutes=9), said(minutes=9)), ADA, ""),
        (evidence(thumb(), thumb(content="-1")), MONA, ""),
        (evidence(thumb(content="-1"), blobs=None), MONA, ""),  # a no needs no files
        (evidence(thumb(content="-1"), comments=None), MONA, ""),
        (evidence(thumb(content="-1"), blobs={}), MONA, ""),
    ],
)
def test_rejected(found: Evidence, by: User, why: str) -> None:
    assert decide(found) == Rejected(by=by, why=why)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (evidence(), Reason.NOBODY),
        (evidence(thumb(content="heart"), thumb(content="eyes"), thumb(content="rocket")), Reason.NOBODY),
        (evidence(thumb(None), said(user=None)), Reason.NOBODY),
        (evidence(said("looks good")), Reason.NOBODY),
        (evidence(said("> /optimize approve")), Reason.NOBODY),
        (evidence(said("`/optimize approve`")), Reason.NOBODY),
        (evidence(said("I would\n/optimize approve")), Reason.NOBODY),
        (evidence(said("/optimize approve v2 maybe")), Reason.NOBODY),
        (evidence(said("/optimize status")), Reason.NOBODY),
        (evidence(said("/optimize reject", WRITER)), Reason.NOBODY),
        (evidence(thumb(), comment=Absence.UNREAD), Reason.COMMENT_UNREAD),
        (evidence(thumb(content="-1"), comment=Absence.UNREAD), Reason.COMMENT_UNREAD),
    ],
)
def test_pending(found: Evidence, reason: Reason) -> None:
    judgement = decide(found)
    assert isinstance(judgement, Pending)
    assert judgement.reason is reason


@pytest.mark.parametrize(
    "found",
    [
        evidence(thumb()),
        evidence(said()),
        evidence(thumb(content="-1")),
        evidence(said("/optimize reject")),
        evidence(thumb(), thumb(ADA, "+1"), thumb(content="-1")),
        evidence(thumb(content="-1"), thumb(ADA)),  # ada's yes must wait: mona's may be a no that counts
        evidence(thumb(), **LATE),  # not even the deadline decides
    ],
)
def test_an_unknown_role_is_neither_yes_nor_no(found: Evidence) -> None:
    judgement = decide(found, u7=None)
    assert isinstance(judgement, Pending)
    assert judgement.reason is Reason.ROLE_UNKNOWN


def test_an_unknown_yes_beside_a_known_one() -> None:
    assert decide(evidence(thumb(), thumb(ADA)), u7=None) == Granted(by=ADA, choice="v2")


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (evidence(thumb(), comment=Absence.DELETED), Reason.COMMENT_DELETED),
        (evidence(**LATE), Reason.EXPIRED),
        (evidence(thumb(WRITER), **LATE), Reason.EXPIRED),
        (evidence(blobs={}), Reason.BLOBS_CHANGED),
    ],
)
def test_refused(found: Evidence, reason: Reason) -> None:
    assert decide(found) == Refused(reason=reason)


def test_says_which_answers_do_not_count() -> None:
    answers = evidence(thumb(WRITER), thumb(HUBOT), thumb(None), said("/optimize approve v9"))
    assert decide(answers) == Pending(
        reason=Reason.NOBODY,
        ignored=(
            "writer: the role does not suffice",
            "hubot: it is no person",
            "mona: v9 cannot be chosen here",
        ),
    )
