from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import torch

from liger_perf.gpu.simulated.allocate import SMALL, AllocateOnly, Allocations
from liger_perf.gpu.simulated.fake_cuda import FakeCuda, on_cpu
from liger_perf.gpu.simulated.predict import Sampler, by_tensor_sizes
from liger_perf.gpu.simulated.sampler import arguments, sampled
from liger_perf.gpu.simulated.traffic import Traffic
from liger_perf.model.launches import Argument, Launch, Scalar, TensorArgument
from support.example import EXAMPLE, RMS_NORM

BIG = 4 * SMALL


@pytest.mark.parametrize(
    ("grid", "programs"),
    [
        ((1,), {(0, 0, 0)}),
        ((2,), {(0, 0, 0), (1, 0, 0)}),
        ((100,), {(0, 0, 0), (50, 0, 0), (99, 0, 0)}),
        ((4, 3), {(0, 0, 0), (2, 0, 0), (3, 2, 0)}),
        ((2, 2, 2), {(0, 0, 0), (1, 0, 0), (1, 1, 1)}),
    ],
)
def test_first_middle_and_last_program_are_sampled(grid: tuple[int, ...], programs: set[tuple[int, int, int]]) -> None:
    assert sampled(grid) == programs


def tensor(name: str, *shape: int, storage: int, offset: int = 0, dtype: str = "float32") -> Argument:
    strides = torch.empty(shape, device="meta").stride()
    itemsize = getattr(torch, dtype).itemsize
    value = TensorArgument(shape=shape, stride=strides, dtype=dtype, itemsize=itemsize, storage=storage, offset=offset)
    return Argument(name=name, tensor=value)


def forward_launch(rows: int, columns: int) -> Launch:
    scalars: dict[str, Scalar] = {"n_cols": columns, "eps": 1e-6}
    return Launch(
        kernel="_rms_norm_forward_kernel",
        module="liger_kernel.ops.rms_norm",
        own=True,
        grid=(rows,),
        arguments=(
            tensor("Y_ptr", rows, columns, storage=0),
            Argument(name="Y_row_stride", value=columns),
            tensor("X_ptr", rows, columns, storage=1),
            Argument(name="X_row_stride", value=columns),
            tensor("W_ptr", columns, storage=2),
            tensor("RSTD_ptr", rows, storage=3),
            *(Argument(name=name, value=value) for name, value in scalars.items()),
            Argument(name="BLOCK_SIZE", value=512, constexpr=True),
        ),
        options={"num_warps": 4},
    )


def test_stand_ins_keep_shapes_and_aliases() -> None:
    launch = msgspec.structs.replace(
        forward_launch(1, 1),
        arguments=(
            tensor("a", 4, 8, storage=5),
            tensor("b", 2, 8, storage=5, offset=16, dtype="float32"),
            Argument(name="kind", value="tl.dtype:fp16"),
            Argument(name="n", value=8),
        ),
    )
    values, storages = arguments(launch)
    assert values["a"].shape == (4, 8)
    assert values["b"].data_ptr() == values["a"].data_ptr() + 64
    assert (str(values["kind"]), values["n"]) == ("fp16", 8)
    assert [storage.data_ptr() for storage in storages] == [values["a"].data_ptr()]


def test_traffic_by_tensor_sizes() -> None:
    traffic = by_tensor_sizes(forward_launch(4, 320))
    moved = (2 * 4 * 320 + 320 + 4) * 4 / 4
    assert traffic == Traffic(loaded_bytes=moved, stored_bytes=0, dram_bytes=moved, rounds=1)


def test_sampling_process_counts_and_is_replaced_when_it_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    sampler = Sampler(str(EXAMPLE), RMS_NORM.ops)
    counted = sampler.sample(forward_launch(8, 320))
    # A row of X and W (the mask cuts the block of 512), a row of Y and the row's rstd: nothing else moves. The eight
    # programs share W, so each has to fetch an eighth of it from memory.
    dram = (2 + 1 / 8) * 320 * 4 + 4
    assert counted == Traffic(loaded_bytes=2 * 320 * 4, stored_bytes=320 * 4 + 4, dram_bytes=dram, rounds=1)
    process = sampler._process
    assert process is not None
    process.kill()
    process.wait()
    remembered = sampler.sample(msgspec.structs.replace(forward_launch(8, 320), options={"num_warps": 16}))
    assert remembered == counted
    assert sampler.sample(forward_launch(8, 640)).error
    assert sampler.sample(forward_launch(8, 640)) == Traffic(
        loaded_bytes=2 * 512 * 4, stored_bytes=512 * 4 + 4, dram_bytes=2 * 512 * 4 + 640 * 4 / 8 + 4, rounds=1
    )
    assert sampler._process is not None
    sampler._process.communicate()


