from __future__ import annotations

from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.runtime.jit import JITFunction

from liger_perf.gpu.compile_server import argument_value, unwrapped
from liger_perf.gpu.launch_hook import LaunchHook, LaunchRecorder, constexpr_names, describe_scalar
from liger_perf.model.launches import Argument, Launch, Scalar


@triton.jit
def _scale_kernel(X, Y, n, factor=2.0, BLOCK: tl.constexpr = 64):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + offsets, tl.load(X + offsets, mask=offsets < n) * factor, mask=offsets < n)


@pytest.mark.parametrize(
    ("value", "described"),
    [
        (3, 3),
        (True, True),
        (0.5, 0.5),
        ("mean", "mean"),
        (None, None),
        (tl.constexpr(8), 8),
        (tl.float32, "tl.dtype:fp32"),
        (torch.bfloat16, "torch.dtype:bfloat16"),
        (("a", 1), "('a', 1)"),
    ],
)
def test_describe_scalar(value: object, described: Scalar) -> None:
    found = describe_scalar(value)
    assert found == described
    assert type(found) is type(described)


@pytest.mark.parametrize("dtype", [tl.float32, torch.bfloat16])
def test_described_dtypes_come_back(dtype: object) -> None:
    assert argument_value(Argument(name="kind", value=describe_scalar(dtype))) == dtype


def test_constexpr_names() -> None:
    assert constexpr_names(_scale_kernel) == {"BLOCK"}
    assert unwrapped(_scale_kernel) is _scale_kernel


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The launches that reach Triton."""
    found: list[str] = []

    def run(function: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        found.append(f"{function.fn.__name__}{' warmup' if warmup else ''}")

    monkeypatch.setattr(JITFunction, "run", run)  # restored with what the hook puts in its place
    monkeypatch.setattr(triton.runtime.autotuner.Autotuner, "_bench", lambda tuner, kernel: kernel[(1,)](0, 0, 0))
    return found


def test_recorded_launch(launched: list[str]) -> None:
    hook = LaunchHook()
    hook.install()
    x = torch.zeros(4, 8)
    with hook.recording(LaunchRecorder(__file__)) as recorder:
        _scale_kernel[lambda meta: (triton.cdiv(32, meta["BLOCK"]),)](x, x[1:], 32, num_warps=2, num_stages=None)
    _scale_kernel[(1,)](x, x, 32)
    assert launched == ["_scale_kernel", "_scale_kernel"]
    (launch,) = recorder.launches
    assert launch.own
    assert (launch.kernel, launch.grid, launch.options) == ("_scale_kernel", (1,), {"num_warps": 2})
    first, second, count, factor, block = launch.arguments
    assert first.tensor is not None
    assert second.tensor is not None
    assert (first.tensor.storage, second.tensor.storage, second.tensor.offset) == (0, 0, 8)
    assert (second.tensor.shape, second.tensor.stride, second.tensor.nbytes) == ((3, 8), (8, 1), 96)
    assert (count.value, factor.value) == (32, 2.0)
    assert block == Argument(name="BLOCK", value=64, constexpr=True)


def test_launches_of_other_files_are_not_own(launched: list[str]) -> None:
    launch = LaunchRecorder("elsewhere.py").record(_scale_kernel, (0, 0, 0), (1,), {})
    assert not launch.own


def test_not_launching_and_standing_in(launched: list[str]) -> None:
    hook = LaunchHook()
    hook.install()
    with hook.recording(LaunchRecorder(__file__)) as recorder, hook.not_launching():
        _scale_kernel[(1,)](0, 0, 0)
    assert len(recorder.launches) == 1
    assert launched == []
    seen: list[Launch | str] = []
    hook.around = lambda real, function, args, grid, kwargs: seen.append(function.fn.__name__)
    _scale_kernel[(1,)](0, 0, 0)
    _scale_kernel.run(0, 0, 0, grid=(1,), warmup=True)
    assert seen == ["_scale_kernel"]
    assert launched == ["_scale_kernel warmup"]


def test_trials_of_an_autotuner_are_not_launches_of_the_pass(launched: list[str]) -> None:
    hook = LaunchHook()
    hook.install()
    with hook.recording(LaunchRecorder(__file__)) as recorder:
        triton.runtime.autotuner.Autotuner._bench(None, _scale_kernel)
    assert launched == ["_scale_kernel"]
    assert recorder.launches == []
