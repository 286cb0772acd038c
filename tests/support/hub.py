"""A hub with a repository in miniature, and clients for it."""

from __future__ import annotations

from pathlib import Path

import github

from liger_perf.localhub import Hub

KERNEL = "src/liger_kernel/ops/rms_norm.py"
WORKFLOW = ".github/workflows/optimize.yml"
FILES = {
    KERNEL: "BLOCK = 1024\nWARPS = 4\n",
    WORKFLOW: "on: issue_comment\n",
    "README.md": "# Liger in miniature\n",
}


def new_hub(folder: Path, **options: bool) -> Hub:
    """A repository with a maintainer (alice), a writer (bob), a triager (carol) and a stranger (mallory)."""
    hub = Hub.create(folder, files=FILES, **options)
    for login, role in (("alice", "maintain"), ("bob", "write"), ("carol", "triage"), ("mallory", None)):
        hub.person(login, role)
    hub.workflow(WORKFLOW, "Optimize")
    return hub


def client(hub: Hub, token: str, *, lazy: bool = False) -> github.Github:
    """PyGithub as a program uses it, without its waits and retries. The hub must be served."""
    auth = github.Auth.Token(token)
    return github.Github(
        base_url=hub.base_url,
        auth=auth,
        retry=None,
        seconds_between_requests=0,
        seconds_between_writes=0,
        timeout=20,
        lazy=lazy,
    )
