"""The runner of the GitHub on loopback: what a job finds, how it ends, what is left of it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from liger_perf.localhub import Hub, serve
from liger_perf.localhub.runner import Ended, Grace, Job, Runner
from support.hub import client, new_hub

PATH = ".github/workflows/optimize.yml"
READ_ISSUE = (
    "import os, urllib.request as u\n"
    "def ask(path, method='GET'):\n"
    "    url = os.environ['GITHUB_API_URL'] + '/repos/' + os.environ['GITHUB_REPOSITORY'] + path\n"
    "    head = {'Authorization': 'Bearer ' + os.environ['INPUT_TOKEN'], 'User-Agent': 'test'}\n"
    "    return u.urlopen(u.Request(url, headers=head, method=method)).status\n"
)
SLEEP = "import time\nprint('asleep', flush=True)\ntime.sleep(60)\n"
STUBBORN = (
    "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    + SLEEP
)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    hub = new_hub(tmp_path / "hub")
    with serve(hub):
        hub.human("alice").open_issue("Slow")
        yield hub


def runner(hub: Hub, folder: Path, code: str, limit_s: float = 30.0) -> Runner:
    job = Job([sys.executable, "-c", code], {"device": "simulated"}, PATH, limit_s=limit_s, grace=Grace(0.2, 0.2))
    return Runner(hub, job, folder)


def run(hub: Hub, folder: Path, code: str, limit_s: float = 30.0) -> Ended:
    made = runner(hub, folder, code, limit_s)
    hub.human("alice").comment(1, "/optimize rms_norm")
    (ended,) = made.run_until_idle()
    return ended


def test_a_job_finds_its_event_and_leaves_outputs_and_nothing_of_the_callers(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "x")
    code = (
        "import json, os\n"
        "event = json.load(open(os.environ['GITHUB_EVENT_PATH']))\n"
        "print(event['comment']['body'], os.environ['INPUT_DEVICE'], 'SECRET_OF_THE_CALLER' in os.environ)\n"
        "open(os.environ['GITHUB_OUTPUT'], 'a').write('session=s-1\\n')\n"
        "print(os.environ['INPUT_TOKEN'])\n"
    )
    ended = run(hub, tmp_path / "jobs", code)
    assert ended.lines == ("/optimize rms_norm simulated False", "***")
    assert (ended.exit_code, ended.run.conclusion, ended.outputs) == (0, "success", {"session": "s-1"})


def test_other_comments_start_nothing(hub: Hub, tmp_path: Path) -> None:
    made = runner(hub, tmp_path / "jobs", "")
    hub.human("alice").comment(1, "Please /optimize")
    assert made.run_until_idle() == []


def test_the_token_ends_with_the_job(hub: Hub, tmp_path: Path) -> None:
    ended = run(hub, tmp_path / "jobs", READ_ISSUE + "print(ask('/issues/1'))\n")
    assert (ended.lines, ended.requests) == (("200",), 1)
    assert [token for token in hub.tokens._actors if "actions" in token] == []


@pytest.mark.parametrize(("code", "exit_code"), [(SLEEP, 130), (STUBBORN, 137)])
def test_a_cancelled_job_ends_as_github_ends_it(hub: Hub, tmp_path: Path, code: str, exit_code: int) -> None:
    made = runner(hub, tmp_path / "jobs", code)
    hub.human("alice").comment(1, "/optimize rms_norm")
    asleep = threading.Event()
    made._on_line = lambda run, line: asleep.set()  # type: ignore[method-assign]
    worker = threading.Thread(target=made.run_next)
    worker.start()
    assert asleep.wait(20)
    (number,) = hub.state.runs
    with client(hub, hub.actions_token()) as api:
        api.get_repo(hub.full_name).get_workflow_run(number).cancel()
    worker.join(20)
    (ended,) = made.ended
    assert (ended.run.conclusion, ended.ended_by, ended.exit_code) == ("cancelled", "cancel", exit_code)


def test_a_job_over_its_limit_is_ended(hub: Hub, tmp_path: Path) -> None:
    ended = run(hub, tmp_path / "jobs", SLEEP, limit_s=0.5)
    assert (ended.run.conclusion, ended.ended_by) == ("cancelled", "limit")


@pytest.mark.parametrize("carried_out", [False, True])
def test_a_job_is_killed_before_or_after_a_request(hub: Hub, tmp_path: Path, carried_out: bool) -> None:
    made = runner(hub, tmp_path / "jobs", READ_ISSUE + "for _ in 'ab': print(ask('/issues/1'), flush=True)\n")
    made.kill_after(2, carried_out=carried_out)
    hub.human("alice").comment(1, "/optimize rms_norm")
    (ended,) = made.run_until_idle()
    assert (ended.ended_by, ended.lines, ended.exit_code) == ("kill", ("200",), 137)
    answered = hub.count("GET", r"/issues/1$", 200)
    assert answered == (2 if carried_out else 1)


def test_the_schedule_and_a_dispatch_start_runs_of_their_own(hub: Hub, tmp_path: Path) -> None:
    made = runner(hub, tmp_path / "jobs", "import os\nprint(os.environ['GITHUB_EVENT_NAME'])\n")
    made.sweep()
    hub.human("alice").dispatch("optimize.yml", inputs={"session": "s-1"})
    assert [ended.log for ended in made.run_until_idle()] == ["schedule", "workflow_dispatch"]
