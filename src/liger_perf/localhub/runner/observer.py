"""What the requests of one job tell: how many there were, and the moment at which a test wants the job dead."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from liger_perf.localhub.actors import Actor
from liger_perf.localhub.refused import Refused


@dataclass(frozen=True)
class Kill:
    """Kill the job at its n-th request to the API (git's own do not count).

    Args:
        requests: which request, counted from 1.
        carried_out: False: before anything is done for it; True: it is done, and no answer arrives.
        method: count only requests with this method, and
        path: only those whose path this pattern is found in.
    """

    requests: int
    carried_out: bool = False
    method: str = ""
    path: str = ""

    def counts(self, method: str, path: str) -> bool:
        return self.method in ("", method) and re.search(self.path, path) is not None


class Observer:
    """Sees every request of the hub; counts those that carry the job's token."""

    def __init__(self, actor: Actor | None, kill: Kill | None, do_kill: Callable[[], None]) -> None:
        self.requests = 0
        self.killed = False
        self._actor = actor
        self._kill = kill
        self._do_kill = do_kill
        self._counted = 0

    def gate(self, actor: Actor | None, method: str, path: str) -> None:
        """Before a request is carried out.

        Raises:
            Refused: the job was killed, and nothing is done for it any more.
        """
        if actor is None or actor is not self._actor:
            return
        if self.killed:
            raise Refused(502, "The job was killed.")
        self.requests += 1
        if self._kill is None or not self._kill.counts(method, path):
            return
        self._counted += 1
        if self._counted == self._kill.requests and not self._kill.carried_out:
            self._strike()
            raise Refused(502, "The job was killed.")

    def witness(self, actor: Actor | None, method: str, path: str) -> None:
        """After a request was carried out."""
        kill = self._kill
        if actor is None or actor is not self._actor or kill is None or self.killed:
            return
        if kill.carried_out and self._counted == kill.requests and kill.counts(method, path):
            self._strike()

    def _strike(self) -> None:
        self.killed = True
        self._do_kill()
