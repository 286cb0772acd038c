"""The repository's own files that a kernel's file imports."""

from __future__ import annotations

from liger_perf.kernels.imports import imported_files

OPS = "src/liger_kernel/ops"
FILES = {
    f"{OPS}/rms_norm.py": (
        "import math\nimport torch\nfrom liger_kernel.ops.utils import a\nfrom .helpers import b\n"
        "from liger_kernel.ops import other\nimport liger_kernel.env_report\n"
    ),
    f"{OPS}/utils.py": "from liger_kernel.utils import infer\n",
    f"{OPS}/helpers.py": "from . import rms_norm\nfrom .. import utils\n",
    f"{OPS}/other.py": "def broken(:\n",
    f"{OPS}/__init__.py": "from liger_kernel.ops.swiglu import x\n",
    f"{OPS}/swiglu.py": "",
    "src/liger_kernel/utils.py": "from liger_kernel import ops\n",
    "src/liger_kernel/env_report.py": "",
    "src/liger_kernel/__init__.py": "",
}


def test_modules_are_followed_and_packages_are_not() -> None:
    found = imported_files(f"{OPS}/rms_norm.py", frozenset(FILES), FILES.__getitem__)
    assert found == (
        "src/liger_kernel/env_report.py",
        f"{OPS}/__init__.py",
        f"{OPS}/helpers.py",
        f"{OPS}/other.py",
        f"{OPS}/utils.py",
        "src/liger_kernel/utils.py",
    )


def test_a_file_without_imports_of_the_repository_has_none() -> None:
    assert imported_files("a.py", frozenset({"a.py"}), lambda _: "import os\nfrom . import nothing\n") == ()
