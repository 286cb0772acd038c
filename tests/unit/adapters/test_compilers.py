from __future__ import annotations

import msgspec
import pytest

from liger_perf.adapters.compilers import specialisation
from liger_perf.model.launches import Argument, Launch, Scalar, TensorArgument


def launch(
    n: Scalar = 4096, *, block: int = 4096, rows: int = 8, offset: int = 0, dtype: str = "bfloat16", warps: int = 4
) -> Launch:
    x = TensorArgument(shape=(rows, 4096), stride=(4096, 1), dtype=dtype, itemsize=2, storage=0, offset=offset)
    return Launch(
        kernel="_k",
        module="m",
        own=True,
        grid=(rows,),
        arguments=(
            Argument(name="X", tensor=x),
            Argument(name="n", value=n),
            Argument(name="BLOCK", value=block, constexpr=True),
        ),
        options={"num_warps": warps},
    )


@pytest.mark.parametrize(
    "other",
    [launch(n=320), launch(rows=64), launch(offset=4096), launch(n=0)],
    ids=["another multiple of 16", "more rows", "an aligned offset", "zero"],
)
def test_launches_of_the_same_code(other: Launch) -> None:
    assert specialisation(other) == specialisation(launch())


@pytest.mark.parametrize(
    "other",
    [
        launch(n=4097),
        launch(n=1),
        launch(n=2**31),
        launch(n=4096.0),
        launch(block=8192),
        launch(offset=1),
        launch(dtype="float16"),
        launch(warps=8),
        msgspec.structs.replace(launch(), kernel="_other"),
    ],
    ids=["odd", "one", "wide", "float", "constexpr", "unaligned", "dtype", "option", "kernel"],
)
def test_launches_of_other_code(other: Launch) -> None:
    assert specialisation(other) != specialisation(launch())
