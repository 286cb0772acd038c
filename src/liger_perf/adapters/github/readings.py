"""What GitHub says now: files, roles, threads, and the answers to a question. None where it does not answer."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

from github import GithubException
from github.IssueComment import IssueComment

from liger_perf.adapters.github.site import Site, Unanswered, is_status, said
from liger_perf.adapters.github.threads import comment_by_id
from liger_perf.bot.approvals import YES
from liger_perf.bot.authority import Thread
from liger_perf.bot.events import User
from liger_perf.bot.evidence import Absence, Checkpoint, Comment, Evidence, Reaction
from liger_perf.bot.state import Conversation, Frozen
from liger_perf.kernels.imports import imported_files
from liger_perf.kernels.layout import kernel_paths


class Readings:
    """Questions to one repository. Trees are kept by commit, roles for this process."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._trees: dict[str, dict[str, str]] = {}
        self._modes: dict[str, dict[str, str]] = {}
        self._roles: dict[int, str | None] = {}

    @property
    def default_branch(self) -> str:
        return self._site.repository.default_branch

    def head(self, branch: str) -> str:
        """The commit that a branch is at.

        Raises:
            GithubException: there is none, or no answer.
        """
        return self._site.repository.get_git_ref(f"heads/{branch}").object.sha

    def tree(self, sha: str) -> dict[str, str]:
        """Git's names of all files of a commit, by path.

        Raises:
            GithubException: no answer, or a repository too large to be listed at once.
        """
        if sha not in self._trees:
            found = self._site.repository.get_git_tree(sha, recursive=True)
            if found.truncated:
                raise GithubException(500, {"message": "the repository is too large to be listed at once"})
            blobs = [element for element in found.tree if element.type == "blob"]
            self._trees[sha] = {element.path: element.sha for element in blobs}
            self._modes[sha] = {element.path: element.mode for element in blobs}
        return self._trees[sha]

    def mode(self, sha: str, path: str) -> str:
        """Git's mode of a file of a commit, such as "100644"; empty where there is none.

        Raises:
            GithubException: as `tree`.
        """
        self.tree(sha)
        return self._modes[sha].get(path, "")

    def frozen(self, kernel: str, sha: str, base: str) -> Frozen:
        """What a session of `kernel` at a commit is bound to: the kernel, what it imports, its test, its benchmark.

        Raises:
            GithubException: no answer.
        """
        tree, paths = self.tree(sha), kernel_paths(kernel)

        def read(path: str) -> str:
            content = self._site.repository.get_git_blob(tree[path]).content
            return base64.b64decode(content).decode(errors="replace")

        imported = imported_files(paths.ops, frozenset(tree), read) if paths.ops in tree else ()
        names = (paths.ops, paths.benchmark, paths.test, *imported)
        return Frozen(sha=sha, base=base, blobs={name: tree[name] for name in names if name in tree})

    def thread(self, number: int) -> tuple[Thread, str]:
        """A thread, and the branch that it is about: a pull request's, or the default one.

        Raises:
            GithubException: no answer.
        """
        issue = self._site.repository.get_issue(number)
        if issue.pull_request is None:
            return Thread(number=number), self.default_branch
        pull = self._site.repository.get_pull(number)
        home = pull.head.repo
        fork = home is None or home.full_name != self._site.repository.full_name
        thread = Thread(number=number, is_pull_request=True, from_fork=fork, head=pull.head.sha)
        return thread, "" if fork else pull.head.ref

    def role(self, user: User) -> str | None:
        """The live role's name; None where GitHub does not say."""
        if user.id not in self._roles:
            role = said(lambda: self._site.repository.get_collaborator_role_name(user.login))
            self._roles[user.id] = role
        return self._roles[user.id]

    def evidence(self, talk: Conversation, asked: Checkpoint, patch_digest: str | None) -> Evidence:
        """The answers to a question, and what it was bound to as that is now."""
        comment = self._comment(asked.comment_id)
        found = said(lambda: self._comments(talk.thread, asked.created_at))
        return Evidence(
            now=datetime.now(UTC),
            comment=comment,
            reactions=said(lambda: self._reactions(asked.comment_id)) if isinstance(comment, Comment) else (),
            comments=None if found is None else tuple(_comment(one) for one in found),
            blobs=said(lambda: self._blobs(talk.frozen)),
            patch_digest=patch_digest,
            misplaced=sum(self._thumbs(one) for one in found or () if one.id != asked.comment_id),
        )

    def _thumbs(self, one: IssueComment) -> int:
        """Thumbs up on a comment of the bot's; 0 on anybody else's."""
        author = one.user
        mine = author is not None and author.id == self._site.bot.id
        return int((one.reactions or {}).get(YES, 0)) if mine else 0

    def _comment(self, number: int) -> Comment | Absence:
        try:
            return _comment(comment_by_id(self._site, number))
        except Unanswered as error:
            return Absence.DELETED if is_status(error, 404, 410) else Absence.UNREAD

    def _reactions(self, number: int) -> tuple[Reaction, ...]:
        found = comment_by_id(self._site, number).get_reactions()
        return tuple(
            Reaction(
                user=User(login=one.user.login, id=one.user.id, type=one.user.type) if one.user else None,
                content=one.content,
                created_at=one.created_at,
            )
            for one in found
        )

    def _comments(self, thread: int, since: datetime) -> list[IssueComment]:
        return list(self._site.repository.get_issue(thread).get_comments(since=since))

    def _blobs(self, frozen: Frozen) -> dict[str, str]:
        # A commit without a branch, such as a fork's, cannot move.
        tree = self.tree(self.head(frozen.base) if frozen.base else frozen.sha)
        return {path: tree[path] for path in frozen.blobs if path in tree}


def _comment(one: IssueComment) -> Comment:
    author = one.user
    return Comment(
        id=one.id,
        author=User(login=author.login, id=author.id, type=author.type) if author else None,
        body=one.body or "",
        created_at=one.created_at,
        updated_at=one.updated_at,
    )
