"""Replays of autograd functions: what a kernel leaves unwritten, or returns in another dtype, must show."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
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
