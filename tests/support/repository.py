"""A repository in Liger's layout, small enough to be made for each test."""

from __future__ import annotations

import subprocess
from pathlib import Path

KERNEL = '"""A kernel."""\n\n\ndef forward(x):\n    return x * 1\n'
VISUALIZER = '"""Understands --sweep-mode."""\n'
MAKEFILE = ".PHONY: checkstyle\n\ncheckstyle:\n\truff check .\n"


def make_repository(folder: Path, *, git: bool = True) -> Path:
    """Two whole kernels, one without a test, and the files around them."""
    files = {
        "Makefile": MAKEFILE,
        "benchmark/benchmarks_visualizer.py": VISUALIZER,
        "src/liger_kernel/__init__.py": "",
        "src/liger_kernel/ops/untested.py": KERNEL,
        "benchmark/scripts/benchmark_untested.py": "",
    }
    for kernel in ("rms_norm", "swiglu"):
        files[f"src/liger_kernel/ops/{kernel}.py"] = KERNEL
        files[f"benchmark/scripts/benchmark_{kernel}.py"] = "print('benchmark')\n"
        files[f"test/transformers/test_{kernel}.py"] = "def test_it():\n    pass\n"
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    if git:
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        subprocess.run(["git", "-C", str(folder), "add", "-A"], check=True)
    return folder
