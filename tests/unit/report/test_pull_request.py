from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from liger_perf.report.pull_request import LARGEST_PATCH, one_file_patch_ok, unified_diff

PATH = "src/liger_kernel/ops/rms_norm.py"
PATCH = unified_diff(PATH, "a\nb\nc\n", "a\nB\nc\n")


def test_the_patch_is_gits() -> None:
    assert (f"diff --git a/{PATH} b/{PATH}\n--- a/{PATH}\n+++ b/{PATH}\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n") == PATCH
    assert unified_diff(PATH, "a\n", "a\n") == ""


@given(
    st.lists(st.sampled_from(["a", "b", "--- a/x", "+++ b/x", "@@ -1 +1 @@", "\x0c", "\\", "", "x\r"]), max_size=12),
    st.lists(st.sampled_from(["a", "b", "--- a/x", "diff --git a/x b/x", "\u2028", "", "x\r"]), max_size=12),
    st.booleans(),
    st.booleans(),
)
def test_our_own_patches_are_accepted(old: list[str], new: list[str], old_ends: bool, new_ends: bool) -> None:
    before, after = "\n".join(old) + "\n" * old_ends, "\n".join(new) + "\n" * new_ends
    patch = unified_diff(PATH, before, after)
    assert (one_file_patch_ok(patch, PATH) is None) == (before != after)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(["a", "b", "\x0c", "--- a/x", "x\r"]), min_size=1, max_size=12),
    st.lists(st.sampled_from(["a", "c", "--- a/x", "x\r"]), min_size=1, max_size=12),
    st.booleans(),
    st.booleans(),
)
def test_git_applies_it(tmp_path: Path, old: list[str], new: list[str], old_ends: bool, new_ends: bool) -> None:
    before, after = "\n".join(old) + "\n" * old_ends, "\n".join(new) + "\n" * new_ends
    if before == after:
        return
    file = tmp_path / PATH
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(before.encode())
    patch = unified_diff(PATH, before, after).encode()
    subprocess.run(["git", "apply", "--whitespace=nowarn", "-"], cwd=tmp_path, input=patch, check=True)
    assert file.read_bytes() == after.encode()


SECOND = PATCH.replace(PATH, "setup.py")


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("", "empty"),
        (PATCH[:-1], "cut short"),
        (SECOND, "another file"),
        (PATCH + SECOND, "outside the hunks"),
        (PATCH + SECOND.split("\n", 1)[1], "outside the hunks"),
        (PATCH.replace("\n---", "\nold mode 100644\nnew mode 100755\n---", 1), "more than change the content"),
        (PATCH.replace("\n---", "\nindex 12ab..34cd 120000\n---", 1), "more than change the content"),
        (PATCH.replace("\n---", "\nrename from a\nrename to b\n---", 1), "more than change the content"),
        (PATCH.replace(f"--- a/{PATH}", "--- /dev/null"), "more than change the content"),
        (PATCH.replace(f"+++ b/{PATH}", "+++ /dev/null"), "more than change the content"),
        (PATCH.replace(f"+++ b/{PATH}", "+++ b/setup.py"), "more than change the content"),
        (f"diff --git a/{PATH} b/{PATH}\nGIT binary patch\nliteral 1\n", "more than change the content"),
        (PATCH.split("@@")[0], "no hunks"),
        (PATCH.replace("-1,3 +1,3", "-1,4 +1,4"), "shorter"),
        (PATCH.replace("-1,3 +1,3", "-1,2 +1,3"), "longer"),
        (PATCH.replace("-1,3 +1,3", "-1,2 +1,2"), "outside the hunks"),
        (PATCH.replace("\n a\n", "\nexec\n"), "belongs to no hunk"),
        (PATCH + "trailing\n", "outside the hunks"),
        (PATCH + "+" * LARGEST_PATCH + "\n", "larger than"),
    ],
)
def test_anything_else_is_refused_with_a_reason(patch: str, said: str) -> None:
    reason = one_file_patch_ok(patch, PATH)
    assert reason is not None
    assert said in reason


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.py", "src/../../x.py"])
def test_a_path_outside_the_repository_is_refused(path: str) -> None:
    assert one_file_patch_ok(unified_diff(path, "a\n", "b\n"), path) is not None


def test_an_index_line_of_a_regular_file_is_fine() -> None:
    assert one_file_patch_ok(PATCH.replace("\n---", "\nindex 12ab34c..34cd56e 100644\n---", 1), PATH) is None
