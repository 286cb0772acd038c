"""Settings from the environment, read once at the start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from liger_perf.model.errors import UsageError

STATE_VARIABLE = "LIGER_PERF_STATE"


def state_directory(option: Path | None, environment: Mapping[str, str]) -> Path:
    """Where sessions live: the option, `$LIGER_PERF_STATE`, or the user's own state directory."""
    if option is not None:
        return option.expanduser().absolute()
    if named := environment.get(STATE_VARIABLE):
        return Path(named).expanduser().absolute()
    home = environment.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(home).expanduser().absolute() / "liger-perf"


def require_outside(state: Path, repository: Path) -> None:
    """Refuse a state directory inside the checkout: workspaces and trees must never lie there.

    Raises:
        UsageError: it lies inside.
    """
    if state.resolve().is_relative_to(repository.resolve()):
        raise UsageError(
            "the state directory lies inside the checkout",
            where=str(state),
            todo=f"name one outside with --state or {STATE_VARIABLE}",
        )
