"""Text that others wrote, made harmless in a comment: no mention, reference, link, HTML or Markdown of its own.

An invisible blank breaks what GitHub would make live; fenced code stays as it is, since nothing is live there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

BREAK = "\N{ZERO WIDTH SPACE}"

# @user, #12, GH-12, entities that stand for them, tags, links, references to links, and bare addresses.
_LIVE = re.compile(
    r"(?P<before>@|#(?=[^\s#])|&(?=[#\w])|<(?=[A-Za-z/!?])|\](?=[(\[:])|\bGH(?=-\d)|:(?=//)|\bwww(?=\.))(?!\u200b)",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"[\\`*_\[\]<>|~$]")
_LINE_START = re.compile(r"^(\d+)(?=[.)])|^(?=[-+=#])")
_PICTURE = re.compile(r"!\[(?P<title>[^\]]*)\]\((?P<path>[^()\s]*)\)")
_URL = re.compile(r"https?://[\w.-]+(?::\d+)?(?:/[\w.~%/+=&?,;:#-]*)?", re.ASCII)
# Only at the line's start: an indented fence may belong to a list, which ends it unseen. So those are broken.
_FENCE = re.compile(r"(?P<fence>`{3,}(?=[^`]*$)|~{3,})")


_INDENTED_FENCE = re.compile(r"^(\s+)(?=`{3}|~{3})")
# Controls that would make a line read in another order than it is written, and those that are not text.
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")
LONGEST_URL = 300


def shortened(text: str, limit: int) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(_UNSEEN.sub("", text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def plain(text: str, limit: int = 400) -> str:
    """Someone's text as one line of text that says nothing but itself."""
    escaped = _MARKUP.sub(lambda found: "\\" + found[0], shortened(text, limit))
    return _defused(_LINE_START.sub(lambda found: f"{found[1]}\\" if found[1] else "\\", escaped))


def code(text: str, limit: int = 120) -> str:
    """Someone's text as inline code, in which nothing is live."""
    line = shortened(text, limit)
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence} {line} {fence}" if longest else f"`{line or '–'}`"


def link(text: str, url: str) -> str:
    """A link with our own `text`; an address that is not a plain one is left out."""
    return f"[{text}]({url})" if len(url) <= LONGEST_URL and _URL.fullmatch(url) else text


def image(title: str, url: str) -> str:
    """A picture with a title of its own; an address that is not a plain one leaves the title."""
    shown = link(plain(title, 100), url)
    return f"!{shown}" if shown.startswith("[") else shown


def page(markdown: str) -> str:
    """A page of Markdown that keeps its own headings, tables and code, and is harmless otherwise."""
    lines = re.split(r"\r\n|\r|\n", _UNSEEN.sub("", markdown).strip())
    shown = [line if fenced else _outside(line) for line, fenced in _walk(lines)]
    closing = open_fence(lines)
    return "\n".join([*shown, closing] if closing else shown)


def open_fence(lines: Sequence[str]) -> str:
    """The fence that these lines leave open; empty for none."""
    closing = ""
    for line in lines:
        closing = _after(line, closing)
    return closing


def _walk(lines: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to a code block, fences included."""
    closing = ""
    for line in lines:
        before, closing = closing, _after(line, closing)
        yield line, bool(before or closing)


def _after(line: str, closing: str) -> str:
    """The fence that is open after a line, given the one before it."""
    if closing:
        mark = line.rstrip(" \t").lstrip(" ")
        indented = len(line) - len(line.lstrip(" ")) > 3
        return "" if mark.startswith(closing) and set(mark) == {closing[0]} and not indented else closing
    found = _FENCE.match(line)
    return found["fence"] if found else ""


def _outside(line: str) -> str:
    """A line that is no code."""
    return _defused(_INDENTED_FENCE.sub(rf"\1{BREAK}", _PICTURE.sub(_picture, line)))


def _picture(found: re.Match[str]) -> str:
    return f"{found['title']}: `{found['path']}`"


def _defused(text: str) -> str:
    return _LIVE.sub(lambda found: found[0] + BREAK, text)
