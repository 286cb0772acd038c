"""Compiles many launches at once, in as many processes as the machine has cores."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from liger_perf.adapters.process import guarded, kill_group, last_lines
from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import Argument, Launch
from liger_perf.model.measurements import CubinFacts
from liger_perf.model.protocol import Ready

PER_PROCESS = 3  # launches below which another process costs more by its imports than it saves
PROCESS_TIMEOUT_S = 1800.0


def compile_all(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], launches: Sequence[Launch], arch: int
) -> list[CubinFacts]:
    """Run compile servers over the launches for `sm_<arch>`; the facts come in the order of the launches.

    Launches that Triton compiles to the same code are compiled once. A launch that takes the compiler down is a fact
    too.

    Raises:
        WorkerError: a server cannot import the target or does not end.
    """
    command = [*argv, "--arch", str(arch)]
    keys = [specialisation(launch) for launch in launches]
    unique = dict(zip(keys, launches, strict=True))
    order = list(unique)
    workers = max(1, min(os.cpu_count() or 1, -(-len(order) // PER_PROCESS)))
    shares = [order[index::workers] for index in range(workers)]
    lines = [[msgspec.json.encode(unique[key]) for key in share] for share in shares]
    with ThreadPoolExecutor(workers) as pool:
        answers = list(pool.map(lambda share: _compile(command, cwd, env, share, arch), lines))
    facts = {
        key: fact for share, found in zip(shares, answers, strict=True) for key, fact in zip(share, found, strict=True)
    }
    return [facts[key] for key in keys]


def specialisation(launch: Launch) -> bytes:
    """What of a launch Triton compiles for: not the grid, not the extents of tensors, and of an integer that is no
    constexpr only whether it is 1, a multiple of 16, or wider than 32 bits (triton.runtime.jit, «specialization»)."""
    arguments = tuple(_specialised(argument) for argument in launch.arguments)
    return msgspec.json.encode(msgspec.structs.replace(launch, grid=(), arguments=arguments))


def _specialised(argument: Argument) -> Argument:
    tensor, value = argument.tensor, argument.value
    if tensor is not None:
        plain = msgspec.structs.replace(
            tensor, shape=(), stride=(), storage=0, offset=tensor.offset * tensor.itemsize % 16
        )
        return msgspec.structs.replace(argument, tensor=plain)
    if argument.constexpr or not isinstance(value, int) or isinstance(value, bool) or value == 1:
        return argument
    wide = not -(2**31) <= value < 2**31
    return msgspec.structs.replace(argument, value=(16 if value % 16 == 0 else 17) * (2**40 if wide else 1))


def _compile(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], share: Sequence[bytes], arch: int
) -> list[CubinFacts]:
    """Facts of each launch of a share; the server is started again behind a launch that took it down."""
    facts: list[CubinFacts] = []
    while rest := share[len(facts) :]:
        found, crash = _serve(argv, cwd, env, rest)
        facts.extend(found)
        if len(found) < len(rest):
            facts.append(_crashed(rest[len(found)], arch, crash))
    return facts


def _serve(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], share: Sequence[bytes]
) -> tuple[list[CubinFacts], str]:
    """What one server answered until it ended, and how it ended."""
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
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(BrokenPipeError):
                        stream.close()
        log.seek(0)
        details = last_lines(log.read().decode("utf-8", "replace"))
    ready, *lines = output.splitlines(keepends=True) or [b""]
    if not ready.endswith(b"\n"):
        raise WorkerError(f"a compiling process could not start (exit {process.returncode})", details=details)
    msgspec.json.decode(ready, type=Ready)
    facts = [msgspec.json.decode(line, type=CubinFacts) for line in lines if line.endswith(b"\n")]
    return facts, f"the compiler ended with exit {process.returncode}: {details[-400:]}"


def _crashed(launch: bytes, arch: int, error: str) -> CubinFacts:
    return CubinFacts(
        kernel=msgspec.json.decode(launch, type=Launch).kernel,
        arch=arch,
        digest="",
        registers=0,
        spill_bytes=0,
        shared_bytes=0,
        num_warps=0,
        seconds=0.0,
        error=error,
    )
