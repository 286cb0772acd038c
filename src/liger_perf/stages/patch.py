"""The patch that is handed over: one file, checked by applying it. Pure."""

from __future__ import annotations

import ast
import re

from liger_perf.model.errors import StageError
from liger_perf.report.pull_request import one_file_patch_ok, unified_diff

NO_NEWLINE = "\\ No newline at end of file\n"
_HUNK = re.compile(r"@@ -(?P<start>\d+)(?:,(?P<count>\d+))? \+\d+(?:,\d+)? @@")


def make_patch(path: str, before: str, after: str) -> str:
    """A patch of the one file at `path`, in git's form; empty where nothing differs.

    Raises:
        StageError: the new text is no Python, or the patch does not lead from one text to the other.
    """
    if before == after:
        return ""
    try:
        ast.parse(after)
    except SyntaxError as error:
        raise StageError("the winner's file is no valid Python", where=f"{path}: {error}") from error
    text = unified_diff(path, before, after)
    reason = one_file_patch_ok(text, path)
    if reason is not None:
        raise StageError(f"the patch cannot be handed over: {reason}", where=path)
    if apply_patch(text, path, before) != after:
        raise StageError("the patch does not lead from the original to the winner", where=path)
    return text


def apply_patch(patch: str, path: str, before: str) -> str:
    """What `patch` makes of `before`.

    Raises:
        StageError: the patch touches another file, or does not fit.
    """
    reason = one_file_patch_ok(patch, path)
    if reason is not None:
        raise StageError("a patch must touch the kernel's file and nothing else", where=path, details=reason)
    lines = _lines(patch)
    old = _lines(before)
    result: list[str] = []
    position = 0
    index = next(at for at, line in enumerate(lines) if line.startswith("@@ "))
    while index < len(lines):
        if lines[index] == NO_NEWLINE:
            index += 1
            continue
        hunk = _HUNK.match(lines[index])
        if hunk is not None:
            # An empty range names the line before it.
            start = int(hunk["start"]) - (hunk["count"] != "0")
            result += old[position:start]
            position = start
        else:
            kind, text = lines[index][0], lines[index][1:]
            if index + 1 < len(lines) and lines[index + 1] == NO_NEWLINE:
                text = text.removesuffix("\n")
            if kind in " -":
                if position >= len(old) or old[position] != text:
                    raise StageError("the patch does not fit the original", where=path)
                position += 1
            if kind in " +":
                result.append(text)
        index += 1
    return "".join(result + old[position:])


def _lines(text: str) -> list[str]:
    """Lines with their ends, split at newlines only, as git does."""
    parts = text.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
