"""Kills real runs on the simulated device, again and again, and checks after each kill that nothing was harmed.

`python tools/kill_soak.py --kills 50 --seed 0`: runs the command line on a copy of the example repository, sends its
process SIGKILL at a random moment, resumes, and starts a new session when one is finished. After each kill: the
checkout has its old digest, no worker process lives on, `liger-perf status` answers. Exit status 1 where any failed.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from liger_perf.adapters.tree import digest

EXAMPLE = Path(__file__).parents[1] / "examples" / "mini_liger"
SURVIVE_S = 5.0
TOO_MANY = 10  # failures after which nothing more can be learnt
KERNEL = "rms_norm"
# What `status` says of a session, and the stage that it means.
STAGES = {
    "profile is to be run": "profile",
    "optimizing": "optimize",
    "is to be finalized": "finalize",
    "finished": "end",
}


@dataclass
class Counts:
    """What happened so far. `gone_s`: the longest that a worker took to follow its control process."""

    kills: Counter[str] = field(default_factory=Counter)
    starts: int = 0
    resumes: int = 0
    finished: int = 0
    gone_s: float = 0.0
    failures: list[str] = field(default_factory=list)

    def table(self) -> str:
        stages = [f"| killed in {stage} | {self.kills[stage]} |" for stage in ("preflight", *STAGES.values())]
        lines = ["| what | count |", "| --- | ---: |", *stages, f"| kills | {self.kills.total()} |"]
        lines += [f"| started anew | {self.starts} |", f"| resumed | {self.resumes} |"]
        lines += [f"| sessions finished | {self.finished} |", f"| failures | {len(self.failures)} |"]
        return "\n".join([*lines, f"\nworkers were gone {self.gone_s:.2f} s after a kill at the latest"])


class Soak:
    """A checkout, a state directory, and the command line in processes of their own."""

    def __init__(self, folder: Path, variants: int) -> None:
        self.counts = Counts()
        self._variants = variants
        self._checkout = folder / "checkout"
        self._state = folder / "state"
        self._log = folder / "output.log"
        shutil.copytree(EXAMPLE, self._checkout, ignore=shutil.ignore_patterns("__pycache__", "*.csv"))
        self._before = digest(self._checkout)

    def round(self, after_s: float) -> None:
        """Start or resume, kill after that many seconds, check. A command that ends before is not counted as a kill."""
        known = self._standings()
        session = open_session(known)
        command = self._command(session)
        with self._log.open("ab") as log:
            log.write(f"\n$ liger-perf {' '.join(command)}\n".encode())
            log.flush()
            process = subprocess.Popen(argv(*command), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            try:
                process.wait(timeout=after_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                self._check_after_kill(session, known)
                return
            except BaseException:
                process.kill()
                raise
        self._check_end(process.returncode)

    def finish(self, timeout_s: float) -> None:
        """Let the session that is open run to its end."""
        if open_session(self._standings()):
            self.round(timeout_s)
            if open_session(self._standings()):
                self._fail(f"a session could not be finished within {timeout_s:.0f} s")

    def _command(self, session: str) -> list[str]:
        if session:
            self.counts.resumes += 1
            return ["resume", session, "--state", str(self._state)]
        self.counts.starts += 1
        options = ["--repo", str(self._checkout), "--device", "simulated", "--autonomous"]
        return ["run", KERNEL, *options, "--variants", str(self._variants), "--state", str(self._state)]

    def _check_end(self, code: int) -> None:
        if code == 0:
            self.counts.finished += 1
        else:
            self._fail(f"the command ended with {code}: {self._tail()}")
        self._check_checkout()

    def _check_after_kill(self, session: str, known: dict[str, str]) -> None:
        left, gone_s = survivors(self._state)  # first, so that the time is that from the kill
        self.counts.gone_s = max(self.counts.gone_s, gone_s)
        found = self._standings()
        standing = found.get(session) or next((text for name, text in found.items() if name not in known), "")
        stage = next((stage for text, stage in STAGES.items() if text in standing), "preflight")
        self.counts.finished += stage == "end"
        self.counts.kills[stage] += 1
        self._check_checkout()
        if left:
            self._fail(f"{len(left)} processes live on {SURVIVE_S:g} s after a kill in {stage}: {left[0]}")

    def _check_checkout(self) -> None:
        if digest(self._checkout) != self._before:
            self._fail("the checkout was changed")

    def _standings(self) -> dict[str, str]:
        """What `status` says of each session, the latest last."""
        if not self._state.exists():
            return {}
        command = argv("status", "--state", str(self._state))
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        found = dict(re.findall(rf"^({KERNEL}-[\w-]+): (.*)$", result.stdout, flags=re.MULTILINE))
        if result.returncode != 0 or "Traceback" in result.stderr:
            self._fail(f"status ended with {result.returncode}: {result.stderr[-500:]}")
        return found

    def _tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-8:])

    def _fail(self, what: str) -> None:
        print(f"FAILURE: {what}", flush=True)
        self.counts.failures.append(what)


def open_session(standings: dict[str, str]) -> str:
    """The session to go on with; empty where none was started or all are finished."""
    return next((name for name, text in standings.items() if not text.startswith("finished")), "")


def argv(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "liger_perf", *arguments]


def survivors(state: Path) -> tuple[list[str], float]:
    """The workers that are still there after `SURVIVE_S`, and the seconds that it took for all to be gone."""
    started = time.monotonic()
    while (left := workers(state)) and time.monotonic() - started < SURVIVE_S:
        time.sleep(0.01)
    return left, time.monotonic() - started


def workers(state: Path) -> list[str]:
    """Living processes whose command or environment names a session below `state`, by id and command."""
    mark = os.fsencode(f"{state}/{KERNEL}-")
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command, environment = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
        except OSError:
            continue  # ended meanwhile
        if mark in command or mark in environment:
            found.append(f"{folder.name} {os.fsdecode(command).replace(chr(0), ' ')}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shortest", type=float, default=1.0, help="seconds from a start to its kill, at least")
    # Longer than one attempt takes, or no variant would ever be recorded.
    parser.add_argument("--longest", type=float, default=45.0, help="… and at most; uniformly between them")
    parser.add_argument("--variants", type=int, default=2)
    parser.add_argument("--deadline", type=float, default=3600.0, help="seconds after which no further round begins")
    parser.add_argument("--leave", action="store_true", help="do not run the last session to its end")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="liger-perf-soak-"))
    soak = Soak(folder, options.variants)
    try:
        while soak.counts.kills.total() < options.kills and len(soak.counts.failures) < TOO_MANY:
            left = options.deadline - (time.monotonic() - started)
            if left <= 0:
                soak.counts.failures.append(f"the deadline passed before {options.kills} kills")
                break
            before = soak.counts.kills.total()
            soak.round(min(left, chance.uniform(options.shortest, options.longest)))
            if soak.counts.kills.total() > before:
                print(f"{time.monotonic() - started:6.0f} s: {dict(soak.counts.kills)}", flush=True)
        if not options.leave:
            soak.finish(max(60.0, options.deadline - (time.monotonic() - started)))
    finally:
        print(f"\n{soak.counts.table()}\nseed {options.seed}, {time.monotonic() - started:.0f} s", flush=True)
        if soak.counts.failures:
            print(f"kept for reading: {folder}", flush=True)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if soak.counts.failures else 0


if __name__ == "__main__":
    sys.exit(main())
