from __future__ import annotations

import msgspec
import pytest

from liger_perf.bot.authority import Allowed, Denied, Policy, Thread, Undecided, Unfit, Verdict, may
from liger_perf.bot.commands import Approve, Cancel, Command, Help, List, Optimize, Reject, Resume, Status
from liger_perf.bot.events import User
from liger_perf.model.options import Request

MONA = User(login="mona", id=7)
POLICY = Policy(bot=User(login="github-actions[bot]", id=1, type="Bot"))
HEAD, OTHER = "a" * 40, "b" * 40
ISSUE = Thread(number=5)
OWN = Thread(number=6, is_pull_request=True, from_fork=False, head=HEAD)
FORK = Thread(number=7, is_pull_request=True, from_fork=True, head=HEAD)
ROLES = ("none", "read", "triage", "write", "maintain", "admin", "custom")


def optimize(*, sha: str = "", autonomous: bool = False) -> Optimize:
    return Optimize(request=Request(kernel="rms_norm", autonomous=autonomous), sha=sha)


def decide(command: Command | None, role: str | None, thread: Thread = ISSUE, policy: Policy = POLICY) -> Verdict:
    return may(command, MONA, {MONA.id: role}, thread, policy)


@pytest.mark.parametrize(
    ("command", "roles"),
    [
        (optimize(), {"write", "maintain", "admin"}),
        (Cancel(), {"write", "maintain", "admin"}),
        (Resume(), {"write", "maintain", "admin"}),
        (Approve(), {"maintain", "admin"}),
        (Reject(), {"maintain", "admin"}),
        (Status(), {"triage", "write", "maintain", "admin"}),
        (List(), {"triage", "write", "maintain", "admin"}),
        (Help(), {"triage", "write", "maintain", "admin"}),
        (None, {"triage", "write", "maintain", "admin"}),
    ],
)
def test_roles(command: Command | None, roles: set[str]) -> None:
    assert {role for role in ROLES if isinstance(decide(command, role), Allowed)} == roles
    assert all(isinstance(decide(command, role), Allowed | Denied) for role in ROLES)


def test_a_repository_may_allow_others() -> None:
    policy = msgspec.structs.replace(POLICY, approve_roles=frozenset({"custom"}))
    assert decide(Approve(), "custom", policy=policy) == Allowed()
    assert decide(Approve(), "admin", policy=policy) == Denied(needs=("custom",))


def test_an_unknown_role_is_neither_yes_nor_no() -> None:
    assert decide(Approve(), None) == Undecided(what="the role of mona")
    assert may(optimize(), MONA, {}, ISSUE, POLICY) == Undecided(what="the role of mona")


def test_a_program_may_nothing() -> None:
    program = User(login="x[bot]", id=3, type="Bot")
    assert isinstance(may(Help(), program, {3: "admin"}, ISSUE, POLICY), Denied)


@pytest.mark.parametrize(
    ("role", "autonomous", "waits"),
    [("write", True, True), ("write", False, True), ("admin", False, True), ("maintain", True, False)],
)
def test_only_an_approver_goes_through_to_the_pull_request(role: str, autonomous: bool, waits: bool) -> None:
    assert decide(optimize(autonomous=autonomous), role) == Allowed(final_waits=waits)


@pytest.mark.parametrize(
    ("role", "sha", "thread", "kind"),
    [
        ("write", "", OWN, Allowed),
        ("write", HEAD, OWN, Allowed),
        ("admin", OTHER, OWN, Unfit),  # the head has moved
        ("write", "", FORK, Unfit),
        ("write", HEAD, FORK, Unfit),
        ("admin", "", FORK, Unfit),
        ("admin", HEAD, FORK, Allowed),
        ("admin", OTHER, FORK, Unfit),
        ("write", OTHER, ISSUE, Unfit),
        ("admin", OTHER, ISSUE, Allowed),
        ("admin", HEAD, msgspec.structs.replace(FORK, from_fork=None), Undecided),
        ("admin", HEAD, msgspec.structs.replace(FORK, head=""), Unfit),
    ],
)
def test_commits(role: str, sha: str, thread: Thread, kind: type) -> None:
    assert isinstance(decide(optimize(sha=sha), role, thread), kind)
