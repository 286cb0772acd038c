"""Commits fetched with git. The token goes along in the environment of git alone, never into a file or an address."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from pathlib import Path

from liger_perf.model.errors import LigerPerfError

_LIMIT_S = 1800


def fetch(url: str, token: str, commit: str, destination: Path) -> None:
    """Check a commit out into `destination`, which is replaced. Without history, hooks and submodules.

    Raises:
        LigerPerfError: git is missing, or the commit cannot be fetched.
    """
    shutil.rmtree(destination, ignore_errors=True)
    destination.mkdir(parents=True)
    environment = _environment(url, token, destination)
    _git(destination, environment, "init", "--quiet")
    _git(destination, environment, "fetch", "--quiet", "--depth=1", "--no-tags", url, commit)
    _git(destination, environment, "-c", "core.hooksPath=/dev/null", "checkout", "--quiet", "--detach", "FETCH_HEAD")


def _environment(url: str, token: str, home: Path) -> dict[str, str]:
    """Nothing of the caller's configuration; the token as a header for this address only."""
    secret = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{url}.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {secret}",
    }


def _git(folder: Path, environment: dict[str, str], *arguments: str) -> None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=_LIMIT_S)
    except FileNotFoundError:
        raise LigerPerfError("git is missing", todo="install git on the runner") from None
    except subprocess.TimeoutExpired as error:
        raise LigerPerfError(f"git did not end within {_LIMIT_S} s", where=" ".join(arguments)) from error
    if done.returncode != 0:
        raise LigerPerfError(
            "git could not fetch the commit",
            where=arguments[-1],
            todo="the job needs the permission contents: read, and the commit must still exist",
            details="\n".join(done.stderr.strip().splitlines()[-5:]),
        )
