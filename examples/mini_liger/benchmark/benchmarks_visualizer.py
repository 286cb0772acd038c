"""Plots the table of benchmark results: one line for each provider, one image for each operation mode."""

import argparse
import json
import sys

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from matplotlib.ticker import FuncFormatter
from matplotlib.ticker import NullLocator

BENCHMARK_DIR = Path(__file__).resolve().parent
VISUALIZATIONS_DIR = BENCHMARK_DIR / "visualizations"

# The x_name that marks a sweep over models; every other name is a sweep over tokens.
MODEL_SWEEP_X_NAME = "model_config"

# The baselines stand back in grey, the providers to look at have colours that the colour-blind can tell apart.
BASELINE_COLORS = {"huggingface": "#8c8c8c", "torch": "#8c8c8c"}
PROVIDER_COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00"]
MARKERS = ["o", "s", "D", "^", "v"]

# A speed is recorded as the time of one run.
METRIC_LABELS = {"speed": "time", "memory": "peak memory"}


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Plot recorded benchmark results.")
    parser.add_argument("--kernel-name", required=True)
    parser.add_argument("--metric-name", required=True, help="speed or memory")
    parser.add_argument(
        "--kernel-operation-mode",
        nargs="*",
        help="modes to plot, such as forward, backward, full; all that were recorded if left out",
    )
    parser.add_argument("--sweep-mode", choices=["token_length", "model_config"], default="token_length")
    parser.add_argument(
        "--extra-config-filter",
        help="""part of the extra config to plot, such as '"hidden_size": 4096'; the first recorded if left out""",
    )
    parser.add_argument("--gpu-filter", help="part of a GPU's name; the GPU measured last if left out")
    parser.add_argument(
        "--data-file",
        type=Path,
        default=Path("data/all_benchmark_data.csv"),
        help="the table to read, absolute or relative to the benchmark folder",
    )
    parser.add_argument("--display", action="store_true", help="show the plots as well")
    parser.add_argument("--overwrite", action="store_true", help="replace plots that exist")
    return parser.parse_args()


def _choose(values: list[str], part: str | None, what: str) -> str:
    """The first value that contains ``part``; says so when others were passed over."""
    matches = [value for value in values if part is None or part in value]
    if not matches:
        raise SystemExit(f"no {what} contains {part!r}; recorded: {'; '.join(values)}")
    if len(matches) > 1:
        print(f"several {what}s match, plotting {matches[0]}; passed over: {'; '.join(matches[1:])}", file=sys.stderr)
    return matches[0]


def load_data(args: argparse.Namespace) -> pd.DataFrame:
    """The rows to plot: of one kernel, one metric, one sweep, one GPU and one extra config."""
    # An absolute --data-file replaces the folder.
    df = pd.read_csv(BENCHMARK_DIR / args.data_file, dtype={"x_value": str})
    df["kernel_operation_mode"] = df["kernel_operation_mode"].fillna("")
    df["extra_benchmark_config_str"] = df["extra_benchmark_config_str"].fillna("{}")

    is_model_sweep = df["x_name"] == MODEL_SWEEP_X_NAME
    wanted = is_model_sweep if args.sweep_mode == "model_config" else ~is_model_sweep
    wanted &= (df["kernel_name"] == args.kernel_name) & (df["metric_name"] == args.metric_name)
    if args.kernel_operation_mode:
        wanted &= df["kernel_operation_mode"].isin(args.kernel_operation_mode)
    df = df[wanted]
    if df.empty:
        raise SystemExit(f"no {args.metric_name} of {args.kernel_name} is recorded for this mode and sweep")

    newest_first = df.sort_values("timestamp", ascending=False)
    gpu = _choose(list(newest_first["gpu_name"].unique()), args.gpu_filter, "GPU")
    df = df[df["gpu_name"] == gpu]
    config = _choose(list(df["extra_benchmark_config_str"].unique()), args.extra_config_filter, "extra config")
    return df[df["extra_benchmark_config_str"] == config]


def _describe_config(config_str: str) -> str:
    """An extra config for people: without the JSON, and without the module name of a dtype."""
    return ", ".join(f"{key} {str(value).removeprefix('torch.')}" for key, value in json.loads(config_str).items())


def _line_styles(providers: list[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker for each provider."""
    colors = iter(PROVIDER_COLORS * len(providers))
    return {
        provider: (BASELINE_COLORS.get(provider) or next(colors), MARKERS[i % len(MARKERS)])
        for i, provider in enumerate(providers)
    }


def plot(df: pd.DataFrame, title: str) -> plt.Figure:
    """Draw the lines of all providers with their band from the 20th to the 80th percentile."""
    first = df.iloc[0]
    fig, ax = plt.subplots(figsize=(8, 5), layout="constrained")

    # Token counts stand at their place on a logarithmic axis, models side by side.
    is_model_sweep = first["x_name"] == MODEL_SWEEP_X_NAME
    labels = list(df["x_value"].unique())
    if not is_model_sweep:
        labels.sort(key=float)
    positions = {label: i if is_model_sweep else float(label) for i, label in enumerate(labels)}

    for provider, (color, marker) in _line_styles(list(df["kernel_provider"].unique())).items():
        line = df[df["kernel_provider"] == provider].assign(position=lambda d: d["x_value"].map(positions))
        line = line.sort_values("position")
        ax.fill_between(line["position"], line["y_value_20"], line["y_value_80"], color=color, alpha=0.2, linewidth=0)
        ax.plot(line["position"], line["y_value_50"], color=color, marker=marker, linewidth=2, label=provider)

    if not is_model_sweep:
        ax.set_xscale("log", base=2)
        ax.xaxis.set_minor_locator(NullLocator())
    ax.set_xticks(list(positions.values()), labels)
    # From zero, so that the heights of the lines can be compared.
    ax.set_ylim(bottom=0, top=df["y_value_80"].max() * 1.08)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))

    symbol = "" if is_model_sweep else f" ({first['x_name']})"
    ax.set_xlabel(f"{first['x_label']}{symbol}")
    metric = METRIC_LABELS.get(first["metric_name"], first["metric_name"])
    ax.set_ylabel(f"{metric} ({first['metric_unit']}), lower is better")
    ax.grid(axis="y", color="#dddddd", linewidth=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, title="median, band 20 % to 80 %", alignment="left")

    fig.suptitle(title, x=0.01, ha="left", fontsize=14, fontweight="bold")
    subtitle = "   ".join(filter(None, (first["gpu_name"], _describe_config(first["extra_benchmark_config_str"]))))
    ax.set_title(subtitle, loc="left", fontsize=9, color="#555555")
    return fig


def main() -> None:
    args = parse_args()
    if not args.display:
        plt.switch_backend("Agg")  # needs no screen
    VISUALIZATIONS_DIR.mkdir(exist_ok=True)

    for mode, df in load_data(args).groupby("kernel_operation_mode", sort=False):
        parts = [part for part in (args.kernel_name, args.metric_name, mode, args.sweep_mode) if part]
        path = VISUALIZATIONS_DIR / f"{'_'.join(parts)}.png"
        if path.exists() and not args.overwrite:
            print(f"{path} exists, kept; --overwrite replaces it", file=sys.stderr)
            continue
        fig = plot(df, title=", ".join(filter(None, (args.kernel_name, mode, args.metric_name))))
        fig.savefig(path, dpi=150)
        print(path)
        if args.display:
            plt.show()
        plt.close(fig)


if __name__ == "__main__":
    main()
