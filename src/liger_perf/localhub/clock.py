"""Time, injected: tests and recordings never read the machine's clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

Clock: TypeAlias = Callable[[], datetime]

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class SteppingClock:
    """A second goes by at each reading, so that no two things happen at once; tests add more with `advance`."""

    def __init__(self, start: datetime = START, step: float = 1.0) -> None:
        self._now = start
        self._step = timedelta(seconds=step)

    def __call__(self) -> datetime:
        self._now += self._step
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time go by."""
        self._now += timedelta(seconds=seconds)


def utc_now() -> datetime:
    """The machine's clock, for a demonstration that people watch."""
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    """As GitHub writes a time: whole seconds, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
