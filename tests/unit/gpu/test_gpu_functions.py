"""Replays of autograd functions: what a kernel leaves unwritten, or returns in another dtype, must show."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from liger_perf.gpu.functions import FunctionRecorder, replay


def recorded(forward: Any, shape: tuple[int, ...] = (4, 8)) -> list[Any]:
    """The call of a function with this forward pass, as a point would record it."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return forward(x)  # type: ignore[no-any-return]

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return 2 * gradients[0]

    module = ModuleType("ops")
    Twice.__module__ = "ops"
    module.Twice = Twice  # type: ignore[attr-defined]
    recorder = FunctionRecorder(module)
    recorder.restart()
    Twice.apply(torch.zeros(shape, requires_grad=True))
    return recorder.pause()


def replayed(forward: Any, dtype: str = "float32") -> dict[str, np.ndarray]:
    return replay(recorded(forward), dtype=dtype, rows=0, seed=0, device="cpu")


def test_what_is_returned_names_its_dtype() -> None:
    assert set(replayed(lambda x: 2 * x)) == {f"0.Twice.{name}0:float32" for name in ("output", "grad", "input")}
    assert "0.Twice.output0:float32" in replayed(lambda x: 2 * x.float(), "bfloat16")
    assert "0.Twice.output0:bfloat16" in replayed(lambda x: 2 * x, "bfloat16")


def test_rows_that_are_never_written_are_nan_and_not_the_last_replay() -> None:
    def skips_the_last_row(x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        y[:-1] = 2 * x[:-1]
        return y

    found = replayed(skips_the_last_row)["0.Twice.output0:float32"]
    assert np.isnan(found[-1]).all()
    assert np.isfinite(found[:-1]).all()
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize(("rows", "left"), [(6, 3), (4, 4)], ids=["oblong", "square"])
def test_a_weight_is_not_shortened_where_there_are_as_many_rows_as_columns(rows: int, left: int) -> None:
    class Scaled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            return x * weight

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            return gradient, gradient.sum(dim=0)

    module = ModuleType("kernel")
    Scaled.__module__ = "kernel"
    module.Scaled = Scaled  # type: ignore[attr-defined]
    recorder = FunctionRecorder(module)
    recorder.restart()
    Scaled.apply(torch.zeros(rows, 4, requires_grad=True), torch.zeros(4, requires_grad=True))
    found = replay(recorder.pause(), dtype="float32", rows=3, seed=0, device="cpu")
    assert found["0.Scaled.output0:float32"].shape == (left, 4)
    assert found["0.Scaled.grad1:float32"].shape == (4,)
