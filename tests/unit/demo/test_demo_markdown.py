"""What others wrote is shown, and can do nothing."""

from __future__ import annotations

import pytest

from liger_perf.demo.markdown import PNG, reader

PICTURES = {"here": PNG + b"x", "svg": b"<svg onload=alert(1)>"}
read = reader(PICTURES.get)


def test_tables_and_folded_pages_are_shown() -> None:
    html = read("<details><summary>The whole</summary>\n\n| a | b |\n| --- | ---: |\n| 1 | ~~2~~ |\n\n</details>\n")
    assert "<details><summary>The whole</summary>" in html
    assert '<td style="text-align:right"><s>2</s></td>' in html
    assert "</details>" in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "<details ontoggle=alert(1)>",
        "<iframe srcdoc='x'></iframe>",
        "<style>*{display:none}</style>",
        "<!-- a --><b onclick=x>",
    ],
)
def test_other_html_is_text(text: str) -> None:
    html = read(text)
    for tag in ("<script", "<img", "<iframe", "<style", "<b ", "<details o"):
        assert tag not in html


def test_links_that_run_code_are_no_links() -> None:
    assert "href" not in read("[a](javascript:alert(1)) [b](data:text/html,x)")


def test_a_marker_is_not_seen() -> None:
    assert "liger-perf" not in read("text\n\n<!-- liger-perf:a/status -->\n")


def test_pictures_are_put_into_the_page_and_nothing_else_is_fetched() -> None:
    html = read('![a "title"](here)\n\n![remote](https://example.org/x.png)\n\n![drawing](svg)\n')
    assert html.count("<img") == 1
    assert 'alt="a &quot;title&quot;" title' in html
    assert "data:image/png;base64," in html
    assert "<em>remote</em>" in html
    assert "<em>drawing</em>" in html
    assert "https://example.org" not in html
