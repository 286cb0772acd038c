from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from liger_perf.adapters.tree import TreeExporter, digest, export, listing
from liger_perf.model.errors import UsageError
from support.repository import make_repository

OPS = "src/liger_kernel/ops/rms_norm.py"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "checkout")


def test_working_copy_is_exported_and_untracked_files_are_not(repository: Path, tmp_path: Path) -> None:
    (repository / OPS).write_text("changed, not committed")
    (repository / "secret.env").write_text("token")
    (repository / "Makefile").unlink()
    (repository / "src/liger_kernel/ops/swiglu.py").chmod(0o755)
    export(repository, tmp_path / "tree")
    tree = tmp_path / "tree"
    assert (tree / OPS).read_text() == "changed, not committed"
    assert not (tree / "secret.env").exists()
    assert not (tree / "Makefile").exists()
    assert not (tree / ".git").exists()
    assert (tree / "src/liger_kernel/ops/swiglu.py").stat().st_mode & 0o111


def test_export_without_git_leaves_builds_out(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "sdist", git=False)
    for path in ("build/x", "src/liger_kernel/__pycache__/x.pyc", ".venv/x", "src/liger_kernel.egg-info/PKG-INFO"):
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text("")
    (repository / "test/resources/build").mkdir(parents=True)
    (repository / "test/resources/build/data.bin").write_bytes(b"\0")
    files = listing(repository)
    assert "test/resources/build/data.bin" in files
    assert OPS in files
    assert not any(part in path for path in files for part in (".venv", "pycache", "egg-info"))
    assert "build/x" not in files


def test_writing_in_place_does_not_reach_the_checkout(repository: Path, tmp_path: Path) -> None:
    before = digest(repository)
    export(repository, tmp_path / "base")
    trees = TreeExporter(tmp_path / "base", tmp_path / "trees")
    one, two = trees.export("v1"), trees.export("v1")
    for path in one.rglob("*"):
        if path.is_file():
            with path.open("a") as file:
                file.write("x")
    trees.replace(two, OPS, "new\r\n")
    assert (two / OPS).read_bytes() == b"new\r\n"
    assert digest(repository) == before
    trees.remove(one)
    assert not one.exists()
    assert two.exists()
    trees.clean()
    assert not two.exists()


def test_only_own_trees_are_removed(repository: Path, tmp_path: Path) -> None:
    trees = TreeExporter(repository, tmp_path / "trees")
    with pytest.raises(ValueError, match="no tree of"):
        trees.remove(repository)


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside", "src/../../outside"])
def test_link_out_of_the_repository_is_refused(repository: Path, tmp_path: Path, target: str) -> None:
    (repository / "link").symlink_to(target)
    subprocess.run(["git", "-C", str(repository), "add", "link"], check=True)
    with pytest.raises(UsageError, match="leads out of the repository"):
        export(repository, tmp_path / "tree")


def test_link_inside_stays_a_link_into_the_tree(repository: Path, tmp_path: Path) -> None:
    (repository / "link").symlink_to(OPS)
    subprocess.run(["git", "-C", str(repository), "add", "link"], check=True)
    export(repository, tmp_path / "tree")
    assert os.readlink(tmp_path / "tree/link") == OPS
    with pytest.raises(UsageError, match="no regular file"):
        TreeExporter(repository, tmp_path / "trees").replace(tmp_path / "tree", "link", "x")


@pytest.mark.parametrize("change", ["content", "mode", "new", "name"])
def test_digest_sees_every_change(repository: Path, change: str) -> None:
    before = digest(repository)
    path = repository / OPS
    match change:
        case "content":
            path.write_text("other")
        case "mode":
            path.chmod(0o755)
        case "new":
            (repository / "new.pyc").write_text("")
        case _:
            path.rename(path.with_name("other.py"))
    assert digest(repository) != before


def test_names_that_are_no_utf8(repository: Path, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9 \n.txt")
    (repository / name).write_text("x")
    subprocess.run(["git", "-C", str(repository), "add", "-A"], check=True)
    export(repository, tmp_path / "tree")
    assert (tmp_path / "tree" / name).read_text() == "x"
    assert digest(repository)
