"""The connection to one repository on GitHub, and the account that the bot writes as."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import requests
from github import Auth, Github, GithubException
from github.GithubRetry import GithubRetry
from github.Repository import Repository

from liger_perf.bot.events import User
from liger_perf.model.errors import LigerPerfError

T = TypeVar("T")

Unanswered = (GithubException, requests.RequestException)
"""What a request to GitHub ends with where there is no answer to use."""

_TIMEOUT_S = 30
_BETWEEN_REQUESTS_S = 0.25
_BETWEEN_WRITES_S = 1.0
_TRIES = 4
# A POST that is sent again can post twice; whoever posts looks first what is there.
_REPEATABLE = frozenset({"GET", "HEAD", "PATCH", "PUT", "DELETE"})


@dataclass(frozen=True, kw_only=True)
class Site:
    """One repository. `bot` is the account that counts as the bot; `server_url` is where people look."""

    repository: Repository
    bot: User
    server_url: str

    @property
    def page(self) -> str:
        return f"{self.server_url}/{self.repository.full_name}"


def connect(*, api_url: str, server_url: str, token: str, repository: str, bot: str, polite: bool = True) -> Site:
    """Ask for the repository and for the bot's account.

    Args:
        polite: wait between requests, as GitHub asks programs to; a test server needs no such waits.

    Raises:
        LigerPerfError: GitHub does not answer, or knows neither.
    """
    retry = GithubRetry(total=_TRIES, allowed_methods=_REPEATABLE)
    api = Github(
        base_url=api_url,
        auth=Auth.Token(token),
        timeout=_TIMEOUT_S,
        retry=retry,
        seconds_between_requests=_BETWEEN_REQUESTS_S if polite else 0,
        seconds_between_writes=_BETWEEN_WRITES_S if polite else 0,
    )
    try:
        found = api.get_repo(repository)
        account = api.get_user(bot)
        user = User(login=account.login, id=account.id, type=account.type or "User")
    except Unanswered as error:
        raise LigerPerfError(
            "GitHub cannot be asked",
            where=f"{api_url}, {repository}, account {bot}",
            todo="check the inputs token and bot, and the permissions of the job",
            details=brief(error),
        ) from error
    return Site(repository=found, bot=user, server_url=server_url)


def said(ask: Callable[[], T]) -> T | None:
    """What GitHub answers; None where it does not, which is neither a yes nor a no."""
    try:
        return ask()
    except Unanswered:
        return None


def is_status(error: BaseException, *numbers: int) -> bool:
    """Whether GitHub answered with one of these statuses."""
    return isinstance(error, GithubException) and error.status in numbers


def brief(error: BaseException) -> str:
    """One line about a failed request. Never the headers, which hold the token."""
    if isinstance(error, GithubException):
        message = error.data.get("message", "") if isinstance(error.data, dict) else ""
        return f"{error.status} {message}".strip()
    return type(error).__name__
