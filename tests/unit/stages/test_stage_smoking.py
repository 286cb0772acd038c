"""The smoke test on a bench that answers what a test says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
import pytest

from liger_perf.model.branches import Branch
from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import Cell, SettingsCall
from liger_perf.model.protocol import Recorded, Settings
from liger_perf.ports import Bench
from liger_perf.stages.smoking import SmokeTest
from support.example import RMS_NORM
from support.fake_lab import FakeBench, FakeLab, record

ORIGINAL, CANDIDATE = Path("original"), Path("candidate")
FORCED: Settings = {"_k_settings": {"num_warps": 8}}


class ReplayBench(FakeBench):
    """Produces ones; with settings forced, and asked for, `factor` times as much."""

    alive = True

    def __init__(self, asked: tuple[str, ...], factor: float, rows: list[int], wrong_in: str, fails_in: str) -> None:
        call = SettingsCall(function="_k_settings", shape={"n_cols": 4096}, dtype="bfloat16", itemsize=2)
        point = msgspec.structs.replace(record(own=True), settings_calls=(call,))
        super().__init__((point,), "")
        self._asked = asked
        self.rows = rows
        self._factor = factor
        self._wrong_in = wrong_in
        self._fails_in = fails_in

    def record(
        self, path: Path, *, dtype: str = "float32", rows: int = 0, seed: int = 0, settings: Settings | None = None
    ) -> Recorded:
        self.rows.append(rows)
        if dtype == self._fails_in:
            raise WorkerError("the kernel does not take it")
        exercised = bool(settings) and set(settings or {}) <= set(self._asked)
        wrong = exercised and self._wrong_in in ("", dtype)
        np.savez(path, output0=np.ones(4) * (self._factor if wrong else 1.0))
        return Recorded(names=("output0",), asked=self._asked)


@dataclass
class ReplayLab(FakeLab):
    asked: tuple[str, ...] = field(default=("_k_settings",))
    factor: float = 1.0
    rows: list[int] = field(default_factory=list)
    wrong_in: str = ""
    fails_in: str = ""

    @contextmanager
    def open(self, tree: Path, paths: object, *, seed: int = 0, values: bool = False) -> Iterator[Bench]:
        asked = () if tree == ORIGINAL else self.asked
        yield ReplayBench(asked, self.factor, self.rows, self.wrong_in, self.fails_in)


def test_forced_settings_are_compared() -> None:
    assert SmokeTest(ReplayLab(), RMS_NORM, ORIGINAL).run(CANDIDATE, [FORCED]).passed
    wrong = SmokeTest(ReplayLab(factor=2.0), RMS_NORM, ORIGINAL).run(CANDIDATE, [FORCED])
    assert not wrong.passed
    assert "num_warps=8" in wrong.worst


def test_a_candidate_that_is_wrong_in_float16_only_is_discarded() -> None:
    found = SmokeTest(ReplayLab(factor=2.0, wrong_in="float16"), RMS_NORM, ORIGINAL).run(CANDIDATE, [FORCED])
    assert not found.passed
    assert found.worst.startswith("float16")


def test_a_kernel_that_does_not_take_float16_is_compared_in_the_others() -> None:
    found = SmokeTest(ReplayLab(fails_in="float16"), RMS_NORM, ORIGINAL).run(CANDIDATE, [FORCED])
    assert found.passed
    assert not any(name.startswith("float16") for name in found.compared)


@pytest.mark.parametrize("asked", [(), ("_other_settings",)])
def test_settings_that_nobody_asks_for_are_not_called_correct(asked: tuple[str, ...]) -> None:
    found = SmokeTest(ReplayLab(asked=asked), RMS_NORM, ORIGINAL).run(CANDIDATE, [FORCED])
    assert not found.passed
    assert "_k_settings is never asked" in found.reason


BRANCH = Branch(shape={"n_cols": (2048, 4096)}, itemsize=2, values={"num_warps": 8})
NARROWER = Branch(shape={"n_cols": (1024, 2048)}, itemsize=2, values={"num_warps": 8})


@pytest.mark.parametrize(
    ("branch", "factor", "passed"), [(BRANCH, 1.0, True), (BRANCH, 2.0, False), (NARROWER, 2.0, True)]
)
def test_a_branch_is_forced_where_the_grid_takes_it(branch: Branch, factor: float, passed: bool) -> None:
    test = SmokeTest(ReplayLab(factor=factor), RMS_NORM, ORIGINAL)
    assert test.on_grid(CANDIDATE, [Cell()], ["forward"], {"_k_settings": [branch]}).passed is passed


def test_every_program_of_a_persistent_grid_has_rows_and_the_last_one_fewer() -> None:
    """Else a candidate that forgets the last program's partial sum would pass."""
    lab = ReplayLab()
    test = SmokeTest(lab, RMS_NORM, ORIGINAL)
    test.run(CANDIDATE, [])
    test.on_grid(CANDIDATE, [Cell()], ["forward"], {})
    programs = lab.describe().sm_count
    assert len(set(lab.rows)) == 2
    for rows in set(lab.rows):
        each = -(-rows // programs)
        assert 0 < rows - (programs - 1) * each < each
