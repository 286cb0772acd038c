"""What a technique is: it considers the facts, predicts, rewrites source in tunable form, and refuses when in doubt.

A rewrite leaves the kernel *tunable*: each jitted kernel that it touches gets one settings function in the file,

    def _rms_norm_backward_kernel_settings(n_rows, n_cols, dtype, device):
        return {}

called once in the host function (`tuned = …`), whose answer overrides the shipped launch values
(`num_warps=tuned.get("num_warps", num_warps)`). An empty dictionary is the shipped configuration. The search replaces
the function inside a worker; `settings_function.write` then fills it with the branches that were measured. Several
techniques share the one settings function of a kernel, so their knobs can be searched together.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from liger_perf.kernels.facts import KernelFile
from liger_perf.model.launches import Capture
from liger_perf.model.measurements import CubinFacts, DeviceFacts
from liger_perf.model.variants import Change


class Knob(msgspec.Struct, frozen=True, kw_only=True):
    """A value that the settings function of `kernel` may set.

    `name` is the key in the settings dictionary: "num_warps", "num_stages", a constexpr such as "BLOCK_SIZE",
    "loop_stages", "programs_per_sm". `constexpr` names the kernel parameter that receives it where it is one, so that a
    launch can be compiled ahead with other values; `option` is true for launch options. `values` includes only
    candidates, the shipped value need not be among them.
    """

    kernel: str
    function: str
    name: str
    values: tuple[int, ...]
    constexpr: str = ""
    option: bool = False


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What a technique may look at: facts from the code, the captured launches, the device, cubins of the shipped
    launches, earlier results by technique (gain of the target, 1.0 = none)."""

    file: KernelFile
    capture: Capture
    device: DeviceFacts
    cubins: tuple[CubinFacts, ...] = ()
    earlier: dict[str, float] = {}


class Opportunity(msgspec.Struct, frozen=True, kw_only=True):
    """Where a technique applies and what it promises. `predicted_gain` of the passes concerned, as a ratio."""

    kernels: tuple[str, ...]
    reason: str
    predicted_gain: float


class Refusal(msgspec.Struct, frozen=True):
    """Why a technique does not apply: shown in the profile and the report."""

    reason: str


class Rewrite(msgspec.Struct, frozen=True, kw_only=True):
    """The rewritten file in tunable form, its knobs, and its edits."""

    source: str
    knobs: tuple[Knob, ...]
    changes: tuple[Change, ...]


class Technique(Protocol):
    """One file a technique. The module's docstring says what it does, when it applies, what it predicts, its risks and
    where the idea was measured."""

    @property
    def key(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def origin(self) -> str:
        """Where the idea was measured, as a citation."""
        ...

    def consider(self, evidence: Evidence) -> Opportunity | Refusal:
        """Decide from facts alone whether the technique applies. Never raises on unusual code: doubt refuses."""
        ...

    def rewrite(self, source: str, evidence: Evidence) -> Rewrite | Refusal:
        """Rewrite `source`. Idempotent: on its own output it changes nothing. Keeps comments and docstrings."""
        ...
