"""The state of the hub beside git: tables of frozen records. No I/O, and time comes from outside."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from liger_perf.localhub.clock import Clock
from liger_perf.localhub.records import (
    REACTIONS,
    Cancelling,
    CheckRun,
    Comment,
    Issue,
    Label,
    Pull,
    Reaction,
    Run,
    User,
    Workflow,
)
from liger_perf.localhub.refused import not_found

Record = TypeVar("Record", Issue, Comment, Reaction, CheckRun, Workflow, Run, Label)

ACTIONS_BOT = User(id=41898282, login="github-actions[bot]", kind="Bot")
GITHUB_ITSELF = User(id=19864447, login="web-flow")
"""The committer of what GitHub signs: https://api.github.com/users/web-flow."""
GITHUB_ADDRESS = "noreply@github.com"
FIRST_ID = 1_000_000


@dataclass
class State:
    """Tables by id (issues by number, users and labels by name). Ids are unique across the tables, so that a mix-up
    of two kinds of id is found and does not hit by chance."""

    clock: Clock
    users: dict[str, User] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    comments: dict[int, Comment] = field(default_factory=dict)
    reactions: dict[int, Reaction] = field(default_factory=dict)
    checks: dict[int, CheckRun] = field(default_factory=dict)
    workflows: dict[int, Workflow] = field(default_factory=dict)
    runs: dict[int, Run] = field(default_factory=dict)
    last_id: int = FIRST_ID

    def __post_init__(self) -> None:
        self.created_at = self.clock()
        self.users.setdefault(ACTIONS_BOT.login, ACTIONS_BOT)

    def new_id(self) -> int:
        """An id that nothing else has."""
        self.last_id += 1
        return self.last_id

    def add_user(self, user: User) -> User:
        """Make a user known, or change one: what was written before keeps the author as it was."""
        self.users[user.login] = user
        return user

    def user(self, login: str) -> User:
        """The user; logins are the same in either case.

        Raises:
            Refused: there is none.
        """
        for name, user in self.users.items():
            if name.lower() == login.lower():
                return user
        raise not_found()

    def add_issue(self, author: User, title: str, body: str | None, pull: Pull | None = None) -> Issue:
        """Issues and pull requests share their numbers."""
        now, number = self.clock(), len(self.issues) + 1
        issue = Issue(self.new_id(), number, title, body, author, now, now, pull=pull)
        self.issues[number] = issue
        return issue

    def change_issue(self, number: int, **changes: Any) -> Issue:
        """Replace fields of an issue."""
        issue = replace(found(self.issues, number), updated_at=self.clock(), **changes)
        self.issues[number] = issue
        return issue

    def add_comment(self, author: User, number: int, body: str, app: str | None = None) -> Comment:
        """A comment also touches its issue."""
        issue, now = found(self.issues, number), self.clock()
        comment = Comment(self.new_id(), number, author, body, now, now, app)
        self.comments[comment.id] = comment
        self.issues[number] = replace(issue, updated_at=now)
        return comment

    def edit_comment(self, comment_id: int, body: str) -> Comment:
        """Replace the body; author and time of writing stay."""
        comment = replace(found(self.comments, comment_id), body=body, updated_at=self.clock())
        self.comments[comment_id] = comment
        return comment

    def delete_comment(self, comment_id: int) -> Comment:
        """Its reactions go with it."""
        comment = found(self.comments, comment_id)
        del self.comments[comment_id]
        for reaction in self.reactions_of(comment_id):
            del self.reactions[reaction.id]
        return comment

    def comments_of(self, number: int) -> list[Comment]:
        """The comments of an issue, oldest first."""
        return [comment for comment in self.comments.values() if comment.issue == number]

    def react(self, user: User, comment_id: int, content: str) -> tuple[Reaction, bool]:
        """The reaction, and whether it is new: the same one again changes nothing."""
        found(self.comments, comment_id)
        assert content in REACTIONS
        for reaction in self.reactions_of(comment_id):
            if (reaction.user.login, reaction.content) == (user.login, content):
                return reaction, False
        reaction = Reaction(self.new_id(), comment_id, user, content, self.clock())
        self.reactions[reaction.id] = reaction
        return reaction, True

    def reactions_of(self, comment_id: int) -> list[Reaction]:
        """The reactions to a comment, oldest first."""
        return [reaction for reaction in self.reactions.values() if reaction.comment == comment_id]

    def add_label(self, name: str, color: str = "ededed", description: str | None = None) -> Label:
        """Make a label; its name is unique in either case."""
        label = Label(self.new_id(), name, color, description)
        self.labels[name.lower()] = label
        return label

    def add_workflow(self, name: str, path: str) -> Workflow:
        """Make a workflow known."""
        workflow = Workflow(self.new_id(), name, path, self.clock())
        self.workflows[workflow.id] = workflow
        return workflow

    def add_run(self, workflow: Workflow, event: str, branch: str, sha: str, actor: User, inputs: Any = None) -> Run:
        """A run, numbered within its workflow."""
        now, number = self.clock(), 1 + sum(run.workflow == workflow.id for run in self.runs.values())
        run = Run(self.new_id(), number, workflow.id, event, branch, sha, actor, now, now, inputs=inputs or {})
        self.runs[run.id] = run
        return run

    def set_run(
        self, run_id: int, status: str, conclusion: str | None = None, cancelling: Cancelling | None = None
    ) -> Run:
        """What the runner reports; `cancelling` stays as it is where none is given."""
        old = found(self.runs, run_id)
        run = replace(
            old,
            status=status,
            conclusion=conclusion,
            cancelling=cancelling or old.cancelling,
            updated_at=self.clock(),
        )
        self.runs[run_id] = run
        return run

    def again(self, run_id: int) -> Run:
        """Queue a run once more."""
        old = found(self.runs, run_id)
        run = replace(
            old,
            status="queued",
            conclusion=None,
            cancelling="no",
            attempt=old.attempt + 1,
            updated_at=self.clock(),
        )
        self.runs[run_id] = run
        return run

    def add_check(self, head_sha: str, name: str, started_at: datetime | None = None, **values: Any) -> CheckRun:
        """A check run."""
        check = CheckRun(self.new_id(), name, head_sha, started_at=started_at or self.clock(), **values)
        self.checks[check.id] = check
        return check

    def change_check(self, check_id: int, **changes: Any) -> CheckRun:
        """Replace fields of a check run."""
        check = replace(found(self.checks, check_id), **changes)
        self.checks[check_id] = check
        return check


def found(table: dict[int, Record], key: int) -> Record:
    """The record, or GitHub's 404.

    Raises:
        Refused: there is none.
    """
    record = table.get(key)
    if record is None:
        raise not_found()
    return record
