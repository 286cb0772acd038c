"""`make checkstyle` on the winner, in a tree of its own: Liger's target rewrites the whole tree while it checks."""

from __future__ import annotations

from pathlib import Path

import msgspec

from liger_perf.ports import Lab

TIMEOUT_S = 900.0


class StyleOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """`passed` is None where nothing could be checked. `source` is the kernel's file as the check left it."""

    passed: bool | None
    detail: str
    source: str


def check_style(lab: Lab, tree: Path, ops: str) -> StyleOutcome:
    """Run the repository's style check; where it fails, let ruff fix the kernel's file and retry once.

    Raises:
        WorkerError: a command did not end in time.
    """
    missing = _cannot_run(lab, tree)
    if missing:
        return _outcome(tree, ops, None, f"not run: {missing}")
    first = lab.run(tree, ["make", "checkstyle"], timeout_s=TIMEOUT_S)
    if first.returncode == 0:
        return _outcome(tree, ops, True, "make checkstyle")
    for command in (["ruff", "check", ops, "--fix"], ["ruff", "format", ops]):
        lab.run(tree, command, timeout_s=TIMEOUT_S)
    second = lab.run(tree, ["make", "checkstyle"], timeout_s=TIMEOUT_S)
    if second.returncode == 0:
        return _outcome(tree, ops, True, "make checkstyle, after one automatic fix")
    # Another file of the repository may be dirty; that is not the winner's doing, and stays out of the patch.
    own = [["ruff", "check", ops], ["ruff", "format", "--check", ops]]
    if all(lab.run(tree, command, timeout_s=TIMEOUT_S).returncode == 0 for command in own):
        return _outcome(tree, ops, True, "the kernel's file is clean; other files of the repository are not")
    return _outcome(tree, ops, False, "make checkstyle fails, also after one automatic fix:\n" + _tail(second.output))


def _cannot_run(lab: Lab, tree: Path) -> str:
    makefile = tree / "Makefile"
    if not makefile.is_file() or "\ncheckstyle:" not in "\n" + makefile.read_text(errors="replace"):
        return "the repository has no `make checkstyle`"
    for tool in ("make", "ruff"):
        if lab.run(tree, [tool, "--version"], timeout_s=60.0).returncode != 0:
            return f"{tool} is not installed"
    return ""


def _outcome(tree: Path, ops: str, passed: bool | None, detail: str) -> StyleOutcome:
    return StyleOutcome(passed=passed, detail=detail, source=(tree / ops).read_bytes().decode())


def _tail(output: str) -> str:
    return "\n".join(output.rstrip().splitlines()[-10:])
