from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liger_perf.measure.scope import Scope, ScopeKind, parse_scope, require_match
from liger_perf.model import points
from liger_perf.model.errors import UsageError
from liger_perf.model.launches import Cell, Point
from measure.builders import key


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("general", Scope()),
        (" backward ", Scope(kind=ScopeKind.PASS, mode="backward")),
        ("T=1024", Scope(kind=ScopeKind.SIZES, x_name="T", xs=("1024",))),
        ("hidden_size = 1024, 2048", Scope(kind=ScopeKind.SIZES, x_name="hidden_size", xs=("1024", "2048"))),
    ],
)
def test_scopes(text: str, expected: Scope) -> None:
    assert parse_scope(text) == expected


@pytest.mark.parametrize("text", ["", "everything", "full", "T=", "T=1024,", "=1024", "T=1 2", "T=1;H=2", "T=1,H=2"])
def test_malformed_scopes_say_what_is_allowed(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_scope(text)
    assert repr(text) in caught.value.what
    assert "T=1024,2048" in caught.value.todo


def test_what_a_scope_includes() -> None:
    assert parse_scope("general").includes(key("full"), "full")
    assert parse_scope("forward").includes(key("forward"), "forward")
    assert not parse_scope("forward").includes(key("backward"), "backward")
    assert parse_scope("T=1024,2048").includes(key(x="1024.0"), "backward")
    assert not parse_scope("T=2048").includes(key(x="1024"), "backward")
    assert not parse_scope("H=1024").includes(key(x="1024"), "backward")


def test_a_scope_that_covers_nothing_is_refused_with_what_there_is() -> None:
    with pytest.raises(UsageError) as caught:
        require_match(parse_scope("T=4096"), [(key(x="1024"), "backward"), (key(x="2048"), "backward")])
    assert "backward at T=1024, T=2048" in caught.value.todo
    require_match(parse_scope("T=1024"), [(key(x="1024"), "backward")])


@given(
    provider=st.from_regex(r"[a-z][a-z_ -]{0,10}[a-z]", fullmatch=True),
    x=st.from_regex(r"[\w.-]{0,8}", fullmatch=True),
    config=st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.just("torch.float32"), max_size=2),
)
def test_a_points_key_can_be_taken_apart(provider: str, x: str, config: dict[str, str]) -> None:
    cell = Cell(config=config)
    point = Point(metric="speed", mode="full", provider=provider, x_name="T", x=x, config={}, cell=cell)
    found = points.parse(point.key)
    assert (found.metric, found.mode, found.provider, found.x_name, found.x) == ("speed", "full", provider, "T", x)
    assert found.cell == cell.label


def test_another_text_is_no_key() -> None:
    with pytest.raises(ValueError, match="not the key"):
        points.parse("rms_norm at 1024")
