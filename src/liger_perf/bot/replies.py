"""Every short text that the bot says, a function each. Questions with pages are in `questions.py`, the help's body in
`help_text.py`. What others wrote goes through `escape`."""

from __future__ import annotations

from liger_perf.bot.approval_rules import Reason
from liger_perf.bot.authority import Policy
from liger_perf.bot.commands import ParseError
from liger_perf.bot.compose import compose
from liger_perf.bot.escape import code, link, plain, shortened
from liger_perf.bot.events import User
from liger_perf.bot.help_text import allowed_text, help_body, near_text, roles_text
from liger_perf.bot.state import Conversation, Estimate
from liger_perf.session.entries import Stage

NEXT = {
    Stage.PROFILE: "Now I try variants.",
    Stage.OPTIMIZE: "Now I run the full tests and write the report.",
    Stage.FINALIZE: "Now I open the pull request.",
}


def acknowledged(conversation: Conversation, estimate: Estimate | None) -> str:
    """The status comment at the start: what was read, how long it will take, when it will ask."""
    request = conversation.request
    lines = [
        f"goal {request.goal}, scope {code(request.scope)}, GPU {request.gpu}, at most {request.max_variants} variants",
        f"commit {code(conversation.frozen.sha)}",
    ]
    if request.target:
        lines.append(f"stops early when met: {code(request.target)}")
    if conversation.command.budget_s is not None:
        lines.append(f"at most {conversation.command.budget_s // 60} min of GPU time")
    if estimate is not None:
        lines.append(_estimate(estimate))
    return compose(
        f"**Optimising {code(conversation.kernel)}: profiling it first.**", _bullets(lines), _asking(conversation)
    )


def _estimate(estimate: Estimate) -> str:
    ahead = f"after {estimate.ahead} ahead in the queue" if estimate.ahead else "nothing is ahead in the queue"
    return f"estimate: {estimate.least} to {estimate.most} min on the GPU, {ahead}"


def _asking(conversation: Conversation) -> str:
    if not conversation.request.autonomous:
        return "I ask here after the profile, after the variants, and before a pull request."
    if conversation.final_waits:
        return "I go on without asking, and ask here once, before a pull request."
    return "I go on without asking, up to the pull request."


def status(conversation: Conversation, standing: str, summary: str = "", *, simulated: bool = False) -> str:
    """The status comment later on, and the answer to `status`. `standing` is our own sentence."""
    asked = f"Started by {plain(conversation.requester.login)} at commit {code(conversation.frozen.sha)}."
    lines = _bullets([plain(line) for line in summary.splitlines()[:20] if line.strip()])
    verdict = f"**{code(conversation.kernel)}: {standing}**"
    return compose(verdict, lines, asked, f"Session {code(conversation.id)}.", simulated=simulated)


def approved(by: User, stage: Stage, choice: str) -> str:
    what = f" {code(choice)}" if choice else ""
    return compose(f"**Approved{what} by {plain(by.login)}.** {NEXT[stage]}")


def rejected(by: User, why: str) -> str:
    reason = f"\n\nReason given: {plain(why)}" if why else ""
    return compose(f"**Rejected by {plain(by.login)}.** I stop here; nothing was applied.{reason}", _resume())


def expired(policy: Policy) -> str:
    return compose(
        f"**Expired: nobody approved within {policy.checkpoint_days} days.** Nothing was applied.", _resume()
    )


def refused(reason: Reason) -> str:
    """The question was tampered with; it can be asked again."""
    return compose(f"**Not approved, because {reason}.** Nothing was applied.", _resume())


def stale(reason: Reason, kernel: str) -> str:
    """What was measured is no longer what is there."""
    return compose(
        f"**Stopped, because {reason}.** The measurements are of the files as they were; nothing was applied.",
        f"Start anew with `/optimize {kernel}`.",
    )


def not_counted(reason: Reason, ignored: tuple[str, ...]) -> str:
    """An approval by comment from which nothing follows yet."""
    return compose(f"**That does not count yet: {reason}.**", _bullets([plain(item) for item in ignored[:20]]))


