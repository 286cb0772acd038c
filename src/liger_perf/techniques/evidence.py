"""Questions that several techniques ask of the evidence."""

from __future__ import annotations

import msgspec

from liger_perf.kernels.facts import JitKernel
from liger_perf.model.launches import Argument, Capture, Launch, PointRecord
from liger_perf.techniques.base import Evidence


def launches_of(evidence: Evidence, kernel: str) -> list[Launch]:
    """The captured launches of a kernel of the file."""
    return [launch for record in evidence.capture.records for launch in record.own if launch.kernel == kernel]


def launched_kernels(evidence: Evidence) -> list[JitKernel]:
    """The kernels of the file that the benchmark launches: only these can be measured."""
    seen = {launch.kernel for record in evidence.capture.records for launch in record.own}
    return [kernel for kernel in evidence.file.kernels if kernel.name in seen]


def argument(launch: Launch, name: str) -> Argument | None:
    return next((argument for argument in launch.arguments if argument.name == name), None)


def restrict(evidence: Evidence, kernels: frozenset[str]) -> Evidence:
    """The evidence as if only these kernels had been launched.

    A rewrite from the original file with it touches no other kernel: so a kernel for which nothing better was found
    stays byte for byte.
    """

    def kept(record: PointRecord) -> PointRecord:
        launches = tuple(launch for launch in record.launches if not launch.own or launch.kernel in kernels)
        return msgspec.structs.replace(record, launches=launches)

    capture = Capture(records=tuple(kept(record) for record in evidence.capture.records))
    return msgspec.structs.replace(evidence, capture=capture)
