"""Searches the settings of a tunable file: candidates are traced, compiled ahead in parallel, timed as whole passes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import Cell, Launch, PointRecord, SettingsCall
from liger_perf.model.measurements import CubinFacts, DeviceFacts
from liger_perf.model.options import KernelPaths
from liger_perf.model.protocol import Settings
from liger_perf.model.variants import Trial
from liger_perf.ports import Bench, Lab, Progress
from liger_perf.search.matrix import Measured
from liger_perf.search.space import Axis, Candidate, Space, candidates
from liger_perf.techniques.base import Knob

REACH = 2  # steps of a launch option: a factor of four in warps, either way
SHIPPED = {"loop_stages": 1, "programs_per_sm": 1, "num_warps": 4, "num_stages": 3}


class TuningPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How much is tried: candidates a point and kernel, runs a candidate; the best few are timed again in turns."""

    cells: tuple[Cell, ...]
    modes: tuple[str, ...]
    limit: int
    runs: int
    finalists: int = 3
    rounds: int = 3


class Tuned(msgspec.Struct, frozen=True, kw_only=True):
    measured: tuple[Measured, ...]
    trials: tuple[Trial, ...]


class _Job(msgspec.Struct, frozen=True, kw_only=True):
    """Candidates of one settings function at one point, with the launches that each would make."""

    call: SettingsCall
    kernel: str
    candidates: tuple[Candidate, ...]
    launches: tuple[tuple[Launch, ...], ...]


def tune(
    lab: Lab,
    tree: Path,
    paths: KernelPaths,
    knobs: Sequence[Knob],
    plan: TuningPlan,
    device: DeviceFacts,
    progress: Progress,
    *,
    known: Mapping[str, Sequence[Candidate]] | None = None,
) -> Tuned:
    """Search every settings function that the knobs name, at every point that calls it.

    Args:
        known: further candidates by settings function, such as the answers of the parent's.

    Raises:
        WorkerError: the worker failed as a whole; a candidate that fails costs only itself.
    """
    with ExitStack() as stack:
        progress.stage("search", "which launches the candidates would make")
        bench = stack.enter_context(lab.open(tree, paths))
        jobs = trace(bench, knobs, plan, known or {})
        facts = compile_facts(lab, tree, paths, jobs, device, progress)
        progress.stage("search", f"timing candidates at {len(jobs)} points")
        search = _Search(facts=facts, device=device, plan=plan)
        while True:
            try:
                search.walk(bench, jobs)
                return Tuned(measured=tuple(search.measured), trials=tuple(search.trials))
            except WorkerError as error:
                # A candidate took the worker down: it is out, and a new worker goes on where the last one stood.
                if bench.alive or not search.blame(error):
                    raise
                progress.note(f"a candidate crashed the worker, which is replaced: {error.what}")
                bench = stack.enter_context(lab.open(tree, paths))


class _Search:
    """Times candidates point by point. It remembers what is done, so that a replaced worker need not do it again."""

    def __init__(self, *, facts: dict[bytes, CubinFacts], device: DeviceFacts, plan: TuningPlan) -> None:
        self._facts = facts
        self._device = device
        self._plan = plan
        self._crashed: dict[tuple[str, str, int], str] = {}
        self._running: tuple[str, str, int] | None = None
        self._done: set[tuple[str, str]] = set()
        self.measured: list[Measured] = []
        self.trials: list[Trial] = []

    def walk(self, bench: Bench, jobs: Mapping[str, Sequence[_Job]]) -> None:
        """Visit every point that is not done. Raises WorkerError where the worker died."""
        for record in bench.walk(self._plan.cells, self._plan.modes):
            for job in jobs.get(record.point.key, ()):
                place = (record.point.key, job.call.function)
                if place not in self._done:
                    found, tried = self._time(bench, record, job)
                    self.measured.append(found)
                    self.trials.extend(tried)
                    self._done.add(place)

    def blame(self, error: WorkerError) -> bool:
        """Rule out the candidate that ran when the worker died. False where none ran, or the shipped one did."""
        if self._running is None or self._running[2] == 0:
            return False
        self._crashed[self._running] = error.what
        self._running = None
        return True

    def _time(self, bench: Bench, record: PointRecord, job: _Job) -> tuple[Measured, list[Trial]]:
        """Time the candidates one after another, then the best few in turns with the shipped configuration."""
        point, function = record.point.key, job.call.function
        times: dict[int, float] = {}
        trials: list[Trial] = []
        known: dict[object, int] = {}
        aliases: dict[int, int] = {}
        for index, (candidate, launches) in enumerate(zip(job.candidates, job.launches, strict=True)):
            failure = refused(launches, self._facts, self._device) or self._crashed.get((point, function, index), "")
            same = index if failure else known.setdefault(identity(launches, self._facts), index)
            if same != index:
                aliases[index] = same  # the same machine code under another name is not timed twice
                continue
            if not failure:
                self._running = (point, function, index)
                times_us = self._try(bench, {function: candidate})
                failure = times_us if isinstance(times_us, str) else ""
                if not isinstance(times_us, str):
                    times[index] = times_us
            trials.append(
                Trial(point=point, settings={function: candidate}, device_us=times.get(index), failure=failure)
            )

        def again(index: int) -> float:
            self._running = (point, function, index)
            return _median_us(bench, {function: job.candidates[index]}, self._plan.runs)

        final = rerank(again, times, self._plan)
        self._running = None
        final.update({index: final[same] for index, same in aliases.items() if same in final})
        found = Measured(
            function=function,
            kernel=job.kernel,
            point=point,
            shape=job.call.shape,
            itemsize=job.call.itemsize,
            shipped_us=final[0],
            times=tuple((job.candidates[index], us) for index, us in final.items() if index != 0),
        )
        return found, trials

    def _try(self, bench: Bench, settings: Settings) -> float | str:
        """The median device time in µs, or why there is none. Raises WorkerError where the worker died of it."""
        try:
            return _median_us(bench, settings, self._plan.runs)
        except WorkerError as error:
            if not bench.alive:
                raise
            return error.what


