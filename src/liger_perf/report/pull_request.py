"""The patch of one file: made, and checked before anyone builds a pull request from it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

LARGEST_PATCH = 1_000_000
"""Bytes. A kernel file is some tens of kilobytes; more than this is not a patch of one."""

_HUNK = re.compile(r"@@ -\d+(?:,(?P<old>\d+))? \+\d+(?:,(?P<new>\d+))? @@.*")
_NO_NEWLINE = "\\ No newline at end of file"


def unified_diff(path: str, old: str, new: str) -> str:
    """The patch from `old` to `new` as `git apply` takes it; empty where they are equal."""
    if old == new:
        return ""
    lines = [f"diff --git a/{path} b/{path}\n"]
    for line in difflib.unified_diff(_lines(old), _lines(new), f"a/{path}", f"b/{path}"):
        lines.append(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}\n")
    return "".join(lines)


def _lines(text: str) -> list[str]:
    # str.splitlines also breaks at form feeds and other characters that git takes as part of a line.
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def one_file_patch_ok(patch: str, path: str) -> str | None:
    """None for a patch that changes the content of the regular file `path` and nothing else; else why it is not.

    Refused: other paths, modes, renames, copies, new and deleted files, binary patches, lines outside hunks, hunks of
    another length than they say, and a patch that is empty or too large.
    """
    if not patch.strip():
        return "the patch is empty"
    if len(patch.encode()) > LARGEST_PATCH:
        return f"the patch is larger than {LARGEST_PATCH} bytes"
    if path.startswith("/") or ".." in path.split("/"):
        return f"{path!r} is not a path inside the repository"
    lines = patch.split("\n")
    if lines.pop():
        return "the last line of the patch is cut short"
    at = 0
    if lines[0].startswith("diff --git"):
        if lines[0] != f"diff --git a/{path} b/{path}":
            return f"the patch changes another file: {lines[0]!r}"
        at = 1
    if at < len(lines) and re.fullmatch(r"index [0-9a-f]+\.\.[0-9a-f]+( 100644)?", lines[at]):
        at += 1
    if lines[at : at + 2] != [f"--- a/{path}", f"+++ b/{path}"]:
        return f"the patch does more than change the content of {path}: {lines[at : at + 2]!r}"
    return _hunks_reason(lines[at + 2 :])


def _hunks_reason(lines: Sequence[str]) -> str | None:
    """Walk the hunks by the lengths that their heads promise, so that no line can pose as another file's head."""
    if not lines:
        return "the patch has no hunks"
    at = 0
    while at < len(lines):
        head = _HUNK.fullmatch(lines[at])
        if head is None:
            return f"a line outside the hunks: {lines[at]!r}"
        old, new = int(head["old"] or 1), int(head["new"] or 1)
        at += 1
        while old > 0 or new > 0 or (at < len(lines) and lines[at] == _NO_NEWLINE):
            if at == len(lines):
                return "a hunk is shorter than its head says"
            kind = lines[at][:1]
            if kind not in (" ", "-", "+", "\\"):
                return f"a line that belongs to no hunk: {lines[at]!r}"
            old -= kind in (" ", "-")
            new -= kind in (" ", "+")
            if old < 0 or new < 0:
                return "a hunk is longer than its head says"
            at += 1
    return None
