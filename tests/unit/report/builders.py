"""A small optimisation of rms_norm with figures that can be checked by hand: the backward goes from 100 µs to 80 µs."""

from __future__ import annotations

from liger_perf.model.final import ArchitectureCheck, FinalReport, GateResult, Outcome, Plot
from liger_perf.model.launches import Cell, Point
from liger_perf.model.measurements import (
    BenchmarkRow,
    BenchmarkRun,
    Clock,
    Comparison,
    DeviceFacts,
    Verdict,
)
from liger_perf.model.options import DeviceKind, Goal, KernelPaths, Request
from liger_perf.model.profile import (
    Bottleneck,
    ConfigurationRow,
    EvidenceRow,
    LaunchSummary,
    NcuFacts,
    PassDiagnosis,
    ProfileResult,
    StrategyStep,
)
from liger_perf.model.variants import (
    Change,
    Decision,
    GuardrailCheck,
    Hypothesis,
    SmokeResult,
    StopReason,
    Trial,
    Variant,
    VariantResult,
)
from liger_perf.report import pull_request

REQUEST = Request(kernel="rms_norm", goal=Goal.SPEED, target="backward under 85 us at T=8192")
PATHS = KernelPaths(
    kernel="rms_norm",
    ops="src/liger_kernel/ops/rms_norm.py",
    benchmark="benchmark/scripts/benchmark_rms_norm.py",
    test="test/transformers/test_rms_norm.py",
)
OLD = "def backward():\n    grid = (sm_count,)\n    return grid\n"
NEW = "def backward():\n    grid = (2 * sm_count,)  # two programs hide each other's loads\n    return grid\n"


def device(kind: DeviceKind = DeviceKind.CUDA) -> DeviceFacts:
    return DeviceFacts(
        kind=kind,
        name="NVIDIA H200",
        capability=(9, 0),
        sm_count=132,
        memory_bytes=141 * 2**30,
        shared_memory_bytes=227 * 1024,
        copy_gbs=4270.0,
        driver="570.1",
        torch="2.11.0",
        triton="3.6.0",
    )


def row(mode: str, x: str, value: float, *, provider: str = "liger", metric: str = "speed") -> BenchmarkRow:
    return BenchmarkRow(
        kernel_name="rms_norm",
        kernel_provider=provider,
        kernel_operation_mode=mode,
        metric_name=metric,
        metric_unit="ms" if metric == "speed" else "MB",
        x_name="T",
        x_label="sequence length",
        x_value=x,
        y_value_50=value,
        y_value_20=value * 0.99,
        y_value_80=value * 1.01,
        extra_benchmark_config_str='{"hidden_size": 4096}',
        gpu_name="NVIDIA H200",
        timestamp="2025-01-01 12:00:00",
        liger_version="0.8.5",
    )


BASELINE = BenchmarkRun(
    rows=(
        row("forward", "1024", 0.008),
        row("forward", "8192", 0.040),
        row("forward", "8192", 0.120, provider="huggingface"),
        row("backward", "1024", 0.020),
        row("backward", "8192", 0.100),
        row("backward", "8192", 0.300, provider="huggingface"),
        row("backward", "8192", 0.080, provider="torch_compile"),
        row("full", "8192", 256.0, metric="memory"),
        row("full", "8192", 640.0, metric="memory", provider="huggingface"),
    ),
    seconds=95.0,
    own_providers=("liger",),
)
FASTER_ROWS = (
    row("forward", "1024", 0.008),
    row("forward", "8192", 0.040),
    row("forward", "8192", 0.121, provider="huggingface"),
    row("backward", "1024", 0.018),
    row("backward", "8192", 0.080),
    row("full", "8192", 257.0, metric="memory"),
)


def key(mode: str, x: str, cell: Cell | None = None) -> str:
    point = Point(metric="speed", mode=mode, provider="liger", x_name="T", x=x, config={}, cell=cell or Cell())
    return point.key


