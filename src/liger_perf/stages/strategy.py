"""The order in which techniques are tried: the parameter search first, then by predicted gain."""

from __future__ import annotations

from liger_perf.model.profile import StrategyStep
from liger_perf.techniques.base import Evidence, Opportunity, Refusal, Technique
from liger_perf.techniques.registry import TECHNIQUES

FIRST = "launch_parameters"


def order(evidence: Evidence) -> list[StrategyStep]:
    """All techniques: the mandatory first, those that apply by predicted gain, then those that refuse, with reasons."""
    steps = [_step(technique, technique.consider(evidence)) for technique in TECHNIQUES]
    return sorted(steps, key=lambda step: (step.technique != FIRST, step.refused, -(step.predicted_gain or 0.0)))


def _step(technique: Technique, found: Opportunity | Refusal) -> StrategyStep:
    gain = found.predicted_gain if isinstance(found, Opportunity) else None
    return StrategyStep(technique=technique.key, title=technique.title, reason=found.reason, predicted_gain=gain)
