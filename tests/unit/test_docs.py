"""What the documents name exists, and nothing tracked names a place of one machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import typer

from liger_perf.app import real_wiring
from liger_perf.cli import build

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "docs/architecture.md").read_text()
PAGES = ("README.md", "CHANGELOG.md", "docs/architecture.md", "docs/results/README.md")

COMMANDS = set(typer.main.get_command(build(real_wiring())).commands)  # type: ignore[attr-defined]
# Folders that exist on one machine only: in a tracked file each is a leak, or a command that works for nobody else.
PRIVATE = re.compile(r"(?<![\w./~$-])/(?:work|farm|root|tmp/w|home/\w+)/")


def called(text: str) -> set[str]:
    """The commands in what a reader would type: `liger-perf NAME` in code, inline or fenced."""
    code = "\n".join(re.findall(r"`[^`\n]+`|```.*?```", text, flags=re.DOTALL))
    return set(re.findall(r"(?:^|[\s`/(])liger-perf ([a-z]+)\b", code))


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout: nothing says which files are tracked")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_documents_are_real(page: str) -> None:
    assert called((ROOT / page).read_text()) <= COMMANDS


def test_readme_shows_every_command() -> None:
    assert called(README) == COMMANDS


def test_options_in_readme_are_real() -> None:
    run = typer.main.get_command(build(real_wiring())).commands["run"]  # type: ignore[attr-defined]
    real = {option for parameter in run.params for option in parameter.opts}
    shown = set(re.findall(r"^\| `(--[a-z]+)`", README, flags=re.MULTILINE))
    assert shown
    assert shown <= real


def test_paths_in_the_map_exist() -> None:
    section = ARCHITECTURE.split("## Map")[1].split("\n## ")[0]
    paths = re.findall(r"^\| `([^`]+)`", section, flags=re.MULTILINE)
    assert len(paths) > 10
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_map_has_every_package() -> None:
    packages = {path.parent for path in (ROOT / "src/liger_perf").rglob("__init__.py")} - {ROOT / "src/liger_perf"}
    assert [path for path in sorted(packages) if f"`{path.relative_to(ROOT)}/`" not in ARCHITECTURE] == []


def test_modules_named_in_the_architecture_exist() -> None:
    named = set(re.findall(r"`((?:\w+/)+\w+\.py)`", ARCHITECTURE))
    assert named
    assert [
        name for name in sorted(named) if not any((ROOT / at / name).exists() for at in ("", "src/liger_perf"))
    ] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    targets = re.findall(r"\]\((?!https?://)([^)#]+)\)", (ROOT / page).read_text())
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []


def test_make_targets_in_documents_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"`make ([a-z-]+)`", README + ARCHITECTURE + (ROOT / "CHANGELOG.md").read_text()))
    assert named <= targets


def test_no_private_path_is_tracked() -> None:
    found = []
    for path in tracked():
        if path.is_file() and path != Path(__file__):
            text = path.read_bytes().decode(errors="replace")
            found += [f"{path.relative_to(ROOT)}: {match[0]}" for match in PRIVATE.finditer(text)]
    assert found == []
