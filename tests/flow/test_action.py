"""From a comment to a pull request: the real action against a GitHub on loopback, over stages that measure nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.action import KERNEL, Bench, action_bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with action_bench(tmp_path) as made:
        yield made


def test_from_a_comment_to_a_pull_request_each_step_on_a_new_machine(bench: Bench) -> None:
    alice = bench.hub.human("alice")
    issue = alice.open_issue("rms_norm is slow").number
    bench.work()
    bench.comment("alice", issue, "/optimize rms_norm")
    assert bench.stages.calls == ["profile"]
    for stages in (["v1", "v2", "compare"], ["finalize"], []):
        bench.new_machine()
        bench.sweep()  # nobody has answered: nothing happens
        before = list(bench.stages.calls)
        alice.react(bench.question(issue))
        bench.sweep()
        assert bench.stages.calls == before + stages
    (pull,) = [one for one in bench.hub.state.issues.values() if one.pull is not None]
    changed = bench.hub.git.run("diff", "--name-only", f"{bench.hub.default_sha}", pull.pull.head_sha).decode().split()
    assert changed == [KERNEL]
    assert f"#{issue}" in pull.body
    assert "is open" in bench.said(issue)[-1]
