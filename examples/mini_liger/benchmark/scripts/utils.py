"""The benchmark harness: timing, peak memory, and the table of results."""

import argparse
import csv
import json
import os
import time

from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
import triton

from benchmark_model_configs import DEFAULT_MODEL
from benchmark_model_configs import MODEL_REGISTRY

from liger_kernel import __version__

# In this order, since it is the order in which do_bench returns them.
QUANTILES = [0.5, 0.2, 0.8]
MEMORY_RUNS = 5
DATA_DIR = Path(__file__).resolve().parent.parent / "data"


@dataclass
class SingleBenchmarkRunInput:
    """One point to measure: x is a number of tokens, or the name of a model."""

    x: int | str
    kernel_provider: str
    kernel_operation_mode: str | None = None
    extra_benchmark_config: dict[str, Any] = field(default_factory=dict)


@dataclass
class SingleBenchmarkRunOutput:
    """The 20th, 50th and 80th percentile of the metric."""

    y_20: float
    y_50: float
    y_80: float


@dataclass
class BenchmarkDataCSVRow:
    """One line of the table of results; the fields are its columns."""

    kernel_name: str
    kernel_provider: str
    kernel_operation_mode: str | None
    metric_name: str
    metric_unit: str
    x_name: str
    x_label: str
    x_value: int | str
    y_value_50: float
    y_value_20: float
    y_value_80: float
    extra_benchmark_config_str: str
    gpu_name: str
    timestamp: str
    liger_version: str


# A second run of the same point has the same values in these columns, and replaces the first.
KEY_COLUMNS = (
    "kernel_name",
    "kernel_provider",
    "kernel_operation_mode",
    "metric_name",
    "x_name",
    "x_value",
    "extra_benchmark_config_str",
    "gpu_name",
)


def _operation(forward: Callable[[], torch.Tensor], mode: str | None) -> Callable[[], Any]:
    """The function to measure for a mode, given one that runs the forward pass."""
    if mode == "forward":
        return forward
    if mode == "backward":
        y = forward()
        dy = torch.randn_like(y)
        # The graph is kept, so that only the backward pass is repeated.
        return lambda: y.backward(dy, retain_graph=True)
    if mode == "full":

        def full():
            y = forward()
            y.backward(torch.randn_like(y), retain_graph=True)

        return full
    raise ValueError(f"unknown operation mode {mode!r}: use forward, backward or full")


def _differentiable(setup: tuple) -> list[torch.Tensor]:
    """The inputs whose gradients are dropped before every run."""
    return [item for item in setup if isinstance(item, torch.Tensor) and item.requires_grad]


def default_forward_fn(*setup: Any) -> torch.Tensor:
    """The forward pass for setup functions that return the inputs and then the module."""
    *inputs, layer = setup
    return layer(*inputs)


def build_speed_bench_fn(
    setup_fn: Callable[[SingleBenchmarkRunInput], tuple],
    forward_fn: Callable[..., torch.Tensor] = default_forward_fn,
    warmup: int = 25,
    rep: int = 10,
) -> Callable[[SingleBenchmarkRunInput], SingleBenchmarkRunOutput]:
    """A function that times one point in milliseconds.

    ``forward_fn`` is called with what ``setup_fn`` returned; ``warmup`` and ``rep`` are milliseconds.
    """

    def bench_speed(input: SingleBenchmarkRunInput) -> SingleBenchmarkRunOutput:
        setup = setup_fn(input)
        # Looked up here and now, so that tools can put their own clock in its place.
        y_50, y_20, y_80 = triton.testing.do_bench(
            _operation(lambda: forward_fn(*setup), input.kernel_operation_mode),
            # Adding to an old gradient would be timed as well.
            grad_to_none=_differentiable(setup),
            warmup=warmup,
            rep=rep,
            quantiles=QUANTILES,
        )
        return SingleBenchmarkRunOutput(y_20=y_20, y_50=y_50, y_80=y_80)

    return bench_speed


def build_memory_bench_fn(
    setup_fn: Callable[[SingleBenchmarkRunInput], tuple],
    forward_fn: Callable[..., torch.Tensor] = default_forward_fn,
) -> Callable[[SingleBenchmarkRunInput], SingleBenchmarkRunOutput]:
    """A function that measures the peak of allocated memory for one point in MB, inputs included."""

    def bench_memory(input: SingleBenchmarkRunInput) -> SingleBenchmarkRunOutput:
        setup = setup_fn(input)
        inputs = _differentiable(setup)
        operation = _operation(lambda: forward_fn(*setup), input.kernel_operation_mode)
        peaks = []
        for _ in range(MEMORY_RUNS):
            for item in inputs:
                item.grad = None
            torch.cuda.reset_peak_memory_stats()
            operation()
            peaks.append(torch.cuda.max_memory_allocated() / 2**20)
        y_50, y_20, y_80 = torch.quantile(torch.tensor(peaks), torch.tensor(QUANTILES)).tolist()
        return SingleBenchmarkRunOutput(y_20=y_20, y_50=y_50, y_80=y_80)

    return bench_memory


