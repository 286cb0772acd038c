"""Errors that end a command. Each says what is wrong, where, and what to do: a traceback is never the answer."""

from __future__ import annotations

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


class LigerPerfError(Exception):
    """What a person is told when a command cannot go on.

    Args:
        what: one sentence, what is wrong.
        where: the file, option or command concerned; empty where there is none.
        todo: what the person can do about it; empty where there is nothing.
        details: further lines, such as the last lines of a crashed script.
    """

    exit_code = EXIT_FAILED

    def __init__(self, what: str, *, where: str = "", todo: str = "", details: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.todo = todo
        self.details = details


class UsageError(LigerPerfError):
    """Malformed input: an unknown kernel, a bad option, a missing device."""

    exit_code = EXIT_USAGE


class PreflightError(LigerPerfError):
    """A check before the start failed; nothing was started."""

    exit_code = EXIT_USAGE


class WorkerError(LigerPerfError):
    """A worker process crashed, hung or answered with an error."""


class StageError(LigerPerfError):
    """A stage cannot be finished, for example because the full tests failed (hard gate)."""
