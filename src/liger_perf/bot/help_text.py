"""The help, written from the grammar: a command that is not described does not type-check."""

from __future__ import annotations

from typing import assert_never, get_args

from liger_perf.bot.authority import Policy
from liger_perf.bot.commands import Approve, Cancel, Command, Help, List, Optimize, Reject, Resume, Status
from liger_perf.bot.escape import code, plain
from liger_perf.bot.grammar import OPTIONS, PHRASES
from liger_perf.model.options import Request

COMMANDS: tuple[Command, ...] = tuple(
    Optimize(request=Request(kernel="KERNEL")) if kind is Optimize else kind() for kind in get_args(Command)
)
"""One of each kind."""


def usage(command: Command) -> tuple[str, str]:
    """How a command is written, and what it does."""
    match command:
        case Optimize():
            return (
                "/optimize KERNEL [name=value …]",
                "profile a kernel, try variants, open a pull request with the best",
            )
        case Approve():
            return "/optimize approve [vN]", "go on from what I ask, with the variant named or the one proposed"
        case Reject():
            return "/optimize reject [why]", "stop at what I ask"
        case Status():
            return "/optimize status", "where this thread's session stands"
        case Cancel():
            return "/optimize cancel", "stop this thread's session"
        case Resume():
            return "/optimize resume", "go on after a stop; nothing recorded is done twice"
        case List():
            return "/optimize list", "the kernels of this repository that can be optimised"
        case Help():
            return "/optimize help", "this text"
        case _:
            assert_never(command)


def help_body(policy: Policy) -> str:
    """Commands, options, an example, and who may."""
    commands = [f"| `{form}` | {meaning} |" for form, meaning in map(usage, COMMANDS)]
    options = [f"| `{item.name}` | {item.meaning} | {item.allowed} | {item.default} |" for item in OPTIONS]
    phrases = ", ".join(f"“{phrase}”" for phrase in PHRASES)
    return "\n".join(
        [
            "Commands are the first line of a new comment, as plain text.",
            "",
            "| write | what happens |",
            "| --- | --- |",
            *commands,
            "",
            "| option | meaning | allowed | default |",
            "| --- | --- | --- | --- |",
            *options,
            "",
            f"`--name value` means the same, and {phrases} mean `mode=autonomous`. For example:",
            "",
            "```",
            '/optimize rms_norm goal=speed scope=backward variants=4 target="forward under 0.3ms at hidden_size=4096"',
            "```",
            "",
            f"Starting and stopping: {roles_text(policy.start_roles)}. Approving: {roles_text(policy.approve_roles)}, "
            "by 👍 on my comment or by a command; 👎 rejects.",
        ]
    )


def roles_text(roles: frozenset[str] | tuple[str, ...]) -> str:
    """Role names in the order of what they may."""
    order = ["read", "triage", "write", "maintain", "admin"]
    known = sorted(roles, key=lambda role: (order.index(role) if role in order else len(order), role))
    return ", ".join(code(role) for role in known) or "nobody"


def near_text(near: tuple[str, ...]) -> str:
    """What may have been meant; empty for nothing."""
    return f"Did you mean {' or '.join(code(name) for name in near)}?" if near else ""


def allowed_text(allowed: str) -> str:
    return f"Allowed: {plain(allowed.removeprefix('Allowed:').strip())}"
