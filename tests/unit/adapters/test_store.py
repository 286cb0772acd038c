from __future__ import annotations

from pathlib import Path

import pytest

from liger_perf.adapters.sessions import Sessions
from liger_perf.adapters.store import JOURNAL, SessionStore
from liger_perf.model.errors import LigerPerfError, UsageError
from liger_perf.model.options import KernelPaths, Request
from liger_perf.session.entries import Finished, Stage, StageFinished, Started
from support.fake_lab import DEVICE

STARTED = Started(
    request=Request(kernel="k"),
    paths=KernelPaths(kernel="k", ops="o", benchmark="b", test="t"),
    repository="/r",
    base_digest="",
    kernel_digest="",
    device=DEVICE,
    versions={},
)


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path / "state")


@pytest.fixture
def store(sessions: Sessions) -> SessionStore:
    store = sessions.create("k")
    store.append(STARTED)
    return store


def finish(store: SessionStore) -> None:
    store.append(StageFinished(stage=Stage.PROFILE, files=store.take_pending(), summary="", page="profile.md"))


def test_torn_last_line_is_dropped_and_overwritten(store: SessionStore, sessions: Sessions) -> None:
    store.close()
    with (store.folder / JOURNAL).open("ab") as file:
        file.write(b'{"version":1,"sequence":1,"torn')
    again = sessions.open(store.id)
    again.append(Finished())
    again.close()
    assert sessions.read(store.id).closed


def test_recorded_files_never_change(store: SessionStore) -> None:
    store.write("profile.md", "one")
    store.write("profile.md", "two")
    finish(store)
    assert store.read("profile.md") == b"two"
    with pytest.raises(LigerPerfError, match="must not change"):
        store.write("profile.md", "three")
    store.check()


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", ""])
def test_paths_stay_inside(store: SessionStore, path: str) -> None:
    with pytest.raises(LigerPerfError, match="leaves the workspace"):
        store.write(path, "x")


def test_failed_write_leaves_the_old_file(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write("notes.md", "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(LigerPerfError, match="cannot be written") as caught:
            store.write("notes.md", "new")
        assert "No space left" in caught.value.where
        with pytest.raises(LigerPerfError, match="journal cannot be written"):
            store.append(Finished())
    assert store.read("notes.md") == b"old"
    assert [path.name for path in store.root.iterdir()] == ["notes.md"]
    store.append(Finished())
    assert store.session.closed


def test_set_aside_keeps_what_counts(store: SessionStore) -> None:
    store.write("profile.md", "whole")
    finish(store)
    store.write("v1.py", "half")
    (store.root / "profile.md.tmp").write_text("x")
    assert sorted(store.set_aside()) == ["profile.md.tmp", "v1.py"]
    store.write("v1.py", "again")
    assert store.set_aside() == ("v1.py",)
    assert sorted(path.name for path in (store.folder / "unfinished").iterdir()) == ["1", "2"]
    assert store.take_pending() == ()


def test_missing_recorded_file_is_noticed_at_open(store: SessionStore, sessions: Sessions) -> None:
    store.write("profile.md", "x")
    finish(store)
    store.close()
    (store.root / "profile.md").unlink()
    with pytest.raises(LigerPerfError, match="missing"):
        sessions.open(store.id)
    # The lock was given back.
    with pytest.raises(LigerPerfError, match="missing"):
        sessions.open(store.id)


def test_leftovers_of_killed_starts_are_swept_but_no_session_is(sessions: Sessions, store: SessionStore) -> None:
    dead = sessions.create("k")
    dead.close()
    living = sessions.create("k")
    assert not dead.folder.exists()
    again = sessions.create("k")
    assert living.folder.exists()
    assert store.folder.exists()
    again.discard()
    assert not again.folder.exists()
    assert sessions.names() == [store.id]


def test_start_that_was_killed_while_its_first_line_was_written_is_none(
    sessions: Sessions, store: SessionStore
) -> None:
    dead = sessions.create("k")
    (dead.folder / JOURNAL).write_bytes(b'{"version":1,"sequ')
    dead.close()
    assert sessions.names() == [store.id]
    sessions.create("k").discard()
    assert not dead.folder.exists()


def test_scratch_of_a_session_that_was_killed_after_its_end_is_swept(sessions: Sessions, store: SessionStore) -> None:
    unfinished = sessions.create("k")
    unfinished.append(STARTED)
    store.append(Finished())
    for one in (store, unfinished):
        (one.folder / "base").mkdir()
        (one.folder / "lab").mkdir()
        one.close()
    sessions.create("k").discard()
    assert sorted(path.name for path in store.folder.iterdir()) == [JOURNAL, "lock"]
    assert (unfinished.folder / "base").exists()


def test_folders_of_others_are_never_swept(sessions: Sessions, tmp_path: Path) -> None:
    other = tmp_path / "state" / "profile"
    other.mkdir(parents=True)
    (other / "lock").write_text("a browser's")
    sessions.create("k").discard()
    assert (other / "lock").exists()


def test_unknown_session_names_the_known(sessions: Sessions, store: SessionStore) -> None:
    for name in ("other", "../x", ".", ""):
        with pytest.raises(UsageError) as caught:
            sessions.read(name)
        assert store.id in caught.value.todo


def test_latest_open_skips_finished_and_damaged(sessions: Sessions, store: SessionStore) -> None:
    other = sessions.create("k")
    other.append(STARTED)
    (other.folder / JOURNAL).write_bytes(b"damaged\n")
    assert sessions.latest_open() == store.id
    store.append(Finished())
    with pytest.raises(UsageError, match="no unfinished session"):
        sessions.latest_open()
