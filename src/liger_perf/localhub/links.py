"""Addresses, as GitHub writes them into what it answers."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True)
class Links:
    """Addresses of the API and of the pages, which share one host here."""

    base: str
    full_name: str

    def api(self, path: str) -> str:
        return f"{self.base}{path}"

    def repo(self, path: str = "") -> str:
        """Under `/repos/{owner}/{repo}`."""
        return f"{self.base}/repos/{self.full_name}{path}"

    def html(self, path: str = "") -> str:
        """A page of the repository; the hub shows none."""
        return f"{self.base}/{self.full_name}{path}"

    def user(self, login: str, path: str = "") -> str:
        return f"{self.base}/users/{quote(login, safe='[]')}{path}"


def node_id(kind: str, key: int | str) -> str:
    """A stable opaque id, in the style of GitHub's older ones."""
    return base64.b64encode(f"{len(kind):03}:{kind}{key}".encode()).decode()
