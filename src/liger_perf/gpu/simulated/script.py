"""Runs the repository's benchmark script whole on the simulated device: `python -m liger_perf.gpu.simulated.script
--tree T --ops src/…/k.py SCRIPT ARGS…`. The script is unmodified; do_bench answers predictions."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import triton.testing

from liger_perf.gpu.launch_hook import LaunchHook
from liger_perf.gpu.simulated.device import SimulatedDevice


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--ops", required=True)
    parser.add_argument("script")
    options, rest = parser.parse_known_args()
    tree = options.tree.resolve()
    sys.path[:0] = [str(Path(options.script).resolve().parent), str(tree / "src"), str(tree)]
    device = SimulatedDevice(str(tree), options.ops)
    hook = LaunchHook()
    hook.install()
    device.attach(hook)

    def do_bench(
        fn: Callable[[], object],
        *,
        grad_to_none: Sequence[torch.Tensor] | None = None,
        quantiles: Sequence[float] | None = None,
        **_: object,
    ) -> float | list[float]:
        times = device.time_pass(fn, tuple(grad_to_none or ()), runs=1, warmup=0)
        # The repository's harness times with events around the pass, so it sees the slower of host and device.
        ms = times.samples[0].wall_us / 1e3
        return [ms] * len(quantiles) if quantiles else ms

    triton.testing.do_bench = do_bench
    sys.argv = [options.script, *rest]
    os.chdir(tree)
    runpy.run_path(options.script, run_name="__main__")


if __name__ == "__main__":
    main()
