"""Whole runs on the simulated device, on a copy of the example repository under git."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from liger_perf.adapters.sessions import Sessions
from liger_perf.adapters.tree import digest
from liger_perf.session.model import Session
from support.command import liger_perf_command
from support.example import copy_example

WARNING = "SIMULATED device: times are predictions of a model, no evidence about a real GPU\n"
TIMEOUT_S = 1800.0  # two minutes on two free cores, but a busy machine is no failure


@dataclass(frozen=True)
class Ended:
    """A run that has ended."""

    kernel: str
    repository: Path
    state: Path
    before: str
    result: subprocess.CompletedProcess[str]

    @property
    def name(self) -> str:
        (name,) = Sessions(self.state).names()
        return name

    @property
    def session(self) -> Session:
        return Sessions(self.state).read(self.name)

    @property
    def workspace(self) -> Path:
        return Sessions(self.state).workspace(self.name)

    @property
    def variants(self) -> list[str]:
        return [entry.variant for entry in self.session.variants]

    @property
    def files(self) -> set[str]:
        return {path.relative_to(self.workspace).as_posix() for path in self.workspace.rglob("*") if path.is_file()}

    def text(self, path: str) -> str:
        return (self.workspace / path).read_text()


def git(repository: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(repository), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def run(folder: Path, kernel: str) -> Ended:
    repository, state = copy_example(folder / "checkout"), folder / "state"
    git(repository, "init", "-q")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "as shipped")
    before = digest(repository)
    options = ("--repo", repository, "--device", "simulated", "--autonomous", "--state", state)
    result = liger_perf_command("run", kernel, *options, home=folder, timeout_s=TIMEOUT_S - 60)
    return Ended(kernel, repository, state, before, result)
