"""The repository itself: a real bare git repository on the disk, written with git's own plumbing.

Whoever clones from the hub and whoever asks its git data API sees the same objects and refs.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from liger_perf.localhub.refused import not_found

ABSENT = "0" * 40
_SHA = re.compile(r"[0-9a-f]{40}")
TREE = "040000"  # the mode of a folder
TIMEOUT = 120.0


class GitFailed(Exception):
    """git refused; the text is what it printed."""


@dataclass(frozen=True)
class Entry:
    """A line of a tree; `size` is None for what is no blob."""

    mode: str
    kind: str
    sha: str
    path: str
    size: int | None = None


@dataclass(frozen=True)
class TreeChange:
    """A path to set, or to remove where `sha` is None."""

    path: str
    mode: str
    sha: str | None


def git_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of every git of the hub: nothing of the user's settings, no question, no hook of theirs."""
    return {
        "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "safe.directory",
        "GIT_CONFIG_VALUE_0": "*",
        **(extra or {}),
    }


class GitStore:
    """Objects and refs of one bare repository."""

    def __init__(self, folder: Path, default_branch: str = "main") -> None:
        self.folder = folder
        if not (folder / "HEAD").exists():
            folder.mkdir(parents=True, exist_ok=True)
            self.run("init", "--quiet", "--bare", f"--initial-branch={default_branch}")
        for name, value in {
            "http.receivepack": "true",
            "uploadpack.allowAnySHA1InWant": "true",
            "receive.hideRefs": "refs/pull",
            "receive.denyDeleteCurrent": "true",
            "core.logAllRefUpdates": "false",
            "gc.auto": "0",
        }.items():
            self.run("config", name, value)

    def run(self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
        """What git printed.

        Raises:
            GitFailed: git refused.
        """
        done = subprocess.run(
            ["git", "--git-dir", str(self.folder), *arguments],
            input=stdin,
            capture_output=True,
            env=git_environment(environment),
            timeout=TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise GitFailed(done.stderr.decode(errors="replace").strip())
        return done.stdout

    def text(self, *arguments: str, stdin: bytes = b"") -> str:
        return self.run(*arguments, stdin=stdin).decode(errors="replace").strip()

    # Refs

    def refs(self, prefix: str = "refs/") -> dict[str, str]:
        """Every ref whose name starts so, and what it points at."""
        lines = self.text("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        pairs = (line.split(" ") for line in lines)
        return {name: sha for name, sha in pairs if name.startswith(prefix)}

    def ref(self, name: str) -> str | None:
        return self.refs(name).get(name)

    def set_ref(self, name: str, new: str, old: str) -> None:
        """Compare and swap; `ABSENT` as `old` creates, as `new` deletes.

        Raises:
            GitFailed: the ref is not at `old`, or git does not like the name.
        """
        arguments = ("-d", name, old) if new == ABSENT else (name, new, old)
        self.run("update-ref", *arguments)

    def good_name(self, name: str) -> bool:
        try:
            self.run("check-ref-format", name)
        except GitFailed:
            return False
        return True

    def resolve(self, revision: str) -> str:
        """The commit of a branch, tag, ref or SHA.

        Raises:
            Refused: there is none, 404.
        """
        for name in (f"refs/heads/{revision}", f"refs/tags/{revision}", revision):
            try:
                return self.text("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
            except GitFailed:
                continue
        raise not_found()

    # Objects

    def kind(self, sha: str) -> str | None:
        """The kind of the object, None where there is none; a name or a short SHA is none."""
        if not _SHA.fullmatch(sha):
            return None
        try:
            return self.text("cat-file", "-t", sha)
        except GitFailed:
            return None

    def read(self, kind: str, sha: str) -> bytes:
        """The raw object.

        Raises:
            Refused: there is none of that kind, 404.
        """
        if self.kind(sha) != kind:
            raise not_found()
        return self.run("cat-file", kind, sha)

    def write(self, kind: str, data: bytes) -> str:
        return self.text("hash-object", "-t", kind, "-w", "--stdin", stdin=data)

    def tree(self, revision: str, *, recursive: bool = False, path: str = "") -> list[Entry]:
        """The entries of a tree; with `path`, the one entry there, or of the folder with a slash at its end."""
        options = ("-r", "-t") if recursive else ()
        pathspec = ("--", path) if path else ()
        out = self.run("ls-tree", "-z", "--long", "--full-tree", *options, revision, *pathspec)
        return [_entry(line) for line in out.decode(errors="replace").split("\0") if line]

    def write_tree(self, base: str | None, changes: Sequence[TreeChange]) -> str:
        """A tree: the base with the changes.

        Raises:
            GitFailed: an object is missing, or a path is not one that git takes.
        """
        with tempfile.TemporaryDirectory() as folder:
            environment = {"GIT_INDEX_FILE": f"{folder}/index"}
            self.run("read-tree", base or "--empty", environment=environment)
            lines = [_index_line(change) for change in self._without_trees(changes)]
            self.run("update-index", "-z", "--index-info", stdin=_zero_ended(lines), environment=environment)
            return self.run("write-tree", environment=environment).decode().strip()

    def _without_trees(self, changes: Sequence[TreeChange]) -> Iterator[TreeChange]:
        """A whole tree as the files in it: an index holds nothing else."""
        for change in changes:
            if change.mode != TREE or change.sha is None:
                yield change
                continue
            for entry in self.tree(change.sha, recursive=True):
                if entry.mode != TREE:
                    yield TreeChange(f"{change.path}/{entry.path}", entry.mode, entry.sha)


def _index_line(change: TreeChange) -> str:
    return f"{'0' if change.sha is None else change.mode} {change.sha or ABSENT}\t{change.path}"


def _zero_ended(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\0" for line in lines).encode()


def _entry(line: str) -> Entry:
    facts, path = line.split("\t", 1)
    mode, kind, sha, size = facts.split()
    return Entry(mode, kind, sha, path, int(size) if size.isdigit() else None)
