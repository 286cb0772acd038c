from __future__ import annotations

import pytest

from liger_perf.kernels.facts import JitKernel
from liger_perf.measure import bottleneck, roofline
from liger_perf.model.launches import Argument, Launch, Point, PointRecord, TensorArgument
from liger_perf.model.measurements import CubinFacts, DeviceFacts
from liger_perf.model.options import DeviceKind
from liger_perf.model.profile import Bottleneck, PassDiagnosis

ROWS, COLUMNS = 8192, 4096
MATRIX = ROWS * COLUMNS * 2
H200 = DeviceFacts(
    kind=DeviceKind.CUDA,
    name="NVIDIA H200",
    capability=(9, 0),
    sm_count=132,
    memory_bytes=141 * 2**30,
    shared_memory_bytes=227 * 1024,
    copy_gbs=4270.0,
)


def tensor(
    storage: int, *, stride: tuple[int, ...] = (COLUMNS, 1), offset: int = 0, rows: int = ROWS
) -> TensorArgument:
    return TensorArgument(
        shape=(rows, COLUMNS), stride=stride, dtype="bfloat16", itemsize=2, storage=storage, offset=offset
    )


def launch(kernel: str = "copy", grid: tuple[int, ...] = (ROWS,), **tensors: TensorArgument) -> Launch:
    arguments = tuple(Argument(name=name, tensor=value) for name, value in tensors.items())
    return Launch(kernel=kernel, module="ops", own=True, grid=grid, arguments=arguments, options={"num_warps": 8})


def kernel(
    name: str = "copy", *, loads: tuple[str, ...] = ("x",), stores: tuple[str, ...] = ("y",), dots: int = 0
) -> JitKernel:
    return JitKernel(
        name="copy",
        params=("x", "y"),
        constexprs=(),
        loops=(),
        loads=("x",),
        stores=("y",),
        reductions=0,
        dots=dots,
        atomics=0,
        exps=0,
        extents=(),
        row_extents=(),
        covering_blocks=(),
        free_blocks=(),
        precision_ops=(),
        docstring="",
        autotuned=False,
        line=1,
    )


@pytest.mark.parametrize(
    ("launches", "matrices"),
    [
        ([launch(x=tensor(0), y=tensor(1))], 2),
        # In place: the same storage is loaded and stored.
        ([launch(x=tensor(0), y=tensor(0))], 2),
        # An intermediate is written, then read.
        ([launch(x=tensor(0), y=tensor(1)), launch(x=tensor(1), y=tensor(2))], 4),
        # Two launches that read the same tensor need it once.
        ([launch(x=tensor(0), y=tensor(1)), launch(x=tensor(0), y=tensor(2))], 3),
        # An argument that is neither loaded nor stored moves nothing.
        ([launch(x=tensor(0), y=tensor(1), z=tensor(2))], 2),
        # A gradient of ones is one element, expanded.
        ([launch(x=tensor(0, stride=(0, 0)), y=tensor(1))], 1 + 2 / MATRIX),
        # Two expanded rows far apart in one storage: neither their repetition nor what lies between is read.
        (
            [
                launch(x=tensor(0, stride=(0, 1)), y=tensor(1)),
                launch(x=tensor(0, stride=(0, 1), offset=9 * ROWS * COLUMNS), y=tensor(1)),
            ],
            1 + 2 / ROWS,
        ),
        # Two halves of one storage are two tensors, a view at the same offset is not.
        ([launch(x=tensor(0), y=tensor(1)), launch(x=tensor(0, offset=ROWS * COLUMNS), y=tensor(1))], 3),
        ([launch(x=tensor(0), y=tensor(1)), launch(x=tensor(0, rows=ROWS // 2), y=tensor(1))], 2),
        # Overlapping views move no more than their hull.
        ([launch(x=tensor(0), y=tensor(1)), launch(x=tensor(0, offset=ROWS * COLUMNS // 2), y=tensor(1))], 2.5),
        # Another file's kernel: each tensor once, unless it is known to move already.
        ([launch("foreign", x=tensor(0), y=tensor(1)), launch(x=tensor(0), y=tensor(2))], 3),
    ],
)
def test_bytes_that_must_move(launches: list[Launch], matrices: float) -> None:
    assert roofline.moved_bytes(launches, [kernel()]) == round(matrices * MATRIX)


def test_share_of_the_roof() -> None:
    # rms_norm forward on one H200: 128 MiB in 40.2 µs at 4.27 TB/s.
    assert roofline.share_of_roof(2 * MATRIX, 40.2, 4270.0) == pytest.approx(0.78, abs=0.005)
    assert roofline.share_of_roof(0, 40.2, 4270.0) is None
    assert roofline.share_of_roof(10, 40.2, 0.0) is None
    assert roofline.at_roof(0.92)
    assert not roofline.at_roof(0.919)
    assert not roofline.at_roof(None)


def diagnose(device_us: float, wall_us: float, *, dots: int = 0, grid: int = ROWS, spill: int = 0) -> PassDiagnosis:
    point = Point(metric="speed", mode="backward", provider="liger", x_name="T", x="8192", config={})
    record = PointRecord(point=point, launches=(launch(grid=(grid,), x=tensor(0), y=tensor(1)),))
    cubins = [
        CubinFacts(
            kernel="copy",
            arch=arch,
            digest="d",
            registers=255,
            spill_bytes=spill,
            shared_bytes=0,
            num_warps=8,
            seconds=1.0,
        )
        for arch in (80, 90)
    ]
    return bottleneck.diagnose(
        record, device_us=device_us, wall_us=wall_us, device=H200, kernels=[kernel(dots=dots)], cubins=cubins
    )


@pytest.mark.parametrize(
    ("device_us", "wall_us", "dots", "expected", "roof"),
    [
        (33.0, 60.0, 0, Bottleneck.MEMORY, True),
        (50.0, 60.0, 0, Bottleneck.MEMORY, False),
        (50.0, 60.0, 3, Bottleneck.MEMORY, False),
        (90.0, 100.0, 0, Bottleneck.LATENCY, False),
        (90.0, 100.0, 3, Bottleneck.COMPUTE, False),
        (90.0, 181.0, 3, Bottleneck.HOST, False),
        (90.0, 180.0, 0, Bottleneck.LATENCY, False),
    ],
)
def test_classes(device_us: float, wall_us: float, dots: int, expected: Bottleneck, roof: bool) -> None:
    found = diagnose(device_us, wall_us, dots=dots)
    assert found.bottleneck is expected
    assert found.at_roof is roof
    assert expected in {row.supports.split(":")[0].split(",")[0] for row in found.evidence}


def test_evidence_names_few_programs_spills_and_occupancy_of_this_gpu_only() -> None:
    rows = {row.signal: row for row in diagnose(90.0, 100.0, grid=132, spill=64).evidence}
    assert rows["programs of `copy`"].observation == "132 on 132 SMs = 1.0 an SM"
    assert rows["programs of `copy`"].supports.startswith("latency-bound")
    assert "64 bytes a thread spilled" in rows["registers of `copy`"].observation
    assert rows["theoretical occupancy of `copy`"].observation == "12 %, 1 programs an SM, limited by registers"
    assert len(rows) == 6
    assert "registers of `copy`" not in {row.signal for row in diagnose(90.0, 100.0).evidence}
