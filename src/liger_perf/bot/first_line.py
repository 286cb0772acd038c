"""The first line of a comment as GitHub shows it: what stands in a quote, in code or in a link is no command."""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST_LINE = 2_000

# The only line ends of Markdown; str.splitlines knows more.
_LINE_END = re.compile(r"\r\n|\r|\n")
# "/optimise" is the same word; four blanks or a tab before it would make it a code block.
_COMMAND = re.compile(r" {0,3}/optimi[sz]e(?=\s|$)(?P<rest>.*)", re.IGNORECASE)
_NOT_PLAIN = {
    "code": re.compile(r"`"),
    "a link": re.compile(r"\]\s*[(\[]|<\w+:|\b\w+://"),
    "HTML": re.compile(r"<[!/?A-Za-z]"),
}


class CommandLine(NamedTuple):
    """What follows /optimize. `marked_up` names the markup that it holds; empty for plain text."""

    rest: str
    marked_up: str


def command_line(body: str) -> CommandLine | None:
    """The command line that a comment opens with; None where it opens with anything else."""
    line = next((line for line in _LINE_END.split(body) if line.strip()), "")
    found = _COMMAND.fullmatch(line)
    if found is None:
        return None
    rest = found["rest"].strip()
    return CommandLine(rest, next((name for name, mark in _NOT_PLAIN.items() if mark.search(rest)), ""))
