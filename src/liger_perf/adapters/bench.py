"""The control process's end of a resident worker: starts it, asks it, kills it whole."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TypeVar

import msgspec

from liger_perf.adapters.process import guarded, kill_group, last_lines
from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import Cell, Launch, PointRecord
from liger_perf.model.measurements import DeviceFacts, PassTimes
from liger_perf.model.protocol import (
    Answer,
    AtPoint,
    Command,
    Describe,
    Described,
    Failed,
    Next,
    PeakBytes,
    PeakMemory,
    Ready,
    Record,
    Recorded,
    Settings,
    Timed,
    TimePass,
    Trace,
    Traced,
    Walk,
    WalkDone,
)

START_TIMEOUT_S = 300.0
POINT_TIMEOUT_S = 900.0  # setting up a point compiles the shipped kernel, which may take minutes
TIME_TIMEOUT_S = 120.0
LIFE_S = 0.5  # how often a worker that says nothing is checked for being alive

A = TypeVar("A", bound=Answer)


class WorkerProcess:
    """A resident worker process, the only one that this object talks to. Implements ports.Bench.

    Every method raises WorkerError where the worker crashed, hung or failed; after a crash the process is gone.

    Attributes:
        skipped: points of cells beyond the script's own that the last whole walk left out, each with the reason.
    """

    def __init__(self, argv: Sequence[str], tree: Path, env: Mapping[str, str]) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 -- close() closes it
        self._process = subprocess.Popen(
            guarded(argv),
            cwd=tree,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
        )
        self._buffer = b""
        self._decoder: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)
        self._ready = False
        self._closed = False
        self.skipped: tuple[str, ...] = ()

    def close(self) -> None:
        """Kill the worker with all its children. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        kill_group(self._process)
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # bytes for a worker that is gone
                    stream.close()

    @property
    def alive(self) -> bool:
        return not self._closed and self._process.poll() is None

    def wait_ready(self) -> None:
        """Wait until the target repository is imported; called by the first command at the latest."""
        if not self._ready:
            self._expect(Ready, START_TIMEOUT_S)
            self._ready = True

    def describe(self, measure_bandwidth: bool) -> DeviceFacts:
        return self._ask(Describe(measure_bandwidth), Described, TIME_TIMEOUT_S).facts

    def walk(self, cells: Sequence[Cell] = (Cell(),), modes: Sequence[str] = ()) -> Iterator[PointRecord]:
        self.wait_ready()
        self.skipped = ()
        self._send(Walk(cells=tuple(cells), modes=tuple(modes)))
        while True:
            answer = self._receive(POINT_TIMEOUT_S)
            match answer:
                case AtPoint(record=record):
                    yield record
                    self._send(Next())
                case WalkDone(skipped=skipped):
                    self.skipped = skipped
                    return
                case Failed():
                    raise self._failed(answer, "the benchmark script failed in the worker")
                case _:
                    raise self._unexpected(answer)

    def time(self, runs: int, settings: Settings | None = None, warmup: int = 1) -> PassTimes:
        return self._ask(TimePass(runs=runs, warmup=warmup, settings=settings or {}), Timed, TIME_TIMEOUT_S).times

    def peak_memory(self) -> int:
        return self._ask(PeakMemory(), PeakBytes, TIME_TIMEOUT_S).bytes

    def trace(self, settings: Settings | None = None) -> tuple[Launch, ...]:
        return self._ask(Trace(settings=settings or {}), Traced, TIME_TIMEOUT_S).launches

    def record(
        self, path: Path, *, dtype: str = "float32", rows: int = 0, seed: int = 0, settings: Settings | None = None
    ) -> Recorded:
        command = Record(path=str(path), dtype=dtype, rows=rows, seed=seed, settings=settings or {})
        return self._ask(command, Recorded, POINT_TIMEOUT_S)

    def _ask(self, command: Command, kind: type[A], timeout_s: float) -> A:
        self.wait_ready()
        self._send(command)
        return self._expect(kind, timeout_s)

    def _expect(self, kind: type[A], timeout_s: float) -> A:
        answer = self._receive(timeout_s)
        if isinstance(answer, kind):
            return answer
        if isinstance(answer, Failed):
            raise self._failed(answer, "the worker could not do what it was asked")
        raise self._unexpected(answer)

    def _send(self, command: Command) -> None:
        if self._closed:
            raise WorkerError("the worker was closed")
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(msgspec.json.encode(command) + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._gone() from None

    def _receive(self, timeout_s: float) -> Answer:
        if self._closed:
            raise WorkerError("the worker was closed")
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            # Asked before the pipe is looked at, so that a last answer is not missed. The end of the pipe alone does
            # not tell: a child of the target may hold it open.
            ended = self._process.poll() is not None
            readable, _, _ = select.select([descriptor], [], [], 0.0 if ended else max(0.0, min(left, LIFE_S)))
            if not readable and ended:
                raise self._gone()
            if not readable and left <= 0:
                kill_group(self._process)
                raise WorkerError(f"a worker did not answer within {timeout_s:g} s and was killed", details=self.tail())
            if not readable:
                continue
            chunk = os.read(descriptor, 1 << 20)
            if not chunk:
                raise self._gone()
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        try:
            return self._decoder.decode(line)
        except msgspec.MsgspecError as error:
            kill_group(self._process)
            raise WorkerError(f"a worker's answer cannot be read: {error}", details=self.tail()) from None

    def tail(self) -> str:
        """The last lines that the worker wrote to its log; empty once it is closed."""
        if self._closed:
            return ""
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - 8192))
        return last_lines(self._log.read().decode("utf-8", "replace"))

    def _failed(self, failure: Failed, what: str) -> WorkerError:
        if failure.sticky:
            kill_group(self._process)  # the CUDA context is lost: whatever it said next would be wrong
        return WorkerError(f"{what}: {failure.kind}: {failure.message}", details=failure.traceback)

    def _gone(self) -> WorkerError:
        # Its end of the pipe closes a moment before it is gone; one that lives on without a pipe is of no use.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        kill_group(self._process)
        return WorkerError(f"a worker ended unexpectedly (exit {self._process.returncode})", details=self.tail())

    def _unexpected(self, answer: Answer) -> WorkerError:
        kill_group(self._process)  # answers and questions would be out of step from here on
        return WorkerError(f"a worker answered {type(answer).__name__} out of turn", details=self.tail())
