"""Where the files of a kernel are."""

from __future__ import annotations

from liger_perf.kernels.layout import kernel_paths, list_kernels, missing_files, near_names


def _files(kernel: str) -> list[str]:
    paths = kernel_paths(kernel)
    return [paths.ops, paths.benchmark, paths.test]


def test_only_complete_triples_are_kernels() -> None:
    files = [*_files("rms_norm"), *_files("softmax"), *_files("rope")[:2], "src/liger_kernel/ops/utils.py"]
    assert list_kernels(files) == ("rms_norm", "softmax")
    assert missing_files("rope", files) == ("test/transformers/test_rope.py",)


def test_names_with_a_slip_are_recognised() -> None:
    known = ("cross_entropy", "fused_linear_cross_entropy", "layer_norm", "rms_norm")
    assert near_names("rmsnorm", known)[0] == "rms_norm"
    assert near_names("cross-entropy", known)[0] == "cross_entropy"
    assert near_names("norm", known) == ("rms_norm", "layer_norm")
    assert near_names("qqqqqq", known) == ()
