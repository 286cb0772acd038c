"""A session on the runner's disk and its branch on GitHub: restored from there, written back after each entry.

The branch is what counts. What the disk has beyond it, because a process was killed between the two, is sent first.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from liger_perf.adapters.files import write_whole
from liger_perf.adapters.github.branches import JOURNAL, SessionBranches, Stored
from liger_perf.adapters.store import SessionStore, read_journal
from liger_perf.model.errors import LigerPerfError
from liger_perf.session import journal as journals
from liger_perf.session.entries import RecordedFile
from liger_perf.session.model import Session, fold


class Mirror:
    """One session below `state`."""

    def __init__(self, branches: SessionBranches, stored: Stored, state: Path) -> None:
        self._branches = branches
        self._stored = stored
        self._name = stored.conversation.id
        self._kernel = stored.conversation.kernel
        self.folder = state / self._name

    def restore(self) -> None:
        """Make the disk what the branch is, keeping what only the disk has: later entries, copies and caches.

        Raises:
            LigerPerfError: the branch lacks a file that its journal names, or the disk refuses.
            Superseded: someone else wrote the session meanwhile.
        """
        mine = read_journal(self.folder)
        if mine.startswith(self._stored.journal) and len(mine) > len(self._stored.journal):
            if self._send_extension(mine):
                return
        elif mine and not self._stored.journal.startswith(mine):
            shutil.rmtree(self.folder, ignore_errors=True)
        if not self._stored.journal:
            return
        session = fold(journals.decode(self._stored.journal).entries)
        for file in session.files if session is not None else ():
            content = self._branches.file(self._stored, self._path(file.path))
            if content is None:
                raise LigerPerfError("the session's branch lacks a file that its journal names", where=file.path)
            write_whole(self._workspace / file.path, content)
        write_whole(self.folder / JOURNAL, self._stored.journal)

    def record(self, store: SessionStore) -> None:
        """Send what the last entry added; called after each.

        Raises:
            Superseded: someone else wrote the session meanwhile; nothing was sent.
        """
        session = store.session
        self._send(read_journal(store.folder), session)

    def _send_extension(self, journal: bytes) -> bool:
        """Send entries that a killed process could write, but not send. False where they cannot be trusted."""
        try:
            session = fold(journals.decode(journal).entries)
        except LigerPerfError:
            shutil.rmtree(self.folder, ignore_errors=True)
            return False
        if session is None:
            return False
        self._send(journal[: journal.rfind(b"\n") + 1], session)
        return True

    def _send(self, journal: bytes, session: Session) -> None:
        files = {JOURNAL: journal}
        for file in self._missing(session):
            files[self._path(file.path)] = (self._workspace / file.path).read_bytes()
        self._stored = self._branches.write(self._name, files, f"Session {self._name}")

    def _missing(self, session: Session) -> list[RecordedFile]:
        # Files of a failed stage may be written again; all others never change.
        again = session.failure.files if session.failure is not None else ()
        new = [file for file in session.files if self._path(file.path) not in self._stored.files]
        return [*new, *again]

    @property
    def _workspace(self) -> Path:
        return self.folder / "optimization" / self._kernel

    def _path(self, file: str) -> str:
        return f"optimization/{self._kernel}/{file}"
