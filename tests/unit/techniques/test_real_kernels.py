"""All techniques on the kernels of an unpacked Liger-Kernel source tree, named by LIGER_PERF_LIGER_SDIST."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from liger_perf.kernels.layout import list_kernels
from liger_perf.kernels.reader import read_kernel_file
from liger_perf.techniques.base import Evidence, Refusal, Rewrite
from liger_perf.techniques.examples import Example, evidence_for
from liger_perf.techniques.registry import TECHNIQUES

TREE = os.environ.get("LIGER_PERF_LIGER_SDIST", "")
OPS = sorted(Path(TREE, "src/liger_kernel/ops").glob("*.py")) if TREE else []

pytestmark = pytest.mark.skipif(not TREE, reason="LIGER_PERF_LIGER_SDIST names no unpacked Liger-Kernel tree")


def _apply(source: str, evidence: Evidence) -> str:
    for technique in TECHNIQUES:
        result = technique.rewrite(source, evidence)
        source = result.source if isinstance(result, Rewrite) else source
    return source


def _device_branches(source: str) -> list[str]:
    """The `if`s that ask for a device, as text without positions."""
    return [
        ast.dump(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.If) and "device" in ast.unparse(node.test) and "tuned" not in ast.unparse(node.test)
    ]


@pytest.mark.parametrize("path", OPS, ids=lambda path: path.stem)
def test_every_file_is_read_and_rewritten_without_harm(path: Path) -> None:
    source = path.read_text()
    evidence = evidence_for(Example(name=path.stem, source=source))
    rewritten = _apply(source, evidence)
    compile(rewritten, path.name, "exec")
    assert _apply(rewritten, evidence) == rewritten
    assert _device_branches(rewritten) == _device_branches(source)
    kept = iter(rewritten.splitlines())
    comments = [line for line in source.splitlines() if line.lstrip().startswith("#")]
    assert all(comment in kept for comment in comments)


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm"])
def test_the_norms_take_all_three_launch_techniques(name: str) -> None:
    source = Path(TREE, f"src/liger_kernel/ops/{name}.py").read_text()
    evidence = evidence_for(Example(name=name, source=source))
    rewritten = _apply(source, evidence)
    assert f"def _{name}_backward_kernel_settings(n_rows, n_cols, dtype, device):" in rewritten
    assert 'sm_count *= tuned.get("programs_per_sm", 1)' in rewritten
    assert "in tl.range(row_start, row_end, num_stages=LOOP_STAGES):" in rewritten
    assert rewritten.count('LOOP_STAGES=tuned.get("loop_stages", 1)') == 1


def test_the_modulated_norm_with_atomics_is_not_pipelined() -> None:
    source = Path(TREE, "src/liger_kernel/ops/modulated_rms_norm.py").read_text()
    pipelining = next(technique for technique in TECHNIQUES if technique.key == "pipelining")
    refused = pipelining.rewrite(source, evidence_for(Example(name="", source=source)))
    assert isinstance(refused, Refusal)
    assert "atomic" in refused.reason


def test_most_kernels_of_the_tree_are_complete_triples() -> None:
    files = [str(path.relative_to(TREE)) for path in Path(TREE).rglob("*.py")]
    assert {"rms_norm", "layer_norm", "swiglu", "cross_entropy"} <= set(list_kernels(files))


def test_facts_of_the_cross_entropy_kernel() -> None:
    file = read_kernel_file(Path(TREE, "src/liger_kernel/ops/cross_entropy.py").read_text())
    kernel = file.kernel("liger_cross_entropy_kernel")
    assert kernel is not None
    assert kernel.free_blocks == ("BLOCK_SIZE",)
    assert kernel.extents == ("n_cols",)
