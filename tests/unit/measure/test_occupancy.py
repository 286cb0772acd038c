from __future__ import annotations

import pytest

from liger_perf.measure.occupancy import Limiter, theoretical

# (capability, registers, shared bytes, warps, resident programs): answers of cudaOccMaxActiveBlocksPerMultiprocessor in
# NVIDIA's cuda_occupancy.h of CUDA 13.0 for the limits in the table of the CUDA Programming Guide.
ORACLE = [
    ((8, 0), 32, 0, 4, 16),
    ((8, 0), 40, 1024, 8, 6),
    ((8, 0), 255, 0, 4, 2),
    ((8, 0), 128, 0, 32, 0),
    ((8, 0), 64, 49152, 8, 3),
    ((8, 0), 24, 0, 1, 32),
    ((8, 0), 96, 131072, 16, 1),
    ((8, 0), 33, 0, 3, 16),
    ((8, 0), 168, 70000, 8, 1),
    ((8, 0), 255, 0, 8, 1),
    ((8, 0), 64, 0, 32, 1),
    ((8, 0), 80, 102400, 4, 1),
    ((9, 0), 32, 0, 4, 16),
    ((9, 0), 40, 1024, 8, 6),
    ((9, 0), 255, 0, 4, 2),
    ((9, 0), 128, 0, 32, 0),
    ((9, 0), 64, 49152, 8, 4),
    ((9, 0), 24, 0, 1, 32),
    ((9, 0), 96, 131072, 16, 1),
    ((9, 0), 33, 0, 3, 16),
    ((9, 0), 168, 70000, 8, 1),
    ((9, 0), 255, 0, 8, 1),
    ((9, 0), 64, 0, 32, 1),
    ((9, 0), 80, 102400, 4, 2),
    ((12, 0), 32, 0, 4, 12),
    ((12, 0), 40, 1024, 8, 6),
    ((12, 0), 255, 0, 4, 2),
    ((12, 0), 128, 0, 32, 0),
    ((12, 0), 64, 49152, 8, 2),
    ((12, 0), 24, 0, 1, 24),
    ((12, 0), 96, 131072, 16, 0),
    ((12, 0), 33, 0, 3, 16),
    ((12, 0), 168, 70000, 8, 1),
    ((12, 0), 255, 0, 8, 1),
    ((12, 0), 64, 0, 32, 1),
    ((12, 0), 80, 102400, 4, 0),
]


@pytest.mark.parametrize(("capability", "registers", "shared", "warps", "programs"), ORACLE)
def test_as_nvidias_calculator(
    capability: tuple[int, int], registers: int, shared: int, warps: int, programs: int
) -> None:
    found = theoretical(capability, registers=registers, shared_bytes=shared, num_warps=warps)
    assert found is not None
    assert found.programs_per_sm == programs
    assert found.share == pytest.approx(programs * warps / (48 if capability == (12, 0) else 64))


@pytest.mark.parametrize(
    ("registers", "shared", "warps", "limiter"),
    [
        (32, 0, 16, Limiter.WARPS),
        (24, 0, 1, Limiter.BLOCKS),
        (128, 0, 8, Limiter.REGISTERS),
        (32, 100_000, 4, Limiter.SHARED),
    ],
)
def test_what_limits(registers: int, shared: int, warps: int, limiter: Limiter) -> None:
    found = theoretical((9, 0), registers=registers, shared_bytes=shared, num_warps=warps)
    assert found is not None
    assert found.limiter is limiter


def test_an_unknown_capability_is_not_guessed() -> None:
    assert theoretical((7, 5), registers=32, shared_bytes=0, num_warps=4) is None


def test_impossible_resources_are_refused() -> None:
    with pytest.raises(ValueError, match="impossible"):
        theoretical((9, 0), registers=32, shared_bytes=0, num_warps=0)
