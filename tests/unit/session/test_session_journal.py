from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liger_perf.model.errors import LigerPerfError
from liger_perf.model.variants import Decision
from liger_perf.session.entries import (
    Approved,
    Entry,
    Finished,
    HypothesisFixed,
    RecordedFile,
    Stage,
    StageFailed,
    StageFinished,
    VariantDone,
)
from liger_perf.session.journal import ROOT, Journal, decode, encode

texts = st.text(max_size=30)
files = st.builds(RecordedFile, path=texts, sha256=texts)
stages = st.sampled_from(Stage)
entries: st.SearchStrategy[Entry] = st.one_of(
    st.builds(
        StageFinished,
        stage=stages,
        files=st.lists(files, max_size=3).map(tuple),
        summary=texts,
        page=texts,
        winner=texts,
    ),
    st.builds(Approved, stage=stages, choice=texts),
    st.builds(HypothesisFixed, variant=texts, sha256=texts, size=st.integers(0, 10**9)),
    st.builds(VariantDone, variant=texts, decision=st.sampled_from(Decision), result=files, files=st.just(())),
    st.builds(StageFailed, stage=stages, what=texts, files=st.just(())),
    st.just(Finished()),
)


def write(values: list[Entry]) -> tuple[bytes, Journal]:
    journal, data = Journal(), b""
    for value in values:
        line, journal = encode(journal, value)
        data += line
    return data, journal


THREE: list[Entry] = [
    Approved(stage=Stage.PROFILE, choice="é\n"),
    Finished(),
    StageFailed(stage=Stage.PROFILE, what="x"),
]


@given(st.lists(entries, max_size=6))
def test_round_trip(values: list[Entry]) -> None:
    data, journal = write(values)
    assert decode(data) == journal
    assert journal.entries == tuple(values)
    assert journal.size == len(data)


@given(st.lists(entries, min_size=1, max_size=4), st.data())
def test_cut_anywhere_the_whole_lines_remain(values: list[Entry], data: st.DataObject) -> None:
    whole, _ = write(values)
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    journal = decode(cut)
    assert journal.entries == tuple(values[: cut.count(b"\n")])
    assert journal.size == cut.rfind(b"\n") + 1


@given(st.lists(entries, min_size=1, max_size=3), st.data())
def test_no_changed_byte_goes_unnoticed(values: list[Entry], data: st.DataObject) -> None:
    whole, journal = write(values)
    position = data.draw(st.integers(0, len(whole) - 2))
    byte = data.draw(st.integers(0, 255))
    changed = whole[:position] + bytes([byte]) + whole[position + 1 :]
    try:
        found = decode(changed)
    except LigerPerfError:
        return
    # White space between JSON tokens is the only change that may pass: it does not change an entry.
    assert found.entries == journal.entries


def test_removed_and_swapped_lines_are_refused() -> None:
    lines = write(THREE)[0].splitlines(keepends=True)
    for changed in ([lines[0], lines[2]], [lines[1], lines[2]], [lines[1], lines[0]], [lines[0], lines[0]]):
        with pytest.raises(LigerPerfError, match="cannot be trusted"):
            decode(b"".join(changed))


def test_appended_forgery_without_the_chain_is_refused() -> None:
    data, _ = write(THREE)
    forged, _ = encode(Journal(entries=(Finished(),) * 3, seal=ROOT), Finished())
    with pytest.raises(LigerPerfError, match="cannot be trusted") as caught:
        decode(data + forged)
    assert "line 4" in caught.value.where


def test_other_version_is_named() -> None:
    line = json.loads(write(THREE)[0].splitlines()[0])
    with pytest.raises(LigerPerfError, match="version 2, this program reads version 1"):
        decode(json.dumps({**line, "version": 2}).encode() + b"\n")


def test_garbage_is_refused_and_empty_is_empty() -> None:
    assert decode(b"").entries == ()
    with pytest.raises(LigerPerfError, match="cannot be trusted"):
        decode(b"{}\n")
    with pytest.raises(LigerPerfError, match="cannot be trusted"):
        decode(b"\xff\n")
