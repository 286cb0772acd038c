"""Sessions in git: the branch `liger-perf/session/<id>` holds `session.json`, `journal.jsonl` and the workspace.

Each write is one commit through the Git Data API, so that GitHub signs it, and a fast-forward of the branch, so that of
two writers one loses. A state whose last commit is not the bot's, signed, is refused: whoever may write can push there.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping

import msgspec
from github import GithubException, InputGitTreeElement
from github.GitRef import GitRef

from liger_perf.adapters.github.site import Site, is_status
from liger_perf.bot.state import Conversation
from liger_perf.model.errors import LigerPerfError

PREFIX = "liger-perf/session/"
CONVERSATION = "session.json"
JOURNAL = "journal.jsonl"
_FILE = "100644"
# The committer of what GitHub signs for a bot; a person can neither sign so nor be the bot's account beside it.
_GITHUB_ITSELF = "web-flow"


class Superseded(LigerPerfError):
    """Someone else wrote the session meanwhile; what was decided on the older state must be decided again."""


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """A session as its branch holds it. `head` is the commit, `files` git's names of the contents by path."""

    head: str
    conversation: Conversation
    journal: bytes
    files: dict[str, str]


class SessionBranches:
    """Reads and writes session branches. `run` goes into each commit, so that no two writers make the same one."""

    def __init__(self, site: Site, run: str) -> None:
        self._site = site
        self._run = run
        self._heads: dict[str, Stored | None] = {}

    def names(self) -> tuple[str, ...]:
        """The sessions that have a branch.

        Raises:
            GithubException: GitHub does not answer.
        """
        found = self._site.repository.get_git_matching_refs(f"heads/{PREFIX}")
        return tuple(ref.ref.removeprefix(f"refs/heads/{PREFIX}") for ref in found)

    def load(self, name: str) -> Stored | None:
        """A session as it is now; None where there is none.

        Raises:
            LigerPerfError: the branch cannot be trusted or read.
            GithubException: GitHub does not answer.
        """
        ref = self._ref(name)
        self._heads[name] = self._read(name, ref.object.sha) if ref is not None else None
        return self._heads[name]

    def file(self, stored: Stored, path: str) -> bytes | None:
        """A file's content; None where the branch has none.

        Raises:
            GithubException: GitHub does not answer.
        """
        sha = stored.files.get(path)
        return None if sha is None else self._blob(sha)

    def write(self, name: str, files: Mapping[str, bytes], message: str) -> Stored:
        """Write files on top of what `load` or the last `write` saw; an empty session begins with its first write.

        Raises:
            Superseded: someone else wrote since then. Nothing was written.
            GithubException: GitHub does not answer.
        """
        if name not in self._heads:
            self.load(name)
        before, repository = self._heads[name], self._site.repository
        blobs = {
            path: repository.create_git_blob(base64.b64encode(content).decode(), "base64").sha
            for path, content in sorted(files.items())
        }
        elements = [InputGitTreeElement(path, _FILE, "blob", sha=sha) for path, sha in blobs.items()]
        if before is None:
            tree = repository.create_git_tree(elements)
            parents = []
        else:
            parents = [repository.get_git_commit(before.head)]
            tree = repository.create_git_tree(elements, parents[0].tree)
        note = f"{message}\n\nSession: {name}\nRun: {self._run}\nNonce: {secrets.token_hex(8)}\n"
        commit = repository.create_git_commit(note, tree, parents)
        self._move(name, before, commit.sha)
        stored = _after(name, before, commit.sha, blobs, files)
        self._heads[name] = stored
        return stored

    def _move(self, name: str, before: Stored | None, sha: str) -> None:
        try:
            if before is None:
                self._site.repository.create_git_ref(f"refs/heads/{PREFIX}{name}", sha)
            else:
                ref = self._ref(name)
                if ref is None or ref.object.sha != before.head:
                    raise _superseded(name)
                ref.edit(sha, force=False)
        except GithubException as error:
            if is_status(error, 409, 422):
                raise _superseded(name) from error
            raise

    def _ref(self, name: str) -> GitRef | None:
        try:
            return self._site.repository.get_git_ref(f"heads/{PREFIX}{name}")
        except GithubException as error:
            if is_status(error, 404):
                return None
            raise

    def _read(self, name: str, head: str) -> Stored:
        repository, bot = self._site.repository, self._site.bot
        commit = repository.get_commit(head)
        signed = commit.commit.verification is not None and commit.commit.verification.verified
        by_bot = commit.author is not None and commit.author.id == bot.id
        through_api = commit.committer is not None and commit.committer.login in (bot.login, _GITHUB_ITSELF)
        if not (signed and by_bot and through_api):
            raise LigerPerfError(
                f"the state of session {name} cannot be trusted",
                where=f"branch {PREFIX}{name}: its last commit {head[:12]} is not a signed one of {bot.login}",
                todo="find out who pushed there; then delete the branch and start anew",
            )
        tree = repository.get_git_tree(commit.commit.tree.sha, recursive=True)
        files = {element.path: element.sha for element in tree.tree if element.type == "blob"}
        if CONVERSATION not in files:
            raise LigerPerfError(f"the branch of session {name} holds no {CONVERSATION}", todo="delete the branch")
        journal = self._blob(files[JOURNAL]) if JOURNAL in files else b""
        conversation = _conversation(name, self._blob(files[CONVERSATION]))
        return Stored(head=head, conversation=conversation, journal=journal, files=files)

    def _blob(self, sha: str) -> bytes:
        return base64.b64decode(self._site.repository.get_git_blob(sha).content)


def _after(name: str, before: Stored | None, head: str, blobs: Mapping[str, str], files: Mapping[str, bytes]) -> Stored:
    """The state that was just written, without asking for it again."""
    if CONVERSATION in files:
        conversation = _conversation(name, files[CONVERSATION])
    elif before is not None:
        conversation = before.conversation
    else:
        raise LigerPerfError("a session must begin with its conversation", where=name)
    return Stored(
        head=head,
        conversation=conversation,
        journal=files.get(JOURNAL, before.journal if before else b""),
        files={**(before.files if before else {}), **blobs},
    )


def encoded(conversation: Conversation) -> bytes:
    """The text of `session.json`."""
    return msgspec.json.format(msgspec.json.encode(conversation), indent=1) + b"\n"


def _conversation(name: str, data: bytes) -> Conversation:
    try:
        return msgspec.json.decode(data, type=Conversation)
    except msgspec.MsgspecError as error:
        raise LigerPerfError(
            f"the record of session {name} cannot be read",
            where=CONVERSATION,
            todo="use the version of liger-perf that started it, or start anew",
            details=str(error),
        ) from error


def _superseded(name: str) -> Superseded:
    return Superseded(f"session {name} was written by another job meanwhile", todo="nothing; the other one goes on")
