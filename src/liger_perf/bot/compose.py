"""Puts a comment together: the verdict first, pages folded away, never longer than GitHub takes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from liger_perf.bot.escape import code, link, open_fence, page

LIMIT = 65_000
"""GitHub takes 65,536 characters; the rest is for the marker that is put at the end."""

SIMULATED = (
    "> **SIMULATED**: every figure here comes from a model of a GPU, not from one. "
    "None of them is evidence about real hardware."
)

_RESERVE = 600  # a cut section's own frame, and where the whole page is


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A page that is folded away, or can be. `file` and `url` say where the whole of it is."""

    title: str
    text: str
    file: str
    url: str = ""
    unfolded: bool = False


def length(text: str) -> int:
    """Characters as GitHub counts them at most: those beyond the basic plane count twice."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def compose(verdict: str, *parts: str, sections: Sequence[Section] = (), simulated: bool = False) -> str:
    """The comment: banner, verdict, parts, folded sections. What does not fit is cut from the end of the sections."""
    head = "\n\n".join(part for part in (SIMULATED if simulated else "", verdict, *parts) if part)
    room = LIMIT - len(sections) * _RESERVE
    texts = [head if length(head) <= room else _cut(head, room)]
    room -= length(texts[0])
    for section in sections:
        texts.append(_folded(section, max(0, room)))
        room -= length(texts[-1]) - _RESERVE
    return "\n\n".join(texts)


def _folded(section: Section, room: int) -> str:
    """At most `room` and the reserve."""
    text = page(section.text)
    if length(text) > room:
        where = link(code(section.file), section.url)
        text = f"{_cut(text, room)}\n\n*Cut here, since a comment holds no more. The whole page is {where}.*".strip()
    opening = "<details open>" if section.unfolded else "<details>"
    return f"{opening}<summary>{section.title}</summary>\n\n{text}\n\n</details>"


def _cut(text: str, room: int) -> str:
    """Whole lines, as many as fit; a code block that is cut is closed."""
    used, kept = 0, list[str]()
    for line in text.split("\n"):
        used += length(line) + 1
        if used > room - 100:
            break
        kept.append(line)
    fence = open_fence(kept)
    if length(fence) > 80:
        return ""
    return "\n".join([*kept, fence] if fence else kept)
