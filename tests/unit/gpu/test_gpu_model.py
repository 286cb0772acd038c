from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from liger_perf.gpu.simulated.model import H200, Work, launch_us, resident_programs, torch_us

WORK = Work(
    programs=8192,
    loaded_bytes=16384.0,
    stored_bytes=8192.0,
    dram_bytes=16384.0,
    rounds=1.0,
    warps=8,
    registers=32,
    spill_bytes=0,
    shared_bytes=64,
    stages=1,
    instructions=300,
)
WORKS = st.builds(
    Work,
    programs=st.integers(1, 100_000),
    loaded_bytes=st.floats(0, 1e7),
    stored_bytes=st.floats(0, 1e7),
    dram_bytes=st.floats(0, 2e7),
    rounds=st.floats(0, 300),
    warps=st.sampled_from([1, 2, 4, 8, 16, 32]),
    registers=st.integers(1, 255),
    spill_bytes=st.integers(0, 20_000),
    shared_bytes=st.integers(0, H200.shared_memory_bytes),
    stages=st.integers(1, 6),
    instructions=st.integers(1, 5000),
)


def work(**changes: Any) -> Work:
    return msgspec.structs.replace(WORK, **changes)


@pytest.mark.parametrize(
    ("changes", "programs"),
    [
        ({"warps": 4, "registers": 32, "shared_bytes": 0}, 16),  # 2048 threads
        ({"warps": 4, "registers": 64, "shared_bytes": 0}, 8),  # 65,536 registers
        ({"warps": 4, "registers": 33, "shared_bytes": 0}, 12),  # 40 a thread, since a warp takes units of 256
        ({"warps": 1, "registers": 16, "shared_bytes": 0}, 32),  # blocks an SM
        ({"warps": 1, "registers": 16, "shared_bytes": 100_000}, 2),  # 227 KB, 1 KB of it kept by each program
        ({"warps": 32, "registers": 255, "shared_bytes": 0}, 1),  # what runs at all is resident
    ],
)
def test_resident_programs(changes: dict[str, int], programs: int) -> None:
    assert resident_programs(H200, work(**changes)) == programs


@given(WORKS, st.sampled_from(["loaded_bytes", "stored_bytes", "spill_bytes"]), st.integers(1, 10**6))
def test_more_bytes_never_take_less_time(given_work: Work, name: str, more: int) -> None:
    heavier = msgspec.structs.replace(given_work, **{name: getattr(given_work, name) + more})
    assert launch_us(H200, heavier) >= launch_us(H200, given_work)


@given(WORKS, st.integers(1, 10_000))
def test_more_programs_never_take_less_time(given_work: Work, more: int) -> None:
    larger = msgspec.structs.replace(given_work, programs=given_work.programs + more)
    assert launch_us(H200, larger) >= launch_us(H200, given_work) * (1 - 1e-9)


@given(WORKS)
def test_no_launch_is_faster_than_its_bytes(given_work: Work) -> None:
    moved = given_work.programs * given_work.dram_bytes
    floor = moved / (H200.bandwidth * H200.attainable)
    assert launch_us(H200, given_work) >= (H200.launch_us + floor) * (1 - 1e-9)


def test_what_the_techniques_change_shows() -> None:
    looped = work(
        programs=132,
        rounds=62.0,
        loaded_bytes=62 * 16384.0,
        stored_bytes=62 * 8192.0,
        dram_bytes=62 * 24576.0,
        registers=64,
    )
    assert launch_us(H200, msgspec.structs.replace(looped, stages=3)) < launch_us(H200, looped)
    halved = {name: getattr(looped, name) / 2 for name in ("rounds", "loaded_bytes", "stored_bytes", "dram_bytes")}
    assert launch_us(H200, msgspec.structs.replace(looped, programs=264, **halved)) < launch_us(H200, looped)
    assert launch_us(H200, work(spill_bytes=256)) > launch_us(H200, work())


def test_torch_operation() -> None:
    assert torch_us(H200, 0) == H200.torch_us
    assert torch_us(H200, 2**30) > 2**30 / H200.bandwidth
