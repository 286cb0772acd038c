"""The folders and files that a job finds, and its environment, built from nothing."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from liger_perf.localhub.events import Event
from liger_perf.localhub.hub import Hub
from liger_perf.localhub.records import Run
from liger_perf.localhub.runner.job import Job

_FOLDERS = ("home", "temp", "tmp", "workspace", "tools")
_FILES = {"GITHUB_OUTPUT": "output", "GITHUB_ENV": "env", "GITHUB_STATE": "state", "GITHUB_PATH": "path"}
_MACHINES = {"x86_64": "X64", "aarch64": "ARM64", "arm64": "ARM64"}
_SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}


@dataclass(frozen=True)
class Workplace:
    """The folder of one attempt of one run."""

    folder: Path

    @classmethod
    def make(cls, folder: Path, event: Event) -> Workplace:
        """Empty folders, empty files, and the event's payload."""
        for name in _FOLDERS:
            (folder / name).mkdir(parents=True)
        place = cls(folder)
        for file in (*_FILES.values(), "summary.md"):
            (folder / file).touch()
        place.event.write_text(json.dumps(event.payload), encoding="utf-8")
        return place

    @property
    def event(self) -> Path:
        return self.folder / "event.json"

    @property
    def log(self) -> Path:
        """Every line that the job printed."""
        return self.folder / "log.txt"

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def summary(self) -> str:
        """The step summary, in Markdown."""
        return (self.folder / "summary.md").read_text(encoding="utf-8", errors="replace")

    def outputs(self) -> dict[str, str]:
        """The step's outputs."""
        return dict(read_outputs((self.folder / "output").read_text(encoding="utf-8", errors="replace")))

    def clear(self) -> None:
        """Remove what a container would take with it; event, log, outputs and summary stay."""
        for name in _FOLDERS:
            shutil.rmtree(self.folder / name, ignore_errors=True)


def read_outputs(text: str) -> Iterator[tuple[str, str]]:
    """The pairs of a GITHUB_OUTPUT file: `name=value`, or `name<<END` with lines up to END.

    Raises:
        ValueError: a line is neither, or END never comes; GitHub fails the step for it.
    """
    lines = iter(text.split("\n"))
    for line in lines:
        if not line:
            continue
        name, equals, value = line.partition("=")
        name_long, heredoc, end = line.partition("<<")
        if heredoc and (not equals or len(name_long) < len(name)):
            block: list[str] = []
            for inside in lines:
                if inside == end:
                    break
                block.append(inside)
            else:
                raise ValueError(f"output {name_long!r}: no line {end!r} ends it")
            yield name_long, "\n".join(block)
        elif equals:
            yield name, value
        else:
            raise ValueError(f"neither name=value nor name<<END: {line!r}")


def environment(hub: Hub, job: Job, run: Run, event: Event, place: Workplace, token: str) -> dict[str, str]:
    """What the job sees: nothing of the caller's but PATH."""
    inputs = {**job.inputs, "token": token}
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": str(place.folder / "home"),
        "TMPDIR": str(place.folder / "tmp"),  # /tmp of a container is the container's own
        **job.environment,
        **{f"INPUT_{name.replace(' ', '_').upper()}": value for name, value in inputs.items()},
        **_github(hub, job, run, event, place),
        **_runner(place),
    }


def _github(hub: Hub, job: Job, run: Run, event: Event, place: Workplace) -> Mapping[str, str]:
    owner = hub.owner
    branch = event.ref.startswith("refs/heads/")
    actor = hub.live(run.actor)
    return {
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION": "__self",
        "GITHUB_ACTOR": actor.login,
        "GITHUB_ACTOR_ID": str(actor.id),
        "GITHUB_TRIGGERING_ACTOR": actor.login,
        "GITHUB_API_URL": hub.base_url,
        "GITHUB_GRAPHQL_URL": f"{hub.base_url}/graphql",
        "GITHUB_SERVER_URL": hub.base_url,
        "GITHUB_EVENT_NAME": event.name,
        "GITHUB_EVENT_PATH": str(place.event),
        "GITHUB_JOB": "optimize",
        "GITHUB_REF": event.ref,
        "GITHUB_REF_NAME": event.ref.removeprefix("refs/heads/").removeprefix("refs/"),
        "GITHUB_REF_TYPE": "branch" if branch else "",
        "GITHUB_SHA": event.sha,
        "GITHUB_HEAD_REF": "",
        "GITHUB_BASE_REF": "",
        "GITHUB_REPOSITORY": hub.full_name,
        "GITHUB_REPOSITORY_OWNER": owner.login,
        "GITHUB_REPOSITORY_OWNER_ID": str(owner.id),
        "GITHUB_RUN_ID": str(run.id),
        "GITHUB_RUN_NUMBER": str(run.number),
        "GITHUB_RUN_ATTEMPT": str(run.attempt),
        "GITHUB_STEP_SUMMARY": str(place.folder / "summary.md"),
        "GITHUB_WORKFLOW": hub.state.workflows[run.workflow].name,
        "GITHUB_WORKFLOW_REF": f"{hub.full_name}/{job.path}@{event.ref}",
        "GITHUB_WORKFLOW_SHA": event.sha,
        "GITHUB_WORKSPACE": str(place.workspace),
        **{name: str(place.folder / file) for name, file in _FILES.items()},
    }


def _runner(place: Workplace) -> Mapping[str, str]:
    return {
        "RUNNER_ARCH": _MACHINES.get(platform.machine(), platform.machine()),
        "RUNNER_ENVIRONMENT": "self-hosted",
        "RUNNER_NAME": "localhub",
        "RUNNER_OS": _SYSTEMS.get(sys.platform, sys.platform),
        "RUNNER_TEMP": str(place.folder / "temp"),
        "RUNNER_TOOL_CACHE": str(place.folder / "tools"),
    }
