"""The options of `/optimize KERNEL`: what each is for, what it takes, and how its value is read.

The parser reads by this table and the help is written from it, so that the two cannot differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from liger_perf.bot.commands import Optimize
from liger_perf.measure.scope import parse_scope
from liger_perf.measure.target import parse_target
from liger_perf.model.errors import UsageError
from liger_perf.model.options import MAX_VARIANTS, Goal, Request, TargetGpu

E = TypeVar("E", bound=StrEnum)

LONGEST_BUDGET_S = 24 * 3600

_DURATION = re.compile(r"(?:(\d{1,4})h)?(?:(\d{1,4})m(?:in)?)?(?:(\d{1,5})s)?", re.ASCII | re.IGNORECASE)
_SHA = re.compile(r"[0-9a-f]{40}", re.IGNORECASE)

PHRASES = ("just optimize it", "run without asking me", "optimize autonomously", "autonomously")
"""What a person may write instead of mode=autonomous."""


class Mode(StrEnum):
    INTERACTIVE = "interactive"
    AUTONOMOUS = "autonomous"


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option. `apply` reads a value into the command and raises UsageError where it cannot be read."""

    name: str
    meaning: str
    allowed: str
    default: str
    apply: Callable[[Optimize, str], Optimize]


def _request(command: Optimize, **changes: Any) -> Optimize:
    return msgspec.structs.replace(command, request=msgspec.structs.replace(command.request, **changes))


def _one_of(kind: type[E], text: str, aliases: dict[str, E] | None = None) -> E:
    lowered = text.casefold()
    if aliases and lowered in aliases:
        return aliases[lowered]
    try:
        return kind(lowered)
    except ValueError:
        allowed = ", ".join(kind)
        raise UsageError(f"{text!r} is none of the values.", todo=f"Allowed: {allowed}.") from None


def _goal(command: Optimize, text: str) -> Optimize:
    return _request(command, goal=_one_of(Goal, text))


def _gpu(command: Optimize, text: str) -> Optimize:
    return _request(command, gpu=_one_of(TargetGpu, text, {"auto-detect": TargetGpu.AUTO}))


def _mode(command: Optimize, text: str) -> Optimize:
    return _request(command, autonomous=_one_of(Mode, text) is Mode.AUTONOMOUS)


def _scope(command: Optimize, text: str) -> Optimize:
    parse_scope(text)
    return _request(command, scope=text.strip())


def _target(command: Optimize, text: str) -> Optimize:
    return _request(command, target=parse_target(text).text)


def _variants(command: Optimize, text: str) -> Optimize:
    if text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MAX_VARIANTS:
        return _request(command, max_variants=int(text))
    raise UsageError(f"{text!r} is no such number.", todo=f"Allowed: a whole number from 1 to {MAX_VARIANTS}.")


def _sha(command: Optimize, text: str) -> Optimize:
    if _SHA.fullmatch(text):
        return msgspec.structs.replace(command, sha=text.lower())
    raise UsageError(
        f"{text!r} is no whole commit name; a short one could be made to fit another commit.",
        todo="Allowed: all 40 hexadecimal digits.",
    )


def _budget(command: Optimize, text: str) -> Optimize:
    found = _DURATION.fullmatch(text)
    hours, minutes, seconds = (int(part or 0) for part in found.groups()) if found else (0, 0, 0)
    total = hours * 3600 + minutes * 60 + seconds
    if 60 <= total <= LONGEST_BUDGET_S:
        return msgspec.structs.replace(command, budget_s=total)
    raise UsageError(f"{text!r} is no such time.", todo="Allowed: from 1m to 24h, such as 30m, 2h or 1h30m.")


_DEFAULTS = Request(kernel="")

OPTIONS = (
    Option(
        name="goal",
        meaning="what to improve; the rest is guarded",
        allowed="speed, memory or balanced",
        default=_DEFAULTS.goal,
        apply=_goal,
    ),
    Option(
        name="scope",
        meaning="what the goal covers",
        allowed="general, forward, backward, or sizes such as T=1024,2048",
        default=_DEFAULTS.scope,
        apply=_scope,
    ),
    Option(
        name="gpu",
        meaning="architecture to aim at",
        allowed="auto, ampere, hopper or blackwell",
        default=_DEFAULTS.gpu,
        apply=_gpu,
    ),
    Option(
        name="mode",
        meaning="whether it asks between the stages",
        allowed="interactive or autonomous",
        default=Mode.INTERACTIVE,
        apply=_mode,
    ),
    Option(
        name="variants",
        meaning="how many variants to try at most",
        allowed=f"1 to {MAX_VARIANTS}",
        default=str(_DEFAULTS.max_variants),
        apply=_variants,
    ),
    Option(
        name="target",
        meaning="stop early when met",
        allowed='a sentence in quotes, such as "forward under 0.3ms at hidden_size=4096"',
        default="none",
        apply=_target,
    ),
    Option(name="sha", meaning="commit to work on", allowed="all 40 digits", default="the head", apply=_sha),
    Option(
        name="budget", meaning="GPU time at most", allowed="1m to 24h, such as 30m", default="no limit", apply=_budget
    ),
)

# The names of the specification's fields, which people will try.
ALIASES = {
    "optimization_goal": "goal",
    "target_gpu": "gpu",
    "autonomy": "mode",
    "max_variants": "variants",
    "target_metric": "target",
}


def find_option(name: str) -> Option | None:
    """The option of this name, however it is spelt."""
    key = name.casefold().replace("-", "_")
    return next((option for option in OPTIONS if option.name == ALIASES.get(key, key)), None)
