"""What the sampling process answers."""

from __future__ import annotations

import msgspec


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """What an average program of a launch moves.

    `rounds`: how often the most-loaded tensor was loaded from, that is, how many trips through memory a program makes
    one after another.
    """

    loaded_bytes: float
    stored_bytes: float
    rounds: float
    error: str = ""
