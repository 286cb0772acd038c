"""Commits: reading and writing the objects, and how two of them relate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from liger_perf.localhub.gitstore import GitFailed, GitStore
from liger_perf.localhub.refused import not_found
from liger_perf.localhub.signing import Signer, Verification, split


@dataclass(frozen=True)
class Person:
    """Author or committer."""

    name: str
    email: str
    date: datetime


@dataclass(frozen=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str
    verification: Verification


@dataclass(frozen=True)
class FileChange:
    """What a diff says of one path; `patch` is None for what is not text."""

    status: str
    path: str
    old_path: str | None
    sha: str
    additions: int
    deletions: int
    patch: str | None


@dataclass(frozen=True)
class Distance:
    """How `head` stands to `base`."""

    merge_base: str
    ahead: tuple[str, ...]
    behind: int


def read_commit(store: GitStore, signer: Signer, sha: str) -> Commit:
    """The commit.

    Raises:
        Refused: there is none, 404.
    """
    raw = store.read("commit", sha)
    payload, _ = split(raw)
    headers, _, message = payload.decode(errors="replace").partition("\n\n")
    pairs = [line.partition(" ")[::2] for line in headers.split("\n")]
    fields = dict(pairs)
    committer = _person(fields["committer"])
    return Commit(
        sha=sha,
        tree=fields["tree"],
        parents=tuple(value for name, value in pairs if name == "parent"),
        author=_person(fields["author"]),
        committer=committer,
        message=message.rstrip("\n"),
        verification=signer.verify(raw, committer.date),
    )


def write_commit(
    store: GitStore,
    tree: str,
    parents: Sequence[str],
    author: Person,
    committer: Person,
    message: str,
    signer: Signer | None = None,
) -> str:
    """Write a commit object, signed where a signer is given; no ref moves."""
    lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
    lines += [f"author {_header(author)}", f"committer {_header(committer)}"]
    raw = ("\n".join(lines) + f"\n\n{message}").encode()
    return store.write("commit", signer.sign(raw) if signer else raw)


def is_ancestor(store: GitStore, old: str, new: str) -> bool:
    """May a branch go from `old` to `new` without force?"""
    try:
        store.run("merge-base", "--is-ancestor", old, new)
    except GitFailed:
        return False
    return True


def distance(store: GitStore, base: str, head: str) -> Distance:
    """The commits between two.

    Raises:
        Refused: they have no common ancestor, 404.
    """
    try:
        merge_base = store.text("merge-base", base, head)
    except GitFailed:
        raise not_found() from None
    ahead = store.text("rev-list", "--reverse", f"{base}..{head}").split()
    return Distance(merge_base, tuple(ahead), int(store.text("rev-list", "--count", f"{head}..{base}")))


def changes(store: GitStore, old: str, new: str) -> list[FileChange]:
    """What differs between two commits, path by path."""
    options = ("-r", "-M", "--root", "-z", "--no-commit-id")
    raw = store.run("diff-tree", *options, "--raw", "--abbrev=40", old, new).decode(errors="replace").split("\0")
    found: list[FileChange] = []
    position = 0
    while position < len(raw) and raw[position]:
        *_, sha, letter = raw[position].split(" ")
        renamed = letter[0] in "RC"
        paths = raw[position + 1 : position + (3 if renamed else 2)]
        found.append(_change(store, old, new, letter[0], paths, sha))
        position += 3 if renamed else 2
    return found


def _change(store: GitStore, old: str, new: str, letter: str, paths: list[str], sha: str) -> FileChange:
    status = {"A": "added", "D": "removed", "R": "renamed", "C": "copied", "T": "changed"}.get(letter, "modified")
    options = ("-r", "-M", "--no-commit-id")
    counts = store.text("diff-tree", *options, "--numstat", old, new, "--", *paths).split("\t")
    text = counts[0].isdigit() and counts[1].isdigit()
    patch = store.run("diff-tree", *options, "-p", old, new, "--", *paths).decode(errors="replace") if text else ""
    _, hunk, rest = patch.partition("\n@@")
    return FileChange(
        status=status,
        path=paths[-1],
        old_path=paths[0] if len(paths) == 2 else None,
        sha=store.text("rev-parse", f"{old}:{paths[0]}") if letter == "D" else sha,
        additions=int(counts[0]) if text else 0,
        deletions=int(counts[1]) if text else 0,
        patch=f"@@{rest}".rstrip("\n") if hunk else None,
    )


def _person(text: str) -> Person:
    name, _, rest = text.partition(" <")
    email, _, when = rest.partition("> ")
    return Person(name, email, datetime.fromtimestamp(int(when.split(" ")[0]), UTC))


def _header(person: Person) -> str:
    name, email = (_clean(text) for text in (person.name, person.email))
    return f"{name} <{email}> {int(person.date.timestamp())} +0000"


def _clean(text: str) -> str:
    return "".join(character for character in text if character not in "<>\n\0").strip()
