"""The three stages as the pipeline runs them."""

from __future__ import annotations

import shlex
from functools import partial

from liger_perf.model.final import FinalReport, Outcome
from liger_perf.model.options import KernelPaths, Request
from liger_perf.stages import workspace
from liger_perf.stages.context import StageContext
from liger_perf.stages.finalize import run_finalize
from liger_perf.stages.optimize import optimize
from liger_perf.stages.pipeline import Runners
from liger_perf.stages.profile import profile
from liger_perf.stages.stored import Optimized, Profiled, decode


def runners() -> Runners:
    return Runners(profile=profile, optimize=optimize, finalize=partial(run_finalize, assemble))


def assemble(context: StageContext, variant: str) -> FinalReport:
    """What the earlier stages found, for the report. Only the recommended variant was tried on the whole grid."""
    profiled = decode(context.workspace.read(workspace.PROFILE_DATA), Profiled)
    optimized = decode(context.workspace.read(workspace.OPTIMIZE_DATA), Optimized)
    recommended = bool(variant) and variant == optimized.winner
    chosen = next((result for result in context.earlier if result.name == variant), None)
    advice: tuple[str, ...] = ()
    if variant and not recommended:
        advice = (
            f"{variant} was chosen by a person; it was judged at the script's own points only, not on the whole grid",
        )
    return FinalReport(
        profile=profiled.profile,
        outcome=Outcome.NO_WINNER,
        reason=optimized.why,
        variants=optimized.variants,
        results=context.earlier,
        stop=optimized.stop,
        winner=variant,
        winner_reason=optimized.why if recommended else "chosen at the checkpoint",
        fresh=recommended or not variant,
        final=optimized.final if recommended else (chosen.comparisons if chosen else ()),
        gain=optimized.gain if recommended else (chosen.target_gain if chosen else 1.0),
        gain_low=optimized.gain_low if recommended else (chosen.target_gain_low if chosen else 0.0),
        architectures=optimized.architectures if recommended else (),
        recommendations=advice,
        reproduction=reproduction(context.request, context.paths, variant if variant and not recommended else ""),
    )


def reproduction(request: Request, paths: KernelPaths, chosen: str) -> tuple[str, ...]:
    """Commands that measure the same again; `chosen` is the variant that a person preferred to the recommended one."""
    options = f"--goal {request.goal} --scope {shlex.quote(request.scope)} --gpu {request.gpu}"
    options += f" --variants {request.max_variants} --device {request.device}"
    if request.target:
        options += f" --target {shlex.quote(request.target)}"
    options += f"  # and answer {chosen} at the second checkpoint" if chosen else " --autonomous"
    return (
        f"liger-perf run {request.kernel} --repo . {options}",
        f"python {paths.benchmark} --overwrite",
        f"python -m pytest {paths.test} -xvs",
    )
