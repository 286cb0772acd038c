"""Which files of the repository a kernel's file imports. Static: nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

SOURCE_ROOTS = ("src", "")
"""Where packages lie, relative to the root of the repository."""


def imported_files(path: str, files: frozenset[str], read: Callable[[str], str]) -> tuple[str, ...]:
    """The repository's own modules that `path` imports, directly or through others, sorted; without `path` itself.

    A package's `__init__` counts where it is imported by its own name. It does not where it only leads to a module,
    since those of a kernel library import every kernel there is.

    Args:
        files: all files of the repository.
        read: the text of one of them.
    """
    found: set[str] = set()
    waiting = [path]
    while waiting:
        current = waiting.pop()
        for target in _targets(current, read(current), files):
            if target not in found and target != path:
                found.add(target)
                # What a package's front door imports is everything; it is bound to as it is.
                if not target.endswith("/__init__.py"):
                    waiting.append(target)
    return tuple(sorted(found))


def _targets(path: str, text: str, files: frozenset[str]) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = _package(path, node)
            # `from package import name`: the name may be a module of its own.
            inner = [f"{package}.{alias.name}" for alias in node.names]
            modules = [name for name in inner if _file(name, files)]
            names = modules if len(modules) == len(inner) else [*modules, package]
        else:
            continue
        for name in names:
            if target := _file(name, files):
                yield target


def _package(path: str, node: ast.ImportFrom) -> str:
    """The dotted name after `from`, relative ones resolved."""
    if not node.level:
        return node.module or ""
    parts = PurePosixPath(path).parent.parts
    if parts[:1] == ("src",):
        parts = parts[1:]
    kept = parts[: len(parts) - (node.level - 1)]
    return ".".join([*kept, *([node.module] if node.module else [])])


def _file(module: str, files: frozenset[str]) -> str:
    """The file of a dotted name; empty where the repository has none."""
    inside = module.replace(".", "/")
    for root in SOURCE_ROOTS:
        start = f"{root}/{inside}" if root else inside
        for candidate in (f"{start}.py", f"{start}/__init__.py"):
            if candidate in files:
                return candidate
    return ""