def trace(
    bench: Bench, knobs: Sequence[Knob], plan: TuningPlan, known: Mapping[str, Sequence[Candidate]]
) -> dict[str, list[_Job]]:
    """By point: the candidates of each settings function called there, and their launches."""
    functions = {knob.function: knob.kernel for knob in knobs}
    jobs: dict[str, list[_Job]] = {}
    for record in bench.walk(plan.cells, plan.modes):
        # A function that a point calls twice is searched once there.
        for call in {call.function: call for call in record.settings_calls if call.function in functions}.values():
            around = known.get(call.function, ())
            chosen = candidates(space_at(record, call.function, knobs), plan.limit, around)
            launches = tuple(bench.trace({call.function: candidate}) for candidate in chosen)
            job = _Job(call=call, kernel=functions[call.function], candidates=chosen, launches=launches)
            jobs.setdefault(record.point.key, []).append(job)
    return jobs


def space_at(record: PointRecord, function: str, knobs: Sequence[Knob]) -> Space:
    """The knobs of a function as axes, with the value that is shipped at this point."""
    mine = [knob for knob in knobs if knob.function == function]
    kernel = mine[0].kernel
    launch = next((launch for launch in record.own if launch.kernel == kernel), None)
    axes = tuple(
        Axis(name=knob.name, values=knob.values, shipped=shipped(launch, knob), reach=REACH if knob.option else None)
        for knob in mine
    )
    return Space(function=function, kernel=kernel, axes=axes)


def shipped(launch: Launch | None, knob: Knob) -> int:
    """The value of a knob in the launch as shipped; Triton's default where the launch does not say."""
    value = None if launch is None else (launch.options.get(knob.name) or launch.value(knob.constexpr or knob.name))
    return value if isinstance(value, int) else SHIPPED.get(knob.name, 1)


def compile_facts(
    lab: Lab,
    tree: Path,
    paths: KernelPaths,
    jobs: Mapping[str, Sequence[_Job]],
    device: DeviceFacts,
    progress: Progress,
) -> dict[bytes, CubinFacts]:
    """Compile every launch of every candidate ahead, in parallel: the cache then holds what the worker will ask for."""
    all_jobs = [job for found in jobs.values() for job in found]
    launches = {
        msgspec.json.encode(launch): launch
        for job in all_jobs
        for made in job.launches
        for launch in made
        if launch.own
    }
    progress.stage("search", f"compiling for {len(launches)} launches of {len(all_jobs)} searches")
    facts = lab.compile(tree, paths, list(launches.values()), device.arch)
    return dict(zip(launches, facts, strict=True))


def refused(launches: Sequence[Launch], facts: dict[bytes, CubinFacts], device: DeviceFacts) -> str:
    """Why a candidate cannot be launched; empty where it can."""
    for fact in (facts[msgspec.json.encode(launch)] for launch in launches if launch.own):
        if fact.error:
            return f"does not compile: {fact.error}"
        if fact.shared_bytes > device.shared_memory_bytes:
            return f"needs {fact.shared_bytes} B of shared memory, the device allows {device.shared_memory_bytes} B"
    return ""


def identity(launches: Sequence[Launch], facts: dict[bytes, CubinFacts]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Equal for candidates with the same machine code on the same grid: they need not be timed twice."""
    return tuple((facts[msgspec.json.encode(launch)].digest, launch.grid) for launch in launches if launch.own)


def rerank(time: Callable[[int], float], times: dict[int, float], plan: TuningPlan) -> dict[int, float]:
    """Times again the best few in turns with the shipped one: a drift of the clocks hits all alike.

    The others' times are scaled to the shipped one's new time. Raises WorkerError where the shipped one does not run.
    """
    if 0 not in times:
        raise WorkerError("the shipped configuration could not be timed in the tunable file")
    best = sorted((index for index in times if index != 0), key=lambda index: times[index])[: plan.finalists]
    again: dict[int, list[float]] = {index: [] for index in (0, *best)}
    for _ in range(plan.rounds):
        for index in again:
            again[index].append(time(index))
    fresh = {index: statistics.median(values) for index, values in again.items()}
    scale = fresh[0] / times[0]
    return {index: fresh.get(index, us * scale) for index, us in times.items()}


def _median_us(bench: Bench, settings: Settings, runs: int) -> float:
    return statistics.median(sample.device_us for sample in bench.time(runs, settings).samples)
