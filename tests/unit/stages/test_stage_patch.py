from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from liger_perf.model.errors import StageError
from liger_perf.stages.patch import apply_patch, make_patch

PATH = "src/k.py"
# Comments and assignments: valid Python however they are put together.
lines = st.lists(st.sampled_from(["a = 1", "b = 2", "# c", "", "d = '\\r'", "-x", "+y"]), max_size=12)
sources = st.builds(lambda parts, end: "\n".join(parts) + end, lines, st.sampled_from(["", "\n"]))


@settings(max_examples=300)
@given(sources, sources)
def test_patch_leads_from_one_text_to_the_other(before: str, after: str) -> None:
    patch = make_patch(PATH, before, after)
    assert (apply_patch(patch, PATH, before) if patch else before) == after


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(before=sources.filter(len), after=sources.filter(len))
def test_git_agrees(tmp_path: Path, before: str, after: str) -> None:
    patch = make_patch(PATH, before, after)
    if not patch:
        return
    target = tmp_path / PATH
    target.parent.mkdir(exist_ok=True)
    target.write_text(before, newline="")
    (tmp_path / "p").write_text(patch, newline="")
    subprocess.run(["git", "apply", "--whitespace=nowarn", "p"], cwd=tmp_path, check=True)
    assert target.read_bytes().decode() == after


def test_invalid_python_is_refused() -> None:
    with pytest.raises(StageError, match="no valid Python"):
        make_patch(PATH, "a = 1\n", "a = (\n")


def test_patch_of_two_files_or_another_file_is_refused() -> None:
    one = make_patch(PATH, "a = 1\n", "a = 2\n")
    other = make_patch("src/other.py", "a = 1\n", "a = 2\n")
    for patch in (one + other, other, one.replace("+++ b/src/k.py", "+++ b/src/x.py")):
        with pytest.raises(StageError, match="nothing else"):
            apply_patch(patch, PATH, "a = 1\n")
    with pytest.raises(StageError, match="does not fit"):
        apply_patch(one, PATH, "b = 1\n")
