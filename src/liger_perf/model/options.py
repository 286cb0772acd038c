"""What a person asked for: the fields of the request, as closed types."""

from __future__ import annotations

from enum import StrEnum
from typing import assert_never

import msgspec

MAX_VARIANTS = 64
"""More than this is a mistake in typing, not a budget."""


class Goal(StrEnum):
    SPEED = "speed"
    MEMORY = "memory"
    BALANCED = "balanced"


class TargetGpu(StrEnum):
    AUTO = "auto"
    AMPERE = "ampere"
    HOPPER = "hopper"
    BLACKWELL = "blackwell"


class DeviceKind(StrEnum):
    CUDA = "cuda"
    SIMULATED = "simulated"


class DeviceChoice(StrEnum):
    """What a person can ask for; `auto` takes the real device where there is one."""

    AUTO = "auto"
    CUDA = "cuda"
    SIMULATED = "simulated"


def device_kind(choice: DeviceChoice, *, nvidia: bool) -> DeviceKind:
    """The device that is meant, on a machine with or without an NVIDIA GPU."""
    match choice:
        case DeviceChoice.CUDA:
            return DeviceKind.CUDA
        case DeviceChoice.SIMULATED:
            return DeviceKind.SIMULATED
        case DeviceChoice.AUTO:
            return DeviceKind.CUDA if nvidia else DeviceKind.SIMULATED
        case _:
            assert_never(choice)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One optimisation of one kernel, as asked for.

    Attributes:
        scope: "general", "forward", "backward", or "<x name>=<value>[,<value>…]".
        max_variants: variants handed in by techniques, not inner trials of a search.
        target: a concrete target such as "forward under 0.3ms at hidden_size=4096"; empty for none.
    """

    kernel: str
    goal: Goal = Goal.BALANCED
    scope: str = "general"
    gpu: TargetGpu = TargetGpu.AUTO
    autonomous: bool = False
    max_variants: int = 8
    target: str = ""
    device: DeviceKind = DeviceKind.CUDA


class KernelPaths(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one kernel, relative to the root of the repository."""

    kernel: str
    ops: str
    benchmark: str
    test: str
