"""The options and arguments that commands share, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from liger_perf.model.errors import UsageError
from liger_perf.model.options import MAX_VARIANTS, DeviceChoice, Goal, TargetGpu
from liger_perf.model.variants import VARIANT_NAME


def _count(value: object) -> int:
    text = str(value)  # the default comes as a number
    if text.isascii() and text.isdigit() and 1 <= int(text) <= MAX_VARIANTS:
        return int(text)
    raise typer.BadParameter(f"read {text!r}, allowed: a whole number from 1 to {MAX_VARIANTS}")


Kernel = Annotated[
    str, typer.Argument(metavar="KERNEL", help="Name of the kernel's file in src/liger_kernel/ops, e.g. rms_norm.")
]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SESSION|vN",
        help="The session, by default the last unfinished; and a variant, by default the recommended one.",
    ),
]
SessionName = Annotated[
    str, typer.Argument(metavar="SESSION", help="The session, by default the last unfinished.", show_default=False)
]
Repo = Annotated[Path, typer.Option("--repo", help="Root of the repository. It is only read.")]
State = Annotated[
    Path | None,
    typer.Option("--state", help="Where sessions live [default: $LIGER_PERF_STATE or ~/.local/state/liger-perf]."),
]
GoalOption = Annotated[Goal, typer.Option("--goal", help="What to improve; the rest is guarded.")]
Scope = Annotated[str, typer.Option("--scope", help="general, forward, backward, or <x name>=<value>[,<value>…].")]
Gpu = Annotated[TargetGpu, typer.Option("--gpu", help="Architecture to aim at.")]
Variants = Annotated[
    int, typer.Option("--variants", parser=_count, metavar="N", help="How many variants to try at most.")
]
Target = Annotated[
    str, typer.Option("--target", help='Stop early when met: "forward under 0.3ms at hidden_size=4096".')
]
Device = Annotated[DeviceChoice, typer.Option("--device", help="Where to measure; simulated needs no GPU.")]


def split_names(names: list[str] | None) -> tuple[str, str]:
    """Session and variant, in any order; empty where not named."""
    variants = [name for name in names or [] if VARIANT_NAME.fullmatch(name)]
    sessions = [name for name in names or [] if not VARIANT_NAME.fullmatch(name)]
    if len(variants) > 1 or len(sessions) > 1:
        raise UsageError(f"read {' '.join(names or [])!r}", todo="allowed: at most one session and one variant (vN)")
    return "".join(sessions), "".join(variants)
