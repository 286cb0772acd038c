"""`python -m liger_perf.demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from liger_perf.demo.play import Demo

INTERRUPTED = 130


def main(
    out: Annotated[Path, typer.Option(help="Folder for index.html.")] = Path("demo-output"),
    device: Annotated[
        str, typer.Option(help="auto, simulated or cuda; auto measures for real where there is an NVIDIA GPU.")
    ] = "auto",
    source: Annotated[Path, typer.Option(help="The repository that is optimised.")] = Path("examples/mini_liger"),
) -> None:
    """Play a whole conversation, from a comment to a pull request, on this machine alone.

    A GitHub on loopback, a maintainer and a stranger, and the real action, a new process for each event. Ends with 1
    where the pull request does not change exactly the kernel's file.
    """
    if device not in ("auto", "simulated", "cuda"):
        raise typer.BadParameter(f"read {device!r}, allowed: auto, simulated, cuda", param_hint="--device")
    if not (source / "src").is_dir():
        raise typer.BadParameter(
            f"{source} is no repository; run it from the root of liger-perf", param_hint="--source"
        )
    try:
        code = Demo(source, out, device, say=lambda line: print(line, flush=True)).play()
    except KeyboardInterrupt:
        print("interrupted; the jobs have ended, and nothing is left running", file=sys.stderr)
        code = INTERRUPTED
    raise typer.Exit(code)


if __name__ == "__main__":
    typer.run(main)
