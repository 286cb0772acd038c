from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from liger_perf.gpu.walk import Walker, cell_value, replaced, run_benchmarks_parameters
from liger_perf.model.launches import Cell, Point


@pytest.mark.parametrize(
    ("text", "like", "value"),
    [
        ("torch.float32", torch.bfloat16, torch.float32),
        ("2048", 4096, 2048),
        ("1e-05", 1e-6, 1e-5),
        ("False", True, False),
        ("True", False, True),
        ("llama", "qwen", "llama"),
    ],
)
def test_cell_value_is_of_the_type_that_the_script_holds(text: str, like: object, value: object) -> None:
    found = cell_value(text, like)
    assert found == value
    assert type(found) is type(value)


def test_replaced_refuses_keys_that_the_script_does_not_have() -> None:
    config = {"hidden_size": 4096, "dtype": torch.bfloat16}
    assert replaced(Cell(config={"hidden_size": "320"}), config) == {"hidden_size": 320, "dtype": torch.bfloat16}
    with pytest.raises(LookupError, match="no width"):
        replaced(Cell(config={"width": "320"}), config)


def test_parameters_of_any_harness() -> None:
    def harness(
        bench: Any, name: str, modes: Sequence[str] = ("full",), *rest: int, overwrite: bool = True, **_: Any
    ) -> None:
        """Every kind of parameter."""

    assert run_benchmarks_parameters(harness) == {"bench": None, "name": None, "modes": ("full",), "overwrite": True}


@dataclass
class Visits:
    """A visitor that calls one provider foreign."""

    seen: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)

    def begin(self, point: Point) -> None:
        self.begun.append(point.key)

    def visit(self, point: Point, fn: Callable[[], object], clears: Sequence[torch.Tensor]) -> bool:
        if point.provider == "foreign":
            return False
        self.seen.append(point.key)
        return True


HARNESS = SimpleNamespace(SingleBenchmarkRunInput=SimpleNamespace)


def run(
    cells: Sequence[Cell], error: Callable[[Any], Exception | None] = lambda _: None, **changes: Any
) -> tuple[Walker, Visits]:
    visits = Visits()
    walker = Walker(visits, ["forward"])

    def bench(given: Any) -> None:
        if (raised := error(given)) is not None:
            raise raised
        assert walker.do_bench(lambda: None, quantiles=[0.5, 0.2, 0.8], rep=10) == [1.0, 1.0, 1.0]

    arguments = {
        "bench_test_fn": bench,
        "metric_name": "speed",
        "x_name": "T",
        "x_values": [1, 2],
        "kernel_providers": ["foreign", "own"],
        "kernel_operation_modes": ["backward", "forward"],
        "extra_benchmark_configs": [{"width": 8}],
    }
    walker.run_benchmarks(cells, HARNESS, {**arguments, **changes})
    return walker, visits


def test_foreign_provider_is_left_after_its_first_point() -> None:
    walker, visits = run([Cell()])
    assert visits.begun == ["speed/forward/foreign T=1", "speed/forward/own T=1", "speed/forward/own T=2"]
    assert visits.seen == visits.begun[1:]
    assert walker.visited == 2
    assert not walker.skipped


def test_configurations_of_one_script_are_points_of_their_own() -> None:
    def keys(*cells: Cell) -> list[str]:
        configs = [{"width": 8, "beta": False}, {"width": 8, "beta": True}]
        return run(cells, extra_benchmark_configs=configs, x_values=[1], kernel_providers=["own"])[1].seen

    assert keys(Cell()) == ["speed/forward/own T=1", "speed/forward/own T=1 [beta=True]"]
    assert keys(Cell(config={"width": "9"})) == [
        "speed/forward/own T=1 [width=9]",
        "speed/forward/own T=1 [beta=True,width=9]",
    ]


def test_configurations_of_separate_runs_are_points_of_their_own() -> None:
    visits = Visits()
    walker = Walker(visits, [])
    for beta in (False, True):
        arguments = {
            "bench_test_fn": lambda _: walker.do_bench(lambda: None),
            "metric_name": "speed",
            "x_name": "T",
            "x_values": [1],
            "kernel_providers": ["own"],
            "extra_benchmark_configs": [{"beta": beta}],
        }
        walker.run_benchmarks([Cell()], HARNESS, arguments)
    assert visits.seen == ["speed/None/own T=1", "speed/None/own T=1 [beta=True]"]


def test_other_metrics_are_passed_over() -> None:
    assert run([Cell()], metric_name="memory")[1].begun == []


def test_refused_points_beyond_the_script_are_named() -> None:
    def refuse(given: Any) -> Exception | None:
        return ValueError("odd") if given.x == 3 else None

    walker, visits = run([Cell(xs=("2", "3", "many"))], refuse)
    assert visits.seen == ["speed/forward/own T=2"]
    assert walker.skipped[0].startswith("T=many: ValueError")
    assert walker.skipped[1:] == [
        "speed/forward/own T=3: ValueError: odd",
    ]


def test_a_point_of_the_script_must_run() -> None:
    with pytest.raises(ValueError, match="always"):
        run([Cell()], lambda _: ValueError("always"))


def test_a_lost_context_ends_the_walk() -> None:
    with pytest.raises(RuntimeError, match="illegal"):
        run(
            [Cell(config={"width": "9"})],
            lambda _: RuntimeError("CUDA error: an illegal memory access was encountered"),
        )
