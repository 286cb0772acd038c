"""How a session goes on: from its view to the effects of the next move, and of what became of an effect."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, assert_never

import msgspec

from liger_perf.bot import questions, replies
from liger_perf.bot.approval_rules import OLDER, Reason
from liger_perf.bot.approvals import Granted, Judgement, Pending, Refused, Rejected, judge
from liger_perf.bot.effects import (
    CheckpointPosted,
    EditStatus,
    Effect,
    JobCrashed,
    OpenPullRequest,
    Outcome,
    PostCheckpoint,
    PostComment,
    PullRequestFailed,
    PullRequestOpened,
    RecordApproval,
    RunStage,
    Save,
    StageRefused,
    StartJob,
)
from liger_perf.bot.evidence import Checkpoint, digest
from liger_perf.bot.moves import Ask, Finish, Open, Run, Stop, Wait, next_move, patch_digest, standing
from liger_perf.bot.state import Conversation, Ending, Facts, Page, View
from liger_perf.session.entries import Approved, Stage
from liger_perf.session.model import apply

Effects = tuple[Effect, ...]


def advance(view: View, facts: Facts) -> Effects:
    """Everything up to the next stage, the next question, or the end."""
    talk = view.conversation
    move = next_move(view, facts.policy)
    if not isinstance(move, Stop) and view.failures > talk.failures and view.session and view.session.failure:
        failure = view.session.failure
        text = replies.stage_failed(failure.stage, failure.what)
        return end(view, Ending.FAILED, f"failed/{view.failures}", text, failures=view.failures)
    match move:
        case Run(stage=stage):
            return _run(view, stage, facts)
        case Ask(stage=stage):
            return (show(view, facts), _ask(view, stage, facts))
        case Wait():
            evidence = facts.evidence.get(talk.id)
            if evidence is None or talk.checkpoint is None:
                return ()
            judgement = judge(talk.checkpoint, evidence, facts.policy, facts.roles)
            return _why_not(view, judgement) if isinstance(judgement, Pending) else judged(view, judgement, facts)
        case Open():
            return (show(view, facts), _open(view, move))
        case Finish(simulated=simulated):
            text = replies.simulated_end(talk.kernel) if simulated else replies.no_winner(talk.kernel)
            return end(view, Ending.DONE, "finished", text)
        case Stop():
            return ()
        case _:
            assert_never(move)


def show(view: View, facts: Facts) -> EditStatus:
    """The status comment as it should read now."""
    talk = view.conversation
    if view.session is None and talk.ending is None:
        body = replies.acknowledged(talk, facts.estimate)
    else:
        body = status_body(view, facts)
    return EditStatus(key=f"{talk.id}/status", thread=talk.thread, body=body)


def status_body(view: View, facts: Facts) -> str:
    """Where a session stands, with the last stage's summary."""
    talk = view.conversation
    text = str(talk.ending) if talk.ending else standing(next_move(view, facts.policy))
    last = view.session.finished[-1].summary if view.session and view.session.finished else ""
    return replies.status(talk, text, last, simulated=view.simulated)


def end(view: View, ending: Ending, key: str, text: str, **changes: Any) -> Effects:
    """Say it, then record it: one who is killed between the two says it again under the same key."""
    talk = msgspec.structs.replace(view.conversation, ending=ending, checkpoint=None, **changes)
    body = replies.status(talk, str(ending), simulated=view.simulated)
    return (
        PostComment(key=f"{talk.id}/{key}/{talk.round}", thread=talk.thread, body=text),
        EditStatus(key=f"{talk.id}/status", thread=talk.thread, body=body),
        save(talk),
    )


def save(talk: Conversation) -> Save:
    return Save(key=f"{talk.id}/save", conversation=talk)


def _run(view: View, stage: Stage, facts: Facts) -> Effects:
    talk = view.conversation
    if view.elsewhere or (view.elsewhere is None and not facts.on_gpu):
        return (show(view, facts),)
    number = talk.attempts.get(stage, 0) + 1
    if number > facts.policy.attempts:
        return end(view, Ending.FAILED, f"gave-up/{stage}", replies.gave_up(stage, number - 1))
    key = f"{talk.id}/{stage}/{talk.round}/{number}"
    if not facts.on_gpu:
        return (show(view, facts), StartJob(key=key, session=talk.id))
    counted = msgspec.structs.replace(talk, attempts={**talk.attempts, stage: number}, run=facts.run)
    # Counted before it runs, so that a stage that kills its runner is not started for ever.
    return (show(view, facts), save(counted), RunStage(key=key, session=talk.id, stage=stage))


def _question(view: View, stage: Stage) -> questions.Question:
    session = view.session
    assert session is not None
    outcome = session.outcome(stage)
    assert outcome is not None
    return questions.Question(
        conversation=view.conversation,
        stage=stage,
        summary=outcome.summary,
        page=view.pages.get(stage) or Page(text="", file=outcome.page),
        choices=session.choices if stage is Stage.OPTIMIZE else (),
        proposed=outcome.winner,
        simulated=view.simulated,
    )


