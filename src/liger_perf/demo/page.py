"""`index.html`: the conversation as an issue page shows it, the jobs between, and the pull request.

One file, no network.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from importlib.resources import files

import jinja2
import msgspec
from markupsafe import Markup

from liger_perf.demo.markdown import Picture, reader
from liger_perf.localhub import Hub
from liger_perf.localhub.records import Comment, Issue, User
from liger_perf.localhub.runner import Ended

EMOJI = {
    "+1": "👍",
    "-1": "👎",
    "eyes": "👀",
    "confused": "😕",
    "heart": "❤️",
    "rocket": "🚀",
    "hooray": "🎉",
    "laugh": "😄",
}
ROLES = {"maintain": "Maintainer", "admin": "Owner", "write": "Writer", "triage": "Triager"}
MOST_LOG_LINES = 60

_COLOURS = ("#8250df", "#0969da", "#1a7f37", "#bf3989", "#9a6700", "#cf222e")
_DIFF_KINDS = (
    ("+++", "head"),
    ("---", "head"),
    ("diff ", "head"),
    ("index ", "head"),
    ("@@", "hunk"),
    ("+", "new"),
    ("-", "old"),
)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One thing on the page: a comment, or a job (then `body` is its log)."""

    at: datetime
    kind: str
    title: str
    note: str
    body: Markup
    colour: str = ""
    reactions: tuple[tuple[str, str], ...] = ()
    good: bool = True


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a diff."""

    kind: str
    text: str


def build(hub: Hub, issue: int, pull: Issue | None, diff: str, ended: Sequence[Ended], *, verdict: str) -> str:
    """The page's text.

    Args:
        pull: the pull request; None where none was opened.
        diff: what it changes, in git's form.
        verdict: one sentence on how it ended.
    """
    markdown = reader(picture_of(hub))

    def shown(text: str) -> Markup:
        return Markup(markdown(text))

    comments = hub.state.comments_of(issue)
    entries = [_comment(hub, one, shown) for one in comments] + [_job(one) for one in ended]
    return _template().render(
        repository=hub.full_name,
        issue=hub.state.issues[issue],
        opening=shown(hub.state.issues[issue].body or ""),
        opener=_colour(hub.state.issues[issue].author),
        entries=sorted(entries, key=lambda entry: entry.at),
        pull=pull,
        pull_body=shown(pull.body or "") if pull else Markup(""),
        diff=[Line(kind=_kind(line), text=line) for line in diff.splitlines()],
        verdict=verdict,
        simulated=any("SIMULATED" in one.body for one in comments),
        jobs=len(ended),
        seconds=sum(one.seconds for one in ended),
    )


def _template() -> jinja2.Template:
    made = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return made.from_string(files("liger_perf.demo").joinpath("page.html.j2").read_text("utf-8"))


def picture_of(hub: Hub) -> Picture:
    """Reads pictures at `<hub>/<repository>/blob/<commit>/<path>?raw=true` from the repository."""
    base = re.escape(f"{hub.base_url}/{hub.full_name}/blob/")
    address = re.compile(rf"{base}([0-9a-f]{{40}})/([\w./-]+\.png)\?raw=true", re.ASCII)

    def picture(url: str) -> bytes | None:
        found = address.fullmatch(url)
        return hub.git.run("cat-file", "blob", f"{found[1]}:{found[2]}") if found else None

    return picture


def _comment(hub: Hub, one: Comment, shown: Callable[[str], Markup]) -> Entry:
    role = ROLES.get(hub.live(one.author).role or "", "")
    edited = " · edited" if one.edited else ""
    reactions = tuple(
        (EMOJI.get(reaction.content, reaction.content), reaction.user.login)
        for reaction in hub.state.reactions_of(one.id)
    )
    return Entry(
        at=one.created_at,
        kind="bot" if one.author.kind == "Bot" else "person",
        title=one.author.login,
        note=f"{role}{' · ' if role else ''}{one.created_at:%H:%M:%S} UTC{edited}",
        body=shown(one.body),
        colour=_colour(one.author),
        reactions=reactions,
    )


def _job(one: Ended) -> Entry:
    words = f"{one.event.name}, {one.seconds:.0f} s, {one.run.conclusion}"
    return Entry(
        at=one.run.created_at,
        kind="job",
        title=f"Job {one.run.number}",
        note=words,
        body=Markup.escape("\n".join(one.lines[-MOST_LOG_LINES:])),
        good=one.run.conclusion == "success",
    )


def _colour(user: User) -> str:
    return _COLOURS[user.id % len(_COLOURS)]


def _kind(line: str) -> str:
    return next((kind for start, kind in _DIFF_KINDS if line.startswith(start)), "same")
