"""What the bot asks at its three checkpoints, and the text of the pull request. The verdict first, the page folded."""

from __future__ import annotations

from typing import assert_never

import msgspec

from liger_perf.bot.authority import Policy
from liger_perf.bot.compose import Section, compose
from liger_perf.bot.escape import code, image, plain
from liger_perf.bot.help_text import roles_text
from liger_perf.bot.state import Conversation, Page
from liger_perf.session.entries import Stage

MOST_PICTURES = 8

_SUMMARY_LINES = 40


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A stage's result, as a question. `summary` is the stage's own, `proposed` what a thumb takes."""

    conversation: Conversation
    stage: Stage
    summary: str
    page: Page
    choices: tuple[str, ...] = ()
    proposed: str = ""
    simulated: bool = False


def question(asked: Question, policy: Policy) -> str:
    """The checkpoint's comment."""
    match asked.stage:
        case Stage.PROFILE:
            return profile_checkpoint(asked, policy)
        case Stage.OPTIMIZE:
            return comparison_checkpoint(asked, policy)
        case Stage.FINALIZE:
            return final_checkpoint(asked, policy)
        case _:
            assert_never(asked.stage)


def profile_checkpoint(asked: Question, policy: Policy) -> str:
    kernel = code(asked.conversation.kernel)
    return _ask(f"**Profiled {kernel}. Shall I try variants?**", "The whole profile", asked, policy)


def comparison_checkpoint(asked: Question, policy: Policy) -> str:
    verdict = (
        f"**{code(asked.proposed)} is the best variant. Shall I test and report it?**"
        if asked.proposed
        else "**No variant won. Shall I write the final report?**"
    )
    return _ask(verdict, "All variants compared", asked, policy)


def final_checkpoint(asked: Question, policy: Policy) -> str:
    kernel = code(asked.conversation.kernel)
    verdict = (
        f"**{code(asked.proposed or 'The winner')} passed every gate. Shall I open the pull request for {kernel}?**"
    )
    return _ask(verdict, "The whole report", asked, policy)


def _ask(verdict: str, title: str, asked: Question, policy: Policy) -> str:
    return compose(
        verdict,
        _summary(asked.summary),
        _pictures(asked.page),
        _how_to_answer(asked, policy),
        sections=[
            Section(
                title=title,
                text=asked.page.text,
                file=asked.page.file,
                url=asked.page.url,
                # The comparison is what is chosen from; the other pages are for reading up.
                unfolded=asked.stage is Stage.OPTIMIZE,
            )
        ],
        simulated=asked.simulated,
    )


def _how_to_answer(asked: Question, policy: Policy) -> str:
    others = [name for name in asked.choices if name != asked.proposed]
    lines = [
        "👍 on this comment, or `/optimize approve`, goes on"
        + (f" with {code(asked.proposed)}." if asked.proposed else "."),
        "👎 or 😕, or `/optimize reject why`, stops; one no wins over every yes.",
        f"It counts from {roles_text(policy.approve_roles)}, within {policy.checkpoint_days} days.",
    ]
    if others and asked.stage is Stage.OPTIMIZE:
        lines.insert(1, "Another variant: " + ", ".join(f"`/optimize approve {name}`" for name in others[:20]) + ".")
    return "**Your answer**\n\n" + "\n".join(f"- {line}" for line in lines)


def _summary(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    shown = [plain(line) for line in lines[:_SUMMARY_LINES]]
    if len(lines) > len(shown):
        shown.append(f"… and {len(lines) - len(shown)} lines more, in the page below")
    return "\n".join(f"- {line}" for line in shown)


def _pictures(page: Page) -> str:
    return "\n\n".join(image(title, url) for title, url in page.pictures[:MOST_PICTURES])


def pull_request_title(kernel: str, winner: str) -> str:
    return f"Optimize the {kernel} kernel ({winner})"


def pull_request_body(asked: Question) -> str:
    """What the pull request says of itself."""
    conversation = asked.conversation
    by = f", approved by {plain(conversation.final_by.login)}" if conversation.final_by else ", without a last approval"
    where = f"Asked for in #{conversation.thread} by {plain(conversation.requester.login)}"
    origin = f"{where}{by}. Session {code(conversation.id)}."
    return compose(
        f"Changes {code(f'src/liger_kernel/ops/{conversation.kernel}.py')} and nothing else. "
        "The change was found, judged and tested by a program; please review it as any other.",
        _summary(asked.summary),
        origin,
        f"Measured at commit {code(conversation.frozen.sha)}. The report says on which GPUs it was not measured.",
        _pictures(asked.page),
        sections=[Section(title="The whole report", text=asked.page.text, file=asked.page.file, url=asked.page.url)],
        simulated=asked.simulated,
    )
