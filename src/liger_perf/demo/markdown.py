"""Markdown as GitHub shows it, safe whoever wrote it.

Of HTML only what folds is kept; pictures come from the repository and from nowhere else.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

Picture = Callable[[str], bytes | None]
"""The PNG behind an address; None where it is none of the repository's."""

PNG = b"\x89PNG\r\n\x1a\n"

_TAG = re.compile(r"<!--.*?-->|</?(?:details|summary)>|<details open>|<br ?/?>", re.DOTALL)


class _Renderer(RendererHTML):
    """markdown-it's own renderer, but for HTML and pictures."""

    picture: Picture = staticmethod(lambda url: None)

    def html_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        return _harmless(tokens[idx].content)

    def html_inline(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        return _harmless(tokens[idx].content)

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]) -> str:
        token = tokens[idx]
        title = html.escape(token.content)
        content = self.picture(str(token.attrs.get("src", "")))
        if content is None or not content.startswith(PNG):
            return f"<em>{title}</em>"
        data = base64.b64encode(content).decode()
        return f'<img alt="{title}" title="{title}" src="data:image/png;base64,{data}">'


def reader(picture: Picture) -> Callable[[str], str]:
    """A function from Markdown to HTML, with the pictures put into it."""
    parser = MarkdownIt("commonmark", {"html": True}, renderer_cls=_Renderer).enable(["table", "strikethrough"])
    assert isinstance(parser.renderer, _Renderer)
    parser.renderer.picture = picture
    return lambda text: str(parser.render(text))


def _harmless(text: str) -> str:
    """Tags that fold stay, comments go, all other tags become text."""
    kept, end = [], 0
    for found in _TAG.finditer(text):
        kept.append(html.escape(text[end : found.start()]))
        kept.append("" if found[0].startswith("<!--") else found[0])
        end = found.end()
    return "".join([*kept, html.escape(text[end:])])
