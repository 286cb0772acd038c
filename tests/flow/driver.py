"""Runs the command line over fakes in a process of its own, and kills it at one journal entry.

`python driver.py CALLS KILL_AT WHEN ARGUMENTS…`: with SIGKILL at the entry of that number (0: at none), before or after
it is written. The steps that the stages take are appended to the file CALLS, since a killed process can print nothing.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from liger_perf.adapters.store import SessionStore
from liger_perf.cli import call
from liger_perf.session.entries import Entry
from liger_perf.session.model import Session
from support.fake_stages import FakeStages, wiring


def kill_at(number: int, when: str) -> None:
    append = SessionStore.append
    count = 0

    def patched(self: SessionStore, entry: Entry) -> Session:
        nonlocal count
        count += 1
        if count == number and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        session = append(self, entry)
        if count == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return session

    SessionStore.append = patched  # type: ignore[method-assign]


def main(calls: Path, number: int, when: str, arguments: list[str]) -> int:
    def note(step: str) -> None:
        with calls.open("a") as file:
            file.write(f"{step}\n")

    kill_at(number, when)
    return call(arguments, wiring(FakeStages(before=note)))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]))
