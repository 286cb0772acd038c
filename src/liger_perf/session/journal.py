"""The journal's text: one JSON line an entry, each sealed by a hash over itself and the seal before it.

The chain proves order: a hypothesis whose line precedes a variant's result was fixed before it. Pure; the store writes.
"""

from __future__ import annotations

import hashlib

import msgspec

from liger_perf.model.errors import LigerPerfError
from liger_perf.session.entries import Entry

VERSION = 1
ROOT = "0" * 64


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: int
    sequence: int
    previous: str
    entry: msgspec.Raw
    seal: str


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """The entries read, the seal of the last one, and the bytes of whole lines (what follows them is torn)."""

    entries: tuple[Entry, ...] = ()
    seal: str = ROOT
    size: int = 0


def encode(journal: Journal, entry: Entry) -> tuple[bytes, Journal]:
    """The line that appends `entry`, and the journal with it."""
    content = msgspec.json.encode(entry)
    sequence = len(journal.entries)
    seal = _seal(VERSION, sequence, journal.seal, content)
    line = _Line(version=VERSION, sequence=sequence, previous=journal.seal, entry=msgspec.Raw(content), seal=seal)
    data = msgspec.json.encode(line) + b"\n"
    return data, Journal(entries=(*journal.entries, entry), seal=seal, size=journal.size + len(data))


def decode(data: bytes) -> Journal:
    """Read a journal and check its chain. A last line without its end was being written at a kill and is dropped.

    Raises:
        LigerPerfError: a line is damaged, out of order, changed after it was written, or of another version.
    """
    whole = data[: data.rfind(b"\n") + 1]
    entries: list[Entry] = []
    seal = ROOT
    for number, text in enumerate(whole.split(b"\n")[:-1]):
        line = _decode_line(text, number)
        expected = _seal(line.version, line.sequence, line.previous, bytes(line.entry))
        if line.sequence != number or line.previous != seal or line.seal != expected:
            raise _broken(number, "it does not fit the chain: lines were changed, removed or put in another order")
        try:
            entries.append(msgspec.json.decode(line.entry, type=Entry))
        except msgspec.MsgspecError as error:
            raise _broken(number, f"unknown entry: {error}") from error
        seal = line.seal
    return Journal(entries=tuple(entries), seal=seal, size=len(whole))


class _Version(msgspec.Struct, frozen=True):
    version: int


def _decode_line(text: bytes, number: int) -> _Line:
    try:
        version = msgspec.json.decode(text, type=_Version).version
        if version == VERSION:
            return msgspec.json.decode(text, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _broken(number, f"not a journal line: {error}") from error
    raise LigerPerfError(
        f"the journal is of version {version}, this program reads version {VERSION}",
        todo="use the version of liger-perf that started the session",
    )


def _seal(version: int, sequence: int, previous: str, content: bytes) -> str:
    head = f"{version}\n{sequence}\n{previous}\n".encode()
    return hashlib.sha256(head + content).hexdigest()


def _broken(number: int, why: str) -> LigerPerfError:
    return LigerPerfError(
        "the journal cannot be trusted",
        where=f"line {number + 1}: {why}",
        todo="start a new session; this one's files remain for reading",
    )
