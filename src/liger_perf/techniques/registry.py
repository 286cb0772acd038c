"""All techniques, the likeliest first."""

from __future__ import annotations

from liger_perf.techniques.base import Technique
from liger_perf.techniques.exp2 import Exp2
from liger_perf.techniques.launch_parameters import LaunchParameters
from liger_perf.techniques.pipelining import Pipelining
from liger_perf.techniques.programs_per_sm import ProgramsPerSm

TECHNIQUES: tuple[Technique, ...] = (LaunchParameters(), Pipelining(), ProgramsPerSm(), Exp2())


def by_key(key: str) -> Technique:
    """The technique of that key.

    Raises:
        KeyError: no technique has it.
    """
    for technique in TECHNIQUES:
        if technique.key == key:
            return technique
    raise KeyError(key)
