"""Pages of a list, and the Link header that leads from one to the next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import urlencode

DEFAULT, MOST = 30, 100

Item = TypeVar("Item")


@dataclass(frozen=True)
class Slice(Generic[Item]):
    """The items of one page, and the header that goes with it; none where all fits on one page."""

    items: Sequence[Item]
    headers: Mapping[str, str]


def cut(items: Sequence[Item], query: Mapping[str, str], url: str) -> Slice[Item]:
    """The page that `per_page` and `page` ask for; GitHub takes 100 where more is asked for."""
    size = min(max(int(query.get("per_page", DEFAULT)), 1), MOST)
    page = max(int(query.get("page", 1)), 1)
    last = max(math.ceil(len(items) / size), 1)
    targets: dict[str, int] = {}
    if page > 1:
        targets |= {"prev": min(page - 1, last), "first": 1}
    if page < last:
        targets |= {"next": page + 1, "last": last}
    links = [f'<{url}?{urlencode({**query, "page": number})}>; rel="{name}"' for name, number in targets.items()]
    part = items[(page - 1) * size : page * size]
    return Slice(part, {"Link": ", ".join(links)} if links else {})
