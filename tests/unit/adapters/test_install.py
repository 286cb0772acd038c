"""The target is installed once, by a process that sees nothing of the caller's environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from liger_perf.adapters import install
from liger_perf.adapters.process import CommandResult
from liger_perf.model.errors import PreflightError

PROJECT = '[project]\nname = "{}"\nversion = "1"\n'


class Commands:
    """Records what would be run; answers with these exit codes."""

    def __init__(self, *codes: int) -> None:
        self.codes = list(codes)
        self.environments: list[dict[str, str]] = []

    def __call__(self, argv: list[str], cwd: Path, env: dict[str, str], timeout_s: float) -> CommandResult:
        self.environments.append(env)
        return CommandResult(returncode=self.codes.pop(0), output="no such backend", seconds=0.1)


def checkout(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "pyproject.toml").write_text(text)
    return folder


def test_what_is_installed_and_what_is_no_project_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "run_command", Commands())
    for number, text in enumerate((PROJECT.format("msgspec"), "[tool.ruff]\n", "no toml", 'project = "x"\n')):
        install.ensure_installed(checkout(tmp_path / str(number), text), tmp_path, print)


def test_it_is_built_with_what_is_there_and_else_with_what_it_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = Commands(1, 0)
    monkeypatch.setattr(install, "run_command", commands)
    monkeypatch.setenv("INPUT_TOKEN", "secret")
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:secret@index.example")
    install.ensure_installed(checkout(tmp_path / "a", PROJECT.format("not-installed-anywhere")), tmp_path, print)
    assert len(commands.environments) == 2
    assert all("secret" not in value for env in commands.environments for value in env.values())


def test_a_build_that_fails_says_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "run_command", Commands(1, 1))
    with pytest.raises(PreflightError) as caught:
        install.ensure_installed(checkout(tmp_path / "a", PROJECT.format("not-installed-anywhere")), tmp_path, print)
    assert "no such backend" in caught.value.details
