"""Small kernel files that techniques give as their valid and invalid examples, with launches as if captured."""

from __future__ import annotations

import msgspec

from liger_perf.kernels.reader import read_kernel_file
from liger_perf.model.launches import Argument, Capture, Launch, Point, PointRecord, TensorArgument
from liger_perf.model.measurements import DeviceFacts
from liger_perf.model.options import DeviceKind
from liger_perf.techniques.base import Evidence

ROWS, COLUMNS = 8192, 4096
_EXTENTS = {"n_rows": ROWS, "n_cols": COLUMNS, "rows_per_program": 63, "BLOCK": COLUMNS, "STEP": 1024}

DEVICE = DeviceFacts(
    kind=DeviceKind.SIMULATED,
    name="NVIDIA H200",
    capability=(9, 0),
    sm_count=132,
    memory_bytes=141 * 10**9,
    shared_memory_bytes=232_448,
    copy_gbs=4270.0,
)


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A kernel file. `in_place` names pairs of pointers that share memory; `why` what a refusal must mention."""

    name: str
    source: str
    in_place: tuple[tuple[str, str], ...] = ()
    why: str = ""
    columns: int = COLUMNS


def evidence_for(example: Example) -> Evidence:
    """The evidence as if every kernel of the example had been launched once, with float16 tensors."""
    file = read_kernel_file(example.source)
    shared = {second: first for first, second in example.in_place}
    launches = []
    for kernel in file.kernels:
        pointers = {name for name in (*kernel.loads, *kernel.stores) if name}
        numbers = {name: index for index, name in enumerate(kernel.params)}
        arguments = [
            Argument(name=name, tensor=_tensor(numbers[shared.get(name, name)], example.columns))
            if name in pointers
            else Argument(name=name, value=_scalar(name, example.columns), constexpr=name in kernel.constexprs)
            for name in kernel.params
        ]
        launches.append(
            Launch(
                kernel=kernel.name,
                module="example",
                own=True,
                grid=(DEVICE.sm_count,),
                arguments=tuple(arguments),
                options={"num_warps": 8},
            )
        )
    point = Point(metric="speed", mode="full", provider="liger", x_name="H", x=str(example.columns), config={})
    record = PointRecord(point=point, launches=tuple(launches))
    return Evidence(file=file, capture=Capture(records=(record,)), device=DEVICE)


def _tensor(storage: int, columns: int) -> TensorArgument:
    return TensorArgument(shape=(ROWS, columns), stride=(columns, 1), dtype="float16", itemsize=2, storage=storage)


def _scalar(name: str, columns: int) -> int:
    return columns if "stride" in name or name in ("n_cols", "BLOCK") else _EXTENTS.get(name, 1)


_HEAD = """import math

import torch
import triton
import triton.language as tl

from ops.utils import calculate_settings


