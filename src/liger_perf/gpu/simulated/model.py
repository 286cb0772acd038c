"""A deliberately small model of one H200: how long a launch takes, from what it moves and what the compiler made of it.

Three ideas, and no more:
1. a program's trips through memory follow one another; alone, a trip takes a latency, the time of its bytes at the SM's
   share of the bandwidth, and the instructions that a warp issues one after another;
2. trips overlap where several programs are resident on an SM or a loop is pipelined (Little's law);
3. no launch is faster than its bytes at the attainable bandwidth; bytes found in a cache cost a fraction of others.
The two bounds are joined smoothly. The seven constants were fitted once to recorded H200 times of the example
repository's kernels (anchors.json; `python -m liger_perf.gpu.simulated.anchors` prints the error) and are not touched
to make something win.
"""

from __future__ import annotations

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
    cached: float
    stage_gain: float
    sharpness: float
    torch_us: float
    host_triton_us: float
    host_torch_us: float


H200 = Gpu(
    name="SIMULATED NVIDIA H200",
    sm_count=132,
    memory_bytes=150_754_820_096,
    shared_memory_bytes=232_448,
    registers_per_sm=65_536,
    threads_per_sm=2_048,
    blocks_per_sm=32,
    bandwidth=4.27e6,  # bytes/µs of a large copy, read plus written, as measured
    attainable=0.893,
    latency_us=0.249,
    issue_us=9.01e-4,
    launch_us=1.15,
    cached=0.392,
    stage_gain=0.425,
    sharpness=3.13,
    # Not fitted: medians of the torch kernels beside the anchors, and of the host's part of a pass.
    torch_us=2.0,
    host_triton_us=20.0,
    host_torch_us=20.0,
)


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One launch for the model: per program, bytes loaded and stored and trips through memory; and the cubin."""

    programs: int
    loaded_bytes: float
    stored_bytes: float
    dram_bytes: float
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
    per_sm = work.programs / gpu.sm_count
    resident = min(resident_programs(gpu, work), max(per_sm, 1.0))
    rounds = max(work.rounds, 1.0)
    spilled = 2.0 * work.spill_bytes * work.warps * 32
    cached = max(0.0, work.loaded_bytes + work.stored_bytes - work.dram_bytes) + spilled
    moving = (work.dram_bytes + cached * gpu.cached) / rounds / (gpu.bandwidth / gpu.sm_count)
    alone = gpu.latency_us + moving + gpu.issue_us * work.instructions
    overlap = resident * (1 + (min(work.stages, rounds) - 1) * gpu.stage_gain)
    bounds = (moving / gpu.attainable, alone / overlap)
    trip: float = sum(bound**gpu.sharpness for bound in bounds) ** (1 / gpu.sharpness)
    return gpu.launch_us + trip * rounds * max(per_sm, 1.0)


def torch_us(gpu: Gpu, moved_bytes: int) -> float:
    """Predicted device time of an element-wise or reducing torch kernel that moves that many bytes."""
    return gpu.torch_us + moved_bytes / (gpu.bandwidth * 0.85)
