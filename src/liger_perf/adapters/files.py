"""Files that are either whole or not there."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from liger_perf.model.errors import LigerPerfError

TEMPORARY = ".writing-"


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write_whole(target: Path, content: bytes) -> None:
    """Write under a temporary name, force it to the disk, rename: a kill at any moment leaves the old file or the new.

    Raises:
        LigerPerfError: the disk is full or refuses.
    """
    temporary = target.with_name(f"{TEMPORARY}{target.name}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        sync_folder(target.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise LigerPerfError("a file cannot be written", where=f"{target}: {error.strerror}") from error


def append_line(target: Path, line: bytes, size: int) -> None:
    """Append one line to a file of `size` good bytes, and force it to the disk; what follows them is cut off first.

    Raises:
        LigerPerfError: the disk is full or refuses; the file then has its old content.
    """
    new = not target.exists()
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.ftruncate(descriptor, size)
        written = 0
        while written < len(line):
            written += os.pwrite(descriptor, line[written:], size + written)
        os.fsync(descriptor)
    except OSError as error:
        os.ftruncate(descriptor, size)
        raise LigerPerfError("the journal cannot be written", where=f"{target}: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if new:
        sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Force a rename inside the folder to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