def judged(
    mode: str,
    x: str,
    a_us: float,
    b_us: float,
    *,
    spread: float | None = 0.01,
    verdict: Verdict = Verdict.SAME,
    cell: Cell | None = None,
    clock: Clock = Clock.DEVICE,
) -> Comparison:
    ratio = a_us / b_us
    return Comparison(
        point=key(mode, x, cell),
        mode=mode,
        clock=clock,
        a_us=a_us,
        b_us=b_us,
        ratio=ratio,
        low=None if spread is None else ratio * (1 - spread),
        high=None if spread is None else ratio * (1 + spread),
        noise=0.004,
        verdict=verdict,
        samples=64,
    )


FP32 = Cell(config={"dtype": "torch.float32"})
COMPARISONS = (
    judged("forward", "8192", 40.0, 40.0, spread=0.005),
    judged("backward", "1024", 20.0, 18.0, verdict=Verdict.FASTER),
    judged("backward", "8192", 100.0, 80.0, verdict=Verdict.FASTER),
    judged("backward", "8192", 190.0, 180.0, cell=FP32, spread=None, verdict=Verdict.AMBIGUOUS),
    judged("backward", "8192", 210.0, 200.0, clock=Clock.WALL, spread=0.2, verdict=Verdict.AMBIGUOUS),
)
GUARDRAILS = (
    GuardrailCheck(
        name="no measured point slower",
        threshold=0.0,
        worst_point=key("forward", "8192"),
        loss=0.0,
        loss_upper=0.005,
        passed=True,
    ),
    GuardrailCheck(
        name="non-target metric: peak memory",
        threshold=0.05,
        worst_point="memory/full/liger T=8192",
        loss=0.0039,
        loss_upper=0.0039,
        passed=True,
    ),
)
TRIALS = (
    Trial(point=key("backward", "8192"), settings={"backward_settings": {"num_warps": 8}}, device_us=90.0),
    Trial(point=key("backward", "8192"), settings={"backward_settings": {"programs_per_sm": 2}}, device_us=80.0),
    Trial(
        point=key("backward", "8192"),
        settings={"backward_settings": {"num_stages": 6}},
        device_us=None,
        failure="shared memory: 262 KB needed, 227 KB allowed",
    ),
)
VARIANT = Variant(
    number=2,
    technique="programs_per_sm",
    title="Two programs per SM in the backward",
    parent="v0",
    source=NEW,
    hypothesis=Hypothesis(
        bottleneck="latency-bound backward",
        reasoning="One program an SM leaves nothing to run while a row is loaded.",
        uses_notes_of=("v1",),
        changes=(Change(what="grid of 2 × SMs", why="two programs hide each other's loads"),),
        predicted_gain=1.25,
        expectation="Backward at T=8192 from 100 µs to 80 µs; forward unchanged.",
    ),
)
RESULT = VariantResult(
    name="v2",
    technique="programs_per_sm",
    title="Two programs per SM in the backward",
    parent="v0",
    smoke=SmokeResult(passed=True, compared=("Y", "dX", "dW"), worst="dW", worst_error=2.4e-6),
    rows=FASTER_ROWS,
    comparisons=COMPARISONS,
    guardrails=GUARDRAILS,
    target_gain=1.12,
    target_gain_low=1.1,
    decision=Decision.ACCEPTED,
    reason="The target gains 12 % and nothing measured is slower.",
    learnings=("Partial sums cost little up to 264 rows.",),
    trials=TRIALS,
    device_seconds=310.0,
    peak_memory_ratio=257 / 256,
)
FAILED_VARIANT = Variant(
    number=1,
    technique="launch_parameters",
    title="num_warps and num_stages by width",
    parent="v0",
    source=OLD,
    hypothesis=Hypothesis(
        bottleneck="latency-bound backward",
        reasoning="More warps may hide latency.",
        uses_notes_of=(),
        changes=(Change(what="num_warps from a settings function", why="measured by width"),),
        predicted_gain=1.05,
        expectation="A few percent.",
    ),
)
FAILED_RESULT = VariantResult(
    name="v1",
    technique="launch_parameters",
    title="num_warps and num_stages by width",
    parent="v0",
    smoke=SmokeResult(
        passed=False, compared=("Y",), worst="Y", worst_error=0.5, reason="Y differs from the original's."
    ),
    rows=(),
    comparisons=(),
    guardrails=(),
    target_gain=1.0,
    target_gain_low=0.0,
    decision=Decision.REJECTED,
    reason="Smoke test failed | discarded.",
    learnings=("32 warps | break the reduction.",),
    trials=(),
    device_seconds=4.2,
)


