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

    def __init__(self, asked: tuple[str, ...], factor: float, rows: list[int]) -> None:
        call = SettingsCall(function="_k_settings", shape={"n_cols": 4096}, dtype="bfloat16", itemsize=2)
        point = msgspec.structs.replace(record(own=True), settings_calls=(call,))
        super().__init__((point,), "")
        self._asked = asked
        self.rows = rows
        self._factor = factor

    def record(
        self, path: Path, *, dtype: str = "float32", rows: int = 0, seed: int = 0, settings: Settings | None = None
    ) -> Recorded:
        self.rows.append(rows)
        exercised = bool(settings) and set(settings or {}) <= set(self._asked)
        np.savez(path, output0=np.ones(4) * (self._factor if exercised else 1.0))
        return Recorded(names=("output0",), asked=self._asked)


@dataclass
class ReplayLab(FakeLab):
    asked: tuple[str, ...] = field(default=("_k_settings",))
    factor: float = 1.0
    rows: list[int] = field(default_factory=list)

    @contextmanager
    def open(self, tree: Path, paths: object, *, seed: int = 0, values: bool = False) -> Iterator[Bench]:
        yield ReplayBench(() if tree == ORIGINAL else self.asked, self.factor, self.rows)


def test_forced_settings_are_compared() -> None:
    assert SmokeTest(ReplayLab(), RMS_NORM, ORIGINAL).run(CANDIDATE, [FORCED]).passed
    wrong = SmokeTest(ReplayLab(factor=2.0), RMS_NORM, ORIGINAL).run(CANDIDATE, [FORCED])
    assert not wrong.passed
    assert "num_warps=8" in wrong.worst


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
