"""The scope of a request: everything, one pass, or some sizes. What is outside is a non-target and stays guarded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import assert_never

import msgspec

from liger_perf.model import points
from liger_perf.model.errors import UsageError

_SIZES = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*=\s*(?P<values>[^,=\s]+(?:\s*,\s*[^,=\s]+)*)")
_ALLOWED = 'general, forward, backward, or <x name>=<value>[,<value>…], for example "T=1024,2048"'


class ScopeKind(StrEnum):
    GENERAL = "general"
    PASS = "pass"
    SIZES = "sizes"


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What the target covers. `mode` is set for PASS; `x_name` and `xs` for SIZES."""

    kind: ScopeKind = ScopeKind.GENERAL
    mode: str = ""
    x_name: str = ""
    xs: tuple[str, ...] = ()

    def includes(self, point: str, mode: str) -> bool:
        """Whether the measurement of pass `mode` at the point with this key is part of the target."""
        match self.kind:
            case ScopeKind.GENERAL:
                return True
            case ScopeKind.PASS:
                return mode == self.mode
            case ScopeKind.SIZES:
                name = points.parse(point)
                return name.x_name == self.x_name and any(points.same_value(name.x, x) for x in self.xs)
            case _:
                assert_never(self.kind)


def parse_scope(text: str) -> Scope:
    """Read a scope.

    Raises:
        UsageError: the text is none of the allowed forms.
    """
    stripped = text.strip()
    if stripped == "general":
        return Scope()
    if stripped in ("forward", "backward"):
        return Scope(kind=ScopeKind.PASS, mode=stripped)
    found = _SIZES.fullmatch(stripped)
    if found is None:
        raise UsageError(f"The scope {text!r} cannot be read.", where="scope", todo=f"Allowed: {_ALLOWED}.")
    values = tuple(value.strip() for value in found["values"].split(","))
    return Scope(kind=ScopeKind.SIZES, x_name=found["name"], xs=values)


def require_match(scope: Scope, measured: Iterable[tuple[str, str]]) -> None:
    """Refuse a scope that covers nothing that was measured; `measured` holds (point key, pass).

    Raises:
        UsageError: no measurement lies within the scope.
    """
    seen = list(measured)
    if any(scope.includes(point, mode) for point, mode in seen):
        return
    names = [points.parse(point) for point, _ in seen]
    sizes = ", ".join(dict.fromkeys(f"{name.x_name}={name.x}" for name in names))
    modes = ", ".join(dict.fromkeys(mode for _, mode in seen))
    raise UsageError(
        "The scope covers nothing that the benchmark measures.",
        where="scope",
        todo=f"Measured were the passes {modes or 'none'} at {sizes or 'no sizes'}.",
    )
