"""What a workflow run gets: the name of the event, its payload, and the commit that it runs on."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Event:
    """One event that starts workflows.

    Args:
        name: as `GITHUB_EVENT_NAME` says.
        payload: what stands in the file of `GITHUB_EVENT_PATH`.
        ref: `GITHUB_REF`. A comment runs the workflow of the default branch, whatever it stands under.
        sha: `GITHUB_SHA`.
        run: id of the run that GitHub made for it at once; None where the runner makes one.
    """

    name: str
    payload: Mapping[str, Any]
    ref: str
    sha: str
    actor: str
    run: int | None = None

    @property
    def action(self) -> str | None:
        action = self.payload.get("action")
        return action if isinstance(action, str) else None

    @property
    def described_as(self) -> str:
        """The name under which GitHub's description holds the payload's schema."""
        name = self.name.replace("_", "-")
        if self.name == "repository_dispatch":
            return "repository-dispatch-sample.collected"
        return f"{name}-{self.action}" if self.action else name


Events: TypeAlias = deque[Event]
