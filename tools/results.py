"""Keep, render and check what was measured: docs/results/<machine>/<kernel>.

python tools/results.py collect WORKSPACE docs/results/h200/rms_norm --commit COMMIT
python tools/results.py render docs/results/h200/rms_norm
python tools/results.py summary docs/results/h200
python tools/results.py check docs/results/h200
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

import kept
import result_page
from kept import Kept
from liger_perf.measure import guardrails
from liger_perf.model.errors import LigerPerfError
from liger_perf.model.measurements import Comparison, DeviceFacts
from liger_perf.model.options import Goal

TOLERANCE = 1e-6
ROUNDED_US = 0.0005
"""Samples are written in ns. CUPTI and the clock count in ns, so nothing is lost; the simulated device is finer."""
FIGURES = ("ratio", "low", "high", "noise", "a_us", "b_us")
COUNTED = ("verdict", "samples")

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__, rich_markup_mode=None)

Folder = Annotated[Path, typer.Argument(help="the folder of one kernel, such as docs/results/h200/rms_norm")]
Machine = Annotated[Path, typer.Argument(help="the folder of one machine, such as docs/results/h200")]


@app.command()
def collect(
    workspace: Annotated[Path, typer.Argument(help="optimization/<kernel> of a session")],
    folder: Folder,
    commit: Annotated[str, typer.Option(help="the target repository's commit that was measured")] = "",
    replace: Annotated[bool, typer.Option("--replace", help="replace what was collected there before")] = False,
    rejudge: Annotated[
        bool,
        typer.Option("--rejudge", help="compute the variants' figures again where the session corrected otherwise"),
    ] = False,
) -> None:
    """Copy what may be kept of a session's workspace; nothing of the target's source."""
    if workspace.resolve().name != folder.resolve().name:
        raise LigerPerfError(f"{folder} is not named after the kernel, {workspace.resolve().name}")
    files = kept.collect(workspace, commit)
    earlier = replace and (folder / kept.RUN).is_file()
    if folder.exists() and any(folder.iterdir()) and not earlier:
        raise LigerPerfError(f"{folder} is not empty", todo="--replace takes the place of an earlier collection")
    staged = folder.with_name(folder.name + ".new")
    shutil.rmtree(staged, ignore_errors=True)
    for path, data in files.items():
        target = staged / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    try:
        refuse_misplaced(folder, kept.read(staged).profile.device)
        if rejudge:
            kept.rejudge(staged, result_page.gain)
        shutil.rmtree(folder, ignore_errors=True)
        staged.rename(folder)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    size = sum(len(data) for data in files.values())
    typer.echo(f"{folder}: {len(files)} files, {size / 1000:.0f} kB")


@app.command()
def render(folder: Folder) -> None:
    """Write README.md and speedup.png of one kernel from what is kept."""
    found = kept.read(folder)
    refuse_misplaced(folder, found.profile.device)
    (folder / kept.PAGE).write_text(result_page.page(found))
    picture = result_page.plot(found)
    if picture is not None:
        (folder / kept.PLOT).write_bytes(picture)
    typer.echo(str(folder / kept.PAGE))


@app.command()
def summary(machine: Machine) -> None:
    """Write summary.md of all kernels of one machine."""
    found = [kept.read(folder) for folder in kernels(machine)]
    for item in found:
        refuse_misplaced(machine / item.profile.request.kernel, item.profile.device)
    (machine / kept.SUMMARY).write_text(result_page.summary(machine.name, found))
    typer.echo(str(machine / kept.SUMMARY))


@app.command()
def check(machine: Machine) -> None:
    """Fail where a page, a figure or a picture is not what the raw samples give, or where source was kept."""
    problems = list(problems_of(machine))
    for problem in problems:
        typer.echo(problem, err=True)
    if problems:
        raise typer.Exit(1)
    typer.echo(f"{machine}: {len(kernels(machine))} kernels, nothing to object to")


def kernels(machine: Path) -> list[Path]:
    return sorted(path.parent for path in machine.glob(f"*/{kept.RUN}"))


def refuse_misplaced(folder: Path, device: DeviceFacts) -> None:
    """Under docs/results lie only figures of the machine that the folder is named after, and none of a model.

    Raises:
        LigerPerfError: the figures are simulated, or of another machine.
    """
    place = folder.resolve().parts
    if ("docs", "results") not in pairwise(place):
        return
    if device.simulated:
        raise LigerPerfError(
            "SIMULATED figures are predictions of a model and no evidence; docs/results takes none", where=str(folder)
        )
    machine = folder.resolve().parent.name
    if machine.lower() not in device.name.lower():
        raise LigerPerfError(f"the figures are of {device.name}, the folder is of {machine}", where=str(folder))


def problems_of(machine: Path) -> Iterator[str]:
    """What is wrong in a machine's folder, each with the file concerned."""
    found = []
    for path in sorted(machine.rglob("*")):
        if path.is_file() and (reason := kept.holds_code(path.name, path.read_bytes())):
            yield f"{path}: {reason}"
    for folder in sorted(path for path in machine.iterdir() if path.is_dir()) if machine.is_dir() else ():
        try:
            item = kept.read(folder)
            refuse_misplaced(folder, item.profile.device)
            yield from _problems_of_kernel(folder, item)
            found.append(item)
        except LigerPerfError as error:
            yield f"{error.where or folder}: {error.what}"
    if found and _text(machine / kept.SUMMARY) != result_page.summary(machine.name, found):
        yield f"{machine / kept.SUMMARY}: not what the kept data give; run tools/results.py summary {machine}"