"""

_NORM_KERNEL = '''@triton.jit
def _norm_backward_kernel(
    dY_ptr,
    dY_stride,
    dX_ptr,
    dX_stride,  # of one row
    X_ptr,
    X_stride,
    dW_ptr,
    dW_stride,
    n_rows,
    n_cols,
    rows_per_program,
    BLOCK: tl.constexpr,
):
    """Gradients of a run of rows a program."""
    pid = tl.program_id(0).to(tl.int64)
    start = pid * rows_per_program
    end = min((pid + 1) * rows_per_program, n_rows)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    dW = tl.zeros((BLOCK,), dtype=tl.float32)
    # One row after the other.
    for row in range(start, end):
        dY = tl.load(dY_ptr + row * dY_stride + cols, mask=mask, other=0.0).to(tl.float32)
        X = tl.load(X_ptr + row * X_stride + cols, mask=mask, other=0.0).to(tl.float32)
        dW += dY * X
        tl.store(dX_ptr + row * dX_stride + cols, dY * tl.sum(X, axis=0), mask=mask)
    tl.store(dW_ptr + pid * dW_stride + cols, dW, mask=mask)


'''

_NORM_HOST = '''def norm_backward(dY, X, W, in_place):
    """Launch the kernel and sum the partial gradients."""
    dY = dY.view(-1, dY.shape[-1])
    n_rows, n_cols = dY.shape
    sm_count = 1
    if X.device.type == "cuda":
        sm_count = torch.cuda.get_device_properties(X.device).multi_processor_count
    elif X.device.type == "xpu":
        sm_count = torch.xpu.get_device_properties(X.device).gpu_eu_count

    # float32 for stability
    dW = torch.empty((sm_count, n_cols), dtype=torch.float32, device=W.device)
    rows_per_program = math.ceil(n_rows / sm_count)
    grid = (sm_count,)
    BLOCK, num_warps = calculate_settings(n_cols)
    dX = dY if in_place else torch.empty_like(dY)
    _norm_backward_kernel[grid](
        dY,
        dY.stride(0),
        dX,
        dX.stride(0),
        X,
        X.stride(0),
        dW,
        dW.stride(0),
        n_rows,
        n_cols,
        rows_per_program,
        BLOCK=BLOCK,
        num_warps=num_warps,  # by width
    )
    return dX, dW.sum(dim=0).to(W.dtype)
'''

NORM_BACKWARD = Example(
    name="backward pass of a norm",
    source=_HEAD + _NORM_KERNEL + _NORM_HOST,
    in_place=(("dY_ptr", "dX_ptr"),),
)

DICTIONARY = Example(
    name="launch options in a dictionary",
    source=NORM_BACKWARD.source.replace(
        "    _norm_backward_kernel[grid](",
        '    options = {"num_warps": num_warps}\n    if X.device.type == "xpu":\n'
        '        options.update({"num_warps": 32})\n    _norm_backward_kernel[grid](',
    ).replace("        num_warps=num_warps,  # by width\n", "        **options,\n"),
)

FOREIGN_DICTIONARY = Example(
    name="launch options from the caller",
    source=DICTIONARY.source.replace('    options = {"num_warps": num_warps}\n', "    options = W.options\n"),
    why="comes from elsewhere",
)

SOFTMAX = Example(
    name="loop over the columns of a row, in place",
    source=_HEAD
    + """@triton.jit
def _softmax_kernel(X_ptr, X_stride, n_cols, STEP: tl.constexpr):
    # Two passes over one row.
    X_ptr += tl.program_id(0).to(tl.int64) * X_stride
    m = -float("inf")
    d = 0.0
    for i in range(0, n_cols, STEP):
        cols = i + tl.arange(0, STEP)
        X = tl.load(X_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(X, axis=0))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(X - new), axis=0)
        m = new
    for i in range(0, n_cols, STEP):
        cols = i + tl.arange(0, STEP)
        X = tl.load(X_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        tl.store(X_ptr + cols, tl.exp(X - m) / d, mask=cols < n_cols)


def softmax_(X):
    n_rows, n_cols = X.shape
    _softmax_kernel[(n_rows,)](X, X.stride(0), n_cols, STEP=1024)
    return X
""",
)

AUTOTUNED = Example(
    name="autotuned kernel",
    source=SOFTMAX.source.replace(
        "@triton.jit", '@triton.autotune(configs=[triton.Config({"STEP": 512})], key=["n_cols"])\n@triton.jit'
    ),
    why="autotuned",
)

WARPS_PARAMETER = Example(
    name="num_warps as a parameter of the kernel",
    source=SOFTMAX.source.replace("STEP: tl.constexpr)", "STEP: tl.constexpr, num_warps: tl.constexpr)").replace(
        "STEP=1024)", "STEP=1024, num_warps=4)"
    ),
    why="parameter of the kernel",
)


def changed(example: Example, old: str, new: str, *, name: str, why: str) -> Example:
    """An example with one difference. Raises ValueError where `old` is not in it."""
    if old not in example.source:
        raise ValueError(f"{example.name} does not hold {old!r}")
    return Example(
        name=name, source=example.source.replace(old, new), in_place=example.in_place, why=why, columns=example.columns
    )
