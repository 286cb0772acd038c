"""`profile.md`: what the kernel is, how fast it is, what it waits for, and what will be tried in which order."""

from __future__ import annotations

from liger_perf.model.options import TargetGpu
from liger_perf.model.profile import NcuFacts, PassDiagnosis, ProfileResult
from liger_perf.report import rows, tables


def profile_markdown(profile: ProfileResult) -> str:
    """The whole page."""
    return tables.page(
        profile.device,
        f"# Optimisation profile: `{profile.request.kernel}`",
        _identity(profile),
        _gpu(profile),
        _speed(profile),
        _memory(profile),
        "## Observations\n\n" + tables.bullets(profile.observations),
        _ncu(profile),
        _bottleneck(profile),
        _launches(profile),
        _configuration(profile),
        _patterns(profile),
        _strategy(profile),
    )


def _identity(profile: ProfileResult) -> str:
    paths = profile.paths
    request = profile.request
    body = [
        ("Kernel", tables.code(paths.kernel)),
        ("Ops file", tables.code(paths.ops)),
        ("Benchmark", tables.code(paths.benchmark)),
        ("Test file", tables.code(paths.test)),
        ("Tier", f"{profile.tier} ({profile.tier_description})"),
        ("Goal", request.goal.value),
        ("Scope", request.scope),
        ("Target", request.target or "none"),
    ]
    return "## Identity\n\n" + tables.table(profile.device, "What is optimised, and for what", ("Field", "Value"), body)


def _gpu(profile: ProfileResult) -> str:
    device, target = profile.device, profile.request.gpu
    wanted = "any (`--gpu auto`)" if target is TargetGpu.AUTO else target.value
    versions = ", ".join(
        f"{name} {version}"
        for name, version in (
            ("driver", device.driver),
            ("torch", device.torch),
            ("triton", device.triton),
            ("Python", device.python),
        )
        if version
    )
    body = [
        ("Name", device.name),
        ("Architecture", f"{device.architecture} (sm_{device.capability[0]}{device.capability[1]})"),
        ("SMs", str(device.sm_count)),
        ("Memory", f"{device.memory_bytes / 2**30:.1f} GB"),
        ("Shared memory a program", f"{device.shared_memory_bytes / 1024:.0f} KB"),
        ("Copy bandwidth, measured", f"{device.copy_gbs:.0f} GB/s read plus written"),
        ("Aimed at", wanted),
        ("Match", "yes" if profile.gpu_matches else "**no**: what is found holds for this GPU only"),
        ("Versions", versions or "unknown"),
    ]
    return "## GPU\n\n" + tables.table(device, "Where it was measured", ("Field", "Value"), body)


def _speed(profile: ProfileResult) -> str:
    header = ("x", "Pass", "Liger", "Baseline", "Baseline's time", "Ratio (higher: Liger is faster)", "Configuration")
    body = [
        (
            rows.x_label(pair.row),
            pair.row.kernel_operation_mode,
            tables.measured(pair.row),
            pair.other.kernel_provider if pair.other else "–",
            tables.measured(pair.other),
            tables.ratio(pair.ratio),
            pair.row.extra_benchmark_config_str,
        )
        for pair in rows.against_others(profile.baseline, "speed")
    ]
    note = (
        f"The repository's own benchmark script, whole and unmodified: {len(profile.baseline.rows)} rows in "
        f"{tables.seconds(profile.baseline.seconds)}."
    )
    return f"## Baseline\n\n{note}\n\n" + tables.table(profile.device, "Baseline speed (medians)", header, body)


def _memory(profile: ProfileResult) -> str:
    header = ("x", "Pass", "Liger", "Baseline", "Baseline's memory", "Ratio (higher: Liger needs less)")
    body = [
        (
            rows.x_label(pair.row),
            pair.row.kernel_operation_mode,
            tables.measured(pair.row),
            pair.other.kernel_provider if pair.other else "–",
            tables.measured(pair.other),
            tables.ratio(pair.ratio),
        )
        for pair in rows.against_others(profile.baseline, "memory")
    ]
    return tables.table(profile.device, "Baseline peak memory (medians; MB of 2^20 bytes)", header, body)


def _ncu(profile: ProfileResult) -> str:
    text = f"## Nsight Compute\n\nStatus: {tables.flat(profile.ncu_status)}"
    if not profile.ncu:
        return text
    header = ("Kernel", "Occupancy", "Compute", "Memory", "L1 hits", "L2 hits", "Top stalls")
    return f"{text}\n\n" + tables.table(
        profile.device, "Counters, percent of peak", header, [_ncu_row(facts) for facts in profile.ncu]
    )


