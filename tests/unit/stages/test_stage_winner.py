"""What is left of the winner's trial after an interruption."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from liger_perf.gates.smoke import crashed
from liger_perf.model.variants import SmokeResult
from liger_perf.stages import winner
from liger_perf.stages.optimize import Best
from support.fake_lab import DEVICE


class Trial:
    """A stage at the winner's trial. Every variant loses somewhere; narrowing is told to `narrowings`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, best: str, narrowed: set[str], accepted: bool) -> None:
        self.written: list[str] = []
        self.narrowings: list[tuple[str, list[str]]] = []
        self.accepted = accepted
        quiet = SimpleNamespace(note=lambda text: None)
        workspace = SimpleNamespace(write=lambda path, text: self.written.append(path))
        self.context = SimpleNamespace(progress=quiet, workspace=workspace, device=DEVICE)
        self.best = Best(name=best, source="")
        self.narrowed = narrowed
        judged = SimpleNamespace(comparisons=lambda: ())
        self.values = SmokeResult(passed=True, compared=("Y",), worst="Y", worst_error=0.0)
        monkeypatch.setattr(winner, "values_on_whole_grid", lambda bench, best: self.values)
        monkeypatch.setattr(winner, "on_whole_grid", lambda bench, best: judged)
        monkeypatch.setattr(winner, "conclude", lambda optimizer, best, judged: winner.Final(name="", why="it loses"))
        monkeypatch.setattr(winner, "losing_points", lambda comparisons: ["a point"])
        monkeypatch.setattr(winner, "samples_csv", lambda judged, device: "samples")
        monkeypatch.setattr(winner, "narrow", self.narrow)

    def narrow(self, *_: object) -> bool:
        self.narrowings.append((self.best.name, list(self.written)))
        self.narrowed.add(self.best.name)
        if self.accepted:
            self.best = Best(name=f"v{int(self.best.name[1:]) + 1}", source="")
        return self.accepted

    def settle(self) -> winner.Final:
        return winner.settle(self, self)  # type: ignore[arg-type]


def test_samples_are_not_recorded_with_a_narrowed_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    # What a variant's entry names never changes: a stage resumed behind it could not write them again.
    trial = Trial(monkeypatch, "v2", set(), accepted=True)
    trial.settle()
    assert trial.narrowings == [("v2", []), ("v3", [])]
    assert trial.written == [f"benchmarks/judge/{name}_whole_grid.csv" for name in ("v2", "v3", "v4")]


def test_a_narrowing_that_was_rejected_before_an_interruption_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trial = Trial(monkeypatch, "v2", {"v2"}, accepted=False)
    assert trial.settle().name == ""
    assert trial.narrowings == []
    assert trial.written == ["benchmarks/judge/v2_whole_grid.csv"]


def test_narrowings_before_an_interruption_count(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, "v3", {"v2"}, accepted=True)
    trial.settle()
    assert [name for name, _ in trial.narrowings] == ["v3"]


def test_a_variant_that_is_wrong_somewhere_on_the_grid_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(monkeypatch, "v2", set(), accepted=True)
    trial.values = crashed("dW differs")
    final = trial.settle()
    assert (final.name, trial.written) == ("", [])
    assert "dW differs" in final.why


@pytest.mark.parametrize(("low", "name"), [(1.009, ""), (1.011, "v2")])
def test_less_than_one_percent_on_the_whole_grid_is_no_gain(
    monkeypatch: pytest.MonkeyPatch, low: float, name: str
) -> None:
    monkeypatch.setattr(winner.guardrails, "target_gain", lambda *_: (1.02, low))
    monkeypatch.setattr(winner.guardrails, "check", lambda *_: ())
    judged = SimpleNamespace(comparisons=lambda: (), memory_ratios={})
    optimizer = SimpleNamespace(context=SimpleNamespace(request=None))
    best = Best(name="v2", source="")
    assert winner.conclude(optimizer, best, judged).name == name  # type: ignore[arg-type]