def profile(kind: DeviceKind = DeviceKind.CUDA) -> ProfileResult:
    return ProfileResult(
        request=REQUEST,
        paths=PATHS,
        tier=2,
        tier_description="reduction",
        device=device(kind),
        gpu_matches=True,
        baseline=BASELINE,
        diagnoses=(
            PassDiagnosis(
                mode="backward",
                point=key("backward", "8192"),
                device_us=100.0,
                wall_us=150.0,
                nbytes=200 * 2**20,
                share=0.491,
                at_roof=False,
                bottleneck=Bottleneck.LATENCY,
                evidence=(
                    EvidenceRow(
                        signal="share of copy bandwidth",
                        observation="49 % while moving 200.0 MB",
                        supports="not memory-bound",
                    ),
                ),
                reasoning="It waits for loads.",
            ),
        ),
        launches=(
            LaunchSummary(
                kernel="_rms_norm_backward_kernel",
                mode="backward",
                point=key("backward", "8192"),
                grid=(132,),
                options={"num_warps": 8, "num_stages": 3},
                blocks={"BLOCK_SIZE": 4096},
                device_us=92.5,
                nbytes=200 * 2**20,
                share=0.531,
                registers=96,
                spill_bytes=0,
                shared_bytes=1024,
                occupancy=0.25,
            ),
        ),
        configuration=(
            ConfigurationRow(
                kernel="_rms_norm_backward_kernel",
                name="num_warps",
                value="8",
                how_set="calculate_settings(n_cols)",
            ),
        ),
        strategy=(
            StrategyStep(
                technique="launch_parameters",
                title="num_warps and num_stages by width",
                reason="always first",
                predicted_gain=1.05,
            ),
            StrategyStep(
                technique="exp2",
                title="exp to exp2",
                reason="no exponential in the kernels",
                predicted_gain=None,
            ),
        ),
        observations=("dX is written over dY.",),
        memory_patterns=("one row a program, contiguous",),
        compute_patterns=("one reduction a row in float32",),
        ncu_status="run",
        ncu=(
            NcuFacts(
                kernel="_rms_norm_backward_kernel",
                occupancy_percent=12.5,
                compute_percent=20.0,
                memory_percent=49.0,
                l1_hit_percent=3.0,
                l2_hit_percent=40.0,
                stalls=("long scoreboard", "barrier", "wait", "not selected"),
            ),
        ),
    )


def final(kind: DeviceKind = DeviceKind.CUDA, outcome: Outcome = Outcome.APPLIED) -> FinalReport:
    won = outcome is not Outcome.NO_WINNER
    return FinalReport(
        profile=profile(kind),
        outcome=outcome,
        reason="All gates passed." if outcome is Outcome.APPLIED else "The full tests failed.",
        variants=(FAILED_VARIANT, VARIANT),
        results=(FAILED_RESULT, RESULT),
        stop=StopReason.TARGET_MET,
        winner="v2" if won else "",
        winner_reason="It gained most of those that passed every guardrail.",
        final=COMPARISONS if won else (),
        gain=1.118,
        gain_low=1.102,
        diff=pull_request.unified_diff(PATHS.ops, OLD, NEW) if won else "",
        gates=(
            GateResult(name="smoke test", passed=True, detail="Y, dX, dW against the original"),
            GateResult(name="full tests", passed=outcome is Outcome.APPLIED, detail="90 passed"),
            GateResult(name="style", passed=None, detail="not reached"),
        ),
        architectures=(
            ArchitectureCheck(arch=80, name="Ampere", measured=False, compiled=True, gated=True),
            ArchitectureCheck(arch=90, name="Hopper", measured=True, compiled=True, gated=False),
        ),
        plots=(Plot(path="plots/rms_norm_speed_backward.png", title="rms_norm, speed, backward"),),
        recommendations=("Measure on Blackwell.",),
        reproduction=("liger-perf run rms_norm --repo .",),
    )
