"""A GitHub on loopback, for tests and for the demonstration.

It keeps state, speaks HTTP and git, and checks every request and every answer of its own against the description that
GitHub publishes. Nothing of the product imports it: the product meets it as it meets GitHub, at a base URL.

    hub = Hub.create(folder, files={"src/kernel.py": "..."})
    alice = hub.person("alice", "maintain")
    with serve(hub) as base_url:
        alice.comment(alice.open_issue("Slow").number, "/optimize rms_norm")
        event = hub.events.pop()
"""

from liger_perf.localhub.clock import SteppingClock
from liger_perf.localhub.hub import Hub
from liger_perf.localhub.human import Human
from liger_perf.localhub.refused import Refused
from liger_perf.localhub.runner import Grace, Job, Runner
from liger_perf.localhub.server import serve
from liger_perf.localhub.world import ContractBroken

__all__ = ["ContractBroken", "Grace", "Hub", "Human", "Job", "Refused", "Runner", "SteppingClock", "serve"]
