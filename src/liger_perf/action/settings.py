"""What the runner hands to the action: the job's variables and the action's inputs, read once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from liger_perf.model.errors import UsageError
from liger_perf.model.options import DeviceChoice

INPUTS: Mapping[str, str] = {
    "token": "",
    "bot": "github-actions[bot]",
    "device": "cuda",
    "stages": "true",
    "approve-roles": "maintain,admin",
    "start-roles": "write,maintain,admin",
    "checkpoint-days": "14",
    "label": "",
    "simulated-pull-requests": "false",
}
"""The action's inputs and their defaults, as in action.yml."""

_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)
_ROLE = re.compile(r"[\w. -]{1,100}")
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_TRUTH = {"true": True, "false": False}
_MOST_DAYS = 90


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """One job.

    Attributes:
        repository: "owner/name".
        run: number of the workflow run; `attempt` counts its re-runs.
        workflow: file name of the workflow, to start it again for a session.
        output, summary: files that the runner reads when the job ends; None where it has none.
        temporary: a folder of the runner's that outlives no machine; sessions are restored below it.
        stages: whether this job may run stages.
    """

    event: str
    event_path: Path
    repository: str
    api_url: str
    server_url: str
    run: str
    attempt: str
    workflow: str
    output: Path | None
    summary: Path | None
    temporary: Path
    token: str
    bot: str
    device: DeviceChoice
    stages: bool
    approve_roles: frozenset[str]
    start_roles: frozenset[str]
    checkpoint_days: int
    label: str
    simulated_pull_requests: bool

    @property
    def loopback(self) -> bool:
        """Whether the API is on this machine, so a test server."""
        return _is_loopback(self.api_url)

    @property
    def run_url(self) -> str:
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run}"


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read the runner's variables and the inputs.

    Raises:
        UsageError: one is missing or cannot be read; says which, what was read and what is allowed.
    """
    api = _variable(environment, "GITHUB_API_URL")
    pulls = _truth(environment, "simulated-pull-requests")
    if pulls and not _is_loopback(api):
        raise _bad("simulated-pull-requests", "true", "false: a simulated gain is no evidence for a real repository")
    repository = _variable(environment, "GITHUB_REPOSITORY")
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(f"GITHUB_REPOSITORY is {repository!r}", todo="allowed: owner/name")
    return Settings(
        event=_variable(environment, "GITHUB_EVENT_NAME"),
        event_path=Path(_variable(environment, "GITHUB_EVENT_PATH")),
        repository=repository,
        api_url=api.rstrip("/"),
        server_url=_variable(environment, "GITHUB_SERVER_URL").rstrip("/"),
        run=_variable(environment, "GITHUB_RUN_ID"),
        attempt=environment.get("GITHUB_RUN_ATTEMPT") or "1",
        workflow=_workflow(environment),
        output=_optional_path(environment, "GITHUB_OUTPUT"),
        summary=_optional_path(environment, "GITHUB_STEP_SUMMARY"),
        temporary=Path(_variable(environment, "RUNNER_TEMP")),
        token=_required(environment, "token"),
        bot=_input(environment, "bot"),
        device=_device(environment),
        stages=_truth(environment, "stages"),
        approve_roles=_roles(environment, "approve-roles"),
        start_roles=_roles(environment, "start-roles"),
        checkpoint_days=_days(environment),
        label=_input(environment, "label"),
        simulated_pull_requests=pulls,
    )


def _is_loopback(url: str) -> bool:
    return urlsplit(url).hostname in _LOOPBACK


def _variable(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "").strip()
    if not value:
        raise UsageError(f"{name} is not set", todo="this command runs inside a GitHub Actions job")
    return value


def _optional_path(environment: Mapping[str, str], name: str) -> Path | None:
    value = environment.get(name, "")
    return Path(value) if value else None


def _workflow(environment: Mapping[str, str]) -> str:
    """`owner/name/.github/workflows/x.yml@refs/heads/main` → `x.yml`."""
    path = environment.get("GITHUB_WORKFLOW_REF", "").partition("@")[0]
    return path.rpartition("/")[2]


def _input(environment: Mapping[str, str], name: str) -> str:
    return environment.get(f"INPUT_{name.upper()}", "").strip() or INPUTS[name]


def _required(environment: Mapping[str, str], name: str) -> str:
    value = _input(environment, name)
    if not value:
        raise UsageError(f"the input {name} is empty", todo=f"give `with: {name}:` in the workflow")
    return value


def _device(environment: Mapping[str, str]) -> DeviceChoice:
    text = _input(environment, "device")
    try:
        return DeviceChoice(text)
    except ValueError:
        raise _bad("device", text, ", ".join(DeviceChoice)) from None


def _truth(environment: Mapping[str, str], name: str) -> bool:
    text = _input(environment, name)
    if text.lower() not in _TRUTH:
        raise _bad(name, text, "true, false")
    return _TRUTH[text.lower()]


def _roles(environment: Mapping[str, str], name: str) -> frozenset[str]:
    text = _input(environment, name)
    roles = frozenset(role.strip() for role in text.split(",") if role.strip())
    if not roles or not all(_ROLE.fullmatch(role) for role in roles):
        raise _bad(name, text, "role names of the repository, separated by commas, such as maintain,admin")
    return roles


def _days(environment: Mapping[str, str]) -> int:
    text = _input(environment, "checkpoint-days")
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _MOST_DAYS):
        raise _bad("checkpoint-days", text, f"a whole number from 1 to {_MOST_DAYS}")
    return int(text)


def _bad(name: str, text: str, allowed: str) -> UsageError:
    return UsageError(f"the input {name} is {text!r}", todo=f"allowed: {allowed}")
