"""The checkout, read once; and disposable trees in which candidates are tested and timed.

A candidate never touches the checkout: it is written into an exported tree that is removed afterwards. Files are
copied, never hard-linked, because a script that writes in place would write through the link into the checkout.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from liger_perf.model.errors import UsageError

# Left out where there is no git to say what belongs to the repository (an unpacked sdist).
NOT_EXPORTED = frozenset(
    {".git", ".hg", ".venv", "venv", "node_modules", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache"}
    | {".tox", ".nox", ".hypothesis"}
)
NOT_EXPORTED_AT_TOP = frozenset({"build", "dist"})


def digest(root: Path) -> str:
    """SHA-256 of all files below `root` except `.git`: paths, contents, modes, link targets.

    Equal digests before and after a run prove that the checkout was not touched.
    """
    total = hashlib.sha256()
    for path in sorted(_walk(root, skip=frozenset({".git"}))):
        full = root / path
        mode = full.lstat().st_mode
        if stat.S_ISLNK(mode):
            content = os.readlink(full).encode()
        elif stat.S_ISREG(mode):
            content = full.read_bytes()
        else:
            content = b""
        total.update(f"{path}\0{mode:o}\0{hashlib.sha256(content).hexdigest()}\n".encode(errors="surrogateescape"))
    return total.hexdigest()


def is_git(root: Path) -> bool:
    """Whether `root` is the top of a git work tree."""
    return (root / ".git").exists() and shutil.which("git") is not None


def listing(root: Path) -> list[str]:
    """The files that belong to the repository at `root`: what git tracks, else everything but builds and caches.

    Raises:
        UsageError: git cannot read the repository.
    """
    if not is_git(root):
        return sorted(
            path
            for path in _walk(root, skip=NOT_EXPORTED)
            if path.split("/", 1)[0] not in NOT_EXPORTED_AT_TOP and ".egg-info/" not in path
        )
    # Another user's checkout is «dubious ownership» to git; nothing of it is executed by listing it.
    command = ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-C", str(root), "ls-files", "-z"]
    result = subprocess.run(command, capture_output=True, check=False)
    if result.returncode != 0:
        raise UsageError("git cannot list the repository", where=str(root), details=os.fsdecode(result.stderr).strip())
    return sorted({os.fsdecode(name) for name in result.stdout.split(b"\0") if name})


def export(root: Path, destination: Path) -> None:
    """Copy the repository's files, as they are in the working copy, to `destination`, which must not exist.

    Raises:
        UsageError: a symbolic link leads out of the repository.
    """
    _copy(root, listing(root), destination)


def replace(tree: Path, path: str, text: str) -> None:
    """Replace a regular file inside an exported tree; its mode stays.

    Raises:
        UsageError: the path is no regular file of the tree.
    """
    target = tree / path
    if target.is_symlink() or not target.is_file() or not target.resolve().is_relative_to(tree.resolve()):
        raise UsageError("no regular file of the tree", where=path)
    target.write_bytes(text.encode())


class TreeExporter:
    """Exports the frozen copy of the checkout, `base`, into disposable trees below `folder`."""

    def __init__(self, base: Path, folder: Path) -> None:
        self._base = base
        self._folder = folder
        self._count = 0

    def clean(self) -> None:
        """Remove what an earlier, killed process left. Only the holder of the session's lock may call this."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def export(self, label: str) -> Path:
        """A fresh tree of its own; equal labels give different trees."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self._count += 1
        tree = self._folder / f"{self._count:03d}-{label}"
        _copy(self._base, list(_walk(self._base, skip=frozenset())), tree)
        return tree

    def replace(self, tree: Path, path: str, text: str) -> None:
        """See `replace`."""
        replace(tree, path, text)

    def remove(self, tree: Path) -> None:
        """Remove a tree that `export` gave.

        Raises:
            ValueError: it is none of this exporter's.
        """
        if tree.parent != self._folder:
            raise ValueError(f"{tree} is no tree of {self._folder}")
        shutil.rmtree(tree, ignore_errors=True)


def _walk(root: Path, *, skip: frozenset[str]) -> Iterator[str]:
    """Files and links below `root` as relative paths with `/`; folders named in `skip` are not entered."""
    for folder, folders, files in os.walk(root):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = sorted(name for name in folders if name not in skip and name not in links)
        below = os.path.relpath(folder, root)
        for name in sorted(files + links):
            if name not in skip:
                yield name if below == "." else f"{below}/{name}"


def _copy(root: Path, paths: Iterable[str], destination: Path) -> None:
    root = root.resolve()
    destination.mkdir(parents=True)
    for path in paths:
        source, target = root / path, destination / path
        try:
            mode = source.lstat().st_mode
        except FileNotFoundError:
            continue  # tracked, but deleted in the working copy
        target.parent.mkdir(parents=True, exist_ok=True)
        if stat.S_ISLNK(mode):
            target.symlink_to(_inner_link(root, source))
        elif stat.S_ISREG(mode):
            # copyfile uses the kernel's own copy, which shares blocks where the file system can.
            shutil.copyfile(source, target)
            target.chmod(stat.S_IMODE(mode) | stat.S_IWUSR | stat.S_IRUSR)


def _inner_link(root: Path, link: Path) -> str:
    """The link's target, where it is relative and stays inside the repository."""
    target = os.readlink(link)
    reached = os.path.normpath(os.path.join(link.parent, target))
    inside = Path(reached).is_relative_to(root) and link.resolve().is_relative_to(root)
    if os.path.isabs(target) or not inside:
        raise UsageError(
            "a symbolic link leads out of the repository, and an exported tree must not reach outside",
            where=f"{link.relative_to(root)} -> {target}",
            todo="replace the link by what it points to, or remove it",
        )
    return target
