"""The quick correctness test: outputs and gradients of a candidate against those of the original, same inputs.

The candidate may sum in another order, so equality is not asked for; but an error beyond what another order of float32
sums gives, a missing array, another shape, or a NaN that the original does not have discards the variant.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from liger_perf.model.variants import SmokeResult

Arrays = Mapping[str, npt.NDArray[np.float64]]

# Relative error in the 2-norm. One ulp of each dtype is 1.2e-7, 9.8e-4, 7.8e-3; sums over thousands of float32 terms in
# another order differ by some tens of ulps, while a rounding of the result to 16 bits flips by one ulp at most.
TOLERANCE = {"float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3}
# One wrong entry among millions is lost in a norm; one entry may be rounded the other way a few times in a row.
WORST_ENTRY = 4


def relative_error(original: npt.NDArray[np.float64], candidate: npt.NDArray[np.float64]) -> float:
    """‖candidate − original‖ / ‖original‖ over finite entries, or the worst single entry against the largest, if that
    is WORST_ENTRY times as much; infinity where shapes, NaNs or infinities differ."""
    if original.shape != candidate.shape:
        return float("inf")
    finite = np.isfinite(original)
    if not np.array_equal(finite, np.isfinite(candidate)):
        return float("inf")
    if not np.array_equal(original[~finite], candidate[~finite], equal_nan=True):
        return float("inf")
    difference, expected = candidate[finite] - original[finite], original[finite]
    if not expected.any():
        return float("inf") if difference.any() else 0.0
    worst = float(np.abs(difference).max() / np.abs(expected).max())
    return max(float(np.linalg.norm(difference) / np.linalg.norm(expected)), worst / WORST_ENTRY)


def compare(original: Arrays, candidate: Arrays, *, dtype: str, label: str) -> SmokeResult:
    """Compare what one replay of both versions produced; `label` says with which settings and dtype."""
    if not original:
        return _failed(label, "the original produced nothing to compare with")
    if set(original) != set(candidate):
        missing = sorted(set(original) ^ set(candidate))
        return _failed(label, f"one version produced what the other did not: {', '.join(missing)}")
    if all(not array.any() for array in original.values()):
        return _failed(label, "the original produced only zeros, which a candidate that does nothing would pass")
    empty = [name for name, array in original.items() if array.size and not np.isfinite(array).any()]
    if empty:
        return _failed(label, f"the original produced no finite number in {empty[0]}, so nothing can be compared")
    errors = {name: relative_error(array, candidate[name]) for name, array in original.items()}
    worst = max(errors, key=lambda name: errors[name])
    passed = errors[worst] <= TOLERANCE[dtype]
    reason = (
        ""
        if passed
        else f"{worst} differs by {errors[worst]:.2e} (relative), allowed {TOLERANCE[dtype]:.0e} in {dtype}"
    )
    return SmokeResult(
        passed=passed,
        compared=tuple(f"{label}: {name}" for name in errors),
        worst=f"{label}: {worst}",
        worst_error=errors[worst],
        reason=reason,
    )


def merge(results: list[SmokeResult]) -> SmokeResult:
    """All replays together: the first failure, or the worst error of those that passed."""
    failed = next((result for result in results if not result.passed), None)
    compared = tuple(name for result in results for name in result.compared)
    if failed is not None:
        return SmokeResult(
            passed=False, compared=compared, worst=failed.worst, worst_error=failed.worst_error, reason=failed.reason
        )
    worst = max(results, key=lambda result: result.worst_error)
    return SmokeResult(passed=True, compared=compared, worst=worst.worst, worst_error=worst.worst_error)


def crashed(reason: str) -> SmokeResult:
    """The candidate did not run."""
    return _failed("", reason)


def unexercised(label: str, function: str) -> SmokeResult:
    """Settings were forced on a function that nobody asked."""
    return _failed(label, f"{function} is never asked at the point that is replayed, so its settings cannot be tested")


def _failed(label: str, reason: str) -> SmokeResult:
    return SmokeResult(passed=False, compared=(), worst=label, worst_error=float("inf"), reason=reason)
