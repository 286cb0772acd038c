"""The models whose sizes are benchmarked, and the two sweeps over them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from liger_kernel.utils import get_total_gpu_memory

# Part of the GPU that one benchmark may fill; the rest is for its gradients and the allocator.
MEMORY_SHARE = 0.4


@dataclass(frozen=True)
class ModelConfig:
    """Sizes of a published model, as far as the kernels depend on them."""

    name: str
    hidden_size: int
    intermediate_size: int
    vocab_size: int
    dtype: torch.dtype = torch.bfloat16


MODEL_REGISTRY: dict[str, ModelConfig] = {
    model.name: model
    for model in (
        ModelConfig("llama_2_7b", hidden_size=4096, intermediate_size=11008, vocab_size=32000),
        ModelConfig("llama_3_8b", hidden_size=4096, intermediate_size=14336, vocab_size=128256),
        ModelConfig("qwen2.5_7b", hidden_size=3584, intermediate_size=18944, vocab_size=152064),
        ModelConfig("qwen2.5_72b", hidden_size=8192, intermediate_size=29568, vocab_size=152064),
    )
}
DEFAULT_MODEL = "llama_2_7b"


def build_token_length_sweep(
    kernel_name: str,
    model: ModelConfig,
    model_keys: Sequence[str],
    x_name: str,
    x_label: str,
    x_values: Sequence[int],
    bytes_per_token: int,
    extra_config: dict[str, Any] | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Arguments of ``run_benchmarks`` for a sweep over the number of tokens with one model.

    ``model_keys`` names the sizes of the model that the setup function reads from the extra config.
    Lengths at which ``bytes_per_token`` would fill the GPU are left out.
    """
    usable = MEMORY_SHARE * get_total_gpu_memory()
    return {
        "kernel_name": kernel_name,
        "x_name": x_name,
        "x_label": x_label,
        "x_values": [x for x in x_values if x * bytes_per_token <= usable],
        "extra_benchmark_configs": [{key: getattr(model, key) for key in model_keys} | (extra_config or {})],
        "overwrite": overwrite,
    }


def build_model_config_sweep(
    kernel_name: str,
    bt: int,
    extra_config: dict[str, Any] | None = None,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Arguments of ``run_benchmarks`` for a sweep over all models with ``bt`` tokens.

    The x values are names of models; the setup function looks the sizes up in ``MODEL_REGISTRY``.
    """
    return {
        "kernel_name": kernel_name,
        "x_name": "model_config",
        "x_label": "model configuration",
        "x_values": list(MODEL_REGISTRY),
        "extra_benchmark_configs": [{**(extra_config or {}), "seq_len": bt}],
        "overwrite": overwrite,
    }
