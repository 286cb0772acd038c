"""Makes CPU tensors pass for tensors on cuda:0, so that a repository's CUDA branches run on a machine without a GPU."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode

from liger_perf.gpu.simulated.allocate import Allocations
from liger_perf.gpu.simulated.model import H200

CUDA0 = torch.device("cuda", 0)
CPU = torch.device("cpu")


def on_cpu(value: Any) -> Any:
    """The CPU in place of a CUDA device; anything else as it is."""
    if isinstance(value, torch.device) and value.type == "cuda":
        return CPU
    if isinstance(value, str) and value.split(":")[0] == "cuda":
        return "cpu"
    return value


class FakeCuda(TorchFunctionMode):
    """CPU tensors say that they are on cuda:0; what asks for CUDA gets the CPU."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func == torch.Tensor.device.__get__:
            return CUDA0
        if func == torch.Tensor.is_cuda.__get__:  # type: ignore[attr-defined]
            return True
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.device:
            return func(*args, **kwargs)  # a name, compared with those of tensors: nothing is put there yet
        if "device" in kwargs:
            kwargs["device"] = on_cpu(kwargs["device"])
        return func(*(on_cpu(arg) for arg in args), **kwargs)


def enter_in_backward() -> None:
    """Enter FakeCuda inside each Python backward too: the autograd engine calls it with the stack of modes empty."""
    real_apply = BackwardCFunction.apply

    def apply(node: Any, *gradients: Any) -> Any:
        with FakeCuda():
            return real_apply(node, *gradients)  # type: ignore[no-untyped-call]  # torch's modes are untyped

    BackwardCFunction.apply = apply  # type: ignore[method-assign]


def install(allocations: Allocations) -> None:
    """Answer torch.cuda's questions as an H200 would, and enter FakeCuda for the life of the process."""
    properties = SimpleNamespace(
        name=H200.name,
        major=9,
        minor=0,
        multi_processor_count=H200.sm_count,
        total_memory=H200.memory_bytes,
        shared_memory_per_block_optin=H200.shared_memory_bytes,
        warp_size=32,
    )
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_name": lambda *_: H200.name,
        "get_device_properties": lambda *_: properties,
        "get_device_capability": lambda *_: (9, 0),
        "synchronize": lambda *_: None,
        "empty_cache": lambda: None,
        "manual_seed_all": lambda *_: None,
        "manual_seed": lambda *_: None,
        "device": lambda *_: contextlib.nullcontext(),
        "mem_get_info": lambda *_: (H200.memory_bytes, H200.memory_bytes),
        "reset_peak_memory_stats": lambda *_: allocations.reset_peak(),
        "max_memory_allocated": lambda *_: allocations.peak,
        "memory_allocated": lambda *_: allocations.live,
    }
    for name, answer in answers.items():
        setattr(torch.cuda, name, answer)
        if hasattr(torch.cuda.memory, name):
            setattr(torch.cuda.memory, name, answer)
    enter_in_backward()
    FakeCuda().__enter__()  # type: ignore[no-untyped-call]  # torch's modes are untyped
