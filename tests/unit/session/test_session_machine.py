from __future__ import annotations

import msgspec
import pytest

from liger_perf.model.errors import LigerPerfError
from liger_perf.model.options import KernelPaths, Request
from liger_perf.model.variants import Decision
from liger_perf.session.entries import (
    Approved,
    Entry,
    Finished,
    HypothesisFixed,
    RecordedFile,
    Stage,
    StageFailed,
    StageFinished,
    Started,
    VariantDone,
)
from liger_perf.session.machine import AwaitApproval, Done, RunFinalize, RunOptimize, RunProfile, Step, next_step
from liger_perf.session.model import Session, fold
from support.fake_lab import DEVICE


def started(*, autonomous: bool = False) -> Started:
    return Started(
        request=Request(kernel="k", autonomous=autonomous),
        paths=KernelPaths(kernel="k", ops="o", benchmark="b", test="t"),
        repository="/r",
        base_digest="",
        kernel_digest="",
        device=DEVICE,
        versions={},
    )


def finished(stage: Stage, winner: str = "") -> StageFinished:
    return StageFinished(stage=stage, files=(), summary="", page="p", winner=winner)


def variant(name: str, decision: Decision = Decision.ACCEPTED) -> list[Entry]:
    file = RecordedFile(path=name, sha256="")
    return [
        HypothesisFixed(variant=name, sha256="", size=0),
        VariantDone(variant=name, decision=decision, result=file, files=()),
    ]


def folded(*entries: Entry) -> Session:
    session = fold(entries)
    assert session is not None
    return session


PROFILED = [finished(Stage.PROFILE), Approved(stage=Stage.PROFILE)]
TRIED = [*variant("v1", Decision.REJECTED), *variant("v2"), *variant("v3", Decision.MIXED)]
FAILED_TESTS = StageFailed(stage=Stage.FINALIZE, what="tests")
OPTIMIZED = [*PROFILED, *TRIED, finished(Stage.OPTIMIZE, "v2")]


@pytest.mark.parametrize(
    ("entries", "step"),
    [
        ([], RunProfile()),
        ([StageFailed(stage=Stage.PROFILE, what="x")], RunProfile()),
        ([finished(Stage.PROFILE)], AwaitApproval(stage=Stage.PROFILE)),
        (PROFILED, RunOptimize(first=1)),
        ([*PROFILED, *variant("v1"), HypothesisFixed(variant="v2", sha256="", size=0)], RunOptimize(first=2)),
        (OPTIMIZED, AwaitApproval(stage=Stage.OPTIMIZE)),
        ([*OPTIMIZED, Approved(stage=Stage.OPTIMIZE)], RunFinalize(variant="v2")),
        ([*OPTIMIZED, Approved(stage=Stage.OPTIMIZE, choice="v3")], RunFinalize(variant="v3")),
        ([*OPTIMIZED, Approved(stage=Stage.OPTIMIZE), FAILED_TESTS], RunFinalize(variant="v2")),
        ([*OPTIMIZED, FAILED_TESTS, Approved(stage=Stage.OPTIMIZE, choice="v3")], RunFinalize(variant="v3")),
        ([*OPTIMIZED, Approved(stage=Stage.OPTIMIZE), finished(Stage.FINALIZE)], Done()),
        ([*OPTIMIZED, Approved(stage=Stage.OPTIMIZE), finished(Stage.FINALIZE), Finished()], Done()),
    ],
)
def test_next_step(entries: list[Entry], step: Step) -> None:
    assert next_step(folded(started(), *entries)) == step


def test_autonomous_sessions_wait_nowhere() -> None:
    assert next_step(folded(started(autonomous=True), finished(Stage.PROFILE))) == RunOptimize(first=1)
    entries = [finished(Stage.PROFILE), *variant("v1"), finished(Stage.OPTIMIZE, "v1")]
    assert next_step(folded(started(autonomous=True), *entries)) == RunFinalize(variant="v1")


@pytest.mark.parametrize(
    ("entries", "what"),
    [
        ([started()], "starts twice"),
        ([finished(Stage.PROFILE), finished(Stage.PROFILE)], "finished already"),
        ([Approved(stage=Stage.PROFILE)], "before it is finished"),
        ([*OPTIMIZED, Approved(stage=Stage.OPTIMIZE, choice="v1")], "v1 is no variant"),
        ([*OPTIMIZED, Approved(stage=Stage.OPTIMIZE, choice="v9")], "v9 is no variant"),
        ([*variant("v1"), *variant("v1")], "recorded already"),
        (variant("v1")[1:], "no hypothesis"),
        ([Finished(), finished(Stage.PROFILE)], "takes nothing more"),
    ],
)
def test_contradictions_are_refused(entries: list[Entry], what: str) -> None:
    with pytest.raises(LigerPerfError, match=what):
        folded(started(), *entries)


def test_a_journal_begins_with_a_start() -> None:
    assert fold([]) is None
    with pytest.raises(LigerPerfError, match="begin with a start"):
        fold([Finished()])


def test_files_of_a_failed_stage_do_not_count() -> None:
    file = RecordedFile(path="report.md", sha256="x")
    failed = StageFailed(stage=Stage.PROFILE, what="x", files=(file,))
    session = folded(started(), failed)
    assert session.files == ()
    done = msgspec.structs.replace(finished(Stage.PROFILE), files=(file,))
    session = folded(started(), failed, done)
    assert session.files == (file,)
    assert session.failure is None
