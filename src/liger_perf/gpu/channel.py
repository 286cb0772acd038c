"""The worker's end of the pipe: one JSON message a line, kept apart from whatever the target prints."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO

import msgspec

from liger_perf.model.protocol import Answer, Command


class Channel:
    """Reads commands and writes answers. The target's own standard output goes to standard error (the log)."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._writer = writer
        self._decoder = msgspec.json.Decoder(Command)
        self._encoder = msgspec.json.Encoder()

    @classmethod
    def take_standard_streams(cls) -> Channel:
        return cls(*cls.private_streams())

    @staticmethod
    def private_streams() -> tuple[BinaryIO, BinaryIO]:
        """Move the pipe to private descriptors, so that a print in the target cannot break the protocol."""
        reader = os.fdopen(os.dup(0), "rb")
        writer = os.fdopen(os.dup(1), "wb")
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        return reader, writer

    def receive(self) -> Command | None:
        """The next command, or None when the control process has gone."""
        line = self._reader.readline()
        return self._decoder.decode(line) if line else None

    def send(self, answer: Answer) -> None:
        self._writer.write(self._encoder.encode(answer) + b"\n")
        self._writer.flush()
