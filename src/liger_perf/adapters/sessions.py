"""All sessions of a state directory: made, found, listed."""

from __future__ import annotations

import re
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from liger_perf.adapters.lock import FileLock
from liger_perf.adapters.store import SCRATCH, SessionStore, has_entry, read_journal, remove_scratch
from liger_perf.model.errors import LigerPerfError, UsageError
from liger_perf.session import journal as journals
from liger_perf.session.model import Session, fold

_NAME = re.compile(r".-\d{8}-\d{6}-[0-9a-f]{4}$")  # as `create` makes them


class Sessions:
    """The sessions below one state directory."""

    def __init__(self, state: Path, recorded: Callable[[SessionStore], None] | None = None) -> None:
        self._state = state
        self._recorded = recorded

    def create(self, kernel: str, name: str = "") -> SessionStore:
        """A new, empty session, held by this process. It begins to exist with its first entry.

        Args:
            name: the session's; empty for one made of the kernel's name and the time.

        Raises:
            LigerPerfError: the state directory cannot be written.
        """
        name = name or f"{kernel}-{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
        folder = self._state / name
        try:
            self._state.mkdir(parents=True, exist_ok=True)
            # Held while a folder has no lock of its own yet, so that no sweep takes it for a leftover.
            with FileLock(self._state / "lock"):
                self._sweep()
                folder.mkdir(exist_ok=not has_entry(folder))
                lock = FileLock(folder / "lock")
                lock.acquire(wait=False)
        except OSError as error:
            raise LigerPerfError(
                "the state directory cannot be written",
                where=f"{self._state}: {error.strerror}",
                todo="name another one with --state or LIGER_PERF_STATE",
            ) from error
        return self._store(folder, kernel, lock)

    def open(self, name: str) -> SessionStore:
        """Hold an existing session; its recorded files are checked.

        Raises:
            UsageError: there is no such session.
            LigerPerfError: another process holds it, or its journal or files cannot be trusted.
        """
        folder = self._folder(name)
        lock = FileLock(folder / "lock")
        if not lock.acquire(wait=False):
            raise LigerPerfError(
                f"session {name} is held by another process (pid {lock.holder or 'unknown'})",
                todo="wait for it, or end it and resume",
            )
        try:
            store = self._store(folder, _read(folder).started.request.kernel, lock)
            store.check()
        except BaseException:
            lock.release()
            raise
        return store

    def read(self, name: str) -> Session:
        """What a session's journal tells, without holding it.

        Raises:
            UsageError: there is no such session.
            LigerPerfError: the journal cannot be trusted.
        """
        return _read(self._folder(name))

    def workspace(self, name: str) -> Path:
        """The session's workspace."""
        folder = self._folder(name)
        return folder / "optimization" / _read(folder).started.request.kernel

    def names(self) -> list[str]:
        """All started sessions, the latest last."""
        if not self._state.is_dir():
            return []
        folders = [path for path in self._state.iterdir() if path.is_dir() and has_entry(path)]
        return [path.name for path in sorted(folders, key=lambda path: (path / "journal.jsonl").stat().st_mtime_ns)]

    def latest_open(self) -> str:
        """The session that was worked on last and is not finished.

        Raises:
            UsageError: there is none.
        """
        for name in reversed(self.names()):
            try:
                if not self.read(name).closed:
                    return name
            except LigerPerfError:
                continue
        raise UsageError("no unfinished session", where=str(self._state), todo="start one with `liger-perf run KERNEL`")

    def _store(self, folder: Path, kernel: str, lock: FileLock) -> SessionStore:
        if self._recorded is None:
            return SessionStore(folder, kernel, lock)
        return SessionStore(folder, kernel, lock, self._recorded)

    def _folder(self, name: str) -> Path:
        folder = self._state / name
        if "/" in name or name.startswith(".") or not has_entry(folder):
            known = ", ".join(self.names()[-5:]) or "none"
            raise UsageError(f"no session {name!r}", where=str(self._state), todo=f"known sessions: {known}")
        return folder

    def _sweep(self) -> None:
        """Remove what killed processes left: folders where nothing was started, scratch of finished sessions."""
        for folder in self._state.iterdir():
            # By name too: the state directory may be one in which other folders lie that are not ours to remove.
            if not _NAME.search(folder.name) or not (folder / "lock").exists():
                continue
            started = has_entry(folder)
            if started and not _has_needless_scratch(folder):
                continue
            lock = FileLock(folder / "lock")
            if lock.acquire(wait=False):
                if started:
                    remove_scratch(folder)
                else:
                    shutil.rmtree(folder, ignore_errors=True)
                lock.release()


def _has_needless_scratch(folder: Path) -> bool:
    if not any((folder / name).exists() for name in SCRATCH):
        return False
    try:
        return _read(folder).closed
    except LigerPerfError:
        return False  # a journal that cannot be trusted: all of it stays for reading


def _read(folder: Path) -> Session:
    session = fold(journals.decode(read_journal(folder)).entries)
    if session is None:
        raise UsageError("the session was never started", where=folder.name, todo="start it with `liger-perf run`")
    return session
