"""What compiling for other architectures lets pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from liger_perf.model.launches import Launch
from liger_perf.model.measurements import CubinFacts
from liger_perf.model.options import KernelPaths
from liger_perf.stages.architectures import objection, one
from support.example import RMS_NORM
from support.fake_lab import FakeLab

SHIPPED = CubinFacts(
    kernel="_k", arch=80, digest="a", registers=32, spill_bytes=0, shared_bytes=1024, num_warps=4, seconds=0.0
)
OURS, ORIGINAL = Path("ours"), Path("original")


def changed(**changes: Any) -> CubinFacts:
    return msgspec.structs.replace(SHIPPED, **changes)


@dataclass
class CompilingLab(FakeLab):
    facts: dict[Path, list[CubinFacts]] = field(default_factory=dict)

    def compile(self, tree: Path, paths: KernelPaths, launches: Sequence[Launch], arch: int) -> list[CubinFacts]:
        return self.facts[tree]


def check(ours: list[CubinFacts], original: list[CubinFacts], arch: int = 80) -> Any:
    lab = CompilingLab(facts={OURS: ours, ORIGINAL: original})
    context = SimpleNamespace(lab=lab, paths=RMS_NORM, device=lab.device)
    bench: Any = SimpleNamespace(context=context, original_tree=ORIGINAL)
    return one(bench, OURS, [], [], arch)


def test_the_same_machine_code_is_gated() -> None:
    found = check([SHIPPED], [SHIPPED])
    assert (found.compiled, found.gated, objection([found])) == (True, True, "")


@pytest.mark.parametrize(
    "ours",
    [
        [changed(digest="b", spill_bytes=8)],
        [changed(digest="b", shared_bytes=2048)],
        [changed(digest="", error="no")],
        [],
    ],
    ids=["spills", "shared memory", "does not compile", "another number of launches"],
)
def test_what_got_worse_is_not_recommended(ours: list[CubinFacts]) -> None:
    found = check(ours, [SHIPPED])
    assert (found.compiled, found.gated) == (False, False)
    assert found.name in objection([found])
    assert not objection([msgspec.structs.replace(found, measured=True)])


def test_a_file_that_never_compiled_there_says_so() -> None:
    broken = changed(digest="", error="no")
    found = check([broken], [broken])
    assert (found.compiled, found.gated, objection([found])) == (None, False, "")
    assert "does not compile either" in found.note
