"""Theoretical occupancy of one launch: resident warps over the most that a multiprocessor holds.

Limits by compute capability: CUDA Programming Guide, appendix «Compute Capabilities», table «Technical Specifications
per Compute Capability»
(https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/compute-capabilities.html). For 12.0 the Blackwell
Tuning Guide says 32 blocks and 128 KB; devices report 24 blocks and 100 KB, as the Programming Guide has it.

Granularity: NVIDIA's cuda_occupancy.h: registers are allocated a warp at a time in units of 256, spread over four
sub-partitions; shared memory in units of 128 bytes plus 1 KB that the system keeps of each block from 8.0 on.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

_WARP = 32
_REGISTER_UNIT = 256
_SUB_PARTITIONS = 4
_SHARED_UNIT = 128
_SHARED_RESERVED = 1024


class SmLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one multiprocessor holds; shared memory in bytes."""

    warps: int
    blocks: int
    registers: int
    shared_bytes: int
    shared_bytes_per_block: int


LIMITS: dict[tuple[int, int], SmLimits] = {
    (8, 0): SmLimits(warps=64, blocks=32, registers=65536, shared_bytes=164 * 1024, shared_bytes_per_block=163 * 1024),
    (9, 0): SmLimits(warps=64, blocks=32, registers=65536, shared_bytes=228 * 1024, shared_bytes_per_block=227 * 1024),
    (10, 0): SmLimits(warps=64, blocks=32, registers=65536, shared_bytes=228 * 1024, shared_bytes_per_block=227 * 1024),
    (12, 0): SmLimits(warps=48, blocks=24, registers=65536, shared_bytes=100 * 1024, shared_bytes_per_block=99 * 1024),
}


class Limiter(StrEnum):
    WARPS = "warps"
    BLOCKS = "resident programs"
    REGISTERS = "registers"
    SHARED = "shared memory"


class Occupancy(msgspec.Struct, frozen=True, kw_only=True):
    """`share` of the warps that could be resident (1.0 = all), programs an SM, and what limits them."""

    share: float
    programs_per_sm: int
    limiter: Limiter


def theoretical(capability: tuple[int, int], *, registers: int, shared_bytes: int, num_warps: int) -> Occupancy | None:
    """Occupancy of a program with these resources; None for a capability that is not in the table.

    Args:
        registers: a thread.
        shared_bytes: a program.

    Raises:
        ValueError: fewer than one warp, or negative resources.
    """
    if num_warps < 1 or registers < 0 or shared_bytes < 0:
        raise ValueError(f"impossible resources: {registers} registers, {shared_bytes} bytes, {num_warps} warps")
    limits = LIMITS.get(capability)
    if limits is None:
        return None
    # In the order in which equal limits are named: the plain ones first.
    allowed = {
        Limiter.WARPS: limits.warps // num_warps,
        Limiter.BLOCKS: limits.blocks,
        Limiter.REGISTERS: _by_registers(limits, registers, num_warps),
        Limiter.SHARED: _by_shared(limits, shared_bytes),
    }
    limiter = min(allowed, key=lambda name: allowed[name])
    programs = allowed[limiter]
    return Occupancy(share=programs * num_warps / limits.warps, programs_per_sm=programs, limiter=limiter)


def _by_registers(limits: SmLimits, registers: int, num_warps: int) -> int:
    if not registers:
        return limits.blocks
    per_warp = _round_up(registers * _WARP, _REGISTER_UNIT)
    # The hardware checks a program as if all sub-partitions held equally many of its warps.
    if per_warp * _round_up(num_warps, _SUB_PARTITIONS) > limits.registers:
        return 0
    # Each sub-partition owns a quarter of the registers, and a warp cannot straddle two.
    warps = limits.registers // _SUB_PARTITIONS // per_warp * _SUB_PARTITIONS
    return warps // num_warps


def _by_shared(limits: SmLimits, shared_bytes: int) -> int:
    if shared_bytes > limits.shared_bytes_per_block:
        return 0
    return limits.shared_bytes // _round_up(shared_bytes + _SHARED_RESERVED, _SHARED_UNIT)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit
