"""The settings function: its place, its arguments, its body, and that techniques share it."""

from __future__ import annotations

import functools
import itertools
import types
from typing import Any

import pytest

from liger_perf.model.branches import Branch, Provenance
from liger_perf.techniques.base import Refusal, Rewrite
from liger_perf.techniques.device_gate import with_gate
from liger_perf.techniques.evidence import restrict
from liger_perf.techniques.examples import DICTIONARY, NORM_BACKWARD, SOFTMAX, changed, evidence_for
from liger_perf.techniques.launch_parameters import LaunchParameters
from liger_perf.techniques.pipelining import Pipelining
from liger_perf.techniques.programs_per_sm import ProgramsPerSm
from liger_perf.techniques.settings_body import write_settings
from liger_perf.techniques.settings_function import axes, make_tunable, settings_name

H200 = Provenance(gpu="NVIDIA H200", capability=(9, 0), version="0.1.0")
FUNCTION = "_norm_backward_kernel_settings"


def _all(source: str, order: tuple[Any, ...] = (LaunchParameters(), Pipelining(), ProgramsPerSm())) -> str:
    evidence = evidence_for(NORM_BACKWARD)
    for technique in order:
        result = technique.rewrite(source, evidence)
        assert isinstance(result, Rewrite)
        source = result.source
    return source


def test_the_rewritten_launch_reads_as_a_person_would_write_it() -> None:
    launch = _all(NORM_BACKWARD.source).split("    _norm_backward_kernel[grid](\n")[1]
    assert launch.endswith(
        """        rows_per_program,
        BLOCK=BLOCK,
        num_warps=tuned.get("num_warps", num_warps),  # by width
        LOOP_STAGES=tuned.get("loop_stages", 1),
    )
    return dX, dW.sum(dim=0).to(W.dtype)
"""
    )


def test_the_programs_are_multiplied_after_all_device_branches() -> None:
    assert """        sm_count = torch.xpu.get_device_properties(X.device).gpu_eu_count
    # Launch values measured to be faster for this shape, dtype and GPU; empty keeps the shipped ones.
    tuned = _norm_backward_kernel_settings(n_rows, n_cols, dY.dtype, dY.device)
    # Several programs a multiprocessor hide memory latency; each adds a row to the partial sums.
    sm_count *= tuned.get("programs_per_sm", 1)

    # float32 for stability
""" in _all(NORM_BACKWARD.source)


def test_techniques_share_one_settings_function_in_every_order() -> None:
    techniques = (LaunchParameters(), Pipelining(), ProgramsPerSm())
    for order in itertools.permutations(techniques):
        source = _all(NORM_BACKWARD.source, order)
        assert source.count(f"def {FUNCTION}(") == 1
        assert source.count(f"tuned = {FUNCTION}(") == 1
        assert _all(source, order) == source


def test_a_dictionary_of_options_gets_the_value_instead_of_a_second_keyword() -> None:
    result = LaunchParameters().rewrite(DICTIONARY.source, evidence_for(DICTIONARY))
    assert isinstance(result, Rewrite)
    assert '    if "num_warps" in tuned:\n        options["num_warps"] = tuned["num_warps"]\n' in result.source
    assert '    if X.device.type == "xpu":\n        options.update({"num_warps": 32})\n' in result.source
    assert "num_warps=" not in result.source


def test_a_launch_that_never_passed_warps_passes_none_without_settings() -> None:
    result = LaunchParameters().rewrite(SOFTMAX.source, evidence_for(SOFTMAX))
    assert isinstance(result, Rewrite)
    passed: list[dict[str, object]] = []
    module = _run(result.source)

    class Kernel:
        def __getitem__(self, grid: object) -> Any:
            return lambda *args, **options: passed.append(options)

    module["_softmax_kernel"] = Kernel()
    tensor = types.SimpleNamespace(shape=(8, 16), stride=lambda axis: 16, dtype="f", device="d")
    module["softmax_"](tensor)
    module["_softmax_kernel_settings"] = lambda *args: {"num_warps": 8, "STEP": 256}
    module["softmax_"](tensor)
    assert passed == [{"STEP": 1024}, {"STEP": 256, "num_warps": 8}]