def _ask(view: View, stage: Stage, facts: Facts) -> PostCheckpoint:
    talk, asked = view.conversation, _question(view, stage)
    last = stage is Stage.FINALIZE
    return PostCheckpoint(
        key=f"{talk.id}/ask/{stage}/{talk.round}",
        thread=talk.thread,
        body=questions.question(asked, facts.policy),
        session=talk.id,
        stage=stage,
        choices=asked.choices,
        proposed="" if last else asked.proposed,
        patch_digest=patch_digest(view.session) if last and view.session else "",
    )


def _open(view: View, move: Open) -> OpenPullRequest:
    talk, asked = view.conversation, _question(view, Stage.FINALIZE)
    return OpenPullRequest(
        key=f"{talk.id}/pull/{talk.round}",
        session=talk.id,
        kernel=talk.kernel,
        branch=f"liger-perf/pr/{talk.id}",  # the id begins with the kernel
        title=questions.pull_request_title(talk.kernel, asked.proposed),
        body=questions.pull_request_body(asked),
        patch_digest=move.patch_digest,
        blobs=talk.frozen.blobs,
    )


def judged(view: View, judgement: Judgement, facts: Facts) -> Effects:
    """What follows from a judgement; nothing from one that is pending."""
    match judgement:
        case Pending():
            return ()
        case Granted():
            return _granted(view, judgement, facts)
        case Rejected(by=by, why=why):
            return end(view, Ending.REJECTED, "rejected", replies.rejected(by, why))
        case Refused(reason=Reason.EXPIRED):
            return end(view, Ending.EXPIRED, "expired", replies.expired(facts.policy))
        case Refused(reason=Reason.BLOBS_CHANGED | Reason.PATCH_CHANGED as reason):
            return end(view, Ending.STALE, "stale", replies.stale(reason, view.conversation.kernel))
        case Refused(reason=reason):
            return end(view, Ending.REFUSED, "refused", replies.refused(reason))
        case _:
            assert_never(judgement)


def _why_not(view: View, pending: Pending) -> Effects:
    """Say once a question why the answers so far do not count: one who waits for nothing would never know."""
    talk = view.conversation
    ignored = tuple(reason for reason in pending.ignored if not reason.endswith(OLDER))
    if talk.checkpoint is None or not ignored:
        return ()
    key = f"{talk.id}/ignored/{talk.checkpoint.stage}/{talk.round}"
    text = replies.not_counted(pending.reason, ignored)
    return (PostComment(key=key, thread=talk.thread, body=text),)


def _granted(view: View, granted: Granted, facts: Facts) -> Effects:
    talk, session = view.conversation, view.session
    assert talk.checkpoint is not None
    assert session is not None
    stage = talk.checkpoint.stage
    said = PostComment(
        key=f"{talk.id}/approved/{stage}/{talk.round}",
        thread=talk.thread,
        body=replies.approved(granted.by, stage, granted.choice),
    )
    going = msgspec.structs.replace(talk, checkpoint=None)
    if stage is Stage.FINALIZE:
        going = msgspec.structs.replace(going, final_by=granted.by)
        return (said, save(going), *advance(msgspec.structs.replace(view, conversation=going), facts))
    recorded = RecordApproval(
        key=f"{talk.id}/record/{stage}", session=talk.id, stage=stage, choice=granted.choice, by=granted.by
    )
    after = msgspec.structs.replace(
        view, conversation=going, session=apply(session, Approved(stage=stage, choice=granted.choice))
    )
    return (said, recorded, save(going), *advance(after, facts))


def happened(outcome: Outcome, facts: Facts) -> Effects:
    """What became of an effect."""
    view = facts.view(outcome.effect.session if isinstance(outcome, CheckpointPosted) else outcome.session)
    if view is None or view.conversation.ending is not None:
        return ()
    match outcome:
        case CheckpointPosted():
            asked = msgspec.structs.replace(
                view.conversation, checkpoint=_checkpoint(view.conversation, outcome, facts)
            )
            return (save(asked), show(msgspec.structs.replace(view, conversation=asked), facts))
        case PullRequestOpened(url=url):
            return end(view, Ending.DONE, "opened", replies.pull_request_opened(url), pull_request=url)
        case PullRequestFailed(why=why, compare_url=url):
            return end(view, Ending.FAILED, "not-opened", replies.pull_request_failed(why, url))
        case StageRefused(stage=stage, what=what, details=details):
            return end(
                view,
                Ending.FAILED,
                f"refused/{stage}",
                replies.stage_refused(stage, view.conversation.kernel, what, details),
            )
        case JobCrashed(what=what, run=run, run_url=url):
            return end(view, Ending.FAILED, f"crash/{run}", replies.crash(what, url))
        case _:
            assert_never(outcome)


def _checkpoint(talk: Conversation, posted: CheckpointPosted, facts: Facts) -> Checkpoint:
    effect = posted.effect
    return Checkpoint(
        stage=effect.stage,
        comment_id=posted.comment_id,
        # Of what was sent, not of what is there now: an edit before this was recorded is an edit too.
        body_digest=digest(effect.marked),
        created_at=posted.created_at,
        deadline=posted.created_at + timedelta(days=facts.policy.checkpoint_days),
        blobs=talk.frozen.blobs,
        choices=effect.choices,
        proposed=effect.proposed,
        patch_digest=effect.patch_digest,
    )
