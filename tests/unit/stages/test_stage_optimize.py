"""The loop over techniques: one that fails costs only itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from liger_perf.kernels.layout import kernel_paths
from liger_perf.stages.optimize import Best, Optimizer
from liger_perf.techniques.base import Evidence, Opportunity, Rewrite
from liger_perf.techniques.examples import NORM_BACKWARD, evidence_for


class _Technique:
    key, title, origin = "odd", "", ""

    def __init__(self, outcome: Exception | str) -> None:
        self._outcome = outcome

    def consider(self, evidence: Evidence) -> Opportunity:
        return Opportunity(kernels=(), reason="", predicted_gain=1.0)

    def rewrite(self, source: str, evidence: Evidence) -> Rewrite:
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return Rewrite(source=self._outcome, knobs=(), changes=())


@pytest.mark.parametrize("outcome", [ValueError("edits overlap"), "def broken(:\n"], ids=["raises", "no Python"])
def test_a_technique_that_fails_is_passed_over(outcome: Exception | str, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    optimizer: Any = Optimizer.__new__(Optimizer)
    optimizer.context = SimpleNamespace(paths=kernel_paths("k"), progress=SimpleNamespace(note=said.append))
    optimizer.best = Best(name="original", source=NORM_BACKWARD.source)
    optimizer.variants = []
    monkeypatch.setattr(Optimizer, "_evidence", lambda _: evidence_for(NORM_BACKWARD))
    optimizer.attempt(None, _Technique(outcome))
    assert optimizer.variants == []
    assert said[0].startswith("odd could not rewrite this file: ")
