"""What a GitHub repository holds, beside git, as frozen values: a change makes a new value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias

Role: TypeAlias = Literal["read", "triage", "write", "maintain", "admin"]
ROLES: tuple[Role, ...] = ("read", "triage", "write", "maintain", "admin")

REACTIONS = ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes")
Cancelling: TypeAlias = Literal["no", "asked", "forced"]
BODY_LIMIT = 65536  # characters of an issue's or a comment's body


@dataclass(frozen=True)
class User:
    """A person or a bot.

    Args:
        role: what the repository grants; None to somebody who is no collaborator.
        custom_role: the name of a custom role that is built on `role`.
        association: what GitHub calls `author_association`; MEMBER does not imply any role.
    """

    id: int
    login: str
    kind: Literal["User", "Bot"] = "User"
    role: Role | None = None
    custom_role: str | None = None
    association: str = "NONE"

    @property
    def role_name(self) -> str:
        """As `/collaborators/{username}/permission` names it; everybody may read a public repository."""
        return self.custom_role or self.role or "read"

    @property
    def legacy_permission(self) -> str:
        """The older field: maintain shows as write, triage as read."""
        return {"maintain": "write", "triage": "read"}.get(self.role or "read", self.role or "read")

    @property
    def email(self) -> str:
        return f"{self.id}+{self.login}@users.noreply.github.com"

    def may(self, role: Role) -> bool:
        """Does the user have this role or a higher one?"""
        return self.role is not None and ROLES.index(self.role) >= ROLES.index(role)


@dataclass(frozen=True)
class Label:
    id: int
    name: str
    color: str
    description: str | None = None


@dataclass(frozen=True)
class Pull:
    """What makes an issue a pull request. The head of a closed one no longer follows its branch.

    Args:
        head_owner: login of the fork's owner; the repository's own for a branch of it.
    """

    id: int
    base_ref: str
    base_sha: str
    head_ref: str
    head_sha: str
    head_owner: str
    draft: bool = False
    maintainer_can_modify: bool = False


@dataclass(frozen=True)
class Issue:
    """An issue, or a pull request where `pull` is there."""

    id: int
    number: int
    title: str
    body: str | None
    author: User
    created_at: datetime
    updated_at: datetime
    labels: tuple[str, ...] = ()
    state: Literal["open", "closed"] = "open"
    state_reason: str | None = None
    closed_at: datetime | None = None
    closed_by: User | None = None
    locked: bool = False
    pull: Pull | None = None


@dataclass(frozen=True)
class Comment:
    """A comment on an issue or pull request; an edit changes body and `updated_at`, never the author."""

    id: int
    issue: int
    author: User
    body: str
    created_at: datetime
    updated_at: datetime
    app: str | None = None

    @property
    def edited(self) -> bool:
        return self.updated_at != self.created_at


@dataclass(frozen=True)
class Reaction:
    """A user has at most one of each content on a comment."""

    id: int
    comment: int
    user: User
    content: str
    created_at: datetime


@dataclass(frozen=True)
class CheckRun:
    id: int
    name: str
    head_sha: str
    status: str
    started_at: datetime
    conclusion: str | None = None
    completed_at: datetime | None = None
    details_url: str | None = None
    external_id: str = ""
    output: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Workflow:
    """A file under .github/workflows that a test made known."""

    id: int
    name: str
    path: str
    created_at: datetime

    @property
    def file(self) -> str:
        return self.path.rsplit("/", 1)[1]


@dataclass(frozen=True)
class Run:
    """A run of a workflow. The hub starts none of the jobs: `runner` does, or whoever else drives the hub.

    Args:
        cancelling: somebody asked for an end while the job ran; the runner ends it, `forced` at once.
    """

    id: int
    number: int
    workflow: int
    event: str
    branch: str
    head_sha: str
    actor: User
    created_at: datetime
    updated_at: datetime
    status: str = "queued"
    conclusion: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    cancelling: Cancelling = "no"
    attempt: int = 1
