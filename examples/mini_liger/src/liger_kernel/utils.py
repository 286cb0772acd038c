import torch


def infer_device() -> str:
    """Name of the device that kernels run on: ``"cuda"``, or ``"cpu"`` for Triton's interpreter."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def get_total_gpu_memory() -> int:
    """Memory of the current GPU in bytes."""
    return torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