def _csv_path() -> Path:
    """The table to write; LIGER_BENCH_TARGET=foo selects one of its own for a run."""
    target = os.environ.get("LIGER_BENCH_TARGET", "").strip().lower()
    return DATA_DIR / (f"all_benchmark_data_{target}.csv" if target else "all_benchmark_data.csv")


def _tagged(provider: str) -> str:
    """The provider under the name to record.

    LIGER_BENCH_PROVIDER_TAG replaces a leading "liger", so that the runs of several versions can stand
    in one table: with the tag liger_new, liger-fp32 becomes liger_new-fp32.
    """
    tag = os.environ.get("LIGER_BENCH_PROVIDER_TAG", "").strip().lower()
    return tag + provider.removeprefix("liger") if tag and provider.startswith("liger") else provider


def update_benchmark_data_csv(rows: Sequence[BenchmarkDataCSVRow], path: Path, overwrite: bool) -> None:
    """Add rows to a table; ones that are there already are replaced, or kept without ``overwrite``."""

    def key(row: dict[str, Any]) -> tuple[str, ...]:
        # What was read back is text, and an absent mode was written as nothing.
        return tuple("" if row[column] is None else str(row[column]) for column in KEY_COLUMNS)

    table: dict[tuple[str, ...], dict[str, Any]] = {}
    if path.exists():
        with path.open(newline="") as file:
            table = {key(row): row for row in csv.DictReader(file)}
    for row in map(asdict, rows):
        if overwrite or key(row) not in table:
            table[key(row)] = row

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=[column.name for column in fields(BenchmarkDataCSVRow)])
        writer.writeheader()
        writer.writerows(table.values())


def run_benchmarks(
    bench_test_fn: Callable[[SingleBenchmarkRunInput], SingleBenchmarkRunOutput],
    kernel_name: str,
    metric_name: str,
    metric_unit: str,
    x_name: str,
    x_label: str,
    x_values: Sequence[int | str],
    kernel_providers: Sequence[str],
    kernel_operation_modes: Sequence[str | None] = (None,),
    extra_benchmark_configs: Sequence[dict[str, Any]] | None = None,
    overwrite: bool = False,
) -> None:
    """Measure every combination of config, mode, provider and x value, and record the results.

    The table is written once for each call. Points that it holds already are measured again, but
    recorded only with ``overwrite``.
    """
    gpu_name = torch.cuda.get_device_name()
    print(f"{kernel_name}: {metric_name} on {gpu_name}")

    rows = []
    for config in extra_benchmark_configs or [{}]:
        for mode in kernel_operation_modes:
            for provider in kernel_providers:
                for x in x_values:
                    output = bench_test_fn(SingleBenchmarkRunInput(x, provider, mode, config))
                    row = BenchmarkDataCSVRow(
                        kernel_name=kernel_name,
                        kernel_provider=_tagged(provider),
                        kernel_operation_mode=mode,
                        metric_name=metric_name,
                        metric_unit=metric_unit,
                        x_name=x_name,
                        x_label=x_label,
                        x_value=x,
                        y_value_50=output.y_50,
                        y_value_20=output.y_20,
                        y_value_80=output.y_80,
                        # A dtype is no JSON, its name is.
                        extra_benchmark_config_str=json.dumps(config, default=str),
                        gpu_name=gpu_name,
                        timestamp=time.strftime("%Y-%m-%d %H:%M:%S"),
                        liger_version=__version__,
                    )
                    rows.append(row)
                    print(f"  {mode or '-':9}{row.kernel_provider:16}{x_name}={x:<12} {output.y_50:.4f} {metric_unit}")

    update_benchmark_data_csv(rows, _csv_path(), overwrite)


def parse_benchmark_script_args() -> argparse.Namespace:
    """The command line that all benchmark scripts share; ends the program where there is no GPU."""
    parser = argparse.ArgumentParser(description="Benchmark one kernel and record the results.")
    parser.add_argument("--overwrite", action="store_true", help="replace results that are recorded already")
    parser.add_argument(
        "--sweep-mode",
        choices=["token_length", "model_config"],
        default="token_length",
        help="vary the number of tokens for one model, or the model for one number of tokens",
    )
    parser.add_argument(
        "--model",
        choices=list(MODEL_REGISTRY),
        default=DEFAULT_MODEL,
        help="the model of a token_length sweep",
    )
    parser.add_argument("--bt", type=int, default=2048, help="the number of tokens of a model_config sweep")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("the benchmarks need a CUDA GPU, and PyTorch sees none")
    return args