def _ncu_row(facts: NcuFacts) -> tuple[str, ...]:
    numbers = (
        facts.occupancy_percent,
        facts.compute_percent,
        facts.memory_percent,
        facts.l1_hit_percent,
        facts.l2_hit_percent,
    )
    return (
        tables.code(facts.kernel),
        *(f"{number:.1f} %" for number in numbers),
        ", ".join(facts.stalls[:3]) or "–",
    )


def _bottleneck(profile: ProfileResult) -> str:
    parts = ["## Bottleneck"]
    parts += [_diagnosis(profile, diagnosis) for diagnosis in profile.diagnoses]
    return "\n\n".join(parts if len(parts) > 1 else [*parts, "No pass was diagnosed."])


def _diagnosis(profile: ProfileResult, found: PassDiagnosis) -> str:
    place = rows.point_label(found.point)
    roof = ", at the roof" if found.at_roof else ""
    head = f"### {found.mode} at {place}: {found.bottleneck.value}{roof}\n\n{found.reasoning}"
    body = [(row.signal, row.observation, row.supports) for row in found.evidence]
    times = (
        f"Device time {tables.time(found.device_us)}, wall time {tables.time(found.wall_us)}, "
        f"{tables.size(found.nbytes)} to read plus write."
    )
    caption = f"Evidence, {found.mode} at {place}"
    return f"{head} {times}\n\n" + tables.table(profile.device, caption, ("Signal", "Observation", "Supports"), body)


def _launches(profile: ProfileResult) -> str:
    header = (
        "Kernel",
        "Pass",
        "Point",
        "Grid",
        "Block",
        "Options",
        "Device time",
        "Bytes",
        "Share of copy bandwidth",
        "Registers a thread",
        "Spills a thread",
        "Shared memory",
        "Occupancy",
    )
    body = [
        (
            tables.code(launch.kernel),
            launch.mode,
            rows.point_label(launch.point),
            " × ".join(str(extent) for extent in launch.grid),
            ", ".join(f"{name}={value}" for name, value in launch.blocks.items()) or "–",
            ", ".join(f"{name}={value}" for name, value in launch.options.items()) or "–",
            tables.time(launch.device_us),
            tables.size(launch.nbytes),
            tables.percent(launch.share, signed=False),
            "–" if launch.registers is None else str(launch.registers),
            "–" if launch.spill_bytes is None else f"{launch.spill_bytes} B",
            "–" if launch.shared_bytes is None else f"{launch.shared_bytes / 1024:.1f} KB",
            tables.percent(launch.occupancy, signed=False),
        )
        for launch in profile.launches
    ]
    return "## Launches\n\n" + tables.table(profile.device, "Launches beneath the representative points", header, body)


def _configuration(profile: ProfileResult) -> str:
    body = [
        (
            tables.code(row.kernel),
            tables.code(row.name),
            tables.code(row.value),
            tables.code(row.how_set),
            row.note or "–",
        )
        for row in profile.configuration
    ]
    header = ("Kernel", "Parameter", "Expression", "Set in", "Note")
    return "## Configuration\n\n" + tables.table(profile.device, "As shipped", header, body)


def _patterns(profile: ProfileResult) -> str:
    return (
        "## Memory access patterns\n\n"
        + tables.bullets(profile.memory_patterns)
        + "\n\n## Compute patterns\n\n"
        + tables.bullets(profile.compute_patterns)
    )


def _strategy(profile: ProfileResult) -> str:
    chosen = profile.opportunities
    order = [
        (str(number), step.title, tables.code(step.technique), tables.ratio(step.predicted_gain), step.reason)
        for number, step in enumerate(chosen, start=1)
    ]
    refused = [(step.title, tables.code(step.technique), step.reason) for step in profile.strategy if step.refused]
    expected = min(len(chosen), profile.request.max_variants)
    budget = profile.request.max_variants
    return "\n\n".join(
        [
            "## Opportunities and order of strategies",
            tables.table(
                profile.device,
                "To be tried, in this order (predicted gain of the passes concerned, higher is faster)",
                ("#", "Strategy", "Technique", "Predicted gain", "Reason"),
                order,
            ),
            tables.table(profile.device, "Not to be tried", ("Strategy", "Technique", "Why not"), refused),
            f"Expected variants: {expected}, before combinations, of at most {budget}.",
        ]
    )
