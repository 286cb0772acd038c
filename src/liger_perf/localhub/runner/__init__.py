"""The Actions runner of the hub: takes events, makes workflow runs, starts the job of each as a process of its own.

runner = Runner(hub, Job([sys.executable, "-m", "some.action"], inputs={"device": "simulated"}), folder)
with serve(hub):
    alice.comment(1, "/optimize rms_norm")
    ended = runner.run_until_idle()
"""

from liger_perf.localhub.runner.job import Grace, Job
from liger_perf.localhub.runner.runner import Ended, Runner, TooManyRuns

__all__ = ["Ended", "Grace", "Job", "Runner", "TooManyRuns"]
