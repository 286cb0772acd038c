"""The resident worker: `python -m liger_perf.gpu.worker --tree T --ops src/…/k.py --benchmark … --device cuda`."""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import assert_never

import numpy as np
import torch

from liger_perf.gpu import settings_hook
from liger_perf.gpu.channel import Channel
from liger_perf.gpu.device import Device, loses_context, open_device
from liger_perf.gpu.functions import FunctionCall, FunctionRecorder, replay
from liger_perf.gpu.launch_hook import LaunchHook, LaunchRecorder
from liger_perf.gpu.modules import kernel_module
from liger_perf.gpu.walk import WalkEnded, walk
from liger_perf.model.launches import Launch, Point, PointRecord
from liger_perf.model.options import DeviceKind
from liger_perf.model.protocol import (
    AtPoint,
    Describe,
    Described,
    Failed,
    Next,
    PeakBytes,
    PeakMemory,
    Ready,
    Record,
    Recorded,
    Timed,
    TimePass,
    Trace,
    Traced,
    Walk,
    WalkDone,
)


def failure(error: BaseException) -> Failed:
    """An exception as the control process is told of it."""
    return Failed(
        kind=type(error).__name__,
        message=str(error)[-2000:],
        traceback="".join(traceback.format_exception(error)[-6:])[-4000:],
        sticky=loses_context(error),
    )


class Worker:
    """Answers commands. During a walk the commands are read inside the script's hooked do_bench."""

    def __init__(self, channel: Channel, device: Device, tree: Path, ops: str, script: str, seed: int) -> None:
        self._channel = channel
        self._device = device
        self._tree = tree
        self._ops = ops
        self._script = tree / script
        self._seed = seed
        self._hook = LaunchHook()
        self._hook.install()
        self._device.attach(self._hook)
        module = kernel_module(ops)
        self._settings = settings_hook.SettingsHook(module)
        self._functions = FunctionRecorder(module)
        self._own_only = True

    def serve(self) -> None:
        """The outer loop, between walks."""
        while (command := self._channel.receive()) is not None:
            match command:
                case Describe():
                    self._channel.send(Described(self._device.describe(command.measure_bandwidth)))
                case Walk():
                    self._walk(command)
                case Next() | TimePass() | Trace() | Record() | PeakMemory():
                    self._channel.send(Failed(kind="Protocol", message="no point: a walk has not begun"))
                case _:
                    assert_never(command)

    def _walk(self, command: Walk) -> None:
        self._own_only = command.own_only
        try:
            walker = walk(self._tree, self._script, command.cells, command.modes, self)
        except (Exception, SystemExit) as error:  # the target's code may raise anything: it is reported, not hidden
            self._channel.send(failure(error))
            return
        self._channel.send(WalkDone(points=walker.visited, skipped=tuple(walker.skipped)))

    def begin(self, point: Point) -> None:
        """The same numbers at the same point of two trees, whatever ran before; functions are recorded from here on,
        since a backward point calls them in its setup."""
        seed = zlib.crc32(point.key.encode()) ^ self._seed
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        self._functions.restart()

    def visit(self, point: Point, fn: Callable[[], object], clears: Sequence[torch.Tensor]) -> bool:
        """Run `fn` once, recorded; then serve commands about it until Next."""
        recorder = LaunchRecorder(str(self._tree / self._ops))
        with self._hook.recording(recorder), self._settings.recording() as asked:
            fn()
        calls = self._functions.pause()
        own = any(launch.own for launch in recorder.launches)
        if self._own_only and not own:
            return False
        record = PointRecord(
            point=point,
            launches=tuple(recorder.launches),
            settings_calls=tuple(asked),
            function_classes=tuple(cls.__name__ for cls in self._functions.classes),
        )
        leaves = list(clears) + self._functions.leaves
        self._channel.send(AtPoint(record))
        self._serve_point(fn, leaves, calls)
        return True

    def _serve_point(self, fn: Callable[[], object], leaves: list[torch.Tensor], calls: list[FunctionCall]) -> None:
        while True:
            command = self._channel.receive()
            try:
                match command:
                    case TimePass():
                        with self._settings.answering(command.settings):
                            times = self._device.time_pass(fn, leaves, runs=command.runs, warmup=command.warmup)
                        self._channel.send(Timed(times))
                    case Trace():
                        self._channel.send(Traced(self._trace(fn, command)))
                    case Record():
                        self._record(command, calls)
                    case PeakMemory():
                        self._channel.send(PeakBytes(self._device.peak_memory(fn, leaves)))
                    case Next():
                        return
                    case Describe() | Walk():
                        self._channel.send(Failed(kind="Protocol", message="a walk is under way"))
                    case None:
                        raise WalkEnded
                    case _:
                        assert_never(command)
            except WalkEnded:
                raise
            except Exception as error:  # a candidate may fail in any way: it is reported and costs that candidate only
                self._channel.send(failure(error))

    def _trace(self, fn: Callable[[], object], command: Trace) -> tuple[Launch, ...]:
        recorder = LaunchRecorder(str(self._tree / self._ops))
        with self._hook.recording(recorder), self._hook.not_launching(), self._settings.answering(command.settings):
            fn()
        return tuple(recorder.launches)

    def _record(self, command: Record, calls: list[FunctionCall]) -> None:
        if not calls:
            raise RuntimeError("the point called no autograd function of the kernel's file in its forward pass")
        settings = self._settings
        with self._device.values(), settings.answering(command.settings), settings.recording() as asked:
            arrays = replay(
                calls, dtype=command.dtype, rows=command.rows, seed=command.seed, device=self._device.torch_device
            )
        np.savez(command.path, **arrays)  # type: ignore[arg-type]  # no array is called allow_pickle
        self._channel.send(Recorded(tuple(arrays), tuple(dict.fromkeys(call.function for call in asked))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--ops", required=True)
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--device", type=DeviceKind, required=True)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    start = time.monotonic()
    channel = Channel.take_standard_streams()
    tree = arguments.tree.resolve()
    sys.path[:0] = [str(tree / "src"), str(tree)]
    try:
        device = open_device(arguments.device, str(tree), arguments.ops)
        worker = Worker(channel, device, tree, arguments.ops, arguments.benchmark, arguments.seed)
    except Exception as error:  # an import of the target may raise anything: it is the answer, not a lost worker
        channel.send(failure(error))
        return
    channel.send(Ready(pid=os.getpid(), seconds=time.monotonic() - start))
    worker.serve()


if __name__ == "__main__":
    main()