def _problems_of_kernel(folder: Path, item: Kept) -> Iterator[str]:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > kept.MAX_BYTES:
        yield f"{folder}: {size} bytes are more than the {kept.MAX_BYTES} that a kernel may take"
    if _text(folder / kept.PAGE) != result_page.page(item):
        yield f"{folder / kept.PAGE}: not what the kept data give; run tools/results.py render {folder}"
    if result_page.shown(item).comparisons and not (folder / kept.PLOT).is_file():
        yield f"{folder / kept.PLOT}: missing; run tools/results.py render {folder}"
    exact = not item.profile.device.simulated
    for result in item.results:
        where = f"{folder / 'results' / result.name}.json"
        computed = item.judged.get(result.name, ())
        yield from _differences(where, result.comparisons, computed, exact)
        yield from _gain_difference(where, item, (result.target_gain, result.target_gain_low), computed, exact)
    winner = item.run.winner
    computed = item.whole_grid.get(winner, item.judged.get(winner, ())) if winner else ()
    yield from _differences(str(folder / kept.RUN), item.run.final, computed, exact)
    if winner:
        gains = (item.run.gain, item.run.gain_low)
        yield from _gain_difference(str(folder / kept.RUN), item, gains, computed, exact)


def _differences(
    where: str, stored: Sequence[Comparison], computed: Sequence[Comparison], exact: bool
) -> Iterator[str]:
    """What the session stored against what its raw samples give."""
    by_place = {(item.point, item.clock): item for item in computed}
    if {(item.point, item.clock) for item in stored} != set(by_place):
        yield f"{where}: its comparisons are of other points than the raw samples"
        return
    wrong = []
    for item in stored:
        again = by_place[item.point, item.clock]
        slack = TOLERANCE if exact else TOLERANCE + 4 * ROUNDED_US / min(item.a_us, item.b_us)
        for field in FIGURES:
            if not _close(getattr(item, field), getattr(again, field), slack):
                wrong.append((field, item, again))
        wrong += [(field, item, again) for field in COUNTED if getattr(item, field) != getattr(again, field)]
    if wrong:
        field, item, again = wrong[0]
        kinds = ", ".join(dict.fromkeys(kind for kind, _, _ in wrong))
        yield (
            f"{where}: {len(wrong)} figures ({kinds}) are not what the raw samples give, the first: {field} of "
            f"{item.point} ({item.clock}) is {getattr(item, field)} and not {getattr(again, field)}"
            + ("; was it judged with another correction?" if set(kinds.split(", ")) <= {"low", "high"} else "")
        )


def _gain_difference(
    where: str, item: Kept, stored: tuple[float, float], computed: Sequence[Comparison], exact: bool
) -> Iterator[str]:
    if not computed or item.profile.request.goal is Goal.MEMORY:
        return
    again = guardrails.target_gain(item.profile.request, computed, {})
    if not all(_close(one, other, TOLERANCE if exact else 1e-3) for one, other in zip(stored, again, strict=True)):
        yield f"{where}: a gain of {stored[0]} (at least {stored[1]}), the raw samples give {again[0]} ({again[1]})"


def _close(one: float | None, other: float | None, slack: float) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=slack, abs_tol=slack)


def _text(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def main() -> None:
    try:
        app()
    except LigerPerfError as error:
        lines = [f"error: {error.what}", *(part for part in (error.where, error.details, error.todo) if part)]
        typer.echo("\n  ".join(lines), err=True)
        raise SystemExit(error.exit_code) from error


if __name__ == "__main__":
    main()
