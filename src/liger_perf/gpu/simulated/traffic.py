"""What the sampling process answers."""

from __future__ import annotations

import msgspec


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """What an average program of a launch moves.

    `dram_bytes`: what of it must come from or go to device memory, since no tensor is larger than it is: what the
    programs read together beyond that, such as weights, they find in a cache.
    `rounds`: how often the busiest program loaded from the tensor that it loaded from most, that is, how many trips
    through memory it makes one after another.
    """

    loaded_bytes: float
    stored_bytes: float
    dram_bytes: float
    rounds: float
    error: str = ""
