import torch
import torch.nn as nn

from benchmark_model_configs import MODEL_REGISTRY
from benchmark_model_configs import build_model_config_sweep
from benchmark_model_configs import build_token_length_sweep
from utils import SingleBenchmarkRunInput
from utils import build_memory_bench_fn
from utils import build_speed_bench_fn
from utils import parse_benchmark_script_args
from utils import run_benchmarks

from liger_kernel.transformers.swiglu import LigerSiLUMul
from liger_kernel.utils import infer_device

device = infer_device()


class TorchSiLUMul(nn.Module):
    """The baseline: two elementwise operations in plain PyTorch."""

    def forward(self, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
        return nn.functional.silu(gate) * up


class Activation(torch.autograd.Function):
    """A leaf as if a projection had computed it: its gradient is passed to nobody who would keep it.

    A leaf keeps its gradient and adds the next one to it. Here that is the memory of the leaf itself,
    which the graph has saved, and autograd refuses a second backward pass after such a change.
    """

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return None


def setup_swiglu(input: SingleBenchmarkRunInput) -> tuple[torch.Tensor, torch.Tensor, nn.Module]:
    """The two activations (T, intermediate_size) and the layer of one benchmark point.

    The matrix products of the MLP around it are left out: they would hide the kernel. The kernel
    overwrites the activations: from one run to the next they keep their memory, not their values.
    """
    config = input.extra_benchmark_config
    if isinstance(input.x, str):
        model = MODEL_REGISTRY[input.x]
        seq_len, intermediate_size, dtype = config["seq_len"], model.intermediate_size, model.dtype
    else:
        seq_len, intermediate_size, dtype = input.x, config["intermediate_size"], config["dtype"]

    if input.kernel_provider == "liger":
        layer = LigerSiLUMul()
    elif input.kernel_provider == "huggingface":
        layer = TorchSiLUMul()
    else:
        raise ValueError(f"unknown provider {input.kernel_provider!r} for swiglu")

    gate = torch.randn(seq_len, intermediate_size, device=device, dtype=dtype, requires_grad=True)
    up = torch.randn(seq_len, intermediate_size, device=device, dtype=dtype, requires_grad=True)
    return Activation.apply(gate), Activation.apply(up), layer


if __name__ == "__main__":
    args = parse_benchmark_script_args()
    if args.sweep_mode == "model_config":
        common = build_model_config_sweep("swiglu", bt=args.bt, overwrite=args.overwrite)
    else:
        model = MODEL_REGISTRY[args.model]
        common = build_token_length_sweep(
            "swiglu",
            model=model,
            model_keys=["intermediate_size", "dtype"],
            x_name="T",
            x_label="sequence length",
            x_values=[1024, 2048, 4096, 8192],
            # Inputs, gradients and intermediates of the baseline: about eight tensors of two bytes.
            bytes_per_token=16 * model.intermediate_size,
            overwrite=args.overwrite,
        )
    common["kernel_providers"] = ["huggingface", "liger"]

    run_benchmarks(
        build_speed_bench_fn(setup_swiglu),
        metric_name="speed",
        metric_unit="ms",
        kernel_operation_modes=["forward", "backward", "full"],
        **common,
    )
    run_benchmarks(
        build_memory_bench_fn(setup_swiglu),
        metric_name="memory",
        metric_unit="MB",
        kernel_operation_modes=["full"],
        **common,
    )
