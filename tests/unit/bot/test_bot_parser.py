from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liger_perf.bot.commands import (
    Approve,
    Cancel,
    Command,
    Help,
    List,
    Optimize,
    ParseError,
    Reject,
    Resume,
    Status,
)
from liger_perf.bot.parser import parse, parse_inputs
from liger_perf.model.options import Goal, Request, TargetGpu

KERNELS = ("cross_entropy", "geglu", "layer_norm", "rms_norm", "status")
SHA = "0123456789abcdef0123456789abcdef01234567"


def optimize(kernel: str = "rms_norm", *, sha: str = "", budget_s: int | None = None, **fields: object) -> Optimize:
    return Optimize(request=Request(kernel=kernel, **fields), sha=sha, budget_s=budget_s)  # type: ignore[arg-type]


READ: list[tuple[str, Command]] = [
    ("/optimize rms_norm", optimize()),
    ("/optimize kernel rms_norm", optimize()),
    ("/optimize kernel status", optimize("status")),
    ("/optimise rms_norm", optimize()),
    ("  /Optimize\trms_norm  ", optimize()),
    ("\r\n\r\n/optimize rms_norm\r\nthank you", optimize()),
    ("/optimize\u00a0rms_norm", optimize()),
    ('/optimize "rms_norm"', optimize()),
    ("/optimize rms_norm goal=speed", optimize(goal=Goal.SPEED)),
    ("/optimize goal=memory rms_norm", optimize(goal=Goal.MEMORY)),
    ("/optimize rms_norm --goal speed", optimize(goal=Goal.SPEED)),
    ("/optimize rms_norm --goal=Speed", optimize(goal=Goal.SPEED)),
    ("/optimize rms_norm —goal speed", optimize(goal=Goal.SPEED)),
    ("/optimize rms_norm optimization_goal=speed", optimize(goal=Goal.SPEED)),
    ("/optimize rms_norm scope=backward", optimize(scope="backward")),
    ("/optimize rms_norm scope=T=1024,2048", optimize(scope="T=1024,2048")),
    ("/optimize rms_norm gpu=Hopper", optimize(gpu=TargetGpu.HOPPER)),
    ("/optimize rms_norm gpu=auto-detect", optimize()),
    ("/optimize rms_norm mode=autonomous", optimize(autonomous=True)),
    ("/optimize rms_norm --autonomous", optimize(autonomous=True)),
    ("/optimize rms_norm, just optimize it!", optimize(autonomous=True)),
    ("/optimize rms_norm Run without asking me.", optimize(autonomous=True)),
    ("/optimize autonomously rms_norm", optimize(autonomous=True)),
    ("/optimize rms_norm optimize autonomously goal=speed", optimize(autonomous=True, goal=Goal.SPEED)),
    ("/optimize rms_norm variants=3", optimize(max_variants=3)),
    ("/optimize rms_norm --max-variants 3", optimize(max_variants=3)),
    (
        '/optimize rms_norm target="forward under 0.3ms at hidden_size=4096"',
        optimize(target="forward under 0.3ms at hidden_size=4096"),
    ),
    ("/optimize rms_norm target=“forward under 0.3ms”", optimize(target="forward under 0.3ms")),
    ("/optimize rms_norm --target 'forward under 0.3ms'", optimize(target="forward under 0.3ms")),
    (f"/optimize rms_norm sha={SHA.upper()}", optimize(sha=SHA)),
    ("/optimize rms_norm budget=30m", optimize(budget_s=1800)),
    ("/optimize rms_norm budget=1h30m", optimize(budget_s=5400)),
    ("/optimize approve", Approve()),
    ("/optimize approve V2", Approve(choice="v2")),
    ("/optimize reject", Reject()),
    ("/optimize reject it's slower on A100", Reject(why="it's slower on A100")),
    ("/optimize status", Status()),
    ("/optimize cancel.", Cancel()),
    ("/optimize resume", Resume()),
    ("/optimize list", List()),
    ("/optimize HELP", Help()),
]


@pytest.mark.parametrize(("body", "command"), READ)
def test_reads(body: str, command: Command) -> None:
    assert parse(body, KERNELS) == command


