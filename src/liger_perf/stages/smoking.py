"""Runs the smoke test: the kernel's autograd functions on both trees, forward and backward, same seeded inputs."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from liger_perf.gates import smoke
from liger_perf.measure.grid import dtype_keys
from liger_perf.model.branches import Branch
from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import Cell, PointRecord
from liger_perf.model.options import KernelPaths
from liger_perf.model.protocol import Settings
from liger_perf.model.variants import SmokeResult
from liger_perf.ports import Bench, Lab
from liger_perf.stages.judging import lockstep

# Less one row: every program of a persistent grid has rows, and the last one fewer. One row more would leave the last
# programs without any, and what they contribute would not be looked at.
ROWS_PER_SM = 4
GRID_ROWS_PER_SM = 8  # on the grid, so that not all that is compared has one number of rows
DTYPES = ("float32", "bfloat16")
ALSO = ("float16",)  # settings are chosen by the size of a dtype, so they hold for it; a kernel need not take it
LARGEST = 2**30  # bytes of a tensor beyond which a point's values are not brought to the host: minutes, and a full disk
Arrays = dict[str, npt.NDArray[np.float64]]


class SmokeTest:
    """Holds what the original produced, so that it is run once for all variants."""

    def __init__(self, lab: Lab, paths: KernelPaths, original_tree: Path) -> None:
        self._rows, self._grid_rows = (rows * lab.describe().sm_count - 1 for rows in (ROWS_PER_SM, GRID_ROWS_PER_SM))
        self._lab = lab
        self._paths = paths
        self._original = original_tree
        self._expected: dict[str, Arrays] = {}

    def run(self, tree: Path, settings: Sequence[Settings]) -> SmokeResult:
        """Every distinct answer of the settings functions is forced in turn; the shipped one (no settings) first."""
        try:
            with self._lab.open(tree, self._paths, values=True) as bench:  # imports while the original is recorded
                if not self._expected:
                    self._expected = self._record_original()
                at_smallest_backward(bench)
                compared = [self._compare(bench, dtype, settings) for dtype in self._expected]
                return smoke.merge([result for results in compared for result in results])
        except WorkerError as error:
            return smoke.crashed(error.what)

    def on_grid(
        self, tree: Path, cells: Sequence[Cell], modes: Sequence[str], branches: Mapping[str, Sequence[Branch]]
    ) -> SmokeResult:
        """The same at every width and dtype of the grid, with the branches taken there: each compiles to other code."""
        results: list[SmokeResult] = []
        seen: set[object] = set()
        try:
            with (
                self._lab.open(self._original, self._paths, values=True) as original,
                self._lab.open(tree, self._paths, values=True) as candidate,
            ):
                for record_, theirs in lockstep((original, candidate), cells, modes):
                    forced = taken(theirs, branches)
                    place = (tuple(record_.point.config.items()), repr(forced))
                    if place not in seen and not too_large(record_):
                        seen.add(place)
                        results += self._compare_at(record_, original, candidate, forced)
        except WorkerError as error:
            return smoke.crashed(error.what)
        return smoke.merge(results) if results else smoke.crashed("the benchmark launched nothing of the kernel's file")

    def _compare_at(self, point: PointRecord, original: Bench, candidate: Bench, forced: Settings) -> list[SmokeResult]:
        """Both versions where their benches stand, in the point's own dtype."""
        own = [point.point.config[key].removeprefix("torch.") for key in dtype_keys(point)]
        results = []
        for dtype in own[:1] or DTYPES:
            expected, _ = self._record(original, dtype, {}, self._grid_rows)
            label = f"{point.point.key}, {dtype}, {describe(forced)}"
            results.append(self._replayed(candidate, expected, dtype, forced, label, self._grid_rows))
        return results

    def _record_original(self) -> dict[str, Arrays]:
        with self._lab.open(self._original, self._paths, values=True) as bench:
            at_smallest_backward(bench)
            expected = {dtype: self._record(bench, dtype, {}, self._rows)[0] for dtype in DTYPES}
            for dtype in ALSO:
                try:
                    expected[dtype], _ = self._record(bench, dtype, {}, self._rows)
                except WorkerError:
                    if not bench.alive:
                        raise
            return expected

    def _compare(self, bench: Bench, dtype: str, settings: Sequence[Settings]) -> list[SmokeResult]:
        expected = self._expected[dtype]
        return [
            self._replayed(bench, expected, dtype, forced, f"{dtype}, {describe(forced)}", self._rows)
            for forced in ({}, *settings)
        ]

    def _replayed(
        self, bench: Bench, expected: Arrays, dtype: str, forced: Settings, label: str, rows: int
    ) -> SmokeResult:
        """The candidate with settings forced, against what the original produced."""
        found, asked = self._record(bench, dtype, forced, rows)
        if unasked := [function for function in forced if function not in asked]:
            # Else the shipped configuration would be compared, and pass, under the name of the forced one.
            return smoke.unexercised(label, unasked[0])
        return smoke.compare(expected, found, dtype=dtype, label=label)

    def _record(self, bench: Bench, dtype: str, settings: Settings, rows: int) -> tuple[Arrays, tuple[str, ...]]:
        """What the functions produce at the point where the bench stands, and which settings functions were asked."""
        # Beside the trees, which a resumed session clears: a killed process would leave it in the system's folder.
        with tempfile.TemporaryDirectory(dir=self._original.parent) as folder:
            path = Path(folder) / "arrays.npz"
            recorded = bench.record(path, dtype=dtype, rows=rows, settings=settings)
            with np.load(path) as arrays:
                return {name: arrays[name] for name in arrays.files}, recorded.asked


def too_large(record_: PointRecord) -> bool:
    tensors = [argument.tensor for launch in record_.own for argument in launch.arguments]
    return any(tensor.nbytes > LARGEST for tensor in tensors if tensor is not None)


def taken(record_: PointRecord, branches: Mapping[str, Sequence[Branch]]) -> Settings:
    """What the settings functions answer at a point, by the branches that are in the file."""
    return {
        call.function: branch.values
        for call in record_.settings_calls
        for branch in reversed(branches.get(call.function, ()))  # the first that covers the call is taken
        if branch.covers(call.shape, call.itemsize)
    }


def describe(settings: Settings) -> str:
    """Settings as one phrase."""
    values = [f"{name}={value}" for answer in settings.values() for name, value in answer.items()]
    return " ".join(values) if values else "as written"


def at_smallest_backward(bench: Bench) -> PointRecord:
    """Stop at the first point that runs backward (else at the first point): the smallest x of the script."""
    first: PointRecord | None = None
    for record_ in bench.walk():
        first = first or record_
        if record_.point.mode in ("backward", "full"):
            return record_
    if first is None:
        raise WorkerError("the benchmark launched nothing of the kernel's file")
    for record_ in bench.walk():
        return record_
    raise WorkerError("the benchmark launched nothing of the kernel's file when it was run again")
