from __future__ import annotations

import os
import types
from collections.abc import Iterator

import msgspec
import pytest
import torch

from liger_perf.gpu.channel import Channel
from liger_perf.gpu.functions import FunctionRecorder, replay
from liger_perf.gpu.modules import kernel_module
from liger_perf.gpu.settings_hook import SettingsHook, is_settings_function
from liger_perf.gpu.worker import failure
from liger_perf.model.launches import Cell, SettingsCall
from liger_perf.model.measurements import PassSample, PassTimes
from liger_perf.model.protocol import Answer, Command, Next, Timed, TimePass, Walk


@pytest.fixture
def pipes() -> Iterator[tuple[Channel, int, int]]:
    """A channel, where its commands are written and where its answers are read."""
    (command_out, command_in), (answer_out, answer_in) = os.pipe(), os.pipe()
    with os.fdopen(command_out, "rb") as reader, os.fdopen(answer_in, "wb") as writer:
        yield Channel(reader, writer), command_in, answer_out
    os.close(answer_out)


def test_channel_round_trip(pipes: tuple[Channel, int, int]) -> None:
    channel, commands, answers = pipes
    sent: list[Command] = [
        Walk(cells=(Cell(), Cell(config={"dtype": "torch.float32"}, xs=("8",))), modes=("forward",)),
        TimePass(runs=3, settings={"_k_settings": {"num_warps": 8}}),
        Next(),
    ]
    os.write(commands, b"".join(msgspec.json.encode(command) + b"\n" for command in sent))
    os.close(commands)
    assert [channel.receive() for _ in sent] == sent
    assert channel.receive() is None
    answer = Timed(PassTimes(samples=(PassSample(1.5, 2.5),), by_kernel={"line\nbreak": 1.5}))
    channel.send(answer)
    line = os.read(answers, 4096)
    assert line.count(b"\n") == 1
    assert msgspec.json.decode(line, type=Answer) == answer


@pytest.mark.parametrize(
    ("error", "sticky"),
    [
        (RuntimeError("CUDA error: an illegal memory access was encountered"), True),
        (RuntimeError("Triton Error [CUDA]: misaligned address"), True),
        (RuntimeError("CUDA out of memory"), False),
        (MemoryError("out of resource: shared memory"), False),
        (ValueError("a bad size"), False),
    ],
)
def test_failure_says_whether_the_context_is_lost(error: Exception, sticky: bool) -> None:
    found = failure(error)
    assert (found.kind, found.message, found.sticky) == (type(error).__name__, str(error), sticky)


def test_failure_is_short_and_ends_with_the_error() -> None:
    try:
        raise ValueError("x" * 10_000 + " the end")
    except ValueError as error:
        found = failure(error)
    assert len(found.message) == 2000
    assert len(found.traceback) <= 4000
    assert found.traceback.rstrip().endswith("the end")


def test_kernel_module_is_found_by_its_path() -> None:
    assert kernel_module("src/liger_perf/model/points.py").__name__ == "liger_perf.model.points"


def settings_module() -> types.ModuleType:
    module = types.ModuleType("target")
    exec(
        "def _k_settings(n_rows, n_cols, dtype, device):\n    return {'num_warps': n_cols // 100}\n"
        "def _other_settings(n_rows):\n    return {}\n"
        "def k_settings(dtype, device):\n    return {}\n"
        "_fake_settings = 3\n",
        module.__dict__,
    )
    return module


def test_settings_functions_are_known_by_their_form() -> None:
    found = {name for name, value in vars(settings_module()).items() if is_settings_function(name, value)}
    assert found == {"_k_settings"}


def test_settings_hook_answers_records_and_lets_go() -> None:
    module = settings_module()
    hook = SettingsHook(module)
    arguments = (4, 800, torch.bfloat16, torch.device("cpu"))
    with hook.recording() as calls:
        assert module._k_settings(*arguments) == {"num_warps": 8}
        with hook.answering({"_k_settings": {"num_warps": 16}}):
            answer = module._k_settings(*arguments)
            assert answer == {"num_warps": 16}
            answer["num_warps"] = 1  # the host code may change what it got
            assert module._k_settings(*arguments) == {"num_warps": 16}
        with hook.answering({"_unknown_settings": {"num_warps": 16}}):
            assert module._k_settings(*arguments) == {"num_warps": 8}
    assert module._k_settings(*arguments) == {"num_warps": 8}
    call = SettingsCall(function="_k_settings", shape={"n_rows": 4, "n_cols": 800}, dtype="bfloat16", itemsize=2)
    assert calls == [call] * 4


class Scale(torch.autograd.Function):
    """Doubles x where `mask` holds, and changes its gradient likewise."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx, x: torch.Tensor, mask: torch.Tensor, factor: float
    ) -> torch.Tensor:
        ctx.save_for_backward(mask)
        ctx.factor = factor  # type: ignore[attr-defined]
        return torch.where(mask[:, None], x * factor, x)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, *gradients: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        (mask,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return torch.where(mask[:, None], gradients[0] * ctx.factor, gradients[0]), None, None  # type: ignore[attr-defined]


def test_recorded_functions_are_replayed_on_fresh_inputs() -> None:
    module = types.ModuleType(__name__)

    class Own(Scale):
        """The module's own; what it imported, such as Scale's base, is not recorded."""

    module.__dict__.update(Own=Own, Foreign=torch.autograd.Function)
    recorder = FunctionRecorder(module)
    assert recorder.classes == (Own,)
    x = torch.zeros(6, 3, requires_grad=True)
    mask = torch.tensor([True, False] * 3)
    Own.apply(x, mask, 2.0)  # before a point begins
    recorder.restart()
    Own.apply(x, mask, 2.0)
    calls = recorder.pause()
    Own.apply(x, mask, 2.0)  # a timed run
    assert len(calls) == 1
    assert recorder.leaves[0] is x
    whole = replay(calls, dtype="float32", rows=0, seed=1, device="cpu")
    again = replay(calls, dtype="float32", rows=0, seed=1, device="cpu")
    short = replay(calls, dtype="bfloat16", rows=2, seed=2, device="cpu")
    assert set(whole) == {"0.Own.output0:float32", "0.Own.grad0:float32", "0.Own.input0:float32", "0.Own.input1:bool"}
    assert (whole["0.Own.input1:bool"] == [1, 0] * 3).all()  # integers and truth values are those that were seen
    assert all((whole[name] == again[name]).all() for name in whole)
    assert whole["0.Own.output0:float32"].shape == (6, 3)
    assert short["0.Own.output0:bfloat16"].shape == (2, 3)
    assert short["0.Own.output0:bfloat16"].dtype == "float64"
    assert (whole["0.Own.output0:float32"] != 0).all()  # the values seen were zeros
