"""Ending a workflow run before its time."""

from __future__ import annotations

from liger_perf.localhub.records import Run
from liger_perf.localhub.refused import Refused
from liger_perf.localhub.state import found
from liger_perf.localhub.world import World


def cancel(world: World, run_id: int, *, force: bool = False) -> Run:
    """A run that waits is over at once; one that goes on is ended by the runner.

    Raises:
        Refused: there is no such run, 404, or it has ended already, 409.
    """
    run = found(world.state.runs, run_id)
    if run.status == "completed":
        raise Refused(409, "Cannot cancel a workflow run that is completed.")
    if run.status != "in_progress":
        return world.state.set_run(run_id, "completed", "cancelled")
    return world.state.set_run(run_id, run.status, cancelling="forced" if force else "asked")
