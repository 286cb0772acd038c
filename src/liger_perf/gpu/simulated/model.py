"""A deliberately small model of one H200: how long a launch takes, from what it moves and what the compiler made of it.

Three ideas, and no more:
1. a program's trips through memory follow one another; a trip costs the time of its bytes at the SM's share of the
   bandwidth, plus a latency, plus the instructions that its warps issue;
2. trips overlap where several programs are resident on an SM or a loop is pipelined (Little's law);
3. no launch is faster than its bytes at the attainable bandwidth.
The constants were fitted once to recorded H200 times of the example repository's kernels
(docs/results/h200/device_model.md prints the error) and are not touched to make something win.
"""

from __future__ import annotations

import math

import msgspec


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """The device that is modelled. Bandwidth in bytes/µs; latency and launch in µs."""

    name: str
    sm_count: int
    memory_bytes: int
    shared_memory_bytes: int
    registers_per_sm: int
    threads_per_sm: int
    blocks_per_sm: int
    bandwidth: float
    attainable: float
    latency_us: float
    issue_us: float
    launch_us: float
    torch_us: float
    host_triton_us: float
    host_torch_us: float
    sharpness: float


H200 = Gpu(
    name="SIMULATED NVIDIA H200",
    sm_count=132,
    memory_bytes=150_754_820_096,
    shared_memory_bytes=232_448,
    registers_per_sm=65_536,
    threads_per_sm=2_048,
    blocks_per_sm=32,
    bandwidth=4.27e6,
    attainable=0.90,
    latency_us=0.72,
    issue_us=0.0,
    launch_us=1.5,
    torch_us=1.8,
    host_triton_us=18.0,
    host_torch_us=6.0,
    sharpness=3.0,
)


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One launch for the model: per program, bytes loaded and stored and trips through memory; and the cubin."""

    programs: int
    loaded_bytes: float
    stored_bytes: float
    rounds: float
    warps: int
    registers: int
    spill_bytes: int
    shared_bytes: int
    stages: int
    instructions: int


def resident_programs(gpu: Gpu, work: Work) -> int:
    """Programs that fit on one SM at once, by threads, registers (allocated in units of 256 a warp), shared memory."""
    threads = work.warps * 32
    per_warp = -(-max(work.registers, 16) * 32 // 256) * 256
    limits = [gpu.blocks_per_sm, gpu.threads_per_sm // threads, gpu.registers_per_sm // (per_warp * work.warps)]
    if work.shared_bytes:
        limits.append(gpu.shared_memory_bytes // (work.shared_bytes + 1024))
    return max(1, min(limits))


def launch_us(gpu: Gpu, work: Work) -> float:
    """Predicted device time of one launch in µs."""
    per_sm = math.ceil(work.programs / gpu.sm_count)
    resident = min(resident_programs(gpu, work), per_sm)
    rounds = max(work.rounds, 1.0)
    spilled = 2.0 * work.spill_bytes * work.warps * 32
    trip_bytes = (work.loaded_bytes + work.stored_bytes) / rounds + spilled / rounds
    share = gpu.bandwidth / min(gpu.sm_count, work.programs)
    share = min(share, 3.0 * gpu.bandwidth / gpu.sm_count)
    moving = trip_bytes / share
    issue = gpu.issue_us * work.instructions * max(1.0, work.warps * resident / 32)
    alone = gpu.latency_us + moving + issue
    overlap = resident * (max(1.0, min(float(work.stages), rounds) * 0.75) if work.stages > 1 else 1.0)
    floor = moving / gpu.attainable
    trip: float = (floor**gpu.sharpness + (alone / overlap) ** gpu.sharpness) ** (1 / gpu.sharpness)
    return gpu.launch_us + trip * rounds * per_sm


def torch_us(gpu: Gpu, moved_bytes: int) -> float:
    """Predicted device time of an element-wise or reducing torch kernel that moves that many bytes."""
    return gpu.torch_us + moved_bytes / (gpu.bandwidth * 0.85)
