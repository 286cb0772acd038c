"""Takes shapes out of a branch on which it turned out slower: they go back to the shipped settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from liger_perf.model.branches import Branch
from liger_perf.search.writeback import bucket_of

Shape = Mapping[str, int]


def without(branch: Branch, slow: Shape, measured: Sequence[Shape]) -> Branch | None:
    """The part of the branch that keeps the most measured shapes and does not cover `slow`.

    The cut is between measured shapes, so the part covers nothing that was not measured. None where nothing is left.
    """
    inside = [shape for shape in measured if branch.covers(dict(shape), branch.itemsize)]
    parts = [part for name in branch.shape for part in _cuts(branch, name, slow, inside)]
    kept = [(_count(part, inside), index) for index, part in enumerate(parts)]
    best = max(kept, default=(0, 0), key=lambda pair: (pair[0], -pair[1]))
    return parts[best[1]] if best[0] else None


def _cuts(branch: Branch, name: str, slow: Shape, inside: Sequence[Shape]) -> Iterable[Branch]:
    """The branch below and above the slow value of one argument."""
    low, high = branch.shape[name]
    buckets = _is_bucket(low, high)
    values = sorted({shape[name] for shape in inside})
    below = [value for value in values if (bucket_of(value) < bucket_of(slow[name]) if buckets else value < slow[name])]
    above = [value for value in values if (bucket_of(value) > bucket_of(slow[name]) if buckets else value > slow[name])]
    if below:
        yield _bounded(branch, name, low, bucket_of(below[-1]) if buckets else below[-1])
    if above:
        yield _bounded(branch, name, bucket_of(above[0]) // 2 if buckets else above[0] - 1, high)


def _is_bucket(low: int | None, high: int | None) -> bool:
    """Widths are bounded by powers of two on both sides, rows by what was measured."""
    return all(bound is not None and bound > 0 and bound & (bound - 1) == 0 for bound in (low, high))


def _bounded(branch: Branch, name: str, low: int | None, high: int | None) -> Branch:
    return msgspec.structs.replace(branch, shape={**branch.shape, name: (low, high)})


def _count(branch: Branch, shapes: Sequence[Shape]) -> int:
    return sum(branch.covers(dict(shape), branch.itemsize) for shape in shapes)
