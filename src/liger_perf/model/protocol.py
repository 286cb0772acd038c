"""The language between the control process and a worker: one JSON message a line, both ways.

The control process never imports torch, triton or the target repository; a worker imports all three and knows
nothing of sessions, techniques or tokens.
"""

from __future__ import annotations

import msgspec

from liger_perf.model.launches import Cell, Launch, PointRecord
from liger_perf.model.measurements import DeviceFacts, PassTimes

Settings = dict[str, dict[str, int]]


class Describe(msgspec.Struct, frozen=True, tag=True):
    """Ask for the device. Answer: Described."""

    measure_bandwidth: bool = False


class Walk(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Run the benchmark script and stop at each speed point that passes the filters.

    Answer: AtPoint, once a point; after the last one WalkDone. `cells` empty means the script as it is;
    `own_only` skips points that launch nothing of the kernel's file; empty `modes` and `xs` mean all.
    """

    cells: tuple[Cell, ...] = (Cell(),)
    modes: tuple[str, ...] = ()
    own_only: bool = True


class TimePass(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Time the point's callable, L2 flushed before each run. Answer: Timed, or Failed."""

    runs: int
    warmup: int = 1
    settings: Settings = {}


class Trace(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Run the point's callable with its launches recorded but not made, so that nothing is compiled. Answer: Traced."""

    settings: Settings = {}


class Record(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """Replay the autograd functions of the kernel's file that the point called, on fresh seeded inputs of the same
    shapes cast to `dtype`, forward and backward, and write inputs' gradients and outputs to `path` (npz, float64).
    `rows` > 0 shortens the leading dimension of the inputs; `settings` as in TimePass. Answer: Recorded, or Failed.
    """

    path: str
    dtype: str = "float32"
    rows: int = 0
    seed: int = 0
    settings: Settings = {}


class PeakMemory(msgspec.Struct, frozen=True, tag=True):
    """Run the point's callable once and answer PeakBytes."""


class Next(msgspec.Struct, frozen=True, tag=True):
    """Go on to the next point."""


Command = Describe | Walk | TimePass | Trace | Record | PeakMemory | Next


class Ready(msgspec.Struct, frozen=True, tag=True):
    """The worker has imported the target repository. `seconds` since its start."""

    pid: int
    seconds: float


class Described(msgspec.Struct, frozen=True, tag=True):
    facts: DeviceFacts


class AtPoint(msgspec.Struct, frozen=True, tag=True):
    record: PointRecord


class Timed(msgspec.Struct, frozen=True, tag=True):
    times: PassTimes


class Traced(msgspec.Struct, frozen=True, tag=True):
    launches: tuple[Launch, ...]


class Recorded(msgspec.Struct, frozen=True, tag=True):
    """Names of the arrays, and the settings functions that the replay asked."""

    names: tuple[str, ...]
    asked: tuple[str, ...] = ()


class PeakBytes(msgspec.Struct, frozen=True, tag=True):
    bytes: int


class WalkDone(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """`skipped`: points that the judge's grid adds and that the script refused, with the reason."""

    points: int
    skipped: tuple[str, ...] = ()


class Failed(msgspec.Struct, frozen=True, tag=True, kw_only=True):
    """The last command failed. `sticky`: the process's CUDA context is lost and the worker must be replaced."""

    kind: str
    message: str
    traceback: str = ""
    sticky: bool = False


Answer = Ready | Described | AtPoint | Timed | Traced | Recorded | PeakBytes | WalkDone | Failed
