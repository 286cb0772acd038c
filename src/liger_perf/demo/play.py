"""What the people of the demonstration do, one after the other."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from liger_perf.demo import page
from liger_perf.localhub import Hub, Human, serve
from liger_perf.localhub.events import Event
from liger_perf.localhub.records import Issue, Run
from liger_perf.localhub.runner import Ended, Job, Runner

KERNEL = "rms_norm"
KERNEL_FILE = f"src/liger_kernel/ops/{KERNEL}.py"
QUESTIONS = 3
LIMIT_S = 3600.0
ACTION = (sys.executable, "-m", "liger_perf.action")

# What a real GPU needs of the environment beside the runner's own variables.
_PASSED = ("CUDA_VISIBLE_DEVICES", "CUDA_HOME", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


class Broken(Exception):
    """The conversation did not end as it should; says why."""


@dataclass
class Demo:
    """One conversation. `say` gets one line at a time, `command` is what a job runs."""

    source: Path
    out: Path
    device: str
    say: Callable[[str], None]
    command: Sequence[str] = ACTION
    started: float = field(default_factory=time.monotonic)

    def play(self) -> int:
        """Play it and write the page; 0 where the pull request changes exactly the kernel's file.

        Raises:
            OSError: the page cannot be written.
        """
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="liger-perf-demo-")))
            hub = Hub.create(folder / "hub", "octo/mini-liger", source=self.source, clock=_clock)
            hub.person("alice", "maintain")
            hub.person("mallory", None)
            base_url = stack.enter_context(serve(hub))
            self._tell("demo", f"a GitHub on loopback at {base_url}, repository {hub.full_name}")
            runner = Runner(hub, self._job(), folder / "jobs", on_line=self._line, on_start=self._start)
            number = hub.human("alice").open_issue("rms_norm could be faster", OPENING).number
            pull: Issue | None = None
            try:
                pull = self._conversation(hub, runner, number)
                verdict, code = f"It led to pull request #{pull.number}, which changes {KERNEL_FILE} alone.", 0
            except Broken as error:
                pull, code = _pull(hub), 1
                verdict = f"It did not end as it should: {error}."
            self._write(hub, number, pull, runner.ended, verdict)
        self._tell("demo", verdict)
        self._tell("demo", f"look at {self.out / 'index.html'}")
        return code

    def _job(self) -> Job:
        inputs = {"device": self.device, "simulated-pull-requests": "true", "label": "optimize"}
        environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
        return Job(self.command, inputs, environment=environment, limit_s=LIMIT_S)

    def _conversation(self, hub: Hub, runner: Runner, number: int) -> Issue:
        alice, mallory = hub.human("alice"), hub.human("mallory")
        self._comment(runner, alice, number, f"/optimize {KERNEL}")
        self._react(runner, mallory, _question(hub, number))
        if len(_questions(hub, number)) != 1:
            raise Broken("a stranger's thumb led on")
        for _ in range(QUESTIONS):
            if _pull(hub) is None:
                self._react(runner, alice, _question(hub, number))
        pull = _pull(hub)
        if pull is None:
            raise Broken("no pull request was opened; the last comment says why")
        changed = changed_files(hub, pull)
        if changed != [KERNEL_FILE]:
            raise Broken(f"the pull request changes {', '.join(changed) or 'nothing'} and not {KERNEL_FILE} alone")
        return pull

    def _comment(self, runner: Runner, person: Human, number: int, text: str) -> None:
        self._tell(person.user.login, f"comments: {text}")
        person.comment(number, text)
        runner.run_until_idle()

    def _react(self, runner: Runner, person: Human, comment: int) -> None:
        self._tell(person.user.login, "reacts with 👍 to the question; the schedule looks for it")
        person.react(comment)
        runner.sweep()
        runner.run_until_idle()

    def _start(self, run: Run, event: Event) -> None:
        self._tell("runner", f"job {run.number} for {event.name}")

    def _line(self, run: Run, line: str) -> None:
        text = line.strip()
        # Stages and decisions; the rest is in the job's log on the page.
        if text.startswith(("== ", "error", "Traceback", "APPLIED", "question", "pull request #")) or _decided(text):
            self._tell("job", text.removeprefix("== "))

    def _write(self, hub: Hub, number: int, pull: Issue | None, ended: Sequence[Ended], verdict: str) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        diff = diff_of(hub, pull) if pull is not None else ""
        text = page.build(hub, number, pull, diff, ended, verdict=verdict)
        (self.out / "index.html").write_text(text, encoding="utf-8")

    def _tell(self, who: str, text: str) -> None:
        self.say(f"{time.monotonic() - self.started:5.0f} s  {who:8} {text}")


OPENING = (
    "The backward pass looks slow beside what the memory of our GPU can do. "
    "Can we do better without touching anything else?"
)


def _clock() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)


def _decided(text: str) -> bool:
    words = text.split()
    return len(words) > 1 and words[0].startswith("v") and words[1] in ("ACCEPTED:", "REJECTED:", "MIXED:")


def _questions(hub: Hub, number: int) -> list[int]:
    return [one.id for one in hub.state.comments_of(number) if one.author.kind == "Bot" and "Shall I" in one.body]


def _question(hub: Hub, number: int) -> int:
    found = _questions(hub, number)
    if not found:
        raise Broken("the bot asked nothing; its last comment says why")
    return found[-1]


def _pull(hub: Hub) -> Issue | None:
    return next((one for one in hub.state.issues.values() if one.pull is not None and one.state == "open"), None)


def changed_files(hub: Hub, pull: Issue) -> list[str]:
    """The files that a pull request changes, by git."""
    assert pull.pull is not None
    return hub.git.run("diff", "--name-only", f"{pull.pull.base_ref}...{pull.pull.head_sha}").decode().split()


def diff_of(hub: Hub, pull: Issue) -> str:
    """What it changes, in git's form."""
    assert pull.pull is not None
    return hub.git.run("diff", f"{pull.pull.base_ref}...{pull.pull.head_sha}").decode()
