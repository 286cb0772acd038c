"""Each technique's own examples: what it must rewrite, and what it must leave alone."""

from __future__ import annotations

import importlib
import tokenize
from io import StringIO

import pytest

from liger_perf.techniques.base import Opportunity, Refusal, Rewrite, Technique
from liger_perf.techniques.examples import Example, evidence_for
from liger_perf.techniques.registry import TECHNIQUES, by_key


def _examples(kind: str) -> list[pytest.param]:  # type: ignore[valid-type]
    found = []
    for technique in TECHNIQUES:
        module = importlib.import_module(type(technique).__module__)
        for example in getattr(module, kind):
            found.append(pytest.param(technique, example, id=f"{technique.key}: {example.name}"))
    return found


def _comments(source: str) -> list[str]:
    return [
        token.string for token in tokenize.generate_tokens(StringIO(source).readline) if token.type == tokenize.COMMENT
    ]


@pytest.mark.parametrize(("technique", "example"), _examples("VALID"))
def test_a_valid_example_is_rewritten_once(technique: Technique, example: Example) -> None:
    evidence = evidence_for(example)
    assert isinstance(technique.consider(evidence), Opportunity)
    first = technique.rewrite(example.source, evidence)
    assert isinstance(first, Rewrite)
    assert first.source != example.source
    assert first.changes
    compile(first.source, example.name, "exec")
    remaining = _comments(first.source)
    for comment in _comments(example.source):
        assert comment in remaining
    second = technique.rewrite(first.source, evidence)
    assert isinstance(second, Rewrite)
    assert second.source == first.source
    assert second.knobs == first.knobs


@pytest.mark.parametrize(("technique", "example"), _examples("INVALID"))
def test_an_invalid_example_is_refused_with_the_reason(technique: Technique, example: Example) -> None:
    refused = technique.rewrite(example.source, evidence_for(example))
    assert isinstance(refused, Refusal)
    assert example.why in refused.reason


def test_techniques_are_found_by_their_keys() -> None:
    assert [by_key(technique.key) for technique in TECHNIQUES] == list(TECHNIQUES)
    with pytest.raises(KeyError):
        by_key("no such technique")
