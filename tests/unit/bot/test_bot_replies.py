from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from liger_perf.bot import questions, replies
from liger_perf.bot.approval_rules import Reason
from liger_perf.bot.authority import Policy
from liger_perf.bot.commands import Command, Optimize, ParseError
from liger_perf.bot.compose import LIMIT, Section, compose, length
from liger_perf.bot.escape import BREAK, code, link, page, plain
from liger_perf.bot.events import User
from liger_perf.bot.help_text import COMMANDS, usage
from liger_perf.bot.parser import parse
from liger_perf.bot.questions import Question
from liger_perf.bot.state import Conversation, Estimate, Frozen, Page
from liger_perf.model.options import Goal, Request
from liger_perf.session.entries import Stage

SHA = "a" * 40
MONA = User(login="mona", id=7)
POLICY = Policy(bot=User(login="github-actions[bot]", id=1, type="Bot"))
TALK = Conversation(
    id="rms_norm-99",
    thread=5,
    comment_id=99,
    requester=MONA,
    command=Optimize(request=Request(kernel="rms_norm", goal=Goal.SPEED), budget_s=1800),
    frozen=Frozen(sha=SHA, blobs={}),
)
ASKED = Question(
    conversation=TALK,
    stage=Stage.OPTIMIZE,
    summary="v1 REJECTED: launch parameters, 0.990× (slower)\nv2 ACCEPTED: pipelined loads, 1.264× (faster)",
    page=Page(text="# Variants of `rms_norm`\n\n| a | b |\n| --- | --- |\n| 1 | 2 |", file="comparison.md"),
    choices=("v2", "v3"),
    proposed="v2",
)


def test_the_start() -> None:
    assert replies.acknowledged(TALK, Estimate(least=20, most=40, ahead=1)) == (
        "**Optimising `rms_norm`: profiling it first.**\n\n"
        "- goal speed, scope `general`, GPU auto, at most 8 variants\n"
        f"- commit `{SHA}`\n"
        "- at most 30 min of GPU time\n"
        "- estimate: 20 to 40 min on the GPU, after 1 ahead in the queue\n\n"
        "I ask here after the profile, after the variants, and before a pull request."
    )


def test_the_comparison() -> None:
    assert questions.question(ASKED, POLICY) == (
        "**`v2` is the best variant. Shall I test and report it?**\n\n"
        "- v1 REJECTED: launch parameters, 0.990× (slower)\n"
        "- v2 ACCEPTED: pipelined loads, 1.264× (faster)\n\n"
        "**Your answer**\n\n"
        "- 👍 on this comment, or `/optimize approve`, goes on with `v2`.\n"
        "- Another variant: `/optimize approve v3`.\n"
        "- 👎 or 😕, or `/optimize reject why`, stops; one no wins over every yes.\n"
        "- It counts from `maintain`, `admin`, within 14 days.\n\n"
        "<details open><summary>All variants compared</summary>\n\n"
        "# Variants of `rms_norm`\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"
        "</details>"
    )


def test_no_winner_is_asked_otherwise() -> None:
    asked = msgspec.structs.replace(ASKED, proposed="", choices=())
    assert questions.question(asked, POLICY).startswith("**No variant won. Shall I write the final report?**")


def test_a_question_about_a_simulated_result_says_so_first() -> None:
    for stage in Stage:
        asked = msgspec.structs.replace(ASKED, stage=stage, simulated=True)
        assert questions.question(asked, POLICY).startswith("> **SIMULATED**")


def test_an_unreadable_comment() -> None:
    error = parse("/optimize rmsnorm", ("layer_norm", "rms_norm"))
    assert isinstance(error, ParseError)
    assert replies.parse_error(error) == (
        "**I could not read that: There is no kernel 'rmsnorm'.**\n\n"
        "Did you mean `rms_norm` or `layer_norm`?\n\n"
        "Read: `/optimize rmsnorm`\n\n"
        "Allowed: a kernel of this repository: layer\\_norm, rms\\_norm\n\n"
        "`/optimize help` shows everything."
    )


def test_short_texts() -> None:
    assert replies.not_allowed(("admin", "maintain")) == (
        "**Sorry, that needs one of these roles in this repository: `maintain`, `admin`.**"
    )
    assert replies.approved(MONA, Stage.OPTIMIZE, "v3") == (
        "**Approved `v3` by mona.** Now I run the full tests and write the report."
    )
    assert replies.rejected(MONA, "too *risky*, ask @ada") == (
        "**Rejected by mona.** I stop here; nothing was applied.\n\n"
        f"Reason given: too \\*risky\\*, ask @{BREAK}ada\n\n`/optimize resume` goes on from here."
    )
    assert replies.pull_request_opened("https://github.com/o/r/pull/12") == (
        "**Done: [the pull request](https://github.com/o/r/pull/12) is open.** It changes one file."
    )
    assert "[compare](https://github.com/o/r/compare/main...b)" in replies.pull_request_failed(
        "no right to open it", "https://github.com/o/r/compare/main...b"
    )


def test_help_describes_every_command_and_only_real_ones() -> None:
    text = replies.help_text(POLICY)
    assert {type(command) for command in COMMANDS} == set(get_args(Command))
    for command in COMMANDS:
        form = usage(command)[0]
        assert f"| `{form}` |" in text
        typed = re.sub(r" \[.*", "", form).replace("KERNEL", "rms_norm")
        assert type(parse(typed, ("rms_norm",))) is type(command)


def test_the_example_in_the_help_can_be_read() -> None:
    example = re.search(r"^/optimize rms_norm goal.*$", replies.help_text(POLICY), re.MULTILINE)
    assert example
    assert isinstance(parse(example[0], ("rms_norm",)), Optimize)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("@mona", f"@{BREAK}mona"),
        ("fixes #12", f"fixes #{BREAK}12"),
        ("o/r#12 GH-12", f"o/r#{BREAK}12 GH{BREAK}-12"),
        ("&#64;mona", f"&{BREAK}#{BREAK}64;mona"),
        ("a\nb\r\n# c", "a b # c"),
        ("<img src=x>", f"\\<{BREAK}img src=x\\>".replace(f"\\<{BREAK}", f"\\<{BREAK}")),
        ("[x](http://y)", f"\\[x\\]{BREAK}(http:{BREAK}//y)".replace(f"\\]{BREAK}", f"\\]{BREAK}")),
        ("1. x", "1\\. x"),
        ("- x", "\\- x"),
        ("a\u202eb", "ab"),
    ],
)
def test_plain(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_code_keeps_backticks_inside() -> None:
    assert code("a`b``c") == "``` a`b``c ```"
    assert code("") == "`–`"


def test_only_plain_addresses_become_links() -> None:
    assert link("x", "https://a.b:80/c?d=1#e") == "[x](https://a.b:80/c?d=1#e)"
    assert link("x", "javascript:alert(1)") == "x"
    assert link("x", "https://a.b/) [y](https://c") == "x"


def test_a_page_keeps_its_code_and_nothing_live_outside() -> None:
    text = "## @mona\n\n```python\n@triton.jit  # 12\n```\n</details>\n![t](plots/a.png)\n- x\n  ```\n@ada"
    assert page(text) == (
        f"## @{BREAK}mona\n\n```python\n@triton.jit  # 12\n```\n<{BREAK}/details>\nt: `plots/a.png`\n"
        f"- x\n  {BREAK}```\n@{BREAK}ada"
    )


def test_a_page_that_is_too_long_is_cut_and_its_code_closed() -> None:
    long = "# Report\n\n```diff\n" + "+ line\n" * 20_000 + "```\n"
    text = compose("**v**", sections=[Section(title="t", text=long, file="report.md", url="https://a.b/report.md")])
    assert length(text) <= LIMIT
    end = text[text.rindex("+ line") :]
    assert end == (
        "+ line\n```\n\n*Cut here, since a comment holds no more. The whole page is "
        "[`report.md`](https://a.b/report.md).*\n\n</details>"
    )


# What GitHub makes live in text: mentions and references.
LIVE = re.compile(r"@\w|(?<![\w/&])#\d|\bGH-\d", re.IGNORECASE)
FRAME = re.compile(r"(</?(details|summary)>|<details open>|[\w ])*\n?")
READER = MarkdownIt("gfm-like", {"linkify": False, "html": True})


def live(text: str) -> list[str]:
    """What a reader of Markdown finds in a reply that the reply did not mean."""
    found = []
    tokens = READER.parse(text)
    for token in [*tokens, *(child for block in tokens for child in block.children or ())]:
        match token.type:
            case "text":
                found += LIVE.findall(token.content)
            case "html_inline" | "html_block" if not FRAME.fullmatch(token.content):
                found.append(token.content)
            case "link_open" if token.attrs["href"] != URL:
                found.append(str(token.attrs["href"]))
            case "image" if token.attrs["src"] != URL:
                found.append("a picture")
    return found


PIECES = [
    "@mona", "#12", "GH-3", "&#64;", "<b>", "</details>", "[a](https://x)", "![p](q)", "<!--", "@@@", "$", "> ",
    "`", "``", "```", "\n~~~\n", "\n  ~~~", "\n\n", "    ", "\t", "# ", "---", "~~~",
    "1. ", "[a]: /b", "[a]", "\n```\n", "*", "|", "\\", " ", "\n", "\n- ", "\r", "\u202e", "😀", "x" * 90,
]  # fmt: skip
NASTY = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=40).map("".join)
URL = "https://example.org/x#issue-1"


