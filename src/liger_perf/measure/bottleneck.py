"""Which of four things a pass waits for, with the signs that say so.

- host-bound: the wall time of a run is more than twice its device time; the GPU waits for launches.
- memory-bound: it moves its bytes at 60 % of copy bandwidth or more.
- compute-bound: below that, and its kernels multiply matrices (`tl.dot`).
- latency-bound: below that without matrix products: too few bytes are in flight, for want of programs, warps,
  pipelining, or because registers spill.

The order is the order of the tests, since a pass that waits for the host says nothing about its kernels; a pass at the
roof is memory-bound whatever else it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import assert_never

from liger_perf.kernels.facts import JitKernel
from liger_perf.measure import occupancy, roofline
from liger_perf.model.launches import Launch, PointRecord
from liger_perf.model.measurements import CubinFacts, DeviceFacts
from liger_perf.model.profile import Bottleneck, EvidenceRow, PassDiagnosis

HOST_FACTOR = 2.0
MEMORY_SHARE = 0.60
FEW_PROGRAMS_PER_SM = 2
LOW_OCCUPANCY = 0.5


def diagnose(
    record: PointRecord,
    *,
    device_us: float,
    wall_us: float,
    device: DeviceFacts,
    kernels: Sequence[JitKernel],
    cubins: Sequence[CubinFacts] = (),
) -> PassDiagnosis:
    """Classify the pass at one point from its launches and the medians of its device and wall time (µs).

    Args:
        cubins: what the compiler made of the point's launches; those of other architectures are ignored.

    Raises:
        ValueError: a time that is not above zero.
    """
    if device_us <= 0 or wall_us <= 0:
        raise ValueError(f"a pass takes more than {device_us} µs of device and {wall_us} µs of wall time")
    nbytes = roofline.moved_bytes(record.launches, kernels)
    share = roofline.share_of_roof(nbytes, device_us, device.copy_gbs)
    launched = {launch.kernel for launch in record.launches}
    dots = sum(kernel.dots for kernel in kernels if kernel.name in launched)
    bottleneck = _classify(share, device_us, wall_us, dots)
    evidence = [_bandwidth(share, nbytes), _host(device_us, wall_us), _dots(dots), *_programs(record.own, device)]
    for cubin in cubins:
        if cubin.kernel in launched and cubin.arch == _arch(device) and not cubin.error:
            evidence += _cubin(cubin, device)
    return PassDiagnosis(
        mode=record.point.mode,
        point=record.point.key,
        device_us=device_us,
        wall_us=wall_us,
        nbytes=nbytes,
        share=share,
        at_roof=roofline.at_roof(share),
        bottleneck=bottleneck,
        evidence=tuple(evidence),
        reasoning=_reasoning(bottleneck, share, device_us, wall_us),
    )


def _arch(device: DeviceFacts) -> int:
    return device.capability[0] * 10 + device.capability[1]


def _classify(share: float | None, device_us: float, wall_us: float, dots: int) -> Bottleneck:
    if wall_us > HOST_FACTOR * device_us:
        return Bottleneck.HOST
    if share is not None and share >= MEMORY_SHARE:
        return Bottleneck.MEMORY
    return Bottleneck.COMPUTE if dots else Bottleneck.LATENCY


def _bandwidth(share: float | None, nbytes: int) -> EvidenceRow:
    signal = "share of copy bandwidth"
    if share is None:
        return EvidenceRow(signal=signal, observation="unknown: no bytes or no bandwidth", supports="nothing")
    supports = Bottleneck.MEMORY.value if share >= MEMORY_SHARE else "not memory-bound"
    if roofline.at_roof(share):
        supports += ", at the roof"
    observation = f"{_percent(share)} while moving {nbytes / 2**20:.1f} MB"
    return EvidenceRow(signal=signal, observation=observation, supports=supports)


def _host(device_us: float, wall_us: float) -> EvidenceRow:
    bound = wall_us > HOST_FACTOR * device_us
    return EvidenceRow(
        signal="wall time of a run over its device time",
        observation=f"{wall_us:.1f} µs over {device_us:.1f} µs = {wall_us / device_us:.2f}×",
        supports=Bottleneck.HOST.value if bound else "not host-bound",
    )


def _dots(dots: int) -> EvidenceRow:
    return EvidenceRow(
        signal="matrix products in the kernels",
        observation=f"{dots} tl.dot" if dots else "no tl.dot",
        supports=Bottleneck.COMPUTE.value if dots else "not compute-bound",
    )


def _programs(launches: Sequence[Launch], device: DeviceFacts) -> list[EvidenceRow]:
    rows = []
    for launch in launches:
        per_sm = prod(launch.grid) / device.sm_count
        few = per_sm < FEW_PROGRAMS_PER_SM
        rows.append(
            EvidenceRow(
                signal=f"programs of `{launch.kernel}`",
                observation=f"{prod(launch.grid)} on {device.sm_count} SMs = {per_sm:.1f} an SM",
                supports=f"{Bottleneck.LATENCY.value}: little to hide a load behind" if few else "enough programs",
            )
        )
    return rows


def _cubin(cubin: CubinFacts, device: DeviceFacts) -> list[EvidenceRow]:
    rows = []
    if cubin.spill_bytes:
        rows.append(
            EvidenceRow(
                signal=f"registers of `{cubin.kernel}`",
                observation=f"{cubin.registers} a thread, {cubin.spill_bytes} bytes a thread spilled",
                supports=f"{Bottleneck.LATENCY.value}: spills go through memory",
            )
        )
    found = occupancy.theoretical(
        device.capability, registers=cubin.registers, shared_bytes=cubin.shared_bytes, num_warps=cubin.num_warps
    )
    if found is not None:
        low = found.share < LOW_OCCUPANCY
        programs = f"{found.programs_per_sm} programs an SM"
        rows.append(
            EvidenceRow(
                signal=f"theoretical occupancy of `{cubin.kernel}`",
                observation=f"{_percent(found.share)}, {programs}, limited by {found.limiter}",
                supports=f"{Bottleneck.LATENCY.value}: few warps to switch to" if low else "enough warps",
            )
        )
    return rows


def _reasoning(bottleneck: Bottleneck, share: float | None, device_us: float, wall_us: float) -> str:
    moved = f"The pass moves its bytes at {_percent(share)} of copy bandwidth"
    match bottleneck:
        case Bottleneck.HOST:
            return (
                f"A run takes {wall_us:.1f} µs of wall time but {device_us:.1f} µs of device time: the GPU waits for "
                "the host, so a faster kernel shows in device time only."
            )
        case Bottleneck.MEMORY if roofline.at_roof(share):
            return f"{moved}. It is at the roof: only fewer bytes would make it faster."
        case Bottleneck.MEMORY:
            return f"{moved}. What can be won is the rest up to copy bandwidth."
        case Bottleneck.COMPUTE:
            return f"{moved} and multiplies matrices: arithmetic is the limit."
        case Bottleneck.LATENCY:
            return (
                f"{moved} and multiplies no matrices: it waits for loads, so more of them must be in flight "
                "(programs, warps, pipelining, rows a step)."
            )
        case _:
            assert_never(bottleneck)


def _percent(share: float | None) -> str:
    return "an unknown share" if share is None else f"{share * 100:.0f} %"
