"""The hub as tests and the demonstration use it: a repository, its people, their tokens, what they do."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from liger_perf.localhub.actors import SCOPES, Actor, Level
from liger_perf.localhub.clock import Clock, SteppingClock
from liger_perf.localhub.commits import Person, write_commit
from liger_perf.localhub.gitstore import ABSENT, GitStore, TreeChange
from liger_perf.localhub.human import Human
from liger_perf.localhub.records import Role, User, Workflow
from liger_perf.localhub.refused import Refused
from liger_perf.localhub.signing import Signer
from liger_perf.localhub.state import ACTIONS_BOT, State
from liger_perf.localhub.world import World

JOB_PERMISSIONS: Mapping[str, Level] = dict.fromkeys(
    ("actions", "checks", "contents", "issues", "pull_requests"), "write"
)
EVERYTHING: Mapping[str, Level] = dict.fromkeys(SCOPES, "write")
FIRST_COMMIT = "Initial commit"


class Hub(World):
    """One repository on GitHub."""

    @classmethod
    def create(
        cls,
        folder: Path,
        full_name: str = "octo/liger",
        *,
        files: Mapping[str, str] | None = None,
        source: Path | None = None,
        clock: Clock | None = None,
        private: bool = False,
    ) -> Hub:
        """A new hub whose repository lies under `folder`.

        Args:
            files: the first commit, path by path.
            source: a folder whose files make the first commit, or a git repository whose HEAD becomes the main branch.
        """
        state = State(clock or SteppingClock())
        git = GitStore(folder / f"{full_name}.git")
        hub = cls(full_name, state, git, Signer(full_name.encode()), private=private)
        login = full_name.partition("/")[0]
        state.add_user(User(state.new_id(), login, role="admin", association="OWNER"))
        if source is not None and (source / ".git").exists():
            git.run("fetch", "--quiet", "--no-tags", str(source.resolve()), f"HEAD:{hub.default_ref}")
        else:
            tree = _tree_of(git, source) if source else _tree_from(git, files or {"README.md": f"# {full_name}\n"})
            me = Person(login, hub.owner.email, state.clock())
            git.set_ref(hub.default_ref, write_commit(git, tree, (), me, me, f"{FIRST_COMMIT}\n"), ABSENT)
        return hub

    # People and tokens

    def person(
        self, login: str, role: Role | None = None, *, custom_role: str | None = None, association: str | None = None
    ) -> Human:
        """Make a person known, or give one another role; it counts from the next request on."""
        try:
            number = self.state.user(login).id
        except Refused:
            number = self.state.new_id()
        standing = association or ("COLLABORATOR" if role in ("triage", "write", "maintain", "admin") else "NONE")
        self.state.add_user(User(number, login, "User", role, custom_role, standing))
        return self.human(login)

    def human(self, login: str) -> Human:
        """Whoever is known by this login.

        Raises:
            Refused: nobody is.
        """
        return Human(self, self.state.user(login))

    def token(self, login: str, permissions: Mapping[str, Level] | None = None) -> str:
        """A person's own token; without permissions named, it may all that the person may."""
        held = permissions if permissions is not None else EVERYTHING
        return self._token("person", Actor(self.state.user(login), "person", held))

    def actions_token(self, permissions: Mapping[str, Level] | None = None) -> str:
        """A job's GITHUB_TOKEN; `permissions` as the workflow grants them, all others are none."""
        held = permissions if permissions is not None else JOB_PERMISSIONS
        return self._token("actions", Actor(ACTIONS_BOT, "actions", held))

    def app_token(self, slug: str, permissions: Mapping[str, Level] | None = None) -> str:
        """A token of a GitHub App's installation: what it does starts workflows."""
        login = f"{slug}[bot]"
        try:
            bot = self.state.user(login)
        except Refused:
            bot = self.state.add_user(User(self.state.new_id(), login, "Bot"))
        return self._token("app", Actor(bot, "app", permissions if permissions is not None else JOB_PERMISSIONS))

    def _token(self, kind: str, actor: Actor) -> str:
        return self.tokens.add(f"localhub-{kind}-{self.state.new_id()}", actor)

    # What tests ask for

    def workflow(self, path: str, name: str = "") -> Workflow:
        """Make a workflow file known; its content is whatever the repository holds."""
        return self.state.add_workflow(name or Path(path).stem, path)

    def remote(self, token: str | None = None) -> str:
        """The address for git, with the token in it as actions/checkout sends it."""
        secret = f"x-access-token:{token}@" if token else ""
        return self.base_url.replace("://", f"://{secret}", 1) + f"/{self.full_name}.git"

    def count(self, method: str, pattern: str = "", status: int | None = None) -> int:
        """How many requests with this method were answered, whose path the pattern is found in."""
        return sum(
            one.method == method and re.search(pattern, one.path) is not None and status in (None, one.status)
            for one in self.log
        )


def _tree_from(git: GitStore, files: Mapping[str, str]) -> str:
    changes = [TreeChange(path, "100644", git.write("blob", text.encode())) for path, text in files.items()]
    return git.write_tree(None, changes)


def _tree_of(git: GitStore, source: Path) -> str:
    """The files of a folder as a tree, without what its .gitignore names."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
        git.run("-C", str(source), "--work-tree=.", "add", "--all", ".", environment=environment)
        return git.run("write-tree", environment=environment).decode().strip()