@pytest.mark.parametrize(
    "body",
    [
        "",
        "please /optimize rms_norm",
        "thanks\n/optimize rms_norm",
        "> /optimize rms_norm",
        "```\n/optimize rms_norm\n```",
        "~~~\n/optimize rms_norm",
        "    /optimize rms_norm",
        "\t/optimize rms_norm",
        "`/optimize rms_norm`",
        "[/optimize rms_norm](https://example.org)",
        "<!--\n/optimize rms_norm\n-->",
        "- /optimize rms_norm",
        "# /optimize rms_norm",
        "\\/optimize rms_norm",
        "/optimizer rms_norm",
        "/optimize/rms_norm",
        "/opt rms_norm",
        "text\u2028/optimize rms_norm",
        "text\x0b/optimize rms_norm",
    ],
)
def test_is_not_for_the_bot(body: str) -> None:
    assert parse(body, KERNELS) is None


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("/optimize", "No kernel is named."),
        ("/optimize kernel", "No kernel is named."),
        ("/optimize goal=speed", "No kernel is named."),
        ("/optimize rms_norm goal=fast", "goal: 'fast' is none of the values."),
        ("/optimize rms_norm goal=", "goal has no value."),
        ("/optimize rms_norm --goal", "goal has no value."),
        ("/optimize rms_norm goal=speed goal=memory", "goal is given twice, as 'speed' and as 'memory'."),
        ("/optimize rms_norm mode=interactive just optimize it", "mode is given twice, as 'autonomous' and"),
        ("/optimize rms_norm variants=0", "variants: '0' is no such number."),
        ("/optimize rms_norm variants=65", "variants: '65' is no such number."),
        ("/optimize rms_norm variants=²", "variants: '²' is no such number."),
        ("/optimize rms_norm sha=0123456", "sha: '0123456' is no whole commit name"),
        ("/optimize rms_norm budget=soon", "budget: 'soon' is no such time."),
        ("/optimize rms_norm budget=25h", "budget: '25h' is no such time."),
        ("/optimize rms_norm scope=sideways", "scope: The scope 'sideways' cannot be read."),
        ("/optimize rms_norm target=fast", "target: The target 'fast' cannot be read."),
        ('/optimize rms_norm target="forward under 0.3ms', "A quotation mark is opened and not closed."),
        ("/optimize rms_norm and layer_norm", "'and' is no option."),
        ("/optimize approve both", "'both' is no variant's name."),
        ("/optimize approve v0", "'v0' is no variant's name."),
        ("/optimize approve v2 please", "'v2 please' is no variant's name."),
        ("/optimize cancel everything", "'cancel' takes nothing more"),
        ("/optimize `rms_norm`", "The line holds code."),
        ("/optimize [rms_norm](https://example.org)", "The line holds a link."),
        ("/optimize rms_norm <!-- goal=speed -->", "The line holds HTML."),
        ("/optimize " + "x" * 3000, "The line is longer than 2000 characters."),
    ],
)
def test_says_what_is_wrong(body: str, problem: str) -> None:
    error = parse(body, KERNELS)
    assert isinstance(error, ParseError)
    assert error.problem.startswith(problem)
    assert error.allowed
    assert body.startswith(error.read)


@pytest.mark.parametrize(
    ("body", "near"),
    [
        ("/optimize rmsnorm", "rms_norm"),
        ("/optimize RMS_Norm", "rms_norm"),
        ("/optimize rms-norm", "rms_norm"),
        ("/optimize crossentropy", "cross_entropy"),
        ("/optimize aprove", "approve"),
        ("/optimize rms_norm goals=speed", "goal"),
    ],
)
def test_knows_what_was_meant(body: str, near: str) -> None:
    error = parse(body, KERNELS)
    assert isinstance(error, ParseError)
    assert error.near[0] == near


def test_only_kernels_that_exist_are_suggested() -> None:
    error = parse("/optimize layernorm", ("rms_norm",))
    assert isinstance(error, ParseError)
    assert set(error.near) <= {"rms_norm"}


def test_inputs_of_the_workflow() -> None:
    given = {"kernel": "rms_norm", "goal": "speed", "mode": "autonomous", "variants": "4", "target": "", "sha": SHA}
    assert parse_inputs(given, KERNELS) == optimize(goal=Goal.SPEED, autonomous=True, max_variants=4, sha=SHA)
    error = parse_inputs({"kernel": "rmsnorm", "goal": "speed"}, KERNELS)
    assert isinstance(error, ParseError)
    assert (error.read, error.near[0]) == ("kernel=rmsnorm goal=speed", "rms_norm")


WORDS = st.lists(
    st.sampled_from(
        [
            "/optimize",
            "rms_norm",
            "goal=speed",
            "--goal",
            "target=",
            '"',
            "'",
            "“",
            "approve",
            "v2",
            "kernel",
            "\n",
            ">",
        ]
    )
    | st.text(max_size=8),
    max_size=12,
)


@given(st.text() | st.text().map("/optimize ".__add__) | WORDS.map(" ".join))
def test_never_raises(body: str) -> None:
    found = parse(body, KERNELS)
    assert found is None or isinstance(found, Command | ParseError)


@given(
    st.sampled_from(["> {}", "`{}`", "    {}", "```\n{}\n```", "[{}](https://example.org)", "<!-- {} -->", "- {}"]),
    st.sampled_from([body.strip() for body, _ in READ]),
    st.text(),
)
def test_nothing_starts_from_what_is_quoted(frame: str, body: str, after: str) -> None:
    assert parse(frame.format(body) + "\n" + after, KERNELS) is None


@given(st.text(max_size=40), st.sampled_from(["/optimize rms_norm", "/optimize approve"]))
def test_only_the_first_line_counts(first: str, command: str) -> None:
    if first.strip() and not first.lstrip().casefold().startswith("/optimi"):
        assert parse(f"{first}\n{command}", KERNELS) is None or first.strip("\r\n \t") == ""
