"""Stage 1: baseline, device, launches, bottleneck, and the order in which techniques are tried."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

import msgspec

from liger_perf.kernels.facts import KernelFile
from liger_perf.kernels.reader import read_kernel_file
from liger_perf.kernels.tiers import TIERS, tier
from liger_perf.measure import occupancy, roofline
from liger_perf.measure.benchmark import write_rows
from liger_perf.measure.bottleneck import diagnose
from liger_perf.model.errors import StageError
from liger_perf.model.launches import Capture, PointRecord
from liger_perf.model.measurements import BenchmarkRun, CubinFacts, DeviceFacts, PassTimes
from liger_perf.model.options import TargetGpu
from liger_perf.model.profile import (
    ConfigurationRow,
    LaunchSummary,
    PassDiagnosis,
    ProfileResult,
    StrategyStep,
)
from liger_perf.report.profile_page import profile_markdown
from liger_perf.report.rows import point_label
from liger_perf.stages import strategy, workspace
from liger_perf.stages.context import StageContext, StageOutcome
from liger_perf.stages.stored import Profiled, encode
from liger_perf.techniques.base import Evidence

RUNS = 15
ARCHITECTURES = {TargetGpu.AMPERE: "Ampere", TargetGpu.HOPPER: "Hopper", TargetGpu.BLACKWELL: "Blackwell"}


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """A point with the times of its pass as shipped."""

    record: PointRecord
    times: PassTimes

    @property
    def device_us(self) -> float:
        return statistics.median(sample.device_us for sample in self.times.samples)

    @property
    def wall_us(self) -> float:
        return statistics.median(sample.wall_us for sample in self.times.samples)


def profile(context: StageContext) -> StageOutcome:
    """Run the stage and write `profile.md`, the snapshot, the baseline rows and the stored facts."""
    kernel = context.request.kernel
    context.workspace.write(workspace.original(kernel), context.original)
    tree = context.trees.export("profile")
    try:
        context.progress.stage("profile", "baseline by the repository's own benchmark script")
        baseline = context.lab.benchmark(tree, context.paths)
        context.progress.stage("profile", "launches beneath the script, and the times of the passes")
        points = capture(context, tree)
        launches = [launch for point in points for launch in point.record.own]
        cubins = context.lab.compile(tree, context.paths, launches, context.device.arch)
    finally:
        context.trees.remove(tree)
    own = {point.record.point.provider for point in points}
    file = read_kernel_file(context.original)
    seen = Capture(records=tuple(point.record for point in points))
    evidence = Evidence(file=file, capture=seen, device=context.device, cubins=tuple(cubins))
    baseline = msgspec.structs.replace(baseline, own_providers=tuple(sorted(own)))
    result = assemble(context, points, cubins, file, strategy.order(evidence), baseline)
    context.workspace.write(workspace.BASELINE_ROWS, write_rows(baseline.rows))
    context.workspace.write(workspace.PROFILE_PAGE, profile_markdown(result))
    stored = Profiled(profile=result, capture=seen, cubins=tuple(cubins))
    context.workspace.write(workspace.PROFILE_DATA, encode(stored))
    return StageOutcome(summary=summary(result), page=workspace.PROFILE_PAGE)


def capture(context: StageContext, tree: Path) -> list[Timed]:
    """Walk the script once; time every pass that launches something of the kernel's file."""
    points = []
    with context.lab.open(tree, context.paths) as bench:
        for record in bench.walk():
            points.append(Timed(record=record, times=bench.time(RUNS, warmup=3)))
    if not points:
        raise StageError(
            "the benchmark launches no Triton kernel of the kernel's own file",
            where=context.paths.benchmark,
            todo="name the kernel whose file holds the launched kernels, or give this one a benchmark that launches it",
        )
    return points


def assemble(
    context: StageContext,
    points: Sequence[Timed],
    cubins: Sequence[CubinFacts],
    file: KernelFile,
    steps: Sequence[StrategyStep],
    baseline: BenchmarkRun,
) -> ProfileResult:
    """Put the findings together; the representative point of a pass is its largest x."""
    found = tier(file)
    largest = {point.record.point.mode: point for point in points}
    diagnoses = [
        diagnose(
            point.record,
            device_us=point.device_us,
            wall_us=point.wall_us,
            device=context.device,
            kernels=file.kernels,
            cubins=[cubins[index] for index in launch_indices(points, point)],
        )
        for point in largest.values()
    ]
    return ProfileResult(
        request=context.request,
        paths=context.paths,
        tier=found,
        tier_description=TIERS[found],
        device=context.device,
        gpu_matches=matches(context.request.gpu, context.device),
        baseline=baseline,
        diagnoses=tuple(diagnoses),
        launches=tuple(
            row
            for point in largest.values()
            if point.record.point.mode != "full" or len(largest) == 1
            for row in launch_rows(
                point, [cubins[index] for index in launch_indices(points, point)], context.device, file
            )
        ),
        configuration=tuple(configuration(file)),
        strategy=tuple(steps),
        observations=tuple(observations(diagnoses, points)),
        memory_patterns=tuple(memory_patterns(file)),
        compute_patterns=tuple(compute_patterns(file)),
        ncu_status="not run: this version does not call Nsight Compute",
    )


