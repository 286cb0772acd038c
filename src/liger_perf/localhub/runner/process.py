"""The process of one job: its lines as they come, and its end, asked for or forced."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from liger_perf.localhub.runner.job import Grace

JOIN_S = 5.0


class JobProcess:
    """A process in a group of its own, so that whatever it leaves behind in that group ends with it."""

    def __init__(self, argv: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        """Start it; its standard input is empty, its two outputs are one.

        Raises:
            OSError: there is no such program.
        """
        self._process = subprocess.Popen(
            list(argv),
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._due: deque[tuple[float, signal.Signals]] = deque()
        self._reader = threading.Thread(target=self._read, name=f"job-{self._process.pid}", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.decode(errors="replace").rstrip("\r\n"))

    def line(self, wait_s: float) -> str | None:
        """The next line; None where none came in time."""
        try:
            return self._lines.get(timeout=wait_s) if wait_s else self._lines.get_nowait()
        except queue.Empty:
            return None

    def running(self) -> bool:
        return self._process.poll() is None

    def ask_to_end(self, grace: Grace) -> None:
        """Begin the end, once: SIGINT now, SIGTERM and SIGKILL when `send_due` is called late enough."""
        if self._due or not self.running():
            return
        now = time.monotonic()
        self._process.send_signal(signal.SIGINT)
        terminate = now + grace.interrupt_s
        self._due.extend([(terminate, signal.SIGTERM), (terminate + grace.terminate_s, signal.SIGKILL)])

    def send_due(self) -> None:
        """Send the signal whose time has come."""
        if not self._due or time.monotonic() < self._due[0][0] or not self.running():
            return
        _, number = self._due.popleft()
        if number is signal.SIGKILL:
            self.kill()
        else:
            self._process.send_signal(number)

    def end(self, grace: Grace) -> None:
        """End it, and wait until it has ended."""
        self.ask_to_end(grace)
        while self.running():
            self.send_due()
            time.sleep(0.01)

    def kill(self) -> None:
        """Kill the group, and wait until the process is gone. Any thread may."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> int:
        """Kill what is left of the group and answer the exit status, 128 + n for a signal n."""
        self.kill()
        self._reader.join(JOIN_S)  # who left the group may hold the pipe: do not wait for that
        if self._process.stdout is not None and not self._reader.is_alive():
            self._process.stdout.close()
        code = self._process.returncode
        return code if code >= 0 else 128 - code
