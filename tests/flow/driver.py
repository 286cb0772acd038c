"""Runs the command line over fakes in a process of its own, and kills it at one journal entry.

`python driver.py KILL_AT WHEN ARGUMENTS…`: with SIGKILL at the entry of that number, before or after it is written.
"""

from __future__ import annotations

import os
import signal
import sys

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


if __name__ == "__main__":
    kill_at(int(sys.argv[1]), sys.argv[2])
    stages = FakeStages()
    code = call(sys.argv[3:], wiring(stages))
    print("calls:", *stages.calls)
    sys.exit(code)
