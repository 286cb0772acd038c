"""The guardrails: what a variant must not make worse, whatever it gains.

From the request's specification: a non-target metric must not get more than 5 % worse, and a pass must not lose more
than 10 % so that another gains. A rule passes only where the *upper* bound of the loss is within its threshold; a bound
that is unknown or too wide does not pass. Ours on top: no measured size or pass may be judged slower at all.

| goal | target | guarded at 5 % |
|---|---|---|
| speed | time within the scope | time outside the scope, peak memory |
| memory | peak memory | time of every pass, peak memory of every single size |
| balanced | time within the scope | time of every pass, peak memory |

Bounds are taken from the device clock, since host time has tails that no number of rounds removes; a wall time that is
judged slower fails nevertheless.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import assert_never

from liger_perf.measure.scope import Scope, ScopeKind, parse_scope, require_match
from liger_perf.model import points
from liger_perf.model.measurements import Clock, Comparison, Verdict
from liger_perf.model.options import Goal, Request
from liger_perf.model.variants import GuardrailCheck

NON_TARGET_LIMIT = 0.05
CROSS_PASS_LIMIT = 0.10
NOT_SLOWER = "no measured point slower"
CROSS_PASS = "cross-pass regression"
NON_TARGET_TIME = "non-target metric: time"
NON_TARGET_MEMORY = "non-target metric: peak memory"

_SINGLE_PASSES = ("forward", "backward")

Loss = tuple[str, float, float | None]
"""Point, loss, upper bound of the loss; fractions."""


def check(
    request: Request, comparisons: Sequence[Comparison], memory_ratios: Mapping[str, float]
) -> tuple[GuardrailCheck, ...]:
    """All guardrails that apply to the request, each at its worst point.

    Args:
        comparisons: original against candidate, every point and pass, device and wall clock.
        memory_ratios: peak bytes of the candidate over the original by point key; bytes are exact, so their own bound.

    Raises:
        UsageError: the request's scope is malformed.
    """
    scope = parse_scope(request.scope)
    device = [item for item in comparisons if item.clock is Clock.DEVICE]
    inside = [_time_loss(item) for item in device if scope.includes(item.point, item.mode)]
    checks = [
        _not_slower(comparisons),
        _bounded(CROSS_PASS, CROSS_PASS_LIMIT, inside or [_time_loss(item) for item in device]),
    ]
    guarded = [_time_loss(item) for item in device if _guarded(request.goal, scope.includes(item.point, item.mode))]
    if guarded:
        checks.append(_bounded(NON_TARGET_TIME, NON_TARGET_LIMIT, guarded))
    memory: list[Loss] = [(point, ratio - 1, ratio - 1) for point, ratio in memory_ratios.items()]
    checks.append(_bounded(NON_TARGET_MEMORY, NON_TARGET_LIMIT, memory))
    return tuple(checks)


def more_rounds_may_help(found: GuardrailCheck) -> bool:
    """Whether the check failed only for want of samples: the loss itself is within, its upper bound is not."""
    undecided = found.loss_upper is None or found.loss_upper > found.threshold
    return not found.passed and found.name != NOT_SLOWER and undecided and found.loss <= found.threshold


def target_gain(
    request: Request, comparisons: Sequence[Comparison], memory_ratios: Mapping[str, float]
) -> tuple[float, float]:
    """The gain of the target and its lower bound, as ratios (above 1 is better): a geometric mean in which every
    measured size and pass of the scope weighs the same.

    `full` repeats forward and backward, so it counts only where neither was measured. The lower bound is the mean of
    the points' lower bounds, which holds even if their errors go together; it is 0 where a point has no interval.

    Raises:
        UsageError: the scope is malformed, or covers nothing that was measured.
    """
    scope = parse_scope(request.scope)
    match request.goal:
        case Goal.SPEED | Goal.BALANCED:
            return _speed_gain(scope, comparisons)
        case Goal.MEMORY:
            return _memory_gain(scope, memory_ratios)
        case _:
            assert_never(request.goal)


def target_comparisons(scope: Scope, comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The device-time comparisons that make up the target.

    Raises:
        UsageError: nothing that was measured lies within the scope.
    """
    device = [item for item in comparisons if item.clock is Clock.DEVICE]
    require_match(scope, [(item.point, item.mode) for item in device])
    inside = [item for item in device if scope.includes(item.point, item.mode)]
    single = [item for item in inside if item.mode in _SINGLE_PASSES]
    return single or inside


def _speed_gain(scope: Scope, comparisons: Sequence[Comparison]) -> tuple[float, float]:
    chosen = target_comparisons(scope, comparisons)
    return _geometric([item.ratio for item in chosen]), _geometric([item.low or 0.0 for item in chosen])


def _memory_gain(scope: Scope, memory_ratios: Mapping[str, float]) -> tuple[float, float]:
    modes = {point: points.parse(point).mode for point in memory_ratios}
    inside = [1 / ratio for point, ratio in memory_ratios.items() if scope.includes(point, modes[point])]
    if not inside and scope.kind is ScopeKind.PASS:
        # Most scripts measure memory for "full" only: then a pass cannot narrow it.
        inside = [1 / ratio for ratio in memory_ratios.values()]
    if not inside:
        require_match(scope, modes.items())
    gain = _geometric(inside)
    return gain, gain


def _geometric(ratios: Sequence[float]) -> float:
    return 0.0 if min(ratios) <= 0 else math.exp(fmean(math.log(ratio) for ratio in ratios))


def _guarded(goal: Goal, inside: bool) -> bool:
    match goal:
        case Goal.SPEED:
            return not inside
        case Goal.MEMORY | Goal.BALANCED:
            return True
        case _:
            assert_never(goal)


def _time_loss(item: Comparison) -> Loss:
    return item.point, 1 / item.ratio - 1, None if item.low is None else 1 / item.low - 1


def _bounded(name: str, threshold: float, losses: Sequence[Loss]) -> GuardrailCheck:
    """Pass only where every upper bound is within the threshold; unknown bounds rank as the worst."""
    if not losses:
        return _unmeasured(name, threshold)
    point, loss, upper = max(losses, key=_upper_or_infinite)
    passed = upper is not None and upper <= threshold
    if passed:
        text = ""
    elif loss > threshold:
        text = "the loss is beyond the threshold"
    else:
        text = "the loss cannot be ruled out: its upper bound is beyond the threshold or unknown"
    return GuardrailCheck(
        name=name, threshold=threshold, worst_point=point, loss=loss, loss_upper=upper, passed=passed, explanation=text
    )


def _upper_or_infinite(loss: Loss) -> float:
    return math.inf if loss[2] is None else loss[2]


def _not_slower(comparisons: Sequence[Comparison]) -> GuardrailCheck:
    if not comparisons:
        return _unmeasured(NOT_SLOWER, 0.0)
    worst = max(comparisons, key=lambda item: (item.verdict is Verdict.SLOWER, -item.ratio))
    slower = sum(item.verdict is Verdict.SLOWER for item in comparisons)
    point, loss, upper = _time_loss(worst)
    return GuardrailCheck(
        name=NOT_SLOWER,
        threshold=0.0,
        worst_point=point,
        loss=loss,
        loss_upper=upper,
        passed=slower == 0,
        explanation=f"{slower} of {len(comparisons)} comparisons judged slower" if slower else "",
    )


def _unmeasured(name: str, threshold: float) -> GuardrailCheck:
    return GuardrailCheck(
        name=name,
        threshold=threshold,
        worst_point="",
        loss=0.0,
        loss_upper=None,
        passed=False,
        explanation="nothing was measured",
    )
