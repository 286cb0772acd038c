"""The checks before anything is started, cheap ones first. Each failure says what, where and what to do."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NoReturn

import msgspec

from liger_perf.kernels.layout import kernel_paths, list_kernels, near_names
from liger_perf.measure.scope import parse_scope
from liger_perf.measure.target import parse_target
from liger_perf.model.errors import PreflightError, WorkerError
from liger_perf.model.measurements import DeviceFacts
from liger_perf.model.options import KernelPaths, Request
from liger_perf.ports import Lab, Progress, Trees
from liger_perf.stages.testing import TestOutcome, run_tests

IMPORT_TIMEOUT_S = 300.0
IMPORT_CHECK = """
import importlib, importlib.metadata, pathlib, sys, tomllib
project = pathlib.Path("pyproject.toml")
name = tomllib.loads(project.read_text()).get("project", {}).get("name", "") if project.exists() else ""
importlib.metadata.version(name or sys.argv[1])
package = importlib.import_module(sys.argv[1])
found = pathlib.Path(list(package.__path__)[0]).resolve()
if not found.is_relative_to(pathlib.Path.cwd().resolve()):
    sys.exit(f"{sys.argv[1]} came from {found}, not from the tree")
"""
"""Run in the tree: the project is installed (its metadata is found), and its package comes from this tree."""


class PreflightOk(msgspec.Struct, frozen=True, kw_only=True):
    """What the checks found: the device, the points beneath which the kernel launches, the original's own tests."""

    device: DeviceFacts
    points: int
    tests: TestOutcome


def check_request(request: Request) -> None:
    """Read the options that have a syntax of their own.

    Raises:
        UsageError: one cannot be read.
    """
    parse_scope(request.scope)
    if request.target:
        parse_target(request.target)


def refuse_layout() -> NoReturn:
    """Say that a repository has no kernel that could be optimised."""
    raise PreflightError(
        "this is no repository in Liger-Kernel's layout: no kernel with its benchmark and test was found",
        where="src/liger_kernel/ops/, benchmark/scripts/, test/transformers/",
        todo="name the repository's root with --repo",
    )


def check_files(files: Collection[str], kernel: str, exists: Callable[[str], bool]) -> KernelPaths:
    """Check that the repository (its listed `files`) holds kernel, benchmark and test.

    Args:
        exists: whether a path is there at all, to tell a missing file from one that git does not track.

    Raises:
        PreflightError: one is missing, or the repository is not laid out like Liger-Kernel.
    """
    known = list_kernels(files)
    paths = kernel_paths(kernel)
    listed = set(files)
    if not known and paths.ops not in listed:
        refuse_layout()
    for what, path in (("kernel file", paths.ops), ("benchmark script", paths.benchmark), ("test file", paths.test)):
        if path in listed and exists(path):
            continue
        if path in listed:
            raise PreflightError(f"the {what} was deleted", where=path, todo=f"git checkout -- {path}")
        if kernel.isidentifier() and exists(path):
            raise PreflightError(f"the {what} is not tracked by git", where=path, todo=f"git add {path}")
        near = ", ".join(near_names(kernel, known))
        raise PreflightError(
            f"kernel {kernel!r} has no {what}",
            where=path,
            todo=f"did you mean {near}?" if near else "choose one of the kernels below",
            details=f"kernels with all three files: {', '.join(known)}",
        )
    return paths


def check_syntax(source: bytes, path: str) -> None:
    """Check that the kernel's file can be read at all, before anything that takes longer would fail of it.

    Raises:
        PreflightError: it is no valid Python.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(source)
    except (SyntaxError, ValueError) as error:
        place = f"{path}, line {error.lineno}" if isinstance(error, SyntaxError) else path
        raise PreflightError(f"the kernel file is no valid Python: {error.args[0]}", where=place) from error


def check_world(lab: Lab, trees: Trees, paths: KernelPaths, progress: Progress) -> PreflightOk:
    """Check device, installation, benchmark and tests on the unchanged original.

    Raises:
        PreflightError: a check failed.
        UsageError: there is no such device.
    """
    device = lab.describe()
    if device.model_error:
        progress.note(device.model_error)
    tree = trees.export("preflight")
    try:
        progress.note("importing the repository")
        _check_import(lab, tree, paths)
        progress.note("running the benchmark script, to see what it launches")
        points = _check_launches(lab, tree, paths)
        progress.note(f"it launches the kernel at {points} points; running the original's own tests")
        tests = _check_tests(lab, tree, paths)
    finally:
        trees.remove(tree)
    progress.note(f"tests: {tests.counts}")
    return PreflightOk(device=device, points=points, tests=tests)


def _check_import(lab: Lab, tree: Path, paths: KernelPaths) -> None:
    package = Path(paths.ops).parts[1]
    result = lab.run(tree, ["python", "-c", IMPORT_CHECK, package], timeout_s=IMPORT_TIMEOUT_S)
    if result.returncode != 0:
        raise PreflightError(
            "the repository cannot be imported as a project in development mode",
            where=f"import {package}, and the installed project's version",
            todo='pip install -e ".[dev]" in the repository, with the Python that runs liger-perf',
            details=_tail(result.output),
        )


def _check_launches(lab: Lab, tree: Path, paths: KernelPaths) -> int:
    try:
        with lab.open(tree, paths) as bench:
            points = sum(1 for record in bench.walk() if record.own)
    except WorkerError as error:
        raise PreflightError(
            "the benchmark script fails on the unchanged kernel, so there is no baseline",
            where=paths.benchmark,
            todo="make the script run through first",
            # In the words of the checkout: the tree is gone when this is read.
            details="\n".join(part for part in (error.what, error.details) if part).replace(f"{tree}/", ""),
        ) from error
    if points == 0:
        raise PreflightError(
            "the benchmark script launches no Triton kernel of the kernel's own file",
            where=f"{paths.benchmark} never launches a kernel of {paths.ops}",
            todo="choose the kernel whose file holds the launched kernels, or a benchmark that reaches this one",
        )
    return points


def _check_tests(lab: Lab, tree: Path, paths: KernelPaths) -> TestOutcome:
    tests = run_tests(lab, tree, [paths.test], full=False)
    if tests.failed or tests.errors:
        what = f"the unchanged kernel fails its own tests ({tests.counts}), so no variant could ever pass"
    elif tests.passed == 0:
        what = f"no test of the kernel passed ({tests.counts}), so nothing would guard a variant"
    elif tests.returncode != 0:
        what = f"the tests of the unchanged kernel end with status {tests.returncode} ({tests.counts})"
    else:
        return tests
    raise PreflightError(what, where=tests.command, todo="make the tests run first", details=tests.tail)


def _tail(output: str) -> str:
    return "\n".join(output.rstrip().splitlines()[-15:])