def test_names_in_use_are_not_taken_again() -> None:
    source = NORM_BACKWARD.source.replace("    grid = (sm_count,)\n", "    grid = (sm_count,)\n    tuned = 3\n")
    result = make_tunable(source, "_norm_backward_kernel")
    assert isinstance(result, str)
    assert f"    tuned_2 = {FUNCTION}(" in result


def test_a_tensor_that_may_be_none_is_not_asked_for_its_device() -> None:
    source = NORM_BACKWARD.source.replace("(dY, X, W, in_place)", "(dY, X, W, in_place)").replace(
        "    n_rows, n_cols = dY.shape\n", "    n_rows, n_cols = X.shape\n    if dY is None:\n        return None\n"
    )
    result = make_tunable(source, "_norm_backward_kernel")
    assert isinstance(result, str)
    assert f"{FUNCTION}(n_rows, n_cols, X.dtype, X.device)" in result


def test_a_computed_extent_is_refused() -> None:
    example = changed(
        NORM_BACKWARD, "        n_cols,\n        rows", "        int(n_cols),\n        rows", name="", why=""
    )
    result = make_tunable(example.source, "_norm_backward_kernel")
    assert isinstance(result, Refusal)
    assert "n_cols" in result.reason


def test_kernels_left_out_stay_byte_for_byte() -> None:
    evidence = restrict(evidence_for(NORM_BACKWARD), frozenset({"another_kernel"}))
    assert isinstance(LaunchParameters().rewrite(NORM_BACKWARD.source, evidence), Refusal)


def test_the_name_has_one_leading_underscore() -> None:
    assert settings_name("_rms_norm_kernel") == "_rms_norm_kernel_settings"
    assert settings_name("liger_kernel") == "_liger_kernel_settings"


class _Dtype:
    def __init__(self, itemsize: int) -> None:
        self.itemsize = itemsize


class _Device:
    """A device as a cache may hold it: hashable."""

    def __init__(self, kind: str) -> None:
        self.type = kind


def _fake_torch(capability: tuple[int, int], hip: str | None) -> Any:
    properties = types.SimpleNamespace(major=capability[0], minor=capability[1])
    cuda = types.SimpleNamespace(get_device_properties=lambda device: properties)
    return types.SimpleNamespace(cuda=cuda, version=types.SimpleNamespace(hip=hip))


def _run(source: str) -> dict[str, Any]:
    """The module's names without importing torch or triton."""
    plain = "\n".join(line for line in source.splitlines() if not line.startswith(("import ", "from ", "@triton")))
    names: dict[str, Any] = {"tl": types.SimpleNamespace(constexpr=int), "functools": functools}
    exec(compile("from __future__ import annotations\n" + plain, "example", "exec"), names)
    return names


BRANCHES = (
    Branch(
        shape={"n_cols": (2048, 4096), "n_rows": (1023, None)},
        itemsize=2,
        values={"num_warps": 8, "loop_stages": 3},
        note="1.42x at n_cols=4096.",
    ),
    Branch(shape={"n_cols": (4096, 8192), "n_rows": (1023, 8192)}, itemsize=2, values={"num_warps": 16}),
)


def test_the_written_function_reads_well() -> None:
    text = write_settings(_all(NORM_BACKWARD.source), FUNCTION, BRANCHES, H200)
    body = text.split(f"def {FUNCTION}(n_rows, n_cols, dtype, device):\n")[1].split("\n\n\n")[0]
    assert (
        body
        == '''    """Faster launch values for _norm_backward_kernel, as measured."""
    # Measured on NVIDIA H200 (sm_90) with liger-perf 0.1.0; other
    # architectures and shapes keep the shipped values.
    if not _is_measured_gpu(device):
        return {}
    # 1.42x at n_cols=4096.
    if dtype.itemsize == 2 and 2048 < n_cols <= 4096 and n_rows >= 1024:
        return {"loop_stages": 3, "num_warps": 8}
    if dtype.itemsize == 2 and 4096 < n_cols <= 8192 and 1024 <= n_rows <= 8192:
        return {"num_warps": 16}
    return {}'''
    )


