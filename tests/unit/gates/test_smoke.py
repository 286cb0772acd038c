"""What the smoke test's comparison must not let pass."""

from __future__ import annotations

import numpy as np
import pytest

from liger_perf.gates.smoke import TOLERANCE, Arrays, compare

ORIGINAL = np.random.default_rng(0).standard_normal((500, 4096))


def passes(candidate: Arrays, original: Arrays | None = None, dtype: str = "float32") -> bool:
    return compare(original or {"output0:float32": ORIGINAL}, candidate, dtype=dtype, label="").passed


def changed(place: object, value: object) -> Arrays:
    array = ORIGINAL.copy()
    array[place] = value  # type: ignore[index]
    return {"output0:float32": array}


def test_another_order_of_sums_passes() -> None:
    assert passes({"output0:float32": ORIGINAL * (1 + 1e-7)})


@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_one_wrong_entry_among_millions_fails(dtype: str) -> None:
    assert not passes(changed((7, 9), ORIGINAL[7, 9] + 1.0), dtype=dtype)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_number_that_is_none_fails(value: float) -> None:
    assert not passes(changed((7, 9), value))


def test_another_dtype_or_shape_fails() -> None:
    assert not passes({"output0:bfloat16": ORIGINAL})
    assert not passes({"output0:float32": ORIGINAL[:-1]})


def test_an_original_that_proves_nothing_fails() -> None:
    for nothing in (np.zeros((2, 2)), np.full((2, 2), np.nan)):
        array = {"output0:float32": nothing}
        assert not passes(array, array)
    assert not passes({}, {})
