from __future__ import annotations

import shlex

from liger_perf.kernels.layout import kernel_paths
from liger_perf.model.options import DeviceKind, Request
from liger_perf.stages.runners import reproduction

REQUEST = Request(kernel="rms_norm", scope="T=1024,2048", target="backward under 85 us at T=8192")


def test_reproduction_repeats_every_option_that_decides() -> None:
    command = shlex.split(reproduction(REQUEST, kernel_paths("rms_norm"), "")[0])
    assert command[:5] == ["liger-perf", "run", "rms_norm", "--repo", "."]
    given = dict(zip(command[5:-1:2], command[6:-1:2], strict=True))
    assert given == {
        "--goal": "balanced",
        "--scope": "T=1024,2048",
        "--gpu": "auto",
        "--variants": "8",
        "--device": str(REQUEST.device),
        "--target": "backward under 85 us at T=8192",
    }
    assert command[-1] == "--autonomous"


def test_reproduction_of_a_persons_choice_needs_the_person() -> None:
    request = Request(kernel="rms_norm", device=DeviceKind.SIMULATED)
    first = reproduction(request, kernel_paths("rms_norm"), "v1")[0]
    assert "--autonomous" not in first
    assert first.endswith("# and answer v1 at the second checkpoint")
