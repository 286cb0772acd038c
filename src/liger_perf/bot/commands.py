"""What a person can ask the bot for: a closed union, whether it was written in a comment or given to the workflow."""

from __future__ import annotations

import msgspec

from liger_perf.model.options import Request


class Optimize(msgspec.Struct, frozen=True, kw_only=True):
    """Start a session. `sha` is the whole commit to work on, empty for the head; `budget_s` None means no limit."""

    request: Request
    sha: str = ""
    budget_s: int | None = None


class Approve(msgspec.Struct, frozen=True, kw_only=True):
    """Approve what the session waits for. `choice` is a variant's name; empty takes what was proposed."""

    choice: str = ""


class Reject(msgspec.Struct, frozen=True, kw_only=True):
    """Say no at a checkpoint. `why` is the person's own text."""

    why: str = ""


class Status(msgspec.Struct, frozen=True):
    """Where the thread's session stands."""


class Cancel(msgspec.Struct, frozen=True):
    """Stop the thread's session."""


class Resume(msgspec.Struct, frozen=True):
    """Go on with the thread's session after it stopped."""


class List(msgspec.Struct, frozen=True):
    """Which kernels can be optimised."""


class Help(msgspec.Struct, frozen=True):
    """What can be written."""


Command = Optimize | Approve | Reject | Status | Cancel | Resume | List | Help


class ParseError(msgspec.Struct, frozen=True, kw_only=True):
    """A comment that is meant for the bot and cannot be read.

    Attributes:
        read: the words that were read.
        problem: one sentence, what is wrong with them.
        allowed: what could stand there instead.
        near: names that may have been meant, the likeliest first.
    """

    read: str
    problem: str
    allowed: str
    near: tuple[str, ...] = ()
