"""The pull request: one commit that changes one file, checked before and after it is opened."""

from __future__ import annotations

import base64
import hashlib

import msgspec
from github import GithubException, InputGitTreeElement
from github.PullRequest import PullRequest

from liger_perf.adapters.github.readings import Readings
from liger_perf.adapters.github.site import Site, brief, is_status
from liger_perf.bot.effects import OpenPullRequest
from liger_perf.model.errors import LigerPerfError
from liger_perf.stages.patch import apply_patch

_REGULAR = ("100644", "100755")


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """The pull request that is open now."""

    url: str
    number: int


class NotOpened(LigerPerfError):
    """The pull request could not be opened. `compare_url` is where a person can open it; empty without a branch."""

    def __init__(self, what: str, *, compare_url: str = "") -> None:
        super().__init__(what)
        self.compare_url = compare_url


class Pulls:
    """Opens pull requests."""

    def __init__(self, site: Site, readings: Readings) -> None:
        self._site = site
        self._readings = readings

    def open(self, effect: OpenPullRequest, *, patch: bytes, path: str, base: str) -> Opened:
        """Open the pull request, unless it is open; `path` is the one file that it may change.

        Raises:
            NotOpened: what is there is not what was approved, or GitHub refuses.
        """
        if not base:
            raise NotOpened("the session was started on a commit of a fork, which has no branch here")
        found = self._open_one(effect.branch)
        if found is None:
            self._branch(effect, patch=patch, path=path, base=base)
            found = self._create(effect, base)
        changed = sorted(file.filename for file in found.get_files())
        if changed != [path]:
            found.edit(state="closed")
            raise NotOpened(f"the pull request would have changed {', '.join(changed[:5]) or 'nothing'}; it is closed")
        return Opened(url=found.html_url, number=found.number)

    def _open_one(self, branch: str) -> PullRequest | None:
        owner = self._site.repository.owner.login
        pulls = self._site.repository.get_pulls(state="open", head=f"{owner}:{branch}")
        return next((pull for pull in pulls if pull.user.id == self._site.bot.id), None)

    def _branch(self, effect: OpenPullRequest, *, patch: bytes, path: str, base: str) -> None:
        """Make the branch: the base as it is now, with the one file changed."""
        if hashlib.sha256(patch).hexdigest() != effect.patch_digest:
            raise NotOpened("the patch is not the one that was approved")
        head = self._readings.head(base)
        tree = self._readings.tree(head)
        moved = [name for name, blob in effect.blobs.items() if tree.get(name) != blob]
        if moved:
            raise NotOpened(f"{moved[0]} has changed on {base} since the start")
        repository = self._site.repository
        mode = self._readings.mode(head, path)
        if mode not in _REGULAR:
            raise NotOpened(f"{path} is no regular file on {base}")
        before = repository.get_git_blob(tree[path])
        after = apply_patch(patch.decode(), path, _text(before.content))
        parent = repository.get_git_commit(head)
        element = InputGitTreeElement(path, mode, "blob", content=after)
        # The commit's tree: asked for by the commit, GitHub names a tree by that commit.
        made = repository.create_git_tree([element], parent.tree)
        commit = repository.create_git_commit(f"{effect.title}\n\nSession: {effect.session}\n", made, [parent])
        name = f"heads/{effect.branch}"
        try:
            repository.create_git_ref(f"refs/{name}", commit.sha)
        except GithubException as error:
            if not is_status(error, 422):
                raise
            # Left by a process that was killed before it opened the pull request.
            repository.get_git_ref(name).edit(commit.sha, force=True)

    def _create(self, effect: OpenPullRequest, base: str) -> PullRequest:
        try:
            return self._site.repository.create_pull(base, effect.branch, title=effect.title, body=effect.body)
        except GithubException as error:
            if not is_status(error, 403, 422):
                raise
            compare = f"{self._site.page}/compare/{base}...{effect.branch}"
            raise NotOpened(f"GitHub refused: {brief(error)}", compare_url=compare) from error


def _text(content: str) -> str:
    return base64.b64decode(content).decode()
