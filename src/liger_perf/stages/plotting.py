"""Three-way plots (original, optimized, the other providers) by the repository's own visualizer.

It draws providers by their name, so the winner's rows join the baseline's in a private CSV under a name of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from liger_perf.model.errors import WorkerError
from liger_perf.model.final import Plot
from liger_perf.model.measurements import BenchmarkRow, BenchmarkRun
from liger_perf.ports import Lab, Workspace
from liger_perf.report.plots import three_way_csv

SCRIPT = "benchmark/benchmarks_visualizer.py"
PICTURES = "benchmark/visualizations"
DATA = "liger_perf_three_way.csv"
TIMEOUT_S = 300.0
MAX_PNG_BYTES = 16 * 1024 * 1024
PNG = b"\x89PNG\r\n\x1a\n"


class Plots(msgspec.Struct, frozen=True, kw_only=True):
    """The pictures in the workspace, and why others are not there."""

    pictures: tuple[Plot, ...]
    missing: tuple[str, ...]


class _Series(msgspec.Struct, frozen=True):
    kernel: str
    metric: str
    mode: str
    sweep: str


def draw(
    lab: Lab, tree: Path, workspace: Workspace, baseline: BenchmarkRun, winner: Sequence[BenchmarkRow], *, label: str
) -> Plots:
    """Draw each metric and pass that was measured, the winner as `label`; the pictures are copied into the workspace's
    `plots/`.

    A plot that cannot be drawn is no failure of the winner: it is named with the reason.
    """
    script = tree / SCRIPT
    if not script.is_file():
        return Plots(pictures=(), missing=(f"the repository has no {SCRIPT}",))
    rows = baseline.rows
    data = tree / DATA
    data.write_text(three_way_csv(rows, winner, baseline.own_providers, label), newline="")
    sweeps = "--sweep-mode" in script.read_text(errors="replace")
    pictures: list[Plot] = []
    missing: list[str] = []
    for series in dict.fromkeys(_series(rows)):
        title = f"{series.metric}, {series.mode}" + (f", {series.sweep}" if sweeps else "")
        try:
            content = _draw_one(lab, tree, data, series, sweeps)
        except WorkerError as error:
            missing.append(f"{title}: {error.what}")
            continue
        path = f"plots/{series.kernel}_{series.metric}_{series.mode}_{series.sweep}.png"
        workspace.write(path, content)
        pictures.append(Plot(path=path, title=title))
    return Plots(pictures=tuple(pictures), missing=tuple(missing))


def _series(rows: Sequence[BenchmarkRow]) -> Iterator[_Series]:
    for row in rows:
        sweep = "model_config" if row.x_name == "model_config" else "token_length"
        yield _Series(row.kernel_name, row.metric_name, row.kernel_operation_mode, sweep)


def _draw_one(lab: Lab, tree: Path, data: Path, series: _Series, sweeps: bool) -> bytes:
    folder = tree / PICTURES
    for old in folder.glob("*.png"):
        old.unlink()
    command = ["env", "MPLBACKEND=Agg", "python", SCRIPT, "--kernel-name", series.kernel]
    command += ["--metric-name", series.metric, "--kernel-operation-mode", series.mode]
    command += ["--sweep-mode", series.sweep] if sweeps else []
    command += ["--data-file", str(data), "--overwrite"]
    result = lab.run(tree, command, timeout_s=TIMEOUT_S)
    found = sorted(path for path in folder.glob("*.png") if path.is_file() and not path.is_symlink())
    if result.returncode != 0 or not found:
        last = result.output.rstrip().splitlines()[-1:] or ["no picture was written"]
        raise WorkerError(last[0])
    content = found[0].read_bytes()
    if not content.startswith(PNG) or len(content) > MAX_PNG_BYTES:
        raise WorkerError("what was written is no picture")
    return content
