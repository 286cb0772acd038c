"""Copies of the example repository, with chosen lines of it replaced, and the processes that run in them."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from liger_perf.model.options import KernelPaths

EXAMPLE = Path(__file__).parents[2] / "examples" / "mini_liger"
RMS_NORM = KernelPaths(
    kernel="rms_norm",
    ops="src/liger_kernel/ops/rms_norm.py",
    benchmark="benchmark/scripts/benchmark_rms_norm.py",
    test="test/transformers/test_rms_norm.py",
)


def copy_example(tree: Path, replacements: dict[str, dict[str, str]] | None = None) -> Path:
    """Copy the example to `tree`; by path, texts that must be there once are replaced. An empty text is the end."""
    shutil.copytree(EXAMPLE, tree, ignore=shutil.ignore_patterns("__pycache__", "*.csv", "*.egg-info"))
    for path, changes in (replacements or {}).items():
        file = tree / path
        text = file.read_text()
        for old, new in changes.items():
            assert not old or text.count(old) == 1, old
            text = text.replace(old, new) if old else text + new
        file.write_text(text)
    return tree


def processes_of(tree: Path) -> dict[int, str]:
    """Command lines of the living processes that were started on the tree, by process id."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # ended meanwhile; a process that ended but was not reaped has no command line
        if str(tree) in words:
            found[int(folder.name)] = " ".join(words)
    return found


def processes_below(folder: Path) -> list[str]:
    """Living processes that were started on something below `folder`, or whose home is there: id and command."""
    mark, found = os.fsencode(f"{folder}/"), []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = (entry / "cmdline").read_bytes(), (entry / "environ").read_bytes()
        except OSError:
            continue  # ended meanwhile
        if mark in command or mark in environment:
            found.append(f"{entry.name} {os.fsdecode(command)}")
    return found


def all_gone(tree: Path, within_s: float = 10.0) -> bool:
    deadline = time.monotonic() + within_s
    while processes_of(tree):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
