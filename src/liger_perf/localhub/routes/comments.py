"""Comments on issues and pull requests, and the reactions to them."""

from __future__ import annotations

from liger_perf.localhub.clock import stamp
from liger_perf.localhub.deeds import issues as deeds
from liger_perf.localhub.records import Comment
from liger_perf.localhub.render import issues as render
from liger_perf.localhub.routes.issues import READ, WRITE
from liger_perf.localhub.routes.registry import Answer, Ask, route
from liger_perf.localhub.state import found


def _since(ask: Ask, comments: list[Comment]) -> list[Comment]:
    since = ask.query.get("since", "")
    return [comment for comment in comments if stamp(comment.updated_at) >= since]


@route("GET", "/issues/comments", READ)
def list_all_comments(ask: Ask) -> Answer:
    """Every comment of the repository, by id unless another order is asked for."""
    comments = _since(ask, list(ask.world.state.comments.values()))
    if "sort" in ask.query:
        key = {"updated": "updated_at"}.get(ask.query["sort"], "created_at")
        newest_first = ask.query.get("direction", "asc") == "desc"
        comments.sort(key=lambda comment: getattr(comment, key), reverse=newest_first)
    return ask.listed(comments, render.comment)


@route("GET", "/issues/{issue_number}/comments", READ)
def list_comments(ask: Ask) -> Answer:
    """The comments of one issue, oldest first."""
    number = ask.number("issue_number")
    found(ask.world.state.issues, number)
    return ask.listed(_since(ask, ask.world.state.comments_of(number)), render.comment)


@route("POST", "/issues/{issue_number}/comments", WRITE)
def create_comment(ask: Ask) -> Answer:
    """Comment."""
    made = deeds.comment(ask.world, ask.by, ask.number("issue_number"), ask.body["body"])
    return Answer(201, render.comment(ask.world, made))


@route("GET", "/issues/comments/{comment_id}", READ)
def get_comment(ask: Ask) -> Answer:
    """One comment."""
    return Answer(200, render.comment(ask.world, found(ask.world.state.comments, ask.number("comment_id"))))


@route("PATCH", "/issues/comments/{comment_id}", WRITE)
def edit_comment(ask: Ask) -> Answer:
    """Edit a comment."""
    made = deeds.edit_comment(ask.world, ask.by, ask.number("comment_id"), ask.body["body"])
    return Answer(200, render.comment(ask.world, made))


@route("DELETE", "/issues/comments/{comment_id}", WRITE)
def delete_comment(ask: Ask) -> Answer:
    """Delete a comment."""
    deeds.delete_comment(ask.world, ask.by, ask.number("comment_id"))
    return Answer(204)


@route("GET", "/issues/comments/{comment_id}/reactions", READ)
def list_reactions(ask: Ask) -> Answer:
    """The reactions to a comment, oldest first."""
    comment = found(ask.world.state.comments, ask.number("comment_id"))
    content = ask.query.get("content")
    reactions = ask.world.state.reactions_of(comment.id)
    return ask.listed([one for one in reactions if content in (None, one.content)], render.reaction)


@route("POST", "/issues/comments/{comment_id}/reactions", WRITE)
def create_reaction(ask: Ask) -> Answer:
    """React: 201, or 200 where the same reaction was there."""
    made, new = deeds.react(ask.world, ask.by, ask.number("comment_id"), ask.body["content"])
    return Answer(201 if new else 200, render.reaction(ask.world, made))


@route("DELETE", "/issues/comments/{comment_id}/reactions/{reaction_id}", WRITE)
def delete_reaction(ask: Ask) -> Answer:
    """Take a reaction back."""
    deeds.unreact(ask.world, ask.by, ask.number("comment_id"), ask.number("reaction_id"))
    return Answer(204)
