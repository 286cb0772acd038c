"""What is known of the winner on the architectures that were not measured: it is compiled for each, without a GPU.

There the settings functions answer {}, the shipped values; only the text of the kernel may differ. So what is compiled
are the launches with shipped settings, against those of the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from liger_perf.model.errors import WorkerError
from liger_perf.model.final import ArchitectureCheck
from liger_perf.model.launches import Launch
from liger_perf.model.measurements import CubinFacts
from liger_perf.model.protocol import Settings
from liger_perf.stages.attempt import Bench, Branches

NAMES = {80: "Ampere (A100)", 90: "Hopper (H100, H200)", 100: "Blackwell (B200)", 120: "Blackwell (RTX 50)"}


def check(bench: Bench, source: str, branches: Branches) -> tuple[ArchitectureCheck, ...]:
    """Compile the winner's launches for every architecture and compare with the original's."""
    context = bench.context
    tree = context.trees.export("architectures")
    try:
        context.trees.replace(tree, context.paths.ops, source)
        context.progress.stage("architectures", "compiling for those that were not measured")
        shipped: Settings = {function: {} for function in branches}
        mine = launches(bench, tree, shipped)
        theirs = launches(bench, bench.original_tree, {})
        # Compiling needs no device and is mostly the start of processes: all architectures at once.
        with ThreadPoolExecutor(len(NAMES)) as pool:
            return tuple(pool.map(lambda arch: one(bench, tree, mine, theirs, arch), NAMES))
    except WorkerError as error:
        note = f"not compiled: {error.what}"
        return tuple(
            ArchitectureCheck(arch=arch, name=name, measured=False, compiled=None, gated=False, note=note)
            for arch, name in NAMES.items()
        )
    finally:
        context.trees.remove(tree)


def objection(checks: Sequence[ArchitectureCheck]) -> str:
    """Why the winner must not be recommended; empty where it may. Where it was measured, the times decide."""
    found = (f"on {check.name} {check.note}" for check in checks if check.compiled is False and not check.measured)
    return next(found, "")


def launches(bench: Bench, tree: Path, settings: Settings) -> list[Launch]:
    """The own launches at the script's points."""
    context = bench.context
    found: list[Launch] = []
    with context.lab.open(tree, context.paths) as worker:
        for _ in worker.walk(modes=bench.tuning.modes):
            found.extend(launch for launch in worker.trace(settings) if launch.own)
    return found


def one(bench: Bench, tree: Path, mine: list[Launch], theirs: list[Launch], arch: int) -> ArchitectureCheck:
    """Compile both versions for one architecture. Gated: there the machine code is the shipped one."""
    context = bench.context
    ours = context.lab.compile(tree, context.paths, mine, arch)
    original = context.lab.compile(bench.original_tree, context.paths, theirs, arch)
    problem = worse(ours, original)
    compiled = not any(fact.error for fact in original)
    same = compiled and [fact.digest for fact in ours] == [fact.digest for fact in original]
    unchanged = "same machine code as shipped" if same else "other machine code; spills and shared memory no worse"
    note = problem or (unchanged if compiled else "the shipped file does not compile either")
    return ArchitectureCheck(
        arch=arch,
        name=NAMES[arch],
        measured=arch == context.device.arch and not context.device.simulated,
        compiled=False if problem else compiled or None,
        gated=same and arch != context.device.arch,
        note=note,
    )


def worse(ours: list[CubinFacts], original: list[CubinFacts]) -> str:
    """What got worse: a launch that does not compile, new spills, or more shared memory; empty where nothing."""
    if len(ours) != len(original):
        return f"{len(ours)} launches with shipped settings, {len(original)} as shipped: they cannot be compared"
    for mine, theirs in zip(ours, original, strict=True):
        if mine.error and not theirs.error:
            return f"`{mine.kernel}` does not compile: {mine.error}"
        if mine.spill_bytes > theirs.spill_bytes:
            return f"`{mine.kernel}` spills {mine.spill_bytes} B a thread, shipped {theirs.spill_bytes} B"
        if mine.shared_bytes > theirs.shared_bytes:
            return f"`{mine.kernel}` needs {mine.shared_bytes} B of shared memory, shipped {theirs.shared_bytes} B"
    return ""
