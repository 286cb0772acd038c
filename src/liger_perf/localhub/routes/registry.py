"""How an operation is declared, found and answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote

from liger_perf.localhub.actors import Actor, Needs
from liger_perf.localhub.pages import Slice, cut
from liger_perf.localhub.world import World

REPOSITORY = "/repos/{owner}/{repo}"
MANY_SEGMENTS = frozenset({"basehead", "branch", "path", "ref"})

Item = TypeVar("Item")


@dataclass(frozen=True)
class Answer:
    """What an operation answers; `body` None is an answer without one."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Ask:
    """A request that was understood, authorised and validated.

    Args:
        values: what stands in the braces of the path.
        query: the first value of each parameter.
        url: the whole address without the query, for links to further pages.
    """

    world: World
    actor: Actor | None
    values: Mapping[str, str]
    query: Mapping[str, str]
    body: Mapping[str, Any]
    url: str

    @property
    def by(self) -> Actor:
        """The actor of an operation that needs one."""
        assert self.actor is not None
        return self.actor

    def number(self, name: str) -> int:
        """A value of the path that is a number; the description made sure of that."""
        return int(self.values[name])

    def listed(self, items: Sequence[Item], show: Callable[[World, Item], Any], name: str = "") -> Answer:
        """One page of a list; with `name`, wrapped as Actions and checks wrap theirs."""
        part: Slice[Item] = cut(items, self.query, self.url)
        shown = [show(self.world, item) for item in part.items]
        body = {"total_count": len(items), name: shown} if name else shown
        return Answer(200, body, part.headers)


Handler: TypeAlias = Callable[[Ask], Answer]


@dataclass(frozen=True)
class Route:
    """An operation: `verb` and `template` as the description writes them."""

    verb: str
    template: str
    needs: Needs
    handler: Handler

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        parts = re.split(r"\{(\w+)\}", self.template)
        regex = "".join(
            re.escape(part) if index % 2 == 0 else f"(?P<{part}>{'.+' if part in MANY_SEGMENTS else '[^/]+'})"
            for index, part in enumerate(parts)
        )
        return re.compile(regex)

    def match(self, path: str) -> dict[str, str] | None:
        """The values in the path, unquoted; `path` is as it came, quoted."""
        hit = self.pattern.fullmatch(path)
        return {name: unquote(value) for name, value in hit.groupdict().items()} if hit else None


ROUTES: list[Route] = []


def route(verb: str, path: str, needs: Needs | None = None, *, outside: bool = False) -> Callable[[Handler], Handler]:
    """Declare a handler. Paths are below the repository unless `outside`."""

    def declare(handler: Handler) -> Handler:
        template = path if outside else REPOSITORY + path
        ROUTES.append(Route(verb, template, needs or Needs(), handler))
        return handler

    return declare


def find(verb: str, path: str) -> tuple[Route, dict[str, str]] | None:
    """The route for a request; of several the one with fewest values, then the longest, since it says most."""
    hits = [(one, values) for one in ROUTES if one.verb == verb and (values := one.match(path)) is not None]
    return min(hits, key=lambda hit: (len(hit[1]), -len(hit[0].template)), default=None)
