"""Where Liger-Kernel's layout keeps the files of one kernel."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from liger_perf.model.options import KernelPaths

_OPS = re.compile(r"src/liger_kernel/ops/([a-z][a-z0-9_]*)\.py")


def kernel_paths(kernel: str) -> KernelPaths:
    """The three files of a kernel, relative to the root of the repository."""
    return KernelPaths(
        kernel=kernel,
        ops=f"src/liger_kernel/ops/{kernel}.py",
        benchmark=f"benchmark/scripts/benchmark_{kernel}.py",
        test=f"test/transformers/test_{kernel}.py",
    )


def list_kernels(files: Iterable[str]) -> tuple[str, ...]:
    """The kernels of which all three files are among `files` (relative paths), sorted."""
    present = {PurePosixPath(file).as_posix() for file in files}
    candidates = {match[1] for file in present if (match := _OPS.fullmatch(file))}
    return tuple(sorted(kernel for kernel in candidates if not missing_files(kernel, present)))


def missing_files(kernel: str, files: Iterable[str]) -> tuple[str, ...]:
    """Which of the three files are not among `files`."""
    paths = kernel_paths(kernel)
    present = set(files)
    return tuple(path for path in (paths.ops, paths.benchmark, paths.test) if path not in present)


def near_names(name: str, known: Sequence[str]) -> tuple[str, ...]:
    """Up to three known names that a person may have meant, the likeliest first."""
    near = difflib.get_close_matches(name.lower().replace("-", "_"), known, n=3, cutoff=0.5)
    inside = [other for other in known if name and (name in other or other in name) and other not in near]
    return tuple((near + inside)[:3])
