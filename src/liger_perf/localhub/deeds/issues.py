"""Issues, comments, reactions, labels."""

from __future__ import annotations

from typing import Any

from liger_perf.localhub.actors import Actor
from liger_perf.localhub.records import BODY_LIMIT, REACTIONS, Comment, Issue, Reaction
from liger_perf.localhub.refused import Refused, forbidden, invalid
from liger_perf.localhub.render import webhooks
from liger_perf.localhub.state import found
from liger_perf.localhub.world import World


def open_issue(world: World, actor: Actor, title: str, body: str | None, labels: tuple[str, ...] = ()) -> Issue:
    """Open an issue. Labels that are new are made, as GitHub does."""
    _check_body("Issue", body or "-")
    if not title.strip():
        raise invalid("Issue", "title", "title is missing", code="missing_field")
    issue = world.state.add_issue(actor.user, title, body)
    if labels:
        issue = add_labels(world, issue.number, labels)
    world.emit(actor, "issues", webhooks.opened(world, issue, actor.user))
    return issue


def change_issue(world: World, actor: Actor, number: int, changes: dict[str, Any]) -> Issue:
    """Title, body and state, by the author or by somebody who may triage."""
    issue = found(world.state.issues, number)
    own = issue.author.login == actor.user.login
    if not own and actor.kind == "person" and not world.live(actor.user).may("triage"):
        raise forbidden("Must have triage access to Repository.")
    wanted: dict[str, Any] = {
        name: changes[name] for name in ("title", "body", "state", "state_reason") if name in changes
    }
    if wanted.get("state", issue.state) != issue.state:
        closing = wanted["state"] == "closed"
        wanted["closed_at"] = world.state.clock() if closing else None
        wanted["closed_by"] = actor.user if closing else None
        if issue.pull is None:
            wanted.setdefault("state_reason", "completed" if closing else "reopened")
    if "labels" in changes:
        names = [one if isinstance(one, str) else one["name"] for one in changes["labels"]]
        world.state.change_issue(number, labels=())
        add_labels(world, number, tuple(names))
    return world.state.change_issue(number, **wanted)


def comment(world: World, actor: Actor, number: int, body: str) -> Comment:
    """Comment on an issue or a pull request."""
    issue = found(world.state.issues, number)
    _check_body("IssueComment", body)
    if issue.locked and actor.kind == "person" and world.live(actor.user).role is None:
        raise forbidden("Unable to create comment because issue is locked.")
    app = {"actions": "github-actions", "app": actor.user.login.removesuffix("[bot]")}.get(actor.kind)
    made = world.state.add_comment(actor.user, number, body, app)
    world.emit(actor, "issue_comment", webhooks.issue_comment(world, "created", made, actor.user))
    return made


def edit_comment(world: World, actor: Actor, comment_id: int, body: str) -> Comment:
    """Whoever may write can edit anybody's comment, the bot's too; the author stays."""
    old = found(world.state.comments, comment_id)
    _own_or_writer(world, actor, old)
    _check_body("IssueComment", body)
    made = world.state.edit_comment(comment_id, body)
    world.emit(actor, "issue_comment", webhooks.issue_comment(world, "edited", made, actor.user, old.body))
    return made


def delete_comment(world: World, actor: Actor, comment_id: int) -> None:
    """Delete a comment, by the same rule."""
    old = found(world.state.comments, comment_id)
    _own_or_writer(world, actor, old)
    payload = webhooks.issue_comment(world, "deleted", old, actor.user)
    world.state.delete_comment(comment_id)
    world.emit(actor, "issue_comment", payload)


def react(world: World, actor: Actor, comment_id: int, content: str) -> tuple[Reaction, bool]:
    """React to a comment. No event follows: GitHub sends none for a reaction."""
    if content not in REACTIONS:
        raise invalid("Reaction", "content", f"`content` must be one of: {', '.join(REACTIONS)}", code="invalid")
    return world.state.react(actor.user, comment_id, content)


def unreact(world: World, actor: Actor, comment_id: int, reaction_id: int) -> None:
    """Take one's own reaction back."""
    reaction = found(world.state.reactions, reaction_id)
    found({reaction.comment: world.state.comments[reaction.comment]}, comment_id)
    if reaction.user.login != actor.user.login:
        raise forbidden("Must be the author of the reaction.")
    del world.state.reactions[reaction_id]


def add_labels(world: World, number: int, names: tuple[str, ...]) -> Issue:
    """Put labels on an issue; a label that the repository lacks is made."""
    issue = found(world.state.issues, number)
    kept = list(issue.labels)
    for name in names:
        label = world.state.labels.get(name.lower()) or world.state.add_label(name)
        if label.name not in kept:
            kept.append(label.name)
    return world.state.change_issue(number, labels=tuple(kept))


def remove_label(world: World, number: int, name: str) -> Issue:
    """Take a label off an issue.

    Raises:
        Refused: it is not there, 404.
    """
    issue = found(world.state.issues, number)
    names = {label.lower(): label for label in issue.labels}
    if name.lower() not in names:
        raise Refused(404, "Label does not exist")
    return world.state.change_issue(number, labels=tuple(x for x in issue.labels if x != names[name.lower()]))


def _own_or_writer(world: World, actor: Actor, comment: Comment) -> None:
    own = comment.author.login == actor.user.login
    if not own and actor.kind == "person" and not world.live(actor.user).may("write"):
        raise forbidden("Must have admin rights to Repository.")


def _check_body(resource: str, body: str) -> None:
    if not body.strip():
        raise invalid(resource, "body", "body cannot be blank", code="missing_field")
    if len(body) > BODY_LIMIT:
        raise invalid(resource, "body", f"body is too long (maximum is {BODY_LIMIT} characters)")
