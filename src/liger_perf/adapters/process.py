"""Processes that run the target repository's code: environment built from nothing, killed whole, none left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from liger_perf.model.errors import WorkerError

TAIL_BYTES = 64 * 1024
LAUNCHER = Path(__file__).with_name("launcher.py")

# What the CUDA driver and the loader need; everything else of the caller's environment stays outside.
PASSED_THROUGH = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_HOME", "LD_LIBRARY_PATH")
PASSED_PREFIXES = ("NVIDIA_",)


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """A finished command. `output` is the tail of stdout and stderr together, as they were written."""

    returncode: int
    output: str
    seconds: float


def worker_environment(
    tree: Path, cache_dir: Path, extra: Mapping[str, str] | None = None, *, python: str = sys.executable
) -> dict[str, str]:
    """The environment of a process that runs code of `tree`, built from nothing: no token can be in it.

    `cache_dir` is the worker's own: home, temporary files and Triton's compilation cache. `python` comes first on PATH,
    so that `python -m pytest` and `make` use the interpreter in which the repository is installed.
    """
    home, scratch = cache_dir / "home", cache_dir / "tmp"
    for folder in (home, scratch):
        folder.mkdir(parents=True, exist_ok=True)
    # Not resolved: the link in a virtual environment is what makes it one.
    environment = {
        "PATH": os.pathsep.join((str(Path(python).absolute().parent), os.environ.get("PATH", os.defpath))),
        "HOME": str(home),
        "TMPDIR": str(scratch),
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join((str(tree / "src"), str(tree))),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TRITON_CACHE_DIR": str(cache_dir / "triton"),
        # Cubins are compared by content: a comment line more must not change them.
        "TRITON_DISABLE_LINE_INFO": "1",
    }
    for name, value in os.environ.items():
        if name in PASSED_THROUGH or name.startswith(PASSED_PREFIXES):
            environment[name] = value
    environment.update(extra or {})
    return environment


def guarded(argv: Sequence[str]) -> list[str]:
    """The command that runs `argv` such that it dies with this process, however this process dies.

    Start it with `start_new_session=True`, from a thread that outlives it: the kernel counts the death of the starting
    thread as the parent's.
    """
    return [sys.executable, "-I", "-S", str(LAUNCHER), str(os.getpid()), *argv]


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the whole group of a process that was started with `start_new_session=True`, and reap it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


class _Tail(threading.Thread):
    """Reads a pipe to its end and keeps the last bytes."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._bytes = bytearray()
        self._dropped = False

    def run(self) -> None:
        while chunk := os.read(self._pipe.fileno(), 65536):
            self._bytes += chunk
            if len(self._bytes) > TAIL_BYTES:
                self._dropped = True
                del self._bytes[:-TAIL_BYTES]

    def text(self) -> str:
        text = bytes(self._bytes).decode("utf-8", errors="replace")
        return f"[… earlier output dropped]\n{text}" if self._dropped else text


def last_lines(text: str, count: int = 15) -> str:
    """The last lines of a process's output, as an error shows them."""
    return "\n".join(text.rstrip().splitlines()[-count:])


def run_command(argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout_s: float) -> CommandResult:
    """Run a command to its end in a session of its own; its standard input is empty.

    Raises:
        WorkerError: it did not end within `timeout_s` and was killed with all its children.
    """
    started = time.monotonic()
    with subprocess.Popen(
        guarded(argv),
        cwd=cwd,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        tail = _Tail(process.stdout)
        tail.start()
        timed_out = False
        try:
            process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            # Also after a good end: a child left behind would hold the device and this pipe.
            kill_group(process)
        tail.join(timeout=5)
        output = tail.text()
    if timed_out:
        raise WorkerError(
            f"a command did not end within {timeout_s:g} s and was killed",
            where=" ".join(argv),
            details=last_lines(output),
        )
    return CommandResult(returncode=process.returncode, output=output, seconds=time.monotonic() - started)
