"""The search over a bench that dies of one candidate."""

from __future__ import annotations

from typing import Any

import pytest

from liger_perf.model.errors import WorkerError
from liger_perf.model.launches import SettingsCall
from liger_perf.model.measurements import PassSample, PassTimes
from liger_perf.stages.tuning import TuningPlan, _Job, _Search
from support.fake_lab import DEVICE, FakeBench, record

CALL = SettingsCall(function="_k_settings", shape={"n_cols": 4096}, dtype="bfloat16", itemsize=2)
WARPS = ({}, {"num_warps": 2}, {"num_warps": 8}, {"num_warps": 16})
JOB = _Job(call=CALL, kernel="_k", candidates=WARPS, launches=((),) * len(WARPS))
TIMES = {None: 100.0, 2: 80.0, 8: 70.0, 16: 90.0}


class DyingBench(FakeBench):
    """Dies when `fatal` warps are timed for the second time."""

    def __init__(self, fatal: int) -> None:
        super().__init__((record(own=True),), "")
        self.alive = True
        self._fatal = fatal
        self._timed: list[int | None] = []

    def time(self, runs: int, settings: Any = None, warmup: int = 1) -> PassTimes:
        warps = settings["_k_settings"].get("num_warps")
        self._timed.append(warps)
        if warps == self._fatal and self._timed.count(warps) == 2:
            self.alive = False
            raise WorkerError("a worker ended unexpectedly")
        return PassTimes(samples=(PassSample(TIMES[warps], TIMES[warps]),))


def test_a_candidate_that_dies_when_it_is_timed_again_is_the_one_that_is_ruled_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Without launches all candidates would count as the same machine code.
    numbers = iter(range(100))
    monkeypatch.setattr("liger_perf.stages.tuning.identity", lambda *_: next(numbers))
    search = _Search(facts={}, device=DEVICE, plan=TuningPlan(cells=(), modes=(), limit=4, runs=1))
    jobs = {record(own=True).point.key: [JOB]}
    with pytest.raises(WorkerError) as caught:
        search.walk(DyingBench(fatal=8), jobs)
    assert search.blame(caught.value)
    search.walk(DyingBench(fatal=0), jobs)
    assert {trial.settings["_k_settings"].get("num_warps") for trial in search.trials if trial.failure} == {8}
    assert [candidate for candidate, _ in search.measured[0].times] == [{"num_warps": 2}, {"num_warps": 16}]
