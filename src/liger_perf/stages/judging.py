"""Runs the judge: workers on the original's and the candidate's tree stop at the same points and are timed in turns.

Blocks are mirrored (ABBA, BAAB). A third worker, on the original's tree again, gives the noise of each point.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import msgspec

from liger_perf.measure.judge import compare, schedule
from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import Cell, PointRecord, SettingsCall
from liger_perf.model.measurements import Block, Clock, Comparison, PassSample
from liger_perf.model.options import KernelPaths
from liger_perf.ports import Bench, Lab, Progress

Trio = tuple[ExitStack, tuple[Bench, Bench, Bench]]
"""Workers on (original, candidate, original again), and what closes them."""


class JudgePlan(msgspec.Struct, frozen=True, kw_only=True):
    """How much is measured: restarts of the workers, blocks a restart and point, runs a turn within a block."""

    cells: tuple[Cell, ...]
    modes: tuple[str, ...]
    restarts: int
    blocks: int
    runs: int


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """Raw samples, and what they say. By point: the pass, peak bytes of the candidate over the original's, and what the
    candidate's settings functions were asked."""

    blocks: tuple[Block, ...]
    noise_blocks: tuple[Block, ...]
    modes: dict[str, str]
    memory_ratios: dict[str, float]
    calls: dict[str, tuple[SettingsCall, ...]]

    def comparisons(self) -> tuple[Comparison, ...]:
        """One comparison a point and clock, corrected for how many there are."""
        found = []
        together = len(self.modes) * len(Clock)
        for point, mode in self.modes.items():
            mine = [block for block in self.blocks if block.point == point]
            noise = [block for block in self.noise_blocks if block.point == point]
            for clock in (Clock.DEVICE, Clock.WALL):
                found.append(compare(mine, noise, clock=clock, mode=mode, comparisons=together))
        return tuple(found)


def judge(
    lab: Lab,
    trees: tuple[Path, Path],
    paths: KernelPaths,
    plan: JudgePlan,
    progress: Progress,
    *,
    first_restart: int = 0,
    opened: Trio | None = None,
) -> Judged:
    """Compare `trees` = (original, candidate).

    Args:
        opened: workers for the first restart that are importing already; closed here.

    Raises:
        WorkerError: a worker failed; the candidate cannot be judged.
    """
    blocks: list[Block] = []
    noise: list[Block] = []
    modes: dict[str, str] = {}
    memory: dict[str, float] = {}
    calls: dict[str, tuple[SettingsCall, ...]] = {}
    restarts = range(first_restart, first_restart + plan.restarts)
    for restart, workers in trios(lab, trees, paths, restarts, opened):
        progress.stage("judge", f"restart {restart - first_restart + 1} of {plan.restarts}")
        for records in lockstep(workers, plan.cells, plan.modes):
            point = records[0].point
            modes[point.key] = point.mode
            calls[point.key] = records[1].settings_calls
            if point.key not in memory:
                memory[point.key] = ratio(workers[1].peak_memory(), workers[0].peak_memory())
            for turns in schedule(plan.blocks):
                mine, other = block(point.key, restart, turns, workers, plan.runs)
                blocks.append(mine)
                noise.append(other)
    return Judged(blocks=tuple(blocks), noise_blocks=tuple(noise), modes=modes, memory_ratios=memory, calls=calls)


def join(one: Judged, other: Judged) -> Judged:
    """Two rounds of the same points together."""
    return Judged(
        blocks=one.blocks + other.blocks,
        noise_blocks=one.noise_blocks + other.noise_blocks,
        modes={**one.modes, **other.modes},
        memory_ratios={**other.memory_ratios, **one.memory_ratios},
        calls={**one.calls, **other.calls},
    )


def lockstep(
    benches: Sequence[Bench], cells: Sequence[Cell], modes: Sequence[str]
) -> Iterator[tuple[PointRecord, ...]]:
    """Walk the benches together; all stand at the same point whenever this yields. They set a point up side by side."""
    walks = [bench.walk(cells, modes) for bench in benches]
    with ThreadPoolExecutor(len(walks)) as pool:
        yield from together(walks, pool)


def together(walks: Sequence[Iterator[PointRecord]], pool: ThreadPoolExecutor) -> Iterator[tuple[PointRecord, ...]]:
    while True:
        records = list(pool.map(lambda walk: next(walk, None), walks))
        present = [record for record in records if record is not None]
        if not present:
            return
        keys = {record.point.key for record in present}
        if len(present) != len(records) or len(keys) != 1:
            raise WorkerError(f"the versions stop at different points of the benchmark: {sorted(keys)}")
        yield tuple(present)


def trios(
    lab: Lab, trees: tuple[Path, Path], paths: KernelPaths, restarts: range, opened: Trio | None
) -> Iterator[tuple[int, tuple[Bench, Bench, Bench]]]:
    """For each restart the workers (original, candidate, original again). The next ones import while these measure."""
    with ExitStack() as everything:
        coming = opened or open_trio(lab, trees, paths, restarts[0])
        for restart in restarts:
            stack, workers = coming
            everything.push(stack)
            for worker in workers:
                worker.wait_ready()
            if restart + 1 in restarts:
                coming = open_trio(lab, trees, paths, restart + 1)
                everything.push(coming[0])
            yield restart, workers
            stack.close()


def open_trio(lab: Lab, trees: tuple[Path, Path], paths: KernelPaths, restart: int) -> Trio:
    """Roles swap from restart to restart: who starts first also allocates first."""
    stack = ExitStack()
    order = (0, 1) if restart % 2 == 0 else (1, 0)
    opened = {role: stack.enter_context(lab.open(trees[role], paths, seed=restart)) for role in order}
    return stack, (opened[0], opened[1], stack.enter_context(lab.open(trees[0], paths, seed=restart)))


def block(point: str, restart: int, turns: str, workers: tuple[Bench, Bench, Bench], runs: int) -> tuple[Block, Block]:
    """One mirrored block of original and candidate, and one of the original against itself that shares its turns.

    `turns` is "ABBA" or "BAAB"; the second original (C) runs in the middle: ABCCBA, BACCAB.
    """
    half = turns[:2] + "C"
    samples: dict[str, list[PassSample]] = {"A": [], "B": [], "C": []}
    for turn in half + half[::-1]:
        samples[turn].extend(workers["ABC".index(turn)].time(runs, warmup=2).samples)
    a, b, c = (tuple(samples[role]) for role in "ABC")
    return (
        Block(point=point, restart=restart, order=turns, a=a, b=b),
        Block(point=point, restart=restart, order=turns, a=a, b=c),
    )


def ratio(candidate: int, original: int) -> float:
    """Peak bytes, candidate over original; a pass that allocates nothing in both versions is unchanged."""
    if original <= 0:
        return 1.0 if candidate <= 0 else float("inf")
    return candidate / original


def samples_csv(judged: Judged, device: str) -> str:
    """Every raw sample: pair (candidate or noise), point, restart, order, role, run, device µs, wall µs, device."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(("pair", "point", "restart", "block", "order", "role", "run", "device_us", "wall_us", "gpu_name"))
    for pair, blocks in (("candidate", judged.blocks), ("noise", judged.noise_blocks)):
        for number, item in enumerate(blocks):
            for role, samples in (("original", item.a), ("candidate" if pair == "candidate" else "original2", item.b)):
                for run, sample in enumerate(samples):
                    times = (f"{sample.device_us:.3f}", f"{sample.wall_us:.3f}")
                    writer.writerow((pair, item.point, item.restart, number, item.order, role, run, *times, device))
    return buffer.getvalue()
