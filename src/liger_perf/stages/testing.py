"""The repository's own tests, run in an exported tree and counted. Exit 0 alone proves nothing: all may be skipped."""

from __future__ import annotations

import xml.etree.ElementTree as xml
from collections.abc import Sequence
from pathlib import Path

import msgspec

from liger_perf.ports import Lab

JUNIT = ".liger-perf-tests.xml"
TIMEOUT_S = 4 * 3600.0
# They need eight GPUs of one host.
DESELECTED = "not dtensor"
MAX_XML_BYTES = 64 * 1024 * 1024


class TestOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of tests came to. `tail` are its last lines."""

    __test__ = False  # not a class of tests, whatever its name

    command: str
    passed: int
    failed: int
    errors: int
    skipped: int
    seconds: float
    returncode: int
    tail: str

    @property
    def ok(self) -> bool:
        """Something passed and nothing failed. The exit status counts too: a crash after the last test is a failure."""
        return self.passed > 0 and self.failed == 0 and self.errors == 0 and self.returncode == 0

    @property
    def counts(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.errors} errors, {self.skipped} skipped"


def run_tests(lab: Lab, tree: Path, paths: Sequence[str], *, full: bool) -> TestOutcome:
    """Run test files in `tree`: quietly, or as the hard gate does (`-xvs`).

    Raises:
        WorkerError: the run did not end in time.
    """
    shown = ["python", "-m", "pytest", *paths, "-xvs" if full else "-q", "-k", DESELECTED]
    report = tree / JUNIT
    report.unlink(missing_ok=True)
    result = lab.run(tree, [*shown, f"--junitxml={JUNIT}"], timeout_s=TIMEOUT_S)
    passed, failed, errors, skipped = _counts(report)
    report.unlink(missing_ok=True)
    return TestOutcome(
        command=" ".join(f'"{part}"' if " " in part else part for part in shown),
        passed=passed,
        failed=failed,
        errors=errors,
        skipped=skipped,
        seconds=result.seconds,
        returncode=result.returncode,
        tail="\n".join(result.output.rstrip().splitlines()[-20:]),
    )


def _counts(report: Path) -> tuple[int, int, int, int]:
    """Passed, failed, errors, skipped; zeros where the run wrote no report or a broken one."""
    if report.is_symlink() or not report.is_file() or report.stat().st_size > MAX_XML_BYTES:
        return 0, 0, 0, 0
    try:
        suites = list(xml.parse(report).iter("testsuite"))
    except xml.ParseError:
        return 0, 0, 0, 0
    try:
        tests, failed, errors, skipped = (
            sum(int(suite.get(name, "0")) for suite in suites) for name in ("tests", "failures", "errors", "skipped")
        )
    except ValueError:
        return 0, 0, 0, 0
    return max(0, tests - failed - errors - skipped), failed, errors, skipped
