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

from liger_kernel.transformers.cross_entropy import LigerCrossEntropyLoss
from liger_kernel.utils import infer_device

device = infer_device()


class TorchCrossEntropyLoss(nn.Module):
    """The baseline: the loss of plain PyTorch, over logits that are first widened to float32."""

    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(logits.float(), target)


def setup_cross_entropy(input: SingleBenchmarkRunInput) -> tuple[torch.Tensor, torch.Tensor, nn.Module]:
    """The logits (BT, vocab_size), the labels (BT,) and the loss of one benchmark point.

    The kernel overwrites the logits: from one run to the next they keep their memory, not their values.
    """
    config = input.extra_benchmark_config
    if isinstance(input.x, str):
        model = MODEL_REGISTRY[input.x]
        bt, vocab_size, dtype = config["seq_len"], model.vocab_size, model.dtype
    else:
        bt, vocab_size, dtype = input.x, config["vocab_size"], config["dtype"]

    if input.kernel_provider == "liger":
        loss = LigerCrossEntropyLoss()
    elif input.kernel_provider == "huggingface":
        loss = TorchCrossEntropyLoss()
    else:
        raise ValueError(f"unknown provider {input.kernel_provider!r} for cross_entropy")

    logits = torch.randn(bt, vocab_size, device=device, dtype=dtype, requires_grad=True)
    target = torch.randint(0, vocab_size, (bt,), device=device)
    return logits, target, loss


if __name__ == "__main__":
    args = parse_benchmark_script_args()
    if args.sweep_mode == "model_config":
        common = build_model_config_sweep("cross_entropy", bt=args.bt, overwrite=args.overwrite)
    else:
        model = MODEL_REGISTRY[args.model]
        common = build_token_length_sweep(
            "cross_entropy",
            model=model,
            model_keys=["vocab_size", "dtype"],
            x_name="BT",
            x_label="tokens",
            x_values=[1024, 2048, 4096],
            # The baseline holds the logits, their gradient and about four float32 copies.
            bytes_per_token=20 * model.vocab_size,
            overwrite=args.overwrite,
        )
    common["kernel_providers"] = ["huggingface", "liger"]

    run_benchmarks(
        build_speed_bench_fn(setup_cross_entropy),
        metric_name="speed",
        metric_unit="ms",
        kernel_operation_modes=["forward", "backward", "full"],
        **common,
    )
    run_benchmarks(
        build_memory_bench_fn(setup_cross_entropy),
        metric_name="memory",
        metric_unit="MB",
        kernel_operation_modes=["full"],
        **common,
    )
