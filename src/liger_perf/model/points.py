"""Names of points: what `Point.key` put together, taken apart again."""

from __future__ import annotations

import re

import msgspec

# metric/mode/provider x_name=x [cell]; a provider or a label may hold anything but the space before x_name.
_KEY = re.compile(
    r"(?P<metric>[^/]*)/(?P<mode>[^/]*)/(?P<provider>.*?) (?P<x_name>\w*)=(?P<x>.*?)(?: \[(?P<cell>.*)\])?"
)


class PointName(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of a point's key."""

    metric: str
    mode: str
    provider: str
    x_name: str
    x: str
    cell: str = ""


def parse(key: str) -> PointName:
    """Take a key apart.

    Raises:
        ValueError: `key` was not made by `Point.key`.
    """
    found = _KEY.fullmatch(key)
    if found is None:
        raise ValueError(f"not the key of a point: {key!r}")
    return PointName(**{name: text or "" for name, text in found.groupdict().items()})


def same_value(one: str, other: str) -> bool:
    """Whether two x values are equal as text or as numbers ("1024" and "1024.0")."""
    if one == other:
        return True
    try:
        return float(one) == float(other)
    except ValueError:
        return False
