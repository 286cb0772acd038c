"""The action killed before and after everything that it writes to GitHub: nothing is lost, nothing is said twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import requests

from liger_perf.action import main
from liger_perf.bot.authority import Policy
from liger_perf.bot.effects import key_of
from support.action import KERNEL, SWEEP, Bench, action_bench

# Blobs, trees and commits that no branch names are invisible.
INVISIBLE = re.compile(r"/git/(blobs|trees|commits)$")
MOST_PROCESSES = 200


class KilledError(BaseException):
    """Stands for the end of the process: nothing of the program catches it."""


class Killer:
    """Ends each process at one of its first visible writes: in turns before it is sent, and after it was carried out.

    At the first one alone would lead nowhere: each start of a stage is counted before it begins.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.deaths = 0
        self._left = 0
        self._send = requests.Session.send
        killer = self

        def send(session: requests.Session, request: requests.PreparedRequest, **options: Any) -> requests.Response:
            return killer.sent(session, request, options)

        monkeypatch.setattr(requests.Session, "send", send)

    def arm(self) -> None:
        self._left = self.deaths // 2 % 3 + 1

    def sent(
        self, session: requests.Session, request: requests.PreparedRequest, options: dict[str, Any]
    ) -> requests.Response:
        visible = request.method != "GET" and not INVISIBLE.search(str(request.url))
        self._left -= visible
        if not visible or self._left != 0:
            return self._send(session, request, **options)
        self.deaths += 1
        if self.deaths % 2:
            raise KilledError
        self._send(session, request, **options)
        raise KilledError


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    policy = main._policy

    def patient(*arguments: Any) -> Policy:
        return msgspec.structs.replace(policy(*arguments), attempts=MOST_PROCESSES)

    monkeypatch.setattr(main, "_policy", patient)
    with action_bench(tmp_path) as made:
        yield made


@pytest.mark.parametrize("same_disk", [True, False])
def test_killed_at_every_write_a_conversation_ends_as_if_nothing_had_been(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, same_disk: bool
) -> None:
    killer = Killer(monkeypatch)
    alice = bench.hub.human("alice")
    issue = alice.open_issue("Slow").number
    bench.hub.events.clear()
    alice.comment(issue, "/optimize rms_norm")
    event = bench.hub.events.popleft()
    answered: set[int] = set()
    while not bench.pulls or "is open" not in bench.said(issue)[-1]:
        assert killer.deaths < MOST_PROCESSES
        killer.arm()
        try:
            bench.handle(event)
        except KilledError:
            if not same_disk:
                bench.new_machine()
        else:
            # The bot has nothing to do: a person has to answer.
            question = bench.question(issue)
            assert question not in answered, bench.said(issue)
            answered.add(question)
            alice.react(question)
        event = SWEEP if bench.hub.git.refs("refs/heads/liger-perf/session/") else event
    keys = Counter(key_of(text) for text in bench.said(issue))
    assert {key: count for key, count in keys.items() if count > 1} == {}
    assert len(answered) == 3
    (pull,) = bench.pulls
    assert bench.changed(pull) == [KERNEL]
    if same_disk:
        # What had ended on the disk is sent, not done again; a variant that was only begun is.
        calls = Counter(bench.stages.calls)
        assert [calls[step] for step in ("profile", "compare", "finalize")] == [1, 1, 1]
    assert killer.deaths > 20
