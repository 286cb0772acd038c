"""What captured launches, and the host code around them, tell of the memory behind a kernel's parameters."""

from __future__ import annotations

from collections.abc import Sequence

from liger_perf.kernels.host import aliases
from liger_perf.kernels.source import Source, dotted
from liger_perf.model.launches import Launch, TensorArgument
from liger_perf.techniques.evidence import argument
from liger_perf.techniques.settings_function import arguments, launches


class CapturedLayout:
    """Answers from the launches; pointers alias where any launch, or an assignment in the host code, lets them."""

    def __init__(self, source: Source, kernel: str, params: tuple[str, ...], captured: Sequence[Launch]) -> None:
        self._launches = captured
        self._aliases: set[frozenset[str]] = set()
        for function, calls in launches(source, kernel):
            pairs = {frozenset(pair) for pair in aliases(source, function)}
            for call in calls:
                given = {name: dotted(node) for name, node in arguments(params, call).items()}
                self._aliases |= {
                    frozenset((first, second))
                    for first, one in given.items()
                    for second, two in given.items()
                    if first != second and one and two and (one == two or frozenset((one, two)) in pairs)
                }

    def may_alias(self, first: str, second: str) -> bool:
        """True without launches: then nothing is known."""
        shared = any(one.storage == two.storage for one, two in self._tensors(first, second))
        return not self._launches or shared or frozenset((first, second)) in self._aliases

    def same_base(self, first: str, second: str) -> bool:
        return all(one.offset == two.offset for one, two in self._tensors(first, second) if one.storage == two.storage)

    def same_value(self, first: str, second: str) -> bool:
        """Two strides of tensors that are aliases only in some launches must agree in all of them."""
        return first == second or all(
            launch.value(first) is not None and launch.value(first) == launch.value(second) for launch in self._launches
        )

    def at_least(self, stride: str, width: tuple[str, ...]) -> bool:
        values = [(launch.value(stride), [launch.value(name) for name in width]) for launch in self._launches]
        return bool(values) and all(
            isinstance(step, int) and step > 0 and all(isinstance(extent, int) and step >= extent for extent in extents)
            for step, extents in values
        )

    def _tensors(self, first: str, second: str) -> list[tuple[TensorArgument, TensorArgument]]:
        found = []
        for launch in self._launches:
            one, two = argument(launch, first), argument(launch, second)
            if one is not None and two is not None and one.tensor is not None and two.tensor is not None:
                found.append((one.tensor, two.tensor))
        return found
