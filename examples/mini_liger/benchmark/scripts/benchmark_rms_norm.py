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

from liger_kernel.transformers.rms_norm import LigerRMSNorm
from liger_kernel.utils import infer_device

device = infer_device()

EPS = 1e-6


class TorchRMSNorm(nn.Module):
    """The baseline: the norm as models spell it in plain PyTorch, one elementwise operation at a time."""

    def __init__(self, hidden_size: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        x = hidden_states.float()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * x.to(hidden_states.dtype)


def setup_rms_norm(input: SingleBenchmarkRunInput) -> tuple[torch.Tensor, nn.Module]:
    """The input (T, hidden_size) and the layer of one benchmark point."""
    config = input.extra_benchmark_config
    if isinstance(input.x, str):
        model = MODEL_REGISTRY[input.x]
        seq_len, hidden_size, dtype = config["seq_len"], model.hidden_size, model.dtype
    else:
        seq_len, hidden_size, dtype = input.x, config["hidden_size"], config["dtype"]

    if input.kernel_provider == "liger":
        layer = LigerRMSNorm(hidden_size, eps=config["eps"])
    elif input.kernel_provider == "huggingface":
        layer = TorchRMSNorm(hidden_size, eps=config["eps"])
    else:
        raise ValueError(f"unknown provider {input.kernel_provider!r} for rms_norm")

    x = torch.randn(seq_len, hidden_size, device=device, dtype=dtype, requires_grad=True)
    return x, layer.to(device=device, dtype=dtype)


if __name__ == "__main__":
    args = parse_benchmark_script_args()
    if args.sweep_mode == "model_config":
        common = build_model_config_sweep("rms_norm", bt=args.bt, extra_config={"eps": EPS}, overwrite=args.overwrite)
    else:
        model = MODEL_REGISTRY[args.model]
        common = build_token_length_sweep(
            "rms_norm",
            model=model,
            model_keys=["hidden_size", "dtype"],
            x_name="T",
            x_label="sequence length",
            x_values=[1024, 2048, 4096, 8192],
            # The baseline keeps about ten float32 copies of its input at its peak.
            bytes_per_token=40 * model.hidden_size,
            extra_config={"eps": EPS},
            overwrite=args.overwrite,
        )
    common["kernel_providers"] = ["huggingface", "liger"]

    run_benchmarks(
        build_speed_bench_fn(setup_rms_norm),
        metric_name="speed",
        metric_unit="ms",
        kernel_operation_modes=["forward", "backward", "full"],
        **common,
    )
    run_benchmarks(
        build_memory_bench_fn(setup_rms_norm),
        metric_name="memory",
        metric_unit="MB",
        kernel_operation_modes=["full"],
        **common,
    )
