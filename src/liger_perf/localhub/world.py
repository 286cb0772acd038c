"""Everything that one hub is made of, handed as a whole to the code that changes it and to the code that shows it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from liger_perf.localhub.actors import Actor, Tokens
from liger_perf.localhub.contract import Contract, github
from liger_perf.localhub.events import Event, Events
from liger_perf.localhub.faults import Faults
from liger_perf.localhub.gitstore import GitStore
from liger_perf.localhub.links import Links
from liger_perf.localhub.records import User
from liger_perf.localhub.refused import Refused
from liger_perf.localhub.signing import Signer
from liger_perf.localhub.state import State


class ContractBroken(AssertionError):
    """A request, an answer or a payload was not as GitHub describes it."""


@dataclass(frozen=True)
class Logged:
    """One request that was answered.

    Args:
        validated: request and answer both follow GitHub's description; False for git's own protocol and for faults.
    """

    method: str
    path: str
    query: str
    status: int
    validated: bool
    login: str | None = None


@dataclass
class World:
    """One repository and all around it.

    Args:
        gates: called before each request is carried out, with the actor, the method and the path; one that raises
            `Refused` answers it. Limits go here.
        witnesses: called after each request was carried out and before its answer is sent, with the same.
        violations: what broke the contract so far; `serve` raises them at its end.
    """

    full_name: str
    state: State
    git: GitStore
    signer: Signer
    private: bool = False
    default_branch: str = "main"
    base_url: str = "http://127.0.0.1"
    contract: Contract = field(default_factory=github)
    tokens: Tokens = field(default_factory=Tokens)
    faults: Faults = field(default_factory=Faults)
    events: Events = field(default_factory=Events)
    log: list[Logged] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    gates: list[Callable[[Actor | None, str, str], None]] = field(default_factory=list)
    witnesses: list[Callable[[Actor | None, str, str], None]] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def links(self) -> Links:
        return Links(self.base_url, self.full_name)

    @property
    def owner(self) -> User:
        return self.state.user(self.full_name.partition("/")[0])

    @property
    def default_ref(self) -> str:
        return f"refs/heads/{self.default_branch}"

    @property
    def default_sha(self) -> str:
        """The commit that the default branch is at."""
        sha = self.git.ref(self.default_ref)
        assert sha is not None, "a hub starts with a commit"
        return sha

    def emit(
        self,
        actor: Actor,
        name: str,
        payload: Mapping[str, Any],
        *,
        ref: str = "",
        sha: str = "",
        run: int | None = None,
    ) -> None:
        """Queue an event, unless GitHub would start nothing for it. `run`: the run that was made for it already.

        Raises:
            ContractBroken: the payload is not as GitHub describes it.
        """
        dispatched = name in {"workflow_dispatch", "repository_dispatch"}
        if not actor.starts_workflows and not dispatched:
            return
        event = Event(name, payload, ref or self.default_ref, sha or self.default_sha, actor.user.login, run)
        error = self.contract.payload_error(event.described_as, payload)
        if error is not None:
            self.violations.append(f"payload of {event.described_as}: {error}")
            raise ContractBroken(self.violations[-1])
        self.events.append(event)

    def live(self, user: User) -> User:
        """The user as it stands now: a role counts while it is held."""
        try:
            return self.state.user(user.login)
        except Refused:
            return user

    def check(self) -> None:
        """Nothing, while no contract was broken.

        Raises:
            ContractBroken: naming every case.
        """
        if self.violations:
            raise ContractBroken("\n".join(self.violations))
