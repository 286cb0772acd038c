"""Who asks, and what they may: tokens, the permissions of a token, the role of a person."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from liger_perf.localhub.records import Role, User
from liger_perf.localhub.refused import bad_credentials, forbidden, unauthenticated

Level: TypeAlias = Literal["read", "write"]
Kind: TypeAlias = Literal["person", "actions", "app"]

SCOPES = ("actions", "checks", "contents", "issues", "metadata", "pull_requests", "workflows")


@dataclass(frozen=True)
class Actor:
    """A user, acting through the page or with a token.

    Args:
        kind: `actions` is a job's GITHUB_TOKEN, `app` the token of a GitHub App's installation.
        permissions: by scope; a person's token has all of them unless a test takes some away.
    """

    user: User
    kind: Kind = "person"
    permissions: Mapping[str, Level] = field(default_factory=lambda: dict.fromkeys(SCOPES, "write"))

    @property
    def starts_workflows(self) -> bool:
        """What GITHUB_TOKEN does starts no workflow, dispatches apart."""
        return self.kind != "actions"

    @property
    def signs(self) -> bool:
        """GitHub signs the commits that bots make through the API, and no person's."""
        return self.kind != "person"


@dataclass(frozen=True)
class Needs:
    """What an operation asks for.

    Args:
        scopes: one of these is enough; a comment on a pull request falls under issues and under pull_requests.
        role: what a person needs beside; None where everybody may who can read.
        apps_only: no person may, whatever the role.
    """

    scopes: tuple[str, ...] = ("metadata",)
    level: Level = "read"
    role: Role | None = None
    apps_only: bool = False


class Tokens:
    """The tokens that the hub accepts."""

    def __init__(self) -> None:
        self._actors: dict[str, Actor] = {}

    def add(self, token: str, actor: Actor) -> str:
        self._actors[token] = actor
        return token

    def revoke(self, token: str) -> None:
        """As at the end of a job, or after an App token's hour."""
        self._actors.pop(token, None)

    def actor(self, authorization: str | None) -> Actor | None:
        """Who sends this Authorization header; None without one.

        Raises:
            Refused: nobody, 401.
        """
        if not authorization:
            return None
        scheme, _, value = authorization.partition(" ")
        if scheme.lower() == "basic":
            value = _password(value)
        elif scheme.lower() not in {"bearer", "token"}:
            raise bad_credentials()
        try:
            return self._actors[value.strip()]
        except KeyError:
            raise bad_credentials() from None


def _password(value: str) -> str:
    """The token of `x-access-token:<token>`, as git sends it."""
    try:
        return base64.b64decode(value, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        raise bad_credentials() from None


def authorise(actor: Actor | None, needs: Needs, user: User | None) -> None:
    """Nothing, where the operation is allowed.

    Args:
        user: the actor's user as it stands now: a role that was taken away counts at once.

    Raises:
        Refused: 401 without a token where one is needed, else 403.
    """
    if actor is None or user is None:
        if needs.level == "write" or needs.role is not None:
            raise unauthenticated()
        return
    bot = actor.kind != "person"
    by_whom = "integration" if bot else "personal access token"
    if needs.apps_only and not bot:
        raise forbidden("You must authenticate via a GitHub App.")
    held = {scope: actor.permissions.get(scope) for scope in needs.scopes}
    enough = {"read": {"read", "write"}, "write": {"write"}}[needs.level]
    if needs.scopes != ("metadata",) and not any(level in enough for level in held.values()):
        raise forbidden(f"Resource not accessible by {by_whom}")
    if needs.role is not None and not bot and not user.may(needs.role):
        raise forbidden("Must have admin rights to Repository." if needs.role == "admin" else
                        f"Must have {needs.role} access to Repository.")  # fmt: skip
