"""Installs the target repository beside this program, in development mode, where it is not installed yet.

Its build runs its own code, so it runs like a worker: with an environment built from nothing.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from liger_perf.adapters.process import last_lines, run_command, worker_environment
from liger_perf.model.errors import PreflightError, WorkerError

LIMIT_S = 1200.0

# How the network is reached; no addresses of indexes, which may hold passwords.
_NETWORK = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")


def ensure_installed(checkout: Path, scratch: Path, note: Callable[[str], None]) -> None:
    """Install the project at `checkout`, without its dependencies, unless a project of its name is installed.

    Benchmarks ask for the version of the installed project, and preflight insists on it.

    Raises:
        PreflightError: it cannot be installed.
    """
    name = project_name(checkout)
    if not name or _is_installed(name):
        return
    note(f"installing {name} in development mode")
    environment = worker_environment(checkout, scratch)
    environment.update({key: os.environ[key] for key in _NETWORK if key in os.environ})
    command = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-input", "--editable", str(checkout)]
    output = ""
    # What is installed builds it at once; only where that does not do, pip fetches what the project asks for.
    for arguments in (["--no-build-isolation"], []):
        try:
            result = run_command([*command, *arguments], checkout, environment, LIMIT_S)
        except WorkerError as error:
            raise _failed(name, error.details) from error
        if result.returncode == 0:
            return
        output = result.output
    raise _failed(name, last_lines(output))


def project_name(checkout: Path) -> str:
    """The name in pyproject.toml; empty where there is none to read."""
    try:
        data = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    project = data.get("project", {})
    name = project.get("name", "") if isinstance(project, dict) else ""
    return name if isinstance(name, str) else ""


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _failed(name: str, details: str) -> PreflightError:
    return PreflightError(
        "the repository cannot be installed",
        where=f"pip install --no-deps --editable . ({name})",
        todo="what its build needs has to be in the image of the action",
        details=details,
    )
