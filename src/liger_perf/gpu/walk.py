"""Runs the repository's benchmark script, unmodified, and stops where it measures.

`run_benchmarks` of the script's own harness and `triton.testing.do_bench` are replaced in this process only; the
script's own setup code makes the inputs, so no setup function has to be known.
"""

from __future__ import annotations

import importlib
import inspect
import os
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch
import triton.testing

from liger_perf.gpu.device import loses_context
from liger_perf.model.launches import Cell, Point

HARNESS = "utils"
NO_SUCH_VALUE = (AttributeError, LookupError, ValueError)  # a cell names a key or a value that the script cannot have


class Visitor(Protocol):
    """Who is told of the points."""

    def begin(self, point: Point) -> None:
        """The script is about to set the point up."""
        ...

    def visit(self, point: Point, fn: Callable[[], object], clears: Sequence[torch.Tensor]) -> bool:
        """The script would time `fn` now, clearing the gradients of `clears` before each run.

        Returns:
            False for a provider that launches nothing of the kernel's file: its other points are skipped.
        """
        ...


class WalkEnded(Exception):
    """Raised inside the script when the control process wants no more points."""


def cell_value(text: str, like: object) -> Any:
    """A configuration value as the script would hold it: a dtype, or of the type of the value it replaces."""
    if text.startswith("torch."):
        return getattr(torch, text.removeprefix("torch."))
    if isinstance(like, bool):
        return text == "True"
    if isinstance(like, int):
        return int(text)
    if isinstance(like, float):
        return float(text)
    return text


def replaced(cell: Cell, config: dict[str, Any]) -> dict[str, Any]:
    """The script's configuration with the cell's values in it. Raises one of NO_SUCH_VALUE."""
    unknown = sorted(cell.config.keys() - config.keys())
    if unknown:
        # The script would be measured as it is, under the name of something else.
        raise LookupError(f"the script's configuration has no {', '.join(unknown)}")
    return {**config, **{key: cell_value(text, config[key]) for key, text in cell.config.items()}}


class Walker:
    """Drives one walk: which points there are, which are visited, and what the script gets instead of a time."""

    def __init__(self, visitor: Visitor, modes: Sequence[str]) -> None:
        self._visitor = visitor
        self._modes = tuple(modes)
        self._current: Point | None = None
        self._foreign: set[str] = set()
        self._first: dict[str, str] | None = None
        self.visited = 0
        self.skipped: list[str] = []

    def run_benchmarks(self, cells: Sequence[Cell], harness: Any, arguments: dict[str, Any]) -> None:
        """Stand-in for the harness's loop: the same points, in the same order, for each cell."""
        if arguments["metric_name"] != "speed":
            return
        configs = arguments.get("extra_benchmark_configs") or [{}]
        if self._first is None:
            self._first = {key: str(value) for key, value in configs[0].items()}
        for cell in cells:
            for config in configs:
                try:
                    merged = replaced(cell, config)
                except NO_SUCH_VALUE as error:
                    self.skipped.append(f"[{cell.label}]: {type(error).__name__}: {error}")
                else:
                    self._points(cell, merged, self._apart(config), harness, arguments)

    def _apart(self, config: dict[str, Any]) -> dict[str, str]:
        """What differs from the script's first configuration: else two points of one size would share a name."""
        first = self._first or {}
        return {key: str(config.get(key)) for key in {**first, **config} if first.get(key) != str(config.get(key))}

    def _x_values(self, cell: Cell, arguments: dict[str, Any]) -> Sequence[Any]:
        """The x values of the cell as the script would hold them; what cannot be one is left out and named."""
        if not cell.xs:
            return list(arguments["x_values"])
        found = []
        for text in cell.xs:
            try:
                found.append(cell_value(text, arguments["x_values"][0]))
            except NO_SUCH_VALUE as error:
                self.skipped.append(f"{arguments['x_name']}={text}: {type(error).__name__}: {error}")
        return found

    def _points(
        self, cell: Cell, config: dict[str, Any], apart: dict[str, str], harness: Any, arguments: dict[str, Any]
    ) -> None:
        xs = self._x_values(cell, arguments)
        for mode in arguments.get("kernel_operation_modes") or [None]:
            if self._modes and str(mode) not in self._modes:
                continue
            for provider in arguments["kernel_providers"]:
                for x in xs:
                    if provider in self._foreign:
                        continue
                    self._current = Point(
                        metric="speed",
                        mode=str(mode),
                        provider=provider,
                        x_name=arguments["x_name"],
                        x=str(x),
                        config={key: str(value) for key, value in config.items()},
                        cell=cell,
                        apart=apart,
                    )
                    self._visitor.begin(self._current)
                    given = harness.SingleBenchmarkRunInput(
                        x=x, kernel_provider=provider, kernel_operation_mode=mode, extra_benchmark_config=config
                    )
                    self._run_point(arguments["bench_test_fn"], given, self._current)

    def _run_point(self, bench: Callable[[Any], object], given: object, point: Point) -> None:
        """A point of the script must run; one that the judge's grid adds may not exist for this kernel."""
        try:
            bench(given)
        except WalkEnded:
            raise
        except Exception as error:  # the script may refuse a width in any way: the point is left out and named
            if (not point.cell.config and not point.cell.xs) or loses_context(error):
                raise
            self.skipped.append(f"{point.key}: {type(error).__name__}: {str(error)[:200]}")

    def do_bench(
        self,
        fn: Callable[[], object],
        *,
        grad_to_none: Sequence[torch.Tensor] | None = None,
        quantiles: Sequence[float] | None = None,
        **_: object,
    ) -> float | list[float]:
        """Stand-in for triton.testing.do_bench: visit the point; the script is told 1 ms, which nobody reads."""
        if self._current is not None:
            if not self._visitor.visit(self._current, fn, tuple(grad_to_none or ())):
                self._foreign.add(self._current.provider)
            else:
                self.visited += 1
        return [1.0] * len(quantiles) if quantiles else 1.0


def walk(tree: Path, script: Path, cells: Sequence[Cell], modes: Sequence[str], visitor: Visitor) -> Walker:
    """Run the script and tell the visitor of each speed point.

    Returns:
        the walker, which knows how many points were visited and which were left out.
    """
    scripts = str(script.parent)
    if scripts not in sys.path:
        sys.path.insert(0, scripts)
    harness: Any = importlib.import_module(HARNESS)
    walker = Walker(visitor, modes)
    names = run_benchmarks_parameters(harness.run_benchmarks)

    def run_benchmarks(*args: Any, **kwargs: Any) -> None:
        walker.run_benchmarks(cells, harness, {**names, **dict(zip(names, args, strict=False)), **kwargs})

    real_run, real_bench = harness.run_benchmarks, triton.testing.do_bench
    real_argv, real_cwd = sys.argv, os.getcwd()
    harness.run_benchmarks = run_benchmarks
    triton.testing.do_bench = walker.do_bench
    sys.argv = [str(script), "--overwrite"]
    os.chdir(tree)
    try:
        runpy.run_path(str(script), run_name="__main__")
    except WalkEnded:
        pass
    finally:
        harness.run_benchmarks, triton.testing.do_bench = real_run, real_bench
        sys.argv = real_argv
        os.chdir(real_cwd)
    return walker


def run_benchmarks_parameters(function: Callable[..., Any]) -> dict[str, Any]:
    """Parameter names of the harness's run_benchmarks, in order, with their defaults (None where there is none)."""
    return {
        parameter.name: None if parameter.default is parameter.empty else parameter.default
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
