"""What packages the action agrees with the program, and with what its pages say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from gidgethub import sansio

from liger_perf.action.settings import INPUTS
from liger_perf.bot.events import Dispatched, read_event
from liger_perf.bot.grammar import find_option
from liger_perf.bot.parser import parse_inputs

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / "examples/workflows/liger-perf.yml").read_text())
PAGE = (ROOT / "docs/action.md").read_text()
TRIGGERS = WORKFLOW[True]  # YAML reads `on` as true
NOT_OPTIONS = {"kernel", "issue", "session"}


def table(heading: str) -> list[str]:
    """The first cells of the table below a heading of docs/action.md."""
    section = PAGE.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)


def test_inputs_are_those_that_the_program_reads_with_the_same_defaults() -> None:
    defaults = {name: item.get("default", "") for name, item in ACTION["inputs"].items()}
    assert defaults.pop("token") == "${{ github.token }}"
    assert defaults == {name: value for name, value in INPUTS.items() if name != "token"}


def test_inputs_and_outputs_are_explained() -> None:
    assert table("Inputs") == list(ACTION["inputs"])
    assert table("Outputs") == list(ACTION["outputs"])


def test_permissions_of_the_workflow_are_explained() -> None:
    (job,) = WORKFLOW["jobs"].values()
    given = [f"{name}: {level}" for name, level in job["permissions"].items()]
    assert table("Permissions") == given
    assert WORKFLOW["permissions"] == {}
    readme = (ROOT / "README.md").read_text()
    assert all(f"| `{item}` |" in readme for item in given)


def test_the_workflow_can_be_started_by_hand_with_what_the_bot_understands() -> None:
    inputs = TRIGGERS["workflow_dispatch"]["inputs"]
    assert all(find_option(name) is not None for name in inputs if name not in NOT_OPTIONS)
    defaults = {name: str(item.get("default", "")) for name, item in inputs.items()}
    payload = {"inputs": {**defaults, "kernel": "rms_norm"}, "sender": {"login": "alice", "id": 7}}
    event = read_event(_delivery("workflow_dispatch", payload))
    assert isinstance(event, Dispatched)
    command = parse_inputs(event.inputs, ("rms_norm",))
    assert not hasattr(command, "problem")


@pytest.mark.parametrize("name", ["goal", "mode", "gpu"])
def test_every_choice_of_the_workflow_is_one_of_the_bot(name: str) -> None:
    for choice in TRIGGERS["workflow_dispatch"]["inputs"][name]["options"]:
        assert not hasattr(parse_inputs({"kernel": "rms_norm", name: choice}, ("rms_norm",)), "problem")


def test_only_commands_reach_the_runner_and_its_runs_carry_the_session() -> None:
    (job,) = WORKFLOW["jobs"].values()
    assert "startsWith(github.event.comment.body, '/optimize')" in job["if"]
    assert TRIGGERS["issue_comment"]["types"] == ["created"]
    assert WORKFLOW["run-name"].startswith("liger-perf ${{ inputs.session ||")
    assert "concurrency" not in WORKFLOW


def _delivery(event: str, payload: dict[str, Any]) -> sansio.Event:
    return sansio.Event(payload, event=event, delivery_id="1")
