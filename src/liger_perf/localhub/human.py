"""People at the page: what they do has the same effects as through the API, and starts workflows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from liger_perf.localhub.actors import Actor, Needs, authorise
from liger_perf.localhub.commits import Person, write_commit
from liger_perf.localhub.deeds import dispatches, issues, pulls, refs, runs
from liger_perf.localhub.gitstore import ABSENT, TreeChange
from liger_perf.localhub.records import Comment, Issue, Pull, Reaction, Role, Run, User
from liger_perf.localhub.refused import not_found
from liger_perf.localhub.state import found
from liger_perf.localhub.world import World


@dataclass(frozen=True)
class Human:
    """One person. What GitHub would not let them do raises `Refused`."""

    world: World
    user: User

    @property
    def actor(self) -> Actor:
        """Who acts, with the role held now."""
        return Actor(self.world.live(self.user))

    def _must(self, role: Role) -> None:
        authorise(self.actor, Needs(level="write", role=role), self.actor.user)

    # Issues

    def open_issue(self, title: str, body: str = "") -> Issue:
        """Open an issue."""
        with self.world.lock:
            return issues.open_issue(self.world, self.actor, title, body)

    def close(self, number: int) -> Issue:
        """Close an issue or a pull request."""
        with self.world.lock:
            return issues.change_issue(self.world, self.actor, number, {"state": "closed"})

    def lock(self, number: int) -> Issue:
        """Only collaborators may comment from now on."""
        with self.world.lock:
            self._must("write")
            return self.world.state.change_issue(number, locked=True)

    def label(self, number: int, *names: str) -> Issue:
        """Put labels on an issue."""
        with self.world.lock:
            self._must("triage")
            return issues.add_labels(self.world, number, names)

    def comment(self, number: int, body: str) -> Comment:
        """Comment on an issue or a pull request."""
        with self.world.lock:
            return issues.comment(self.world, self.actor, number, body)

    def edit(self, comment_id: int, body: str) -> Comment:
        """Edit a comment, one's own or, with a writer's role, anybody's."""
        with self.world.lock:
            return issues.edit_comment(self.world, self.actor, comment_id, body)

    def delete(self, comment_id: int) -> None:
        """Delete a comment, by the same rule."""
        with self.world.lock:
            issues.delete_comment(self.world, self.actor, comment_id)

    def react(self, comment_id: int, content: str = "+1") -> Reaction:
        """React to a comment; again changes nothing."""
        with self.world.lock:
            return issues.react(self.world, self.actor, comment_id, content)[0]

    def unreact(self, comment_id: int, content: str = "+1") -> None:
        """Take one's own reaction back."""
        with self.world.lock:
            for reaction in self.world.state.reactions_of(comment_id):
                if (reaction.user.login, reaction.content) == (self.user.login, content):
                    return issues.unreact(self.world, self.actor, comment_id, reaction.id)
            raise not_found()

    # Code

    def push(
        self,
        branch: str,
        files: Mapping[str, str | None],
        message: str = "Change",
        *,
        dated: datetime | None = None,
    ) -> str:
        """Push one commit onto a branch, made from the default branch where it is new; None removes a file.

        Args:
            dated: the date in the commit, which is whatever its author likes.
        """
        with self.world.lock:
            self._must("write")
            name = refs.HEADS + branch
            old = self.world.git.ref(name)
            sha = self._commit(old or self.world.default_sha, files, message, dated)
            self.world.git.set_ref(name, sha, old or ABSENT)
            refs.moved(self.world, self.actor, name, old or ABSENT, sha)
            return sha

    def force_push(self, branch: str, sha: str) -> None:
        """Set a branch to any commit."""
        with self.world.lock:
            self._must("write")
            refs.update_ref(self.world, self.actor, refs.HEADS + branch, sha, force=True)

    def delete_branch(self, branch: str) -> None:
        """Remove a branch."""
        with self.world.lock:
            self._must("write")
            refs.delete_ref(self.world, self.actor, refs.HEADS + branch)

    def open_pull(self, branch: str, title: str = "Change", body: str = "", *, base: str = "") -> Issue:
        """Open a pull request from a branch of the repository."""
        with self.world.lock:
            base = base or self.world.default_branch
            return pulls.open_pull(self.world, self.actor, title=title, body=body, head=branch, base=base)

    def open_fork_pull(
        self, files: Mapping[str, str | None], title: str = "Change", body: str = "", *, branch: str = "patch-1"
    ) -> Issue:
        """Open a pull request from one's own fork; needs no role, and only its head is stored here."""
        with self.world.lock:
            sha = self._commit(self.world.default_sha, files, title, None)
            number = self.world.state.new_id()
            head = Pull(number, self.world.default_branch, ABSENT, branch, sha, self.user.login)
            return pulls.open_from(
                self.world, self.actor, title=title, body=body, base=self.world.default_branch, head=head
            )

    def push_to_fork(self, number: int, files: Mapping[str, str | None], message: str = "More") -> str:
        """Push to the fork behind a pull request: its head moves, whatever was approved before."""
        with self.world.lock:
            issue = found(self.world.state.issues, number)
            if issue.pull is None or issue.pull.head_owner != self.user.login:
                raise not_found()
            sha = self._commit(issue.pull.head_sha, files, message, None)
            refs.follow(self.world, self.actor, issue, sha)
            return sha

    def _commit(self, parent: str, files: Mapping[str, str | None], message: str, dated: datetime | None) -> str:
        git = self.world.git
        changes = [
            TreeChange(path, "100644", None if text is None else git.write("blob", text.encode()))
            for path, text in files.items()
        ]
        me = Person(self.user.login, self.user.email, dated or self.world.state.clock())
        return write_commit(git, git.write_tree(parent, changes), (parent,), me, me, f"{message}\n")

    # Workflows

    def cancel(self, run_id: int, *, force: bool = False) -> Run:
        """Cancel a run, at once where it is forced."""
        with self.world.lock:
            self._must("write")
            return runs.cancel(self.world, run_id, force=force)

    def dispatch(self, workflow: str, ref: str = "", inputs: Mapping[str, Any] | None = None) -> Run:
        """Start a workflow by hand, named by its file."""
        with self.world.lock:
            self._must("write")
            wanted = dispatches.workflow_by(self.world, workflow)
            return dispatches.dispatch(self.world, self.actor, wanted, ref or self.world.default_branch, inputs or {})
