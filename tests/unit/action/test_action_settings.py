"""What the runner hands over: read, or refused with what was read and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest

from liger_perf.action.main import main
from liger_perf.action.settings import read_settings
from liger_perf.model.errors import UsageError
from liger_perf.model.options import DeviceChoice

JOB = {
    "GITHUB_EVENT_NAME": "issue_comment",
    "GITHUB_EVENT_PATH": "/event.json",
    "GITHUB_REPOSITORY": "octo/liger",
    "GITHUB_API_URL": "https://api.github.com",
    "GITHUB_SERVER_URL": "https://github.com",
    "GITHUB_RUN_ID": "7",
    "GITHUB_WORKFLOW_REF": "octo/liger/.github/workflows/liger-perf.yml@refs/heads/main",
    "RUNNER_TEMP": "/tmp/runner",
    "INPUT_TOKEN": "secret",
}


def test_defaults_are_those_of_the_action() -> None:
    settings = read_settings(JOB)
    assert settings.workflow == "liger-perf.yml"
    assert settings.approve_roles == {"maintain", "admin"}
    assert settings.start_roles == {"write", "maintain", "admin"}
    assert (settings.device, settings.stages, settings.checkpoint_days) == (DeviceChoice.CUDA, True, 14)
    assert settings.run_url == "https://github.com/octo/liger/actions/runs/7"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("INPUT_DEVICE", "tpu", "auto, cuda, simulated"),
        ("INPUT_STAGES", "yes", "true, false"),
        ("INPUT_APPROVE-ROLES", ",", "role names"),
        ("INPUT_CHECKPOINT-DAYS", "0", "1 to 90"),
        ("INPUT_CHECKPOINT-DAYS", "²", "1 to 90"),
        ("INPUT_SIMULATED-PULL-REQUESTS", "true", "no evidence"),
        ("INPUT_TOKEN", "", "with: token:"),
        ("GITHUB_REPOSITORY", "liger", "owner/name"),
        ("RUNNER_TEMP", "", "GitHub Actions job"),
    ],
)
def test_what_cannot_be_read_is_refused_and_says_what_is_allowed(name: str, value: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_settings({**JOB, name: value})
    assert said in caught.value.todo


def test_a_simulated_gain_becomes_a_pull_request_on_loopback_only() -> None:
    inputs = {"INPUT_SIMULATED-PULL-REQUESTS": "true"}
    assert read_settings({**JOB, **inputs, "GITHUB_API_URL": "http://127.0.0.1:80"}).simulated_pull_requests
    for url in ("https://api.github.com", "http://127.0.0.1.example.org", "http://localhost.example.org/127.0.0.1"):
        with pytest.raises(UsageError):
            read_settings({**JOB, **inputs, "GITHUB_API_URL": url})


def test_outside_of_a_job_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name in JOB:
        monkeypatch.delenv(name, raising=False)
    assert main([]) == 2
    assert "GITHUB_" in capsys.readouterr().err
    assert main(["--help"]) == 0
    assert "liger-perf-action" in capsys.readouterr().out


def test_an_event_that_is_no_json_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    event = tmp_path / "event.json"
    event.write_text("{")
    for name, value in {**JOB, "GITHUB_EVENT_PATH": str(event)}.items():
        monkeypatch.setenv(name, value)
    assert main([]) == 2
    assert str(event) in capsys.readouterr().err