def test_operations_are_metered_and_not_computed() -> None:
    allocations = Allocations()
    with AllocateOnly(allocations) as mode:
        x = torch.ones(BIG)
        with mode.metering() as operations:
            y = x * 2 + 1
            view = y.view(4, -1)[1]
            torch.empty(BIG)
            total = x.sum()
        x.add_(1)
    assert [name for name, _ in operations] == ["aten::mul.Tensor", "aten::add.Tensor", "aten::sum"]
    assert [moved for _, moved in operations] == [2 * 4 * BIG, 2 * 4 * BIG, 4 * BIG + 4]
    assert view.shape == (BIG // 4,)
    assert total.shape == ()
    assert x.untyped_storage().nbytes() == 4 * BIG


def test_small_values_are_computed_since_host_code_branches_on_them() -> None:
    with AllocateOnly(Allocations()):
        lengths = torch.tensor([3, 1, 2])
        assert lengths.max().item() == 3
        assert (lengths + 1).tolist() == [4, 2, 3]
        assert lengths.add_(1).tolist() == [4, 2, 3]
        assert torch.equal(lengths.sort().values, torch.tensor([2, 3, 4]))


def test_peak_memory_counts_what_is_alive() -> None:
    allocations = Allocations()
    with AllocateOnly(allocations):
        kept = torch.ones(BIG)
        before = allocations.live
        allocations.reset_peak()
        for _ in range(3):
            temporary = kept * 2
            del temporary
        assert allocations.peak - before == 4 * BIG
        assert allocations.live == before
        view = kept.view(2, -1)
        assert allocations.live == before
        tiny = kept.new_empty(1)
        assert allocations.live == before + 512
        del kept, view, tiny
    assert allocations.live == 0


def test_cpu_tensors_pass_for_cuda_ones() -> None:
    with FakeCuda():
        x = torch.ones(3, device="cuda")
        y = torch.ones(3, device=torch.device("cuda", 0)).to("cuda:0", torch.bfloat16)
        assert x.device == torch.device("cuda", 0)
        assert x.is_cuda
        assert (x.cuda() + y.to(x.device)).tolist() == [2, 2, 2]
        assert y.dtype == torch.bfloat16
        assert torch.empty_like(x).device.type == "cuda"
    assert x.device.type == "cpu"
    assert not x.is_cuda


def test_only_cuda_devices_are_replaced() -> None:
    assert on_cpu(torch.device("cuda", 1)) == torch.device("cpu")
    assert on_cpu("cuda:0") == on_cpu("cuda") == "cpu"
    assert on_cpu(torch.device("meta")) == torch.device("meta")
    assert [on_cpu(value) for value in ("mean", 3, None)] == ["mean", 3, None]


def test_installed_device_answers_for_an_h200() -> None:
    """In a process of its own: what is installed stays for the life of a process."""
    program = """
import torch
from liger_perf.gpu.simulated import fake_cuda
from liger_perf.gpu.simulated.allocate import Allocations

seen = []

class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        seen.append(gradient.device.type)
        return gradient * 2

fake_cuda.install(Allocations())
assert torch.cuda.is_available() and torch.cuda.device_count() == 1
assert "SIMULATED" in torch.cuda.get_device_name()
assert torch.cuda.get_device_properties(0).multi_processor_count == 132
assert torch.cuda.get_device_capability() == (9, 0)
torch.cuda.synchronize()
with torch.cuda.device(0):
    x = torch.ones(2, device="cuda", requires_grad=True)
Double.apply(x).sum().backward()
assert seen == ["cuda"], seen
assert x.grad.tolist() == [2, 2]
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=100)
