"""Faults that a test switches on: what GitHub, or the network before it, does on a bad day."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from urllib.parse import parse_qs

Kind: TypeAlias = Literal["instead", "after", "truncate"]


@dataclass
class Fault:
    """Strikes requests of this method whose path the pattern is found in.

    Args:
        kind: `instead`: nothing is done; `after`: it is done, but the answer says otherwise; `truncate`: it is done,
            half of the answer arrives.
        skip: how many matching requests get through first.
        times: how many are struck then.
        page: strike only requests for this page of a list.
    """

    kind: Kind
    status: int
    message: str
    method: str = ""
    path: str = ""
    skip: int = 0
    times: int = 1
    page: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def strikes(self, method: str, path: str, query: str) -> bool:
        """Is this the request? Counts it."""
        if self.times <= 0 or (self.method and method != self.method) or not re.search(self.path, path):
            return False
        if self.page is not None and parse_qs(query).get("page", ["1"]) != [str(self.page)]:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class Faults:
    """The faults of a hub; a path is a regular expression, looked for anywhere in the request's path."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []

    def add(self, fault: Fault) -> Fault:
        """Switch a fault on that none of the methods below makes."""
        self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Switch all of them off."""
        self._faults.clear()

    def strike(self, method: str, path: str, query: str) -> Fault | None:
        """The first fault that strikes this request."""
        return next((fault for fault in self._faults if fault.strikes(method, path, query)), None)

    def bad_gateway_after(self, method: str = "POST", path: str = "", *, times: int = 1) -> Fault:
        """502 although the effect happened: whoever posts again at once posts twice."""
        return self.add(Fault("after", 502, "Server Error", method, path, times=times))

    def unavailable(self, method: str = "", path: str = "", *, times: int = 1) -> Fault:
        """502, and nothing happened."""
        return self.add(Fault("instead", 502, "Server Error", method, path, times=times))

    def secondary_limit(self, method: str = "", path: str = "", *, retry_after: int = 60, times: int = 1) -> Fault:
        """403 with Retry-After."""
        message = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        headers = {"Retry-After": str(retry_after)}
        return self.add(Fault("instead", 403, message, method, path, times=times, headers=headers))

    def too_many(self, method: str = "", path: str = "", *, retry_after: int = 60, times: int = 1) -> Fault:
        """429."""
        headers = {"Retry-After": str(retry_after)}
        return self.add(Fault("instead", 429, "Too Many Requests", method, path, times=times, headers=headers))

    def truncated(self, method: str = "GET", path: str = "", *, times: int = 1) -> Fault:
        """The connection ends in the middle of the body."""
        return self.add(Fault("truncate", 200, "", method, path, times=times))

    def unauthorised_after(self, requests: int) -> Fault:
        """401 from the request on that follows so many: the token has expired."""
        return self.add(Fault("instead", 401, "Bad credentials", skip=requests, times=1_000_000))

    def missing_page(self, page: int, path: str = "", *, times: int = 1) -> Fault:
        """404 for one page of a list."""
        return self.add(Fault("instead", 404, "Not Found", "GET", path, times=times, page=page))
