"""One session on the disk: `<state>/<id>/journal.jsonl` and the workspace `<state>/<id>/optimization/<kernel>/`.

A file of the workspace counts only once an entry of the journal names it with its content. What a killed process left
beside that is moved to `unfinished/` before the stage runs again, so a half-written workspace is never taken for whole.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from liger_perf.adapters.files import append_line, sha256, write_whole
from liger_perf.adapters.lock import FileLock
from liger_perf.model.errors import LigerPerfError
from liger_perf.session import journal as journals
from liger_perf.session.entries import Entry, RecordedFile
from liger_perf.session.model import Session, apply, fold

JOURNAL = "journal.jsonl"
SCRATCH = ("base", "trees", "lab")  # of use until the session is finished


def _nothing(store: SessionStore) -> None:
    """What follows an entry where nobody keeps a copy."""


class SessionStore:
    """A session's directory, held by this process until `close`. Built by `adapters.sessions`.

    `recorded` is called after each entry, when it and its files are on the disk.
    """

    def __init__(
        self, folder: Path, kernel: str, lock: FileLock, recorded: Callable[[SessionStore], None] = _nothing
    ) -> None:
        self.folder = folder
        self.id = folder.name
        self.root = folder / "optimization" / kernel
        self._lock = lock
        self._recorded = recorded
        self._pending: dict[str, RecordedFile] = {}
        self._journal = journals.decode(read_journal(folder))
        self._session = fold(self._journal.entries)

    @property
    def session(self) -> Session:
        """What the journal tells.

        Raises:
            LigerPerfError: nothing was started.
        """
        if self._session is None:
            raise LigerPerfError("the session was never started", where=str(self.folder), todo="start it with `run`")
        return self._session

    @property
    def started(self) -> bool:
        return self._session is not None

    def append(self, entry: Entry) -> Session:
        """Append to the journal; on return the entry is on the disk.

        Raises:
            LigerPerfError: the entry contradicts the session, or the disk refuses. Nothing was then appended.
        """
        session = fold((entry,)) if self._session is None else apply(self._session, entry)
        line, journal = journals.encode(self._journal, entry)
        append_line(self.folder / JOURNAL, line, self._journal.size)
        assert session is not None
        self._journal, self._session = journal, session
        self._recorded(self)
        return session

    def write(self, path: str, content: str | bytes) -> Path:
        """Write a file of the workspace, whole or not at all.

        Raises:
            LigerPerfError: the path leaves the workspace, or the file is recorded: recorded files never change.
        """
        target = self._inside(path)
        if any(file.path == path for file in self.session.files):
            raise LigerPerfError("a recorded file of the workspace must not change", where=path)
        data = content.encode() if isinstance(content, str) else content
        write_whole(target, data)
        self._pending[path] = RecordedFile(path=path, sha256=sha256(data))
        return target

    def read(self, path: str) -> bytes:
        """The content of a file of the workspace.

        Raises:
            LigerPerfError: there is none.
        """
        try:
            return self._inside(path).read_bytes()
        except OSError as error:
            raise LigerPerfError("a file of the workspace is missing", where=path) from error

    def take_pending(self) -> tuple[RecordedFile, ...]:
        """The files written since the last call, for the entry that makes them count."""
        files = tuple(sorted(self._pending.values(), key=lambda file: file.path))
        self._pending.clear()
        return files

    def check(self) -> None:
        """Compare all recorded files with the journal.

        Raises:
            LigerPerfError: one was changed or removed.
        """
        for file in self.session.files:
            if sha256(self.read(file.path)) != file.sha256:
                raise LigerPerfError(
                    "a recorded file of the workspace was changed since it was written",
                    where=str(self.root / file.path),
                    todo="restore it, or start a new session",
                )

    def set_aside(self) -> tuple[str, ...]:
        """Move what no entry makes count out of the workspace; answers the paths."""
        self._pending.clear()
        counted = {file.path for file in self.session.files}
        found = (path for path in sorted(self.root.rglob("*")) if path.is_symlink() or not path.is_dir())
        moved = [path.relative_to(self.root) for path in found]
        moved = [path for path in moved if path.as_posix() not in counted]
        if moved:
            number = len(list((self.folder / "unfinished").glob("*"))) + 1
            for path in moved:
                target = self.folder / "unfinished" / str(number) / path
                target.parent.mkdir(parents=True, exist_ok=True)
                (self.root / path).rename(target)
        return tuple(path.as_posix() for path in moved)

    def discard(self) -> None:
        """Remove the session where nothing was started; then give the lock back."""
        if not self.started:
            shutil.rmtree(self.folder, ignore_errors=True)
        self.close()

    def remove_scratch(self) -> None:
        """Remove what a finished session needs no more."""
        remove_scratch(self.folder)

    def close(self) -> None:
        """Give the lock back."""
        self._lock.release()

    def _inside(self, path: str) -> Path:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts:
            raise LigerPerfError("a path leaves the workspace", where=path)
        return self.root.joinpath(*parts)


def remove_scratch(folder: Path) -> None:
    """Remove the copy of the checkout, trees and caches of the session in `folder`."""
    for name in SCRATCH:
        shutil.rmtree(folder / name, ignore_errors=True)


def has_entry(folder: Path) -> bool:
    """Whether a session was started there: a first line without its end was being written at a kill."""
    return b"\n" in read_journal(folder)


def read_journal(folder: Path) -> bytes:
    """The journal's bytes; empty where there is none."""
    try:
        return (folder / JOURNAL).read_bytes()
    except FileNotFoundError:
        return b""
