"""Whether this machine has an NVIDIA GPU, without torch: a hint for `--device auto`. The worker has the last word."""

from __future__ import annotations

from pathlib import Path


def has_nvidia_device(devices: Path = Path("/dev")) -> bool:
    """Whether the driver's device files are there (`nvidia0`…, or `dxg` under WSL)."""
    return any(devices.glob("nvidia[0-9]*")) or (devices / "dxg").exists()
