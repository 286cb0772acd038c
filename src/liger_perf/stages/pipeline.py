"""Drives a session from its journal: does the next step, records it, asks at checkpoints."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import assert_never

from liger_perf.model.errors import LigerPerfError, StageError
from liger_perf.model.measurements import DeviceFacts
from liger_perf.model.variants import VariantResult
from liger_perf.ports import Lab, Progress, Trees
from liger_perf.session.entries import (
    Approved,
    Finished,
    HypothesisFixed,
    Stage,
    StageFailed,
    StageFinished,
    VariantDone,
)
from liger_perf.session.machine import AwaitApproval, Done, RunFinalize, RunOptimize, RunProfile, next_step
from liger_perf.stages import workspace as names
from liger_perf.stages.context import (
    Checkpoint,
    Question,
    SessionLog,
    StageContext,
    StageOutcome,
    StageRunner,
)
from liger_perf.stages.stored import decode, encode

FinalizeRunner = Callable[[str, StageContext], StageOutcome]


class End(StrEnum):
    """Why driving ended without an error."""

    DONE = "done"
    WAITING = "waiting at a checkpoint"
    DECLINED = "declined at a checkpoint"
    STOPPED = "stopped after the stage that was asked for"


@dataclass(frozen=True, kw_only=True)
class Runners:
    """The three stages. `finalize` first gets the chosen variant's name, empty for none."""

    profile: StageRunner
    optimize: StageRunner
    finalize: FinalizeRunner


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """One session and everything that it needs."""

    log: SessionLog
    lab: Lab
    trees: Trees
    original: str
    runners: Runners
    checkpoint: Checkpoint
    progress: Progress

    def drive(self, *, until: Stage | None = None) -> End:
        """Go on from the journal to the end, a checkpoint that nobody answers, or the end of stage `until`.

        Raises:
            LigerPerfError: a stage failed; that is in the journal, and resuming tries the stage again.
        """
        while True:
            step = next_step(self.log.session)
            match step:
                case RunProfile():
                    stage = Stage.PROFILE
                    self._run(stage, self.runners.profile)
                case RunOptimize(first=first):
                    stage = Stage.OPTIMIZE
                    if first > 1:
                        self.progress.note(f"going on with variant {first}; {first - 1} recorded")
                    self._run(stage, self.runners.optimize)
                case RunFinalize(variant=variant):
                    stage = Stage.FINALIZE
                    self._run(stage, partial(self.runners.finalize, variant))
                case AwaitApproval(stage=waiting):
                    end = self._ask(waiting)
                    if end is not None:
                        return end
                    continue
                case Done():
                    return self._finish()
                case _:
                    assert_never(step)
            if stage is until:
                return self._finish() if stage is Stage.FINALIZE else End.STOPPED

    def _run(self, stage: Stage, runner: StageRunner) -> None:
        moved = self.log.set_aside()
        if moved:
            self.progress.note(f"set aside {len(moved)} files of an unfinished attempt")
        self.progress.stage(stage)
        context = self._context(self.lab.describe())
        try:
            outcome = runner(context)
        except LigerPerfError as error:
            self.log.append(StageFailed(stage=stage, what=error.what, files=self.log.take_pending()))
            raise
        self.log.append(
            StageFinished(
                stage=stage,
                files=self.log.take_pending(),
                summary=outcome.summary,
                page=outcome.page,
                winner=outcome.winner,
            )
        )

    def _ask(self, stage: Stage) -> End | None:
        reply = self.checkpoint.ask(self._question(stage))
        if reply is None:
            return End.WAITING
        if not reply.approved:
            return End.DECLINED
        self.log.append(Approved(stage=stage, choice=reply.choice))
        return None

    def _finish(self) -> End:
        if not self.log.session.closed:
            self.log.append(Finished())
        self.checkpoint.present(self._question(Stage.FINALIZE))
        return End.DONE

    def _question(self, stage: Stage) -> Question:
        session = self.log.session
        outcome = session.outcome(stage)
        assert outcome is not None
        optimizing = stage is Stage.OPTIMIZE
        return Question(
            stage=stage,
            summary=outcome.summary,
            page=self.log.root / outcome.page,
            choices=session.choices if optimizing else (),
            proposed=outcome.winner if optimizing else "",
        )

    def _context(self, device: DeviceFacts) -> StageContext:
        started = self.log.session.started
        _require_same_device(started.device, device)
        return StageContext(
            request=started.request,
            paths=started.paths,
            # The facts of the start, since a remeasured bandwidth would differ a little from stage to stage.
            device=started.device,
            original=self.original,
            workspace=self.log,
            trees=self.trees,
            lab=self.lab,
            progress=self.progress,
            earlier=tuple(
                decode(self.log.read(entry.result.path), VariantResult) for entry in self.log.session.variants
            ),
            fix_hypothesis=self._fix_hypothesis,
            record_variant=self._record_variant,
        )

    def _fix_hypothesis(self, variant: str, text: str) -> None:
        data = text.encode()
        self.log.append(HypothesisFixed(variant=variant, sha256=_sha256(data), size=len(data)))

    def _record_variant(self, result: VariantResult) -> None:
        kernel = self.log.session.started.request.kernel
        fixed = next((entry for entry in self.log.session.hypotheses if entry.variant == result.name), None)
        notes = self.log.read(names.variant_notes(kernel, result.name))
        if fixed is None or _sha256(notes[: fixed.size]) != fixed.sha256:
            raise StageError(
                "a variant's notes do not begin with the hypothesis that was fixed before its runs",
                where=names.variant_notes(kernel, result.name),
            )
        self.log.read(names.variant_source(kernel, result.name))
        path = names.variant_result(result.name)
        self.log.write(path, encode(result))
        pending = self.log.take_pending()
        self.log.append(
            VariantDone(
                variant=result.name,
                decision=result.decision,
                result=next(file for file in pending if file.path == path),
                files=tuple(file for file in pending if file.path != path),
            )
        )


def _require_same_device(before: DeviceFacts, now: DeviceFacts) -> None:
    """Measurements of two devices, or two compilers, cannot be compared."""
    for name in ("kind", "name", "capability", "driver", "torch", "triton"):
        was, found = getattr(before, name), getattr(now, name)
        if was != found:
            raise StageError(
                f"the session was started with {name} {was}, here it is {found}: results could not be compared",
                todo="go on where the session was started, or start a new one",
            )


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
