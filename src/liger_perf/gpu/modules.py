"""Finds the target's modules by the paths of their files."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType


def kernel_module(ops: str) -> ModuleType:
    """Import the kernel's module by the path of its file: src/a/b/c.py is a.b.c."""
    return importlib.import_module(".".join(Path(ops).with_suffix("").parts[1:]))