def texts(nasty: str, many: int) -> list[str]:
    user = User(login=nasty[:39] or "x", id=1)
    talk = msgspec.structs.replace(TALK, requester=user, final_by=user)
    asked = Question(
        conversation=talk,
        stage=Stage.FINALIZE,
        summary=nasty * many,
        page=Page(text=nasty * many, file="report.md", url=URL, pictures=((nasty, URL),) * 30),
        choices=tuple(f"v{number}" for number in range(1, 65)),
        proposed="v2",
    )
    stages = [msgspec.structs.replace(asked, stage=stage) for stage in Stage]
    error = ParseError(read=nasty, problem=nasty, allowed=nasty, near=(nasty,))
    return [
        *(questions.question(each, POLICY) for each in stages),
        # The one reference that is meant.
        questions.pull_request_body(asked).replace(f"Asked for in #{TALK.thread} by", "Asked for by"),
        replies.acknowledged(talk, None),
        replies.status(talk, "stopped", nasty * many),
        replies.approved(user, Stage.PROFILE, nasty),
        replies.rejected(user, nasty * many),
        replies.not_counted(Reason.NOBODY, (nasty,) * many),
        replies.not_allowed((nasty,)),
        replies.unfit(nasty * many),
        replies.undecided(nasty),
        replies.parse_error(error),
        replies.kernels((nasty,) * many),
        replies.cancelled(user),
        replies.stage_failed(Stage.FINALIZE, nasty * many),
        replies.stage_refused(Stage.PROFILE, "rms_norm", nasty * many, (nasty,) * many),
        replies.crash(nasty * many, URL),
        replies.pull_request_failed(nasty * many, URL),
        replies.pull_request_failed(nasty, nasty),
        replies.issue_opened(user, nasty),
    ]


@settings(deadline=None)
@given(NASTY, st.sampled_from([1, 2, 60]))
def test_nothing_that_others_wrote_is_live_and_nothing_is_too_long(nasty: str, many: int) -> None:
    for text in texts(nasty, many):
        assert length(text) <= LIMIT
        assert live(text) == []


def test_the_longest_pages_fit() -> None:
    for nasty in ("x" * 70_000, "😀\n" * 50_000, "~" * 40_000 + "\n" + "y\n" * 20_000, "`" * 70_000, "_\n" * 9000):
        assert all(length(text) <= LIMIT for text in texts(nasty, 2))


def test_every_reply_is_tried() -> None:
    own: list[Callable[..., str]] = [
        function
        for name, function in inspect.getmembers(replies, inspect.isfunction)
        if function.__module__ == replies.__name__ and not name.startswith("_")
    ]
    source = inspect.getsource(texts)
    fixed = {"expired", "refused", "stale", "help_text", "already_open", "nothing_open", "nothing_asked", "gave_up"}
    fixed |= {"no_winner", "simulated_end", "pull_request_opened"}  # nothing that others wrote is in them
    assert {function.__name__ for function in own} == fixed | set(re.findall(r"replies\.(\w+)\(", source))
