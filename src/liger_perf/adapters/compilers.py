"""Compiles many launches at once, in as many processes as the machine has cores."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from liger_perf.adapters.process import guarded, kill_group, last_lines
from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import Launch
from liger_perf.model.measurements import CubinFacts

PER_PROCESS = 3  # launches below which another process costs more by its imports than it saves
PROCESS_TIMEOUT_S = 1800.0


def compile_all(argv: Sequence[str], cwd: Path, env: Mapping[str, str], launches: Sequence[Launch]) -> list[CubinFacts]:
    """Run compile servers over the launches; the facts come in the order of the launches.

    Launches that are equal are compiled once. Raises WorkerError where a server crashed.
    """
    keys = [msgspec.json.encode(launch) for launch in launches]
    unique = list(dict.fromkeys(keys))
    workers = max(1, min(os.cpu_count() or 1, -(-len(unique) // PER_PROCESS)))
    shares = [unique[index::workers] for index in range(workers)]
    with ThreadPoolExecutor(workers) as pool:
        answers = list(pool.map(lambda share: _serve(argv, cwd, env, share), shares))
    facts = {
        key: fact for share, found in zip(shares, answers, strict=True) for key, fact in zip(share, found, strict=True)
    }
    return [facts[key] for key in keys]


def _serve(argv: Sequence[str], cwd: Path, env: Mapping[str, str], share: Sequence[bytes]) -> list[CubinFacts]:
    if not share:
        return []
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            guarded(argv),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(b"".join(line + b"\n" for line in share), timeout=PROCESS_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise WorkerError(f"a compiling process did not end within {PROCESS_TIMEOUT_S:g} s") from None
        finally:
            kill_group(process)
        lines = output.splitlines()
        if len(lines) != len(share):
            log.seek(0)
            details = last_lines(log.read().decode("utf-8", "replace"))
            raise WorkerError(f"a compiling process ended early (exit {process.returncode})", details=details)
    return [msgspec.json.decode(line, type=CubinFacts) for line in lines]
