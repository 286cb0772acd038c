"""Jobs killed at random requests to GitHub, before or after these are carried out: real processes, new machines.

LIGER_PERF_KILL_SEEDS names how many conversations are played; by hand twenty are a good number.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from liger_perf.bot.effects import key_of
from liger_perf.demo.play import KERNEL_FILE, changed_files
from liger_perf.localhub import Hub, serve
from liger_perf.localhub.records import Comment, Issue
from liger_perf.localhub.runner import Ended, Job, Runner
from support.repository import make_repository

SEEDS = int(os.environ.get("LIGER_PERF_KILL_SEEDS", "2"))
DRIVER = str(Path(__file__).parents[1] / "flow/action_driver.py")
MOST_JOBS = 60
LATEST_REQUEST = 70  # a job makes up to some ninety


class Conversation:
    """Plays until the pull request is open; alice answers whatever the bot asks."""

    def __init__(self, hub: Hub, folder: Path, seed: int) -> None:
        inputs = {"device": "simulated", "simulated-pull-requests": "true"}
        self.hub = hub
        self.kills = 0
        self._random = random.Random(seed)
        self._runner = Runner(hub, Job([sys.executable, DRIVER, "x * 2"], inputs), folder)
        self._alice = hub.human("alice")
        self._number = self._alice.open_issue("Slow").number
        self._answered: set[int] = set()

    def bots(self) -> list[Comment]:
        return [one for one in self.hub.state.comments_of(self._number) if one.author.kind == "Bot"]

    @property
    def pulls(self) -> list[Issue]:
        return [one for one in self.hub.state.issues.values() if one.pull is not None]

    def play(self) -> None:
        self._alice.comment(self._number, "/optimize rms_norm")
        ended = self._job()
        while not any("is open" in one.body for one in self.bots()):
            assert len(self._runner.ended) < MOST_JOBS, [one.body[:200] for one in self.bots()]
            if ended.ended_by == "kill" and not self.hub.git.refs("refs/heads/liger-perf/session/"):
                self._runner.rerun(ended.run.id)  # by a person, on the page of the run
            elif ended.ended_by != "kill" and not self._answer():
                self._alice.comment(self._number, "/optimize resume")  # as the bot's last words say
            else:
                self._runner.sweep()
            ended = self._job()

    def _answer(self) -> bool:
        """Answer the last question; False where the last words are none."""
        asked = [one.id for one in self.bots() if "Shall I" in one.body and one.id not in self._answered]
        if not asked:
            return "Approved" in self.bots()[-1].body
        self._answered.add(asked[-1])
        self._alice.react(asked[-1])
        return True

    def _job(self) -> Ended:
        if self._random.random() < 0.6:
            self._runner.kill_after(self._random.randint(1, LATEST_REQUEST), carried_out=self._random.random() < 0.5)
        ended = self._runner.run_next()
        assert ended is not None
        assert ended.ended_by == "kill" or ended.exit_code == 0, ended.log
        self.kills += ended.ended_by == "kill"
        return ended


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_is_killed_one_pull_request_follows_and_nothing_is_said_twice(tmp_path: Path, seed: int) -> None:
    source = make_repository(tmp_path / "source", git=False)
    hub = Hub.create(tmp_path / "hub", source=source, clock=lambda: datetime.now(UTC).replace(microsecond=0))
    hub.person("alice", "maintain")
    with serve(hub, check=False):
        talk = Conversation(hub, tmp_path / "jobs", seed)
        talk.play()
    twice = {key: count for key, count in Counter(key_of(one.body) for one in talk.bots()).items() if count > 1}
    assert twice == {}
    (pull,) = talk.pulls
    assert changed_files(hub, pull) == [KERNEL_FILE]
    assert hub.violations == []
    print(f"seed {seed}: {talk.kills} kills")
