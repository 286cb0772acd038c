"""Who may do what, by the live role. An answer that GitHub did not give is never a yes and never a no."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import msgspec

from liger_perf.bot.commands import Approve, Cancel, Command, Help, List, Optimize, Reject, Resume, Status
from liger_perf.bot.events import User
from liger_perf.model.options import DeviceKind

Roles = Mapping[int, str | None]
"""`role_name` by user id; None, or no entry, where GitHub did not answer."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What a repository sets.

    Attributes:
        bot: the account that the bot writes as.
        approve_roles, start_roles, ask_roles: role names that may approve; start and stop; ask for status and help.
        checkpoint_days: how long a checkpoint waits.
        attempts: how often a stage is started before a person has to look.
        simulated_pull_requests: whether a simulated gain may become a pull request; for test servers only.
        device: what sessions measure on.
        label: put on a thread when a session starts there; empty for none.
    """

    bot: User
    approve_roles: frozenset[str] = frozenset({"maintain", "admin"})
    start_roles: frozenset[str] = frozenset({"write", "maintain", "admin"})
    ask_roles: frozenset[str] = frozenset({"triage", "write", "maintain", "admin"})
    checkpoint_days: int = 14
    attempts: int = 3
    simulated_pull_requests: bool = False
    device: DeviceKind = DeviceKind.CUDA
    label: str = ""


class Thread(msgspec.Struct, frozen=True, kw_only=True):
    """Where a command was written. `from_fork` None: GitHub did not say. `head` is a pull request's, now."""

    number: int
    is_pull_request: bool = False
    from_fork: bool | None = False
    head: str = ""


class Allowed(msgspec.Struct, frozen=True, kw_only=True):
    """Go on. `final_waits`: the last checkpoint needs an approver, whatever the mode."""

    final_waits: bool = True


class Denied(msgspec.Struct, frozen=True, kw_only=True):
    """No; `needs` are the roles that may."""

    needs: tuple[str, ...]


class Unfit(msgspec.Struct, frozen=True, kw_only=True):
    """The person may, but not on this commit."""

    why: str


class Undecided(msgspec.Struct, frozen=True, kw_only=True):
    """GitHub did not say what must be known."""

    what: str


Verdict = Allowed | Denied | Unfit | Undecided


def may(command: Command | None, user: User, roles: Roles, thread: Thread, policy: Policy) -> Verdict:
    """Whether `user` may have `command` carried out in `thread`. None is a comment that could not be read."""
    allowed = _allowed_roles(command, policy)
    if not user.is_person:
        return Denied(needs=tuple(sorted(allowed)))
    role = roles.get(user.id)
    if role is None:
        return Undecided(what=f"the role of {user.login}")
    if role not in allowed:
        return Denied(needs=tuple(sorted(allowed)))
    if isinstance(command, Optimize):
        return _commit(command, thread, approver=role in policy.approve_roles)
    return Allowed()


def _allowed_roles(command: Command | None, policy: Policy) -> frozenset[str]:
    match command:
        case Approve() | Reject():
            return policy.approve_roles
        case Optimize() | Cancel() | Resume():
            return policy.start_roles
        case Status() | List() | Help() | None:
            return policy.ask_roles
        case _:
            assert_never(command)


def _commit(command: Optimize, thread: Thread, *, approver: bool) -> Verdict:
    """Code of a fork, and commits that someone names, run on the repository's own machine."""
    if thread.is_pull_request and thread.from_fork is None:
        return Undecided(what="whether the pull request comes from a fork")
    if thread.is_pull_request and command.sha and command.sha != thread.head:
        return Unfit(why=f"the head of the pull request is {thread.head or 'unknown'}, not {command.sha}")
    if thread.is_pull_request and thread.from_fork and not (approver and command.sha):
        return Unfit(
            why="the pull request comes from a fork: someone who may approve has to name the commit, as sha=<40 digits>"
        )
    if not thread.is_pull_request and command.sha and not approver:
        # Every commit of every fork can be reached by its name.
        return Unfit(why="only someone who may approve can name a commit")
    return Allowed(final_waits=not (command.request.autonomous and approver))