@pytest.mark.parametrize("capability", [(8, 0), (9, 0), (10, 0)])
@pytest.mark.parametrize("hip", [None, "6.2"])
@pytest.mark.parametrize("device", ["cuda", "xpu"])
def test_the_written_function_answers_exactly_its_branches(
    capability: tuple[int, int], hip: str | None, device: str
) -> None:
    names = _run(write_settings(_all(NORM_BACKWARD.source), FUNCTION, BRANCHES, H200))
    names["torch"] = _fake_torch(capability, hip)
    measured = capability == (9, 0) and hip is None and device == "cuda"
    for rows, columns, itemsize in itertools.product((1023, 1024, 9000), (2048, 2049, 4096, 8192, 8193), (2, 4)):
        shape = {"n_rows": rows, "n_cols": columns}
        expected = next((branch.values for branch in BRANCHES if branch.covers(shape, itemsize)), {})
        answer = names[FUNCTION](rows, columns, _Dtype(itemsize), _Device(device))
        assert answer == (expected if measured else {})


def test_writing_twice_replaces_the_branches() -> None:
    once = write_settings(_all(NORM_BACKWARD.source), FUNCTION, BRANCHES, H200)
    assert write_settings(once, FUNCTION, BRANCHES, H200) == once
    assert write_settings(once, FUNCTION, BRANCHES[1:], H200).count("itemsize") == 1


@pytest.mark.parametrize("count", [0, 5])
def test_neither_none_nor_too_many_branches_are_written(count: int) -> None:
    with pytest.raises(ValueError, match="branches"):
        write_settings(_all(NORM_BACKWARD.source), FUNCTION, BRANCHES[:1] * count, H200)


def test_the_axes_are_found_among_the_parameters() -> None:
    assert axes(_all(NORM_BACKWARD.source), "_norm_backward_kernel") == ("n_cols", "n_rows")
    source = SOFTMAX.source.replace("[(n_rows,)]", "[(X.shape[0],)]")
    tunable = make_tunable(source, "_softmax_kernel")
    assert isinstance(tunable, str)
    assert "_softmax_kernel_settings(X.shape[0], n_cols, X.dtype, X.device)" in tunable
    assert axes(tunable, "_softmax_kernel") == ("n_cols", "n_rows")
    assert axes(source, "_softmax_kernel") == ("", "")


GATED = 'import torch\n\n\ndef _k_settings(n, dtype, device):\n    """As measured."""\n    return {}\n'


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ("import torch\n", "import functools\n\nimport torch\n"),
        (
            "import math\nimport operator\n\nimport torch\n",
            "import functools\nimport math\nimport operator\n\nimport torch\n",
        ),
        ("import abc\n\nimport torch\n", "import abc\nimport functools\n\nimport torch\n"),
        ("import functools\n\nimport torch\n", "import functools\n\nimport torch\n"),
    ],
)
def test_the_gate_brings_its_import_where_it_belongs(imports: str, expected: str) -> None:
    text = GATED.replace("import torch\n", imports)
    written = with_gate(text, "_k_settings", (9, 0))
    assert written.startswith(f"{expected}\n\n@functools.cache\ndef _is_measured_gpu(device):\n")
    assert written.endswith(
        "        return False\n    properties = torch.cuda.get_device_properties(device)\n"
        "    return (properties.major, properties.minor) == (9, 0)\n\n\n" + GATED.split("\n\n\n", 1)[1]
    )
    assert with_gate(written, "_k_settings", (9, 0)) == written