def not_allowed(needs: tuple[str, ...]) -> str:
    """The one short answer that someone without the role gets in a thread."""
    return compose(f"**Sorry, that needs one of these roles in this repository: {roles_text(needs)}.**")


def unfit(why: str) -> str:
    return compose(f"**Not started: {plain(why)}.**")


def undecided(what: str) -> str:
    """GitHub did not answer: neither yes nor no."""
    return compose(f"**Nothing happened: I could not find out {plain(what)}.** Please write the command again.")


def parse_error(error: ParseError) -> str:
    return compose(
        f"**I could not read that: {plain(error.problem)}**",
        near_text(error.near),
        f"Read: {code(error.read, 500)}",
        f"{allowed_text(error.allowed)}\n\n`/optimize help` shows everything.",
    )


def help_text(policy: Policy) -> str:
    return compose("**I optimise Triton kernels, on comments.**", help_body(policy))


def kernels(names: tuple[str, ...]) -> str:
    if not names:
        return compose("**No kernel of this repository has an ops file, a benchmark and a test.**")
    return compose(f"**{len(names)} kernels can be optimised.**", _bullets([code(name) for name in names]))


def already_open(conversation: Conversation) -> str:
    return compose(
        f"**Not started: the session for {code(conversation.kernel)} is still open in this thread.**",
        "Write `/optimize cancel` first, or start in another issue.",
    )


def nothing_open() -> str:
    return compose("**There is no session in this thread that this could mean.** Start one: `/optimize KERNEL`.")


def nothing_asked(standing: str) -> str:
    return compose(f"**There is nothing to approve or to reject: {standing}.**")


def cancelled(by: User) -> str:
    return compose(f"**Cancelled by {plain(by.login)}.** Nothing was applied.", _resume())


def stage_failed(stage: Stage, what: str) -> str:
    """A stage ended badly, and the journal says how."""
    return compose(
        f"**{stage.capitalize()} failed: {plain(what.rstrip('.'))}.** Nothing was applied.",
        f"After the cause is gone: {_resume(inline=True)}",
    )


def stage_refused(stage: Stage, kernel: str, what: str, details: tuple[str, ...]) -> str:
    """A stage could not begin, mostly because a check before it failed."""
    return compose(
        f"**{stage.capitalize()} could not begin: {plain(what.rstrip('.'))}.** Nothing was applied.",
        "\n".join(["```text", *(shortened(line.replace("```", ""), 300) for line in details[:40]), "```"])
        if details
        else "",
        f"If the repository has to change, `/optimize {kernel}` starts anew after that. "
        f"If the runner had the problem: {_resume(inline=True)}",
    )


def crash(what: str, run_url: str) -> str:
    """A job ended without a word."""
    return compose(
        f"**The job crashed: {plain(what.rstrip('.'))}.** Nothing was applied, and what was recorded is kept.",
        f"Log: {link('the run', run_url)}. To go on: {_resume(inline=True)}",
    )


def gave_up(stage: Stage, attempts: int) -> str:
    return compose(
        f"**{stage.capitalize()} was started {attempts} times and never ended.** A person has to look at the runner.",
        f"After that: {_resume(inline=True)}",
    )


def no_winner(kernel: str) -> str:
    return compose(
        f"**Done: nothing is to be applied; {code(kernel)} stays as it is.** That is an answer too: see the report."
    )


def simulated_end(kernel: str) -> str:
    return compose(f"**Done. No pull request for {code(kernel)}: a simulated gain is no evidence.**", simulated=True)


def pull_request_opened(url: str) -> str:
    return compose(f"**Done: {link('the pull request', url)} is open.** It changes one file.")


def pull_request_failed(why: str, compare_url: str) -> str:
    by_hand = (
        f"Open it by hand: {link('compare', compare_url)}." if compare_url else "There is no branch to open it from."
    )
    return compose(
        f"**The pull request could not be opened: {plain(why)}.**", by_hand, f"Or try again: {_resume(inline=True)}"
    )


def issue_opened(requester: User, kernel: str) -> str:
    return compose(f"**{plain(requester.login)} started the workflow for {code(kernel)}.** I report here.")


def _resume(*, inline: bool = False) -> str:
    return "`/optimize resume`." if inline else "`/optimize resume` goes on from here."


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
