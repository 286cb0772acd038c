"""Whole conversations on a small world that carries effects out, and that can be killed after any of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import assert_never

import msgspec
import pytest

from liger_perf.bot.authority import Policy, Thread
from liger_perf.bot.effects import (
    AddLabel,
    AddReaction,
    CancelRun,
    CheckpointPosted,
    EditStatus,
    Effect,
    JobCrashed,
    OpenIssue,
    OpenPullRequest,
    Outcome,
    PostCheckpoint,
    PostComment,
    PullRequestFailed,
    PullRequestOpened,
    RecordApproval,
    RunStage,
    Save,
    StartJob,
    WriteSummary,
    key_of,
    marker,
)
from liger_perf.bot.events import CommentCreated, Continued, Dispatched, Event, Ignored, Swept, User
from liger_perf.bot.evidence import Absence, Comment, Evidence, Reaction
from liger_perf.bot.router import plan
from liger_perf.bot.state import Conversation, Ending, Facts, Frozen, Page, View
from liger_perf.model.options import DeviceKind, KernelPaths, Request
from liger_perf.model.variants import Decision
from liger_perf.session.entries import (
    Approved,
    Entry,
    HypothesisFixed,
    RecordedFile,
    Stage,
    StageFailed,
    StageFinished,
    Started,
    VariantDone,
)
from liger_perf.session.model import fold
from support.fake_lab import DEVICE

BOT = User(login="github-actions[bot]", id=1, type="Bot")
MONA, WRITER, STRANGER = User(login="mona", id=7), User(login="writer", id=20), User(login="stranger", id=30)
START = datetime(2026, 1, 1, 12, tzinfo=UTC)
BLOBS = {"src/liger_kernel/ops/rms_norm.py": "aa"}
PATCH = RecordedFile(path="rms_norm.patch", sha256="e" * 64)
ID = "rms_norm-50"


class Killed(Exception):
    pass


@dataclass
class World:
    """What effects do, without a server."""

    policy: Policy = field(default_factory=lambda: Policy(bot=BOT))
    on_gpu: bool = True
    kill_after: int | None = None
    simulated: bool = False
    fail: Stage | None = None
    winner: str = "v2"
    opens: bool = True
    now: datetime = START
    comments: dict[str, Comment] = field(default_factory=dict)
    talks: dict[str, Conversation] = field(default_factory=dict)
    entries: dict[str, list[Entry]] = field(default_factory=dict)
    reactions: list[Reaction] = field(default_factory=list)
    written: list[Comment] = field(default_factory=list)
    blobs: dict[str, str] = field(default_factory=lambda: dict(BLOBS))
    done: list[Effect] = field(default_factory=list)
    pulls: list[str] = field(default_factory=list)
    elsewhere: bool | None = False
    highest: int = 0  # ids only grow, whoever writes

    def view(self, talk: Conversation) -> View:
        entries = self.entries.get(talk.id, [])
        return View(
            conversation=talk,
            session=fold(entries),
            failures=sum(isinstance(entry, StageFailed) for entry in entries),
            pages={stage: Page(text=f"# {stage}", file=f"{stage}.md") for stage in Stage},
            elsewhere=self.elsewhere,
        )

    def facts(self) -> Facts:
        return Facts(
            policy=self.policy,
            now=self.now,
            kernels=("layer_norm", "rms_norm"),
            roles={7: "maintain", 20: "write", 30: "read"},
            thread=Thread(number=5),
            on_gpu=self.on_gpu,
            frozen=Frozen(sha="a" * 40, blobs=BLOBS),
            views=tuple(self.view(talk) for talk in self.talks.values()),
            evidence={name: self.evidence(talk) for name, talk in self.talks.items() if talk.checkpoint},
        )

    def evidence(self, talk: Conversation) -> Evidence:
        asked = talk.checkpoint
        assert asked is not None
        found = [comment for comment in self.comments.values() if comment.id == asked.comment_id]
        return Evidence(
            now=self.now,
            comment=found[0] if found else Absence.DELETED,
            reactions=tuple(self.reactions),
            comments=tuple(self.written),
            blobs=self.blobs,
            patch_digest=asked.patch_digest,
        )

    def happen(self, event: Event | Outcome) -> None:
        for effect in plan(event, self.facts()):
            self.carry_out(effect)

    def carry_out(self, effect: Effect) -> None:
        if self.kill_after is not None:
            if self.kill_after == 0:
                self.kill_after = None
                raise Killed
            self.kill_after -= 1
        self.done.append(effect)
        match effect:
            case PostComment() | EditStatus():
                self.post(effect.key, effect.marked, edit=isinstance(effect, EditStatus))
            case PostCheckpoint():
                comment = self.post(effect.key, effect.marked)
                self.carry_on(CheckpointPosted(effect=effect, comment_id=comment.id, created_at=comment.created_at))
            case Save(conversation=talk):
                self.talks[talk.id] = talk
            case RecordApproval(session=session, stage=stage, choice=choice):
                self.entries[session].append(Approved(stage=stage, choice=choice))
            case RunStage(session=session, stage=stage):
                self.run(session, stage)
                self.carry_on(Continued(session=session))
            case OpenPullRequest(session=session, key=key):
                self.open(session, key)
            case AddReaction() | AddLabel() | OpenIssue() | WriteSummary() | StartJob() | CancelRun():
                pass
            case _:
                assert_never(effect)

    def carry_on(self, event: Event | Outcome) -> None:
        self.happen(event)

    def post(self, key: str, body: str, *, edit: bool = False) -> Comment:
        known = self.comments.get(key)
        if known is None:
            self.highest += 1
            known = Comment(id=self.highest, author=BOT, body=body, created_at=self.now, updated_at=self.now)
        self.comments[key] = msgspec.structs.replace(known, body=body) if edit else known
        return self.comments[key]

    def open(self, session: str, key: str) -> None:
        if not self.opens:
            self.carry_on(PullRequestFailed(session=session, why="no right", compare_url="https://e.org/c"))
            return
        if key not in self.pulls:
            self.pulls.append(key)
        self.carry_on(PullRequestOpened(session=session, url="https://e.org/pull/9"))

    def run(self, name: str, stage: Stage) -> None:
        entries = self.entries.setdefault(name, [])
        if stage is Stage.PROFILE and not entries:
            entries.append(self.started(name))
        if stage is self.fail:
            entries.append(StageFailed(stage=stage, what="the tests failed"))
            return
        if stage is Stage.OPTIMIZE:
            entries += [*variant("v1", Decision.MIXED), *variant("v2", Decision.ACCEPTED)]
        winner = "" if stage is Stage.PROFILE else self.winner
        files = (PATCH,) if stage is Stage.FINALIZE and winner else ()
        entries.append(StageFinished(stage=stage, files=files, summary=f"{stage} is done", page="p", winner=winner))

    def started(self, name: str) -> Started:
        kind = DeviceKind.SIMULATED if self.simulated else DeviceKind.CUDA
        return Started(
            request=self.talks[name].request,
            paths=KernelPaths(kernel="rms_norm", ops="o", benchmark="b", test="t"),
            repository="r",
            base_digest="",
            kernel_digest="",
            device=msgspec.structs.replace(DEVICE, kind=kind),
            versions={},
        )

    def say(self, body: str, user: User = MONA, number: int = 50) -> None:
        """A person writes; GitHub delivers it."""
        self.now += timedelta(minutes=1)
        self.highest = max(self.highest, number)
        self.written.append(Comment(id=number, author=user, body=body, created_at=self.now, updated_at=self.now))
        self.deliver(body, user, number)

    def deliver(self, body: str, user: User = MONA, number: int = 50) -> None:
        self.happen(
            CommentCreated(
                thread=5, is_pull_request=False, comment_id=number, author=user, body=body, created_at=self.now
            )
        )

    def thumb(self, user: User = MONA, content: str = "+1") -> None:
        self.now += timedelta(minutes=1)
        self.reactions = [Reaction(user=user, content=content, created_at=self.now)]
        self.happen(Swept())
        self.reactions = []

    @property
    def talk(self) -> Conversation:
        return self.talks[ID]

    def kinds(self) -> list[str]:
        return [type(effect).__name__ for effect in self.done]

    def stages(self) -> list[Stage]:
        return [effect.stage for effect in self.done if isinstance(effect, RunStage)]

    def last(self) -> str:
        """The last comment that was posted, status aside."""
        return [comment.body for key, comment in self.comments.items() if key != f"{ID}/status"][-1]


def variant(name: str, decision: Decision) -> list[Entry]:
    file = RecordedFile(path=name, sha256="")
    return [
        HypothesisFixed(variant=name, sha256="", size=0),
        VariantDone(variant=name, decision=decision, result=file, files=()),
    ]


ALL = [Stage.PROFILE, Stage.OPTIMIZE, Stage.FINALIZE]


def test_from_a_comment_to_a_pull_request() -> None:
    world = World()
    world.say("/optimize rms_norm")
    assert world.kinds() == [
        "Save", "AddReaction", "EditStatus", "Save", "RunStage", "EditStatus", "PostCheckpoint", "Save", "EditStatus",
    ]  # fmt: skip
    world.thumb()
    world.thumb()
    assert world.stages() == ALL
    assert world.pulls == []
    world.thumb()
    assert world.pulls == [f"{ID}/pull/1"]
    assert (world.talk.ending, world.talk.pull_request) == (Ending.DONE, "https://e.org/pull/9")
    assert list(world.comments) == [
        f"{ID}/status",
        f"{ID}/ask/profile/1",
        f"{ID}/approved/profile/1",
        f"{ID}/ask/optimize/1",
        f"{ID}/approved/optimize/1",
        f"{ID}/ask/finalize/1",
        f"{ID}/approved/finalize/1",
        f"{ID}/opened/1",
    ]


def test_approved_by_comments_with_a_choice() -> None:
    world = World()
    world.say("/optimize rms_norm")
    world.say("/optimize approve", number=200)
    world.say("/optimize approve v9", number=300)
    assert world.last().startswith("**That does not count yet")
    assert "v9 cannot be chosen here" in world.last()
    world.say("/optimize approve v1", number=400)
    assert Approved(stage=Stage.OPTIMIZE, choice="v1") in world.entries[ID]


@pytest.mark.parametrize(("user", "pulls"), [(MONA, 1), (WRITER, 0)])
def test_autonomous_asks_only_where_nobody_who_may_approve_started_it(user: User, pulls: int) -> None:
    world = World()
    world.say("/optimize rms_norm, just optimize it", user)
    assert world.stages() == ALL
    assert len(world.pulls) == pulls
    asked = [key for key in world.comments if "/ask/" in key]
    assert asked == ([] if pulls else [f"{ID}/ask/finalize/1"])
    if not pulls:
        world.thumb(WRITER)
        assert world.pulls == []
        world.thumb()
        assert len(world.pulls) == 1


def test_a_no_ends_it_and_a_person_can_go_on() -> None:
    world = World()
    world.say("/optimize rms_norm")
    world.say("/optimize reject not now", number=200)
    assert world.talk.ending is Ending.REJECTED
    assert "Reason given: not now" in world.last()
    world.thumb()
    assert world.stages() == [Stage.PROFILE]
    world.written.clear()
    world.say("/optimize resume", number=300)
    assert f"{ID}/ask/profile/2" in world.comments
    world.thumb()
    assert world.stages() == [Stage.PROFILE, Stage.OPTIMIZE]


def test_nobody_answers() -> None:
    world = World()
    world.say("/optimize rms_norm")
    world.now += timedelta(days=15)
    world.happen(Swept())
    assert world.talk.ending is Ending.EXPIRED
    assert world.last().startswith("**Expired: nobody approved within 14 days.**")


def test_what_was_frozen_has_changed() -> None:
    world = World()
    world.say("/optimize rms_norm")
    world.blobs["src/liger_kernel/ops/rms_norm.py"] = "other"
    world.thumb()
    assert world.talk.ending is Ending.STALE
    world.say("/optimize resume", number=300)
    assert world.last().startswith("**There is no session in this thread that this could mean.**")


def test_an_edited_question_is_refused_and_can_be_asked_again() -> None:
    world = World()
    world.say("/optimize rms_norm")
    key = f"{ID}/ask/profile/1"
    world.comments[key] = msgspec.structs.replace(world.comments[key], body="edited")
    world.thumb()
    assert world.talk.ending is Ending.REFUSED
    world.say("/optimize resume", number=300)
    assert f"{ID}/ask/profile/2" in world.comments


def test_a_failed_stage_is_told_once_and_tried_again_on_demand() -> None:
    world = World(fail=Stage.PROFILE)
    world.say("/optimize rms_norm")
    world.happen(Swept())
    assert world.talk.ending is Ending.FAILED
    assert world.last().startswith("**Profile failed: the tests failed.** Nothing was applied.")
    world.fail = None
    world.say("/optimize resume", number=300)
    assert world.stages() == [Stage.PROFILE, Stage.PROFILE]
    assert f"{ID}/ask/profile/2" in world.comments


def test_a_stage_that_kills_its_runner_is_not_started_for_ever() -> None:
    world = World()
    for steps in (4, 2, 2):  # up to RunStage, each time
        world.kill_after = steps
        with pytest.raises(Killed):
            world.deliver("/optimize rms_norm")
    world.happen(Swept())
    assert world.talk.ending is Ending.FAILED
    assert world.last().startswith("**Profile was started 3 times and never ended.**")


def test_a_crash_is_told() -> None:
    world = World(on_gpu=False)
    world.say("/optimize rms_norm")
    world.happen(JobCrashed(session=ID, what="out of disk", run="run-8", run_url="https://e.org/r/8"))
    assert world.last().startswith("**The job crashed: out of disk.** Nothing was applied")
    assert world.talk.ending is Ending.FAILED


def test_off_the_gpu_a_job_is_started_unless_one_is_there() -> None:
    world = World(on_gpu=False)
    world.say("/optimize rms_norm")
    assert world.kinds()[-1] == "StartJob"
    for elsewhere, kinds in ((True, []), (None, []), (False, ["EditStatus", "StartJob"])):
        world.elsewhere, world.done = elsewhere, []
        world.happen(Swept())
        assert world.kinds() == kinds


def test_no_winner_and_a_simulated_one_open_nothing() -> None:
    for world, text in ((World(winner=""), "**Done: nothing is to be applied"), (World(simulated=True), "> **SIM")):
        world.say("/optimize rms_norm --autonomous")
        assert world.pulls == []
        assert world.talk.ending is Ending.DONE
        assert world.last().startswith(text)


def test_a_pull_request_that_cannot_be_opened() -> None:
    world = World(opens=False)
    world.say("/optimize rms_norm --autonomous")
    assert "[compare](https://e.org/c)" in world.last()
    world.opens = True
    world.say("/optimize resume", number=300)
    assert world.pulls == [f"{ID}/pull/2"]


def test_cancel() -> None:
    world = World()
    world.say("/optimize rms_norm")
    world.say("/optimize cancel", WRITER, 300)
    assert world.talk.ending is Ending.CANCELLED
    assert "CancelRun" in world.kinds()
    world.done.clear()
    world.deliver("/optimize cancel", WRITER, 300)
    assert world.kinds() == ["CancelRun"]
    world.say("/optimize cancel", WRITER, 310)
    assert world.last().startswith("**There is no session")


def test_one_open_session_a_thread() -> None:
    world = World()
    world.say("/optimize rms_norm")
    world.say("/optimize layer_norm", number=300)
    assert list(world.talks) == [ID]
    assert world.last().startswith("**Not started: the session for `rms_norm` is still open")


def test_a_stranger_is_answered_once() -> None:
    world = World()
    for number in range(300, 330, 10):
        world.say("/optimize rms_norm", STRANGER, number)
        world.say("/optimize nonsense", STRANGER, number + 1)
    assert list(world.comments) == [f"denied/{STRANGER.id}"]
    assert world.talks == {}
    assert set(world.kinds()) == {"PostComment", "AddReaction"}


def test_words_without_a_session() -> None:
    world = World()
    for number, (body, start) in enumerate(
        [
            ("/optimize help", "**I optimise Triton kernels"),
            ("/optimize list", "**2 kernels can be optimised.**"),
            ("/optimize status", "**There is no session"),
            ("/optimize approve", "**There is no session"),
            ("/optimize resume", "**There is no session"),
            ("/optimize rmsnorm", "**I could not read that"),
        ]
    ):
        world.say(body, number=300 + number)
        assert world.last().startswith(start)
    world.say("no command", number=400)
    assert len(world.comments) == 6


def test_status_of_a_session_that_waits() -> None:
    world = World()
    world.say("/optimize rms_norm")
    world.say("/optimize status", number=300)
    assert world.last().startswith(
        "**`rms_norm`: waiting for an answer to the result of profile**\n\n- profile is done"
    )


def test_started_by_hand() -> None:
    world = World()
    event = Dispatched(delivery="8", actor=MONA, inputs={"kernel": "rms_norm"})
    world.happen(event)
    assert world.kinds() == ["OpenIssue"]
    world.happen(msgspec.structs.replace(event, thread=5))
    assert list(world.talks) == ["rms_norm-run-8"]
    world.happen(Dispatched(delivery="9", actor=MONA, inputs={"kernel": "x"}))
    assert world.kinds()[-1] == "WriteSummary"


def test_nothing_follows_from_what_is_ignored_or_unknown() -> None:
    world = World()
    world.happen(Ignored(why=""))
    world.happen(Continued(session="unknown"))
    assert world.done == []


def story(world: World) -> None:
    """A whole conversation in which every delivery comes again after a kill, as a job that is run again would."""

    def insist(body: str, user: User, number: int) -> None:
        try:
            world.say(body, user, number)
        except Killed:
            world.deliver(body, user, number)
        world.happen(Swept())

    insist("/optimize rms_norm", MONA, 50)
    insist("/optimize approve", MONA, 2000)
    for _ in range(2):
        try:
            world.thumb()
        except Killed:
            world.thumb()
        world.happen(Swept())


def test_killed_between_any_two_steps() -> None:
    whole = World()
    story(whole)
    assert whole.talk.ending is Ending.DONE
    for step in range(len(whole.done)):
        world = World(kill_after=step)
        story(world)
        assert world.talk.ending is Ending.DONE, f"killed before effect {step}: {whole.done[step]}"
        assert list(world.comments) == list(whole.comments)
        assert (world.pulls, world.entries) == (whole.pulls, whole.entries)


def test_markers_hold_nothing_that_could_leave_them() -> None:
    assert marker(f"{ID}/ask/profile/1") == "<!-- liger-perf:rms_norm-50/ask/profile/1 -->"
    assert key_of(f"x\n{marker('a/b')}\r\n") == "a/b"
    assert key_of(f"{marker('a/b')}\nx") is None
    assert key_of("") is None
    for key in ("a--b", "a>b", "", "a b", "x" * 201):
        with pytest.raises(ValueError, match="no key"):
            marker(key)


def test_the_request_is_kept() -> None:
    world = World()
    world.say("/optimize rms_norm variants=3")
    assert world.talk.request == Request(kernel="rms_norm", max_variants=3)
    assert msgspec.json.decode(msgspec.json.encode(world.talk), type=Conversation) == world.talk
