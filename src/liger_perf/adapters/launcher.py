"""Run one command and take it down, with all its children, when the control process dies.

Started by path as `python -I -S launcher.py <control pid> <command…>` in a session of its own; it imports nothing of
the package. The kernel tells it of the control process's death (PR_SET_PDEATHSIG), also of a SIGKILL, and it then kills
its whole process group. The command inherits standard input and output. Exit status: the command's, 128 + n for a
signal n, 127 where the command does not exist.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from types import FrameType

PR_SET_PDEATHSIG = 1


def _die_together(_signal: int, _frame: FrameType | None) -> None:
    os.killpg(0, signal.SIGKILL)


def main(control_pid: int, command: list[str]) -> int:
    """Run `command` and answer its exit status."""
    signal.signal(signal.SIGTERM, _die_together)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # The control process may have died before the kernel knew that we care.
    if os.getppid() != control_pid:
        _die_together(signal.SIGTERM, None)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(2, f"{command[0]}: {error.strerror}\n".encode())
            os._exit(127)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
