"""Comments, reactions, labels and issues: each written once, however often it is asked for.

What was written is found again by the marker in its last line, and only where the bot is its author.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from time import sleep
from typing import TypeVar

import msgspec
from github import GithubException
from github.Issue import Issue
from github.IssueComment import IssueComment

from liger_perf.adapters.github.site import Site, Unanswered, is_status
from liger_perf.bot.effects import (
    AddLabel,
    AddReaction,
    EditStatus,
    OpenIssue,
    PostCheckpoint,
    PostComment,
    key_of,
    marker,
)

T = TypeVar("T")

_TRIES = 3
_WAIT_S = 2.0
_NEWEST_ISSUES = 100


class Posted(msgspec.Struct, frozen=True, kw_only=True):
    """A comment of the bot that stands in a thread."""

    id: int
    created_at: datetime
    body: str


class Threads:
    """Writes to the repository's issues and pull requests."""

    def __init__(self, site: Site, wait: Callable[[float], None] = sleep) -> None:
        self._site = site
        self._wait = wait
        self._issues: dict[int, Issue] = {}

    def post(self, effect: PostComment | PostCheckpoint) -> Posted:
        """Post a comment, unless it is there.

        Raises:
            GithubException: GitHub refuses, or failed several times.
        """
        return self._once(lambda: self._find(effect.thread, effect.key), lambda: self._create(effect))

    def edit_status(self, effect: EditStatus) -> None:
        """Give the status comment this text; post it where there is none.

        Raises:
            GithubException: GitHub refuses, or failed several times.
        """
        found = self._once(lambda: self._find(effect.thread, effect.key), lambda: self._create(effect))
        if found.body.strip() != effect.marked.strip():
            self._issue(effect.thread).get_comment(found.id).edit(effect.marked)

    def react(self, effect: AddReaction) -> None:
        """React to a comment; nothing where the comment is gone. GitHub keeps one of a kind."""
        try:
            comment_by_id(self._site, effect.comment_id).create_reaction(effect.content)
        except GithubException as error:
            if not is_status(error, 404, 410, 422):
                raise

    def label(self, effect: AddLabel) -> None:
        """Put a label on a thread. GitHub keeps one of a kind."""
        self._issue(effect.thread).add_to_labels(effect.label)

    def open_issue(self, effect: OpenIssue) -> int:
        """Open an issue, unless it was opened; answers its number.

        Raises:
            GithubException: GitHub refuses, or failed several times.
        """
        body = f"{effect.body}\n\n{marker(effect.key)}"
        repository = self._site.repository
        return self._once(
            lambda: self._find_issue(effect.key), lambda: repository.create_issue(effect.title, body=body).number
        )

    def _once(self, find: Callable[[], T | None], create: Callable[[], T]) -> T:
        """Look, else write. A write that failed on the way may have arrived: look again before the next try."""
        for attempt in range(_TRIES):
            found = find()
            if found is not None:
                return found
            try:
                return create()
            except Unanswered as error:
                refused = isinstance(error, GithubException) and error.status < 500
                if refused or attempt == _TRIES - 1:
                    raise
                self._wait(_WAIT_S * (attempt + 1))
        raise AssertionError("the last try answers or raises")

    def _find(self, thread: int, key: str) -> Posted | None:
        mine = (comment for comment in self._issue(thread).get_comments() if self._is_mine(comment))
        found = next((comment for comment in mine if key_of(comment.body or "") == key), None)
        return None if found is None else _posted(found)

    def _is_mine(self, written: Issue | IssueComment) -> bool:
        # GitHub answers none for an account that is gone, whatever the library says.
        author = written.user
        return author is not None and author.id == self._site.bot.id

    def _create(self, effect: PostComment | PostCheckpoint | EditStatus) -> Posted:
        return _posted(self._issue(effect.thread).create_comment(effect.marked))

    def _find_issue(self, key: str) -> int | None:
        newest = self._site.repository.get_issues(state="all", sort="created", direction="desc")
        for number, issue in enumerate(newest):
            if number >= _NEWEST_ISSUES:
                break
            if self._is_mine(issue) and key_of(issue.body or "") == key:
                return issue.number
        return None

    def _issue(self, number: int) -> Issue:
        if number not in self._issues:
            self._issues[number] = self._site.repository.get_issue(number)
        return self._issues[number]


def comment_by_id(site: Site, number: int) -> IssueComment:
    """A comment of the repository's issues and pull requests, as it is now.

    Raises:
        GithubException: 404 where there is none.
    """
    url = f"{site.repository.url}/issues/comments/{number}"
    return IssueComment(site.repository.requester, url=url)


def _posted(comment: IssueComment) -> Posted:
    return Posted(id=comment.id, created_at=comment.created_at, body=comment.body or "")
