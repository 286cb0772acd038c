"""What a search found: for which shapes which launch values, as the generated settings function will answer."""

from __future__ import annotations

import msgspec


class Branch(msgspec.Struct, frozen=True, kw_only=True):
    """One `if` of a settings function.

    `shape` bounds parameters of the settings function by name: an exclusive lower and an inclusive upper bound, None
    for no bound. `itemsize` is of the dtype in bytes. `note` tells what was measured, for the comment beside it.
    """

    shape: dict[str, tuple[int | None, int | None]]
    itemsize: int
    values: dict[str, int]
    note: str = ""

    def covers(self, shape: dict[str, int], itemsize: int) -> bool:
        """Whether a call with these values takes the branch."""
        return itemsize == self.itemsize and all(
            (low is None or shape[name] > low) and (high is None or shape[name] <= high)
            for name, (low, high) in self.shape.items()
        )


class Provenance(msgspec.Struct, frozen=True, kw_only=True):
    """Where the branches were measured. No date: the file must not change when nothing else does."""

    gpu: str
    capability: tuple[int, int]
    version: str
