"""The recorded H200 times that the device model was fitted to, and its error on them.

`python -m liger_perf.gpu.simulated.anchors` prints the table in docs/results/h200/device_model.md.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import msgspec

from liger_perf.gpu.simulated.model import H200, Work, launch_us
from liger_perf.model.measurements import DeviceFacts

FILE = Path(__file__).with_name("anchors.json")


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """One launch on the real GPU: median device time in µs, and what the model is told of it."""

    kernel: str
    point: str
    settings: str
    device_us: float
    work: Work

    @property
    def error(self) -> float:
        """Predicted over recorded time, minus one."""
        return launch_us(H200, self.work) / self.device_us - 1


class Anchors(msgspec.Struct, frozen=True, kw_only=True):
    device: DeviceFacts
    rows: tuple[Anchor, ...]


def load() -> Anchors:
    """The anchors as they are packaged."""
    return msgspec.json.decode(FILE.read_bytes(), type=Anchors)


def error_text(anchors: Anchors) -> str:
    """The model's error in one phrase, as every simulated page says it."""
    errors = [abs(anchor.error) for anchor in anchors.rows]
    return (
        f"on {len(errors)} recorded times of a real {anchors.device.name} the model is wrong by "
        f"{statistics.median(errors):.0%} in the median and by {max(errors):.0%} at most"
    )


def page() -> str:
    """docs/results/h200/device_model.md."""
    anchors = load()
    device = anchors.device
    lines = [
        "# How wrong the simulated device is",
        "",
        f"Kernels of `examples/mini_liger` on one {device.name} (driver {device.driver}, torch {device.torch}, triton "
        f"{device.triton}), device time of the kernel alone, L2 flushed, median of 8 runs; beside it what the model of "
        "the simulated device predicts. The constants were fitted once to these rows and are frozen.",
        "",
        f"In short: {error_text(anchors)}.",
        "",
        "| Kernel | Point | Settings | Recorded | Predicted | Error |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    for anchor in anchors.rows:
        predicted = f"{launch_us(H200, anchor.work):.1f} µs"
        where = anchor.point.split(" ", 1)[1]
        lines.append(
            f"| `{anchor.kernel}` | {where} | {anchor.settings or 'as shipped'} | {anchor.device_us:.1f} µs "
            f"| {predicted} | {anchor.error:+.0%} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
