"""From a comment to a pull request: the real action against a GitHub on loopback, over stages that measure nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from liger_perf.localhub.commits import Person, write_commit
from liger_perf.localhub.gitstore import TreeChange
from liger_perf.model.errors import UsageError
from support.action import KERNEL, Bench, action_bench

OPTIMIZE_STEPS = ["v1", "v2", "compare"]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with action_bench(tmp_path) as made:
        yield made


@pytest.fixture
def issue(bench: Bench) -> int:
    number = bench.hub.human("alice").open_issue("rms_norm is slow").number
    bench.hub.events.clear()
    return number


def approve(bench: Bench, issue: int, login: str = "alice") -> None:
    bench.hub.human(login).react(bench.question(issue))
    bench.sweep()


def test_from_a_comment_to_a_pull_request_each_step_on_a_new_machine(bench: Bench, issue: int) -> None:
    bench.comment("alice", issue, "/optimize rms_norm")
    assert bench.stages.calls == ["profile"]
    for steps in (OPTIMIZE_STEPS, ["finalize"], []):
        bench.new_machine()
        bench.sweep()  # nobody has answered: nothing happens
        before, said = list(bench.stages.calls), len(bench.said(issue))
        approve(bench, issue)
        assert bench.stages.calls == before + steps
        assert len(bench.said(issue)) == said + 2  # who approved, and what came of it
    (pull,) = bench.pulls
    assert bench.changed(pull) == [KERNEL]
    assert f"Asked for in #{issue} by alice, approved by alice" in pull.body
    assert "is open" in bench.said(issue)[-1]
    bench.sweep()
    assert len(bench.pulls) == 1


def test_a_comment_approves_and_chooses(bench: Bench, issue: int) -> None:
    bench.comment("alice", issue, "/optimize kernel rms_norm")
    bench.comment("alice", issue, "/optimize approve")
    assert bench.stages.calls == ["profile", *OPTIMIZE_STEPS]
    bench.comment("alice", issue, "/optimize approve v2")
    assert bench.stages.calls[-1] == "finalize"
    assert "approve v1" not in bench.said(issue)[-1]


def test_autonomous_runs_up_to_the_pull_request_without_asking(bench: Bench, issue: int) -> None:
    bench.comment("alice", issue, "/optimize rms_norm mode=autonomous")
    assert bench.changed(bench.pulls[0]) == [KERNEL]
    assert all("Shall I" not in text for text in bench.said(issue))


def test_autonomous_of_a_writer_still_asks_before_the_pull_request(bench: Bench, issue: int) -> None:
    bench.comment("bob", issue, "/optimize rms_norm mode=autonomous")
    assert bench.pulls == []
    approve(bench, issue, "bob")
    assert bench.pulls == []
    approve(bench, issue)
    assert len(bench.pulls) == 1


def test_started_by_hand_without_an_issue_opens_one_and_with_one_uses_it(bench: Bench, issue: int) -> None:
    alice = bench.hub.human("alice")
    alice.dispatch("liger-perf.yml", inputs={"kernel": "rms_norm", "issue": str(issue)})
    bench.work()
    assert "Shall I" in bench.said(issue)[-1]
    alice.dispatch("liger-perf.yml", inputs={"kernel": "swiglu"})
    bench.work()
    opened = max(bench.hub.state.issues)
    assert bench.hub.state.issues[opened].title == "Optimize the swiglu kernel"


@pytest.mark.parametrize("login", ["mallory", "carol"])
def test_who_is_no_maintainer_starts_nothing_and_is_told_once(bench: Bench, issue: int, login: str) -> None:
    for _ in range(3):
        bench.comment(login, issue, "/optimize rms_norm")
    assert bench.stages.calls == []
    assert len(bench.said(issue)) == 1
    assert "needs one of these roles" in bench.said(issue)[0]


@pytest.mark.parametrize("login", ["mallory", "carol", "bob"])
def test_who_is_no_maintainer_approves_and_chooses_nothing(bench: Bench, issue: int, login: str) -> None:
    bench.comment("alice", issue, "/optimize rms_norm")
    said = len(bench.said(issue))
    approve(bench, issue, login)
    bench.sweep()
    assert bench.said(issue)[said:] == [bench.said(issue)[-1]]  # why it does not count, once
    assert f"{login}: the role does not suffice" in bench.said(issue)[-1]
    for _ in range(3):
        bench.comment(login, issue, "/optimize approve v2")
    assert bench.stages.calls == ["profile"]
    assert len(bench.said(issue)) == said + 2  # and the refusal, once


def test_a_question_that_was_edited_cannot_be_approved_and_that_is_said_once(bench: Bench, issue: int) -> None:
    bench.comment("alice", issue, "/optimize rms_norm")
    question = bench.question(issue)
    bench.hub.human("alice").react(question)
    bench.hub.human("bob").edit(question, "Shall I delete everything?")
    for _ in range(3):
        bench.sweep()
    assert bench.stages.calls == ["profile"]
    assert sum("was edited" in text for text in bench.said(issue)) == 1


def test_an_approval_that_was_edited_does_not_count(bench: Bench, issue: int) -> None:
    bench.comment("alice", issue, "/optimize rms_norm")
    alice = bench.hub.human("alice")
    written = alice.comment(issue, "Thank you").id
    bench.hub.human("bob").edit(written, "/optimize approve")
    bench.work()
    for _ in range(3):
        bench.sweep()
    assert bench.stages.calls == ["profile"]
    assert sum("alice: the comment was edited" in text for text in bench.said(issue)) == 1


def test_a_reaction_on_another_comment_means_nothing(bench: Bench, issue: int) -> None:
    asked = bench.comment("alice", issue, "/optimize rms_norm")
    alice = bench.hub.human("alice")
    status = bench.bots(issue)[0].id
    assert status != bench.question(issue)
    for number in (asked, status):
        alice.react(number)
    for _ in range(3):
        bench.sweep()
    assert bench.stages.calls == ["profile"]
    assert sum("a thumb on another comment" in text for text in bench.said(issue)) == 1
    approve(bench, issue)
    assert bench.stages.calls == ["profile", *OPTIMIZE_STEPS]


def test_an_approval_older_than_the_question_means_nothing_and_the_reason_is_said_once(
    bench: Bench, issue: int
) -> None:
    early = bench.comment("alice", issue, "/optimize approve")
    bench.comment("alice", issue, "/optimize rms_norm")
    for _ in range(2):
        bench.sweep()
    assert bench.stages.calls == ["profile"]
    assert early < bench.question(issue)
    assert sum("no session in this thread" in text for text in bench.said(issue)) == 1


def test_a_no_of_a_maintainer_ends_it(bench: Bench, issue: int) -> None:
    bench.comment("alice", issue, "/optimize rms_norm")
    bench.hub.human("alice").react(bench.question(issue), "-1")
    approve(bench, issue)
    assert bench.stages.calls == ["profile"]
    assert "Rejected by alice" in bench.said(issue)[-1]


def test_a_kernel_that_changed_since_is_not_optimised_further(bench: Bench, issue: int) -> None:
    bench.comment("alice", issue, "/optimize rms_norm")
    bench.hub.human("bob").push("main", {"README.md": "other\n"})
    approve(bench, issue)
    assert bench.stages.calls == ["profile", *OPTIMIZE_STEPS]  # another file does not matter
    bench.hub.human("bob").push("main", {KERNEL: "def forward(x):\n    return x\n"})
    approve(bench, issue)
    assert "finalize" not in bench.stages.calls
    assert "has changed since the start" in bench.said(issue)[-1]


def test_a_check_that_fails_before_the_start_is_told_with_what_to_do(bench: Bench, issue: int) -> None:
    bench.hub.human("bob").push("main", {KERNEL: "def forward(x:\n"})
    bench.comment("alice", issue, "/optimize rms_norm")
    assert bench.stages.calls == []
    assert "Profile could not begin" in bench.said(issue)[-1]
    assert "'(' was never closed" in bench.said(issue)[-1]
    bench.hub.human("bob").push("main", {KERNEL: "def forward(x):\n    return x * 1\n"})
    bench.comment("alice", issue, "/optimize rms_norm")
    assert bench.stages.calls == ["profile"]


def test_a_branch_that_someone_else_wrote_is_refused(bench: Bench, issue: int) -> None:
    bench.comment("alice", issue, "/optimize rms_norm")
    (name,) = bench.hub.git.refs("refs/heads/liger-perf/")
    branch = name.removeprefix("refs/heads/")
    bench.hub.human("bob").push(branch, {"session.json": "{}"})
    approve(bench, issue)
    assert bench.stages.calls == ["profile"]


def test_a_comment_that_github_took_but_did_not_acknowledge_is_not_posted_again(bench: Bench, issue: int) -> None:
    bench.hub.faults.bad_gateway_after("POST", r"/issues/\d+/comments$", times=1)
    bench.comment("alice", issue, "/optimize list")
    assert len(bench.said(issue)) == 1


@pytest.mark.parametrize("path", [r"/reactions$", r"/issues/comments/\d+$", r"/collaborators/alice/permission$"])
def test_what_github_does_not_answer_is_no_approval_and_no_rejection(bench: Bench, issue: int, path: str) -> None:
    bench.comment("alice", issue, "/optimize rms_norm")
    said = len(bench.said(issue))
    bench.hub.human("alice").react(bench.question(issue))
    bench.hub.faults.secondary_limit("GET", path, retry_after=0, times=50)
    bench.sweep()
    assert bench.stages.calls == ["profile"]
    assert len(bench.said(issue)) == said
    bench.hub.faults.clear()
    bench.sweep()
    assert bench.stages.calls == ["profile", *OPTIMIZE_STEPS]


def test_a_stage_that_fails_is_told_and_resumed_by_a_person(bench: Bench, issue: int) -> None:
    bench.stages.winner = "v9"
    bench.comment("alice", issue, "/optimize rms_norm mode=autonomous")
    assert "failed" in bench.said(issue)[-1] or "could not begin" in bench.said(issue)[-1]
    assert bench.pulls == []
    bench.sweep()
    assert bench.stages.calls.count("compare") == 1  # it waits for a person


def test_cancelled_while_a_stage_runs_nothing_of_it_counts(bench: Bench, issue: int) -> None:
    def cancel(step: str) -> None:
        if step == "v2":
            bench.hub.human("alice").comment(issue, "/optimize cancel")
            bench.handle(bench.hub.events.popleft())

    bench.stages.before = cancel
    bench.comment("alice", issue, "/optimize rms_norm mode=autonomous")
    assert bench.stages.calls == ["profile", "v1", "v2"]
    assert "Cancelled by alice" in bench.said(issue)[-1]
    bench.sweep()
    assert bench.pulls == []


def test_two_sweeps_at_once_write_nothing_twice(bench: Bench, issue: int) -> None:
    bench.comment("alice", issue, "/optimize rms_norm")
    bench.hub.human("alice").react(bench.question(issue))
    swept = False

    def sweep_again(step: str) -> None:
        nonlocal swept
        if not swept:
            swept = True
            bench.sweep()

    bench.stages.before = sweep_again
    bench.sweep()
    texts = bench.said(issue)
    assert bench.stages.calls == ["profile", *OPTIMIZE_STEPS]
    assert "Shall I" in texts[-1]
    assert len({text.splitlines()[-1] for text in texts}) == len(texts)


def test_a_commit_that_does_not_exist_is_not_worked_on(bench: Bench, issue: int) -> None:
    bench.comment("alice", issue, f"/optimize rms_norm sha={'0' * 40}")
    assert bench.stages.calls == []
    assert "which commit and files are meant" in bench.said(issue)[-1]


def test_in_a_pull_request_its_head_is_optimised_and_the_result_goes_to_its_branch(bench: Bench) -> None:
    bob = bench.hub.human("bob")
    bob.push("faster", {KERNEL: "def forward(x):\n    return x * 1  # bob's\n"})
    number = bob.open_pull("faster").number
    bench.hub.events.clear()
    bench.comment("alice", number, "/optimize rms_norm mode=autonomous")
    made = max(bench.pulls, key=lambda pull: pull.number)
    assert made.pull is not None
    assert made.pull.base_ref == "faster"
    changed = bench.hub.git.run("diff", "faster", made.pull.head_sha).decode()
    assert "+    return x * 2  # bob's" in changed
    assert changed.count("diff --git") == 1


def test_a_fork_needs_an_approver_who_names_the_commit(bench: Bench) -> None:
    pull = bench.hub.human("mallory").open_fork_pull({KERNEL: "def forward(x):\n    return x * 1\n"})
    bench.hub.events.clear()
    bench.comment("mallory", pull.number, "/optimize rms_norm")
    bench.comment("alice", pull.number, "/optimize rms_norm")
    assert bench.stages.calls == []
    assert "has to name the commit" in bench.said(pull.number)[-1]


def test_the_mode_of_the_kernels_file_stays(bench: Bench, issue: int) -> None:
    git = bench.hub.git
    blob = git.run("rev-parse", f"main:{KERNEL}").decode().strip()
    tree = git.write_tree(bench.hub.default_sha, [TreeChange(KERNEL, "100755", blob)])
    me = Person("bob", "bob@example.org", datetime.now(UTC))
    git.set_ref(
        "refs/heads/main",
        write_commit(git, tree, (bench.hub.default_sha,), me, me, "Executable\n"),
        bench.hub.default_sha,
    )
    bench.comment("alice", issue, "/optimize rms_norm mode=autonomous")
    (pull,) = bench.pulls
    assert pull.pull is not None
    diff = git.run("diff", bench.hub.default_sha, pull.pull.head_sha).decode()
    assert "mode" not in diff
    assert "return x * 2" in diff


@pytest.mark.parametrize(
    ("session", "said"), [("rms_norm-1", "no session"), ("../main", "no session's id"), ("x" * 300, "no session's id")]
)
def test_a_session_that_does_not_exist_is_not_gone_on_with(bench: Bench, session: str, said: str) -> None:
    bench.hub.human("alice").dispatch("liger-perf.yml", inputs={"session": session})
    with pytest.raises(UsageError, match=said):
        bench.work()


def test_an_unknown_kernel_and_an_unknown_option_are_answered_with_what_is_allowed(bench: Bench, issue: int) -> None:
    bench.comment("alice", issue, "/optimize rmsnorm")
    bench.comment("alice", issue, "/optimize rms_norm gaol=speed")
    unknown, option = bench.said(issue)
    assert "rms_norm" in unknown
    assert "swiglu" in unknown
    assert "goal" in option
    assert bench.stages.calls == []