def launch_indices(points: Sequence[Timed], wanted: Timed) -> range:
    """Where the own launches of a point stand among those of all points, in order."""
    start = 0
    for point in points:
        count = len(point.record.own)
        if point is wanted:
            return range(start, start + count)
        start += count
    raise ValueError("the point is not among the points")


def launch_rows(
    point: Timed, cubins: Sequence[CubinFacts], device: DeviceFacts, file: KernelFile
) -> list[LaunchSummary]:
    rows = []
    for launch, cubin in zip(point.record.own, cubins, strict=True):
        times = sum(other.kernel == launch.kernel for other in point.record.own)
        total_us = point.times.by_kernel.get(launch.kernel)
        device_us = None if total_us is None else total_us / times
        nbytes = roofline.moved_bytes((launch,), file.kernels)
        found = occupancy.theoretical(
            device.capability, registers=cubin.registers, shared_bytes=cubin.shared_bytes, num_warps=cubin.num_warps
        )
        rows.append(
            LaunchSummary(
                kernel=launch.kernel,
                mode=point.record.point.mode,
                point=point.record.point.key,
                grid=launch.grid,
                options=launch.options,
                blocks={a.name: a.value for a in launch.arguments if a.constexpr and "BLOCK" in a.name.upper()},
                device_us=device_us,
                nbytes=nbytes,
                share=roofline.share_of_roof(nbytes, device_us, device.copy_gbs) if device_us else None,
                registers=cubin.registers,
                spill_bytes=cubin.spill_bytes,
                shared_bytes=cubin.shared_bytes,
                occupancy=found.share if found else None,
            )
        )
    return rows


def configuration(file: KernelFile) -> list[ConfigurationRow]:
    """How each launch site sets its blocks, options and grid, in the code's own words."""
    rows = []
    for site in file.launches:
        kernel = file.kernel(site.kernel)
        blocks = {*kernel.covering_blocks, *kernel.free_blocks} if kernel else set()
        values = {name: site.arguments[name] for name in sorted(blocks) if name in site.arguments}
        for name, text in {**values, **site.options, "grid": site.grid}.items():
            note = "must cover the row" if kernel and name in kernel.covering_blocks else ""
            rows.append(ConfigurationRow(kernel=site.kernel, name=name, value=text, how_set=site.function, note=note))
        if site.splat:
            rows.append(
                ConfigurationRow(kernel=site.kernel, name="further options", value=site.splat, how_set=site.function)
            )
    return rows


def observations(diagnoses: Sequence[PassDiagnosis], points: Sequence[Timed]) -> list[str]:
    found = []
    for diagnosis in diagnoses:
        if diagnosis.at_roof:
            found.append(f"{diagnosis.mode}: at the roof, nothing is left to gain without moving fewer bytes")
    largest = {point.record.point.mode: point for point in points}
    for mode, point in largest.items():
        own = {launch.kernel for launch in point.record.own}
        other = sum(us for name, us in point.times.by_kernel.items() if name not in own)
        if other > 0.01 * point.device_us:
            share = other / point.device_us
            found.append(f"{mode}: {other:.1f} µs ({share:.0%}) of the pass are other CUDA kernels than the file's own")
    return found


def memory_patterns(file: KernelFile) -> list[str]:
    return [
        f"`{kernel.name}` loads {', '.join(kernel.loads) or 'nothing'}; stores {', '.join(kernel.stores) or 'nothing'}"
        + (f"; {kernel.atomics} atomics" if kernel.atomics else "")
        for kernel in file.kernels
    ] + [f"in place: {item}" for item in file.in_place]


def compute_patterns(file: KernelFile) -> list[str]:
    return [
        f"`{kernel.name}`: reductions {kernel.reductions}, matrix products {kernel.dots}, loops {len(kernel.loops)}"
        + (f", precision-sensitive: {', '.join(kernel.precision_ops)}" if kernel.precision_ops else "")
        for kernel in file.kernels
    ]


def matches(wanted: TargetGpu, device: DeviceFacts) -> bool:
    return wanted is TargetGpu.AUTO or ARCHITECTURES[wanted] == device.architecture


def summary(result: ProfileResult) -> str:
    """The checkpoint's question in a few lines."""
    lines = [f"{'SIMULATED: ' if result.device.simulated else ''}{result.paths.kernel} on {result.device.name}"]
    for found in result.diagnoses:
        share = "" if found.share is None else f", {found.share:.0%} of copy bandwidth"
        place = point_label(found.point)
        lines.append(f"{found.mode} at {place}: {found.bottleneck}, {found.device_us:.1f} µs device time{share}")
    order = ", ".join(step.technique for step in result.opportunities) or "nothing applies"
    lines.append(f"to be tried, in this order: {order}")
    return "\n".join(lines)
