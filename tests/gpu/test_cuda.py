"""The clock and the workers on a real GPU."""

from __future__ import annotations

import statistics
from pathlib import Path

import numpy as np
import pytest
import torch

from liger_perf.adapters.lab import ProcessLab
from liger_perf.gpu.timing import MARKER, L2Flush, copy_bandwidth_gbs, time_pass
from liger_perf.model.launches import Cell
from liger_perf.model.measurements import PassTimes
from liger_perf.model.options import DeviceKind
from support.example import RMS_NORM, all_gone, copy_example

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no NVIDIA GPU that torch can use"),
    # Said once a process, by the first profile: one cycle is all that a profile here has.
    pytest.mark.filterwarnings("ignore:Warning. Profiler clears events:UserWarning"),
]


def median_us(times: PassTimes) -> float:
    return statistics.median(sample.device_us for sample in times.samples)


@pytest.fixture(scope="module")
def flush() -> L2Flush:
    return L2Flush()


def test_as_many_samples_as_runs(flush: L2Flush) -> None:
    x = torch.ones(2**20, device="cuda")
    for runs in (1, 2, 7):
        times = time_pass(lambda: x.mul_(1), (), flush, runs=runs, warmup=1)
        assert len(times.samples) == runs
        assert all(0 < sample.device_us < sample.wall_us for sample in times.samples)


def test_flush_separates_runs_and_is_not_counted(flush: L2Flush) -> None:
    x = torch.ones(2**20, device="cuda")

    def twice() -> None:
        x.mul_(1)
        x.neg_()

    times = time_pass(twice, (), flush, runs=5, warmup=1)
    assert len(times.by_kernel) == 2
    assert MARKER not in times.by_kernel
    assert sum(times.by_kernel.values()) == pytest.approx(median_us(times), rel=0.2)
    # A pass that launches nothing is a run too.
    assert [sample.device_us for sample in time_pass(lambda: None, (), flush, runs=3, warmup=0).samples] == [0, 0, 0]


def test_gradients_are_cleared_before_each_run(flush: L2Flush) -> None:
    x = torch.ones(2**20, device="cuda", requires_grad=True)
    y = x * 2
    gradient = torch.ones_like(y)
    times = time_pass(lambda: y.backward(gradient, retain_graph=True), [x], flush, runs=3, warmup=1)
    assert len(times.by_kernel) == 1, times.by_kernel  # an accumulation would be a second kernel


def test_flush_empties_the_l2_cache(flush: L2Flush) -> None:
    class Nothing(L2Flush):
        """Marks the runs and leaves the cache as it is."""

        def __init__(self) -> None:
            self._buffer = torch.empty(4096, dtype=torch.int32, device="cuda")

    x = torch.ones(4 * 2**20, device="cuda")  # 16 MB
    cold = time_pass(lambda: x.sum(), (), flush, runs=20, warmup=3)
    hot = time_pass(lambda: x.sum(), (), Nothing(), runs=20, warmup=3)
    assert median_us(cold) > 1.1 * median_us(hot)


def test_copy_takes_the_time_of_its_bytes(flush: L2Flush) -> None:
    bandwidth = copy_bandwidth_gbs()
    assert 100 < bandwidth < 20_000
    source = torch.empty(2**28, dtype=torch.bfloat16, device="cuda")
    target = torch.empty_like(source)
    times = time_pass(lambda: target.copy_(source), (), flush, runs=10, warmup=2)
    expected_us = 2 * source.numel() * source.element_size() / bandwidth / 1e3
    assert median_us(times) == pytest.approx(expected_us, rel=0.15)


def test_two_workers_record_the_same(tmp_path: Path) -> None:
    tree = copy_example(tmp_path / "tree")
    lab = ProcessLab(DeviceKind.CUDA, tmp_path / "state")
    cell = Cell(config={"hidden_size": "320", "dtype": "torch.float32"}, xs=("64",))
    files = [tmp_path / "a.npz", tmp_path / "b.npz"]
    for file in files:
        with lab.open(tree, RMS_NORM, values=True) as bench:
            next(iter(bench.walk([cell], ["backward"])))
            assert bench.record(file).names
            assert len(bench.time(3).samples) == 3
            assert bench.peak_memory() > 0
    assert all_gone(tree)
    with np.load(files[0]) as one, np.load(files[1]) as other:
        assert set(one) == set(other)
        assert all(np.array_equal(one[name], other[name]) for name in one)
