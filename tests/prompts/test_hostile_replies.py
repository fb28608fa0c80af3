"""Replies that no model should send are read or refused, quickly and in one line."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reply_kit import parse

from thinkgraph.prompts.kinds import KINDS
from thinkgraph.prompts.reading import BadReplyError


@pytest.mark.parametrize("kind", ["judge", "keywords", "keys", "subquestions", "triples", "text"])
def test_halves_of_characters_do_not_survive(kind: str) -> None:
    said: Any = {
        "judge": {"sufficient": True, "answers": ["a\ud83d"], "evidence": [], "clues": "\udc00", "query": "\ud800"},
        "keywords": {"keywords": ["a\ud83d"]},
        "keys": {"keys": [["a\ud83d"]]},
        "subquestions": {"questions": [{"question": "a\ud83d"}]},
        "triples": {"triples": [["a\ud83d", "\udc00", "b"]]},
        "text": "a\ud83d",
    }[kind]
    value = parse(kind, said if isinstance(said, str) else json.dumps(said))
    json.dumps(value, ensure_ascii=False).encode("utf-8")


GARBAGE = {
    "opening brackets": "[" * 1_000_000,
    "opening braces": '{"a":' * 200_000,
    "lists of lists": "[1," * 330_000,
    "quotes": '["' * 500_000,
    "an unclosed string": '{"numbers": "' + "[" * 1_000_000,
    "blanks": " " * 1_000_000,
    "fences": "``` " * 250_000,
    "thoughts": "<think>" * 140_000,
    "thoughts that end": "</think>" * 120_000,
    "thoughts in turn": "<think>a</think>" * 60_000,
    "digits": "1" * 1_000_000,
    "numbers": "1 " * 500_000,
    "brackets between words": "x [ y { z " * 100_000,
    "small objects": '{"a": 1} ' * 110_000,
    "letters": "\U0001f600" * 1_000_000,
    "a deep list": "[" * 900 + "]" * 900,
    "a deep value": '{"numbers": %s, "answers": %s, "sufficient": true}' % (("[" * 900 + "]" * 900,) * 2),
}


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("name", GARBAGE)
def test_a_megabyte_of_garbage_is_refused_quickly(name: str) -> None:
    began = time.process_time()
    for kind in KINDS:
        try:
            parse(kind, GARBAGE[name])
        except BadReplyError as error:
            assert len(str(error)) < 200  # noqa: PT017
    # Quadratic reading would take minutes; the processor's time, as other work may hold up the clock's.
    assert time.process_time() - began < 30, "all kinds together"


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("depth", range(100, 1000, 50))
def test_deep_nesting_is_a_bad_reply_and_no_crash(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    for kind, key in (("judge", "answers"), ("keywords", "keywords"), ("keys", "keys"), ("pick", "numbers")):
        try:
            parse(kind, '{"sufficient": true, "%s": [%s]}' % (key, deep))  # noqa: UP031
        except BadReplyError as error:
            assert "\n" not in str(error)  # noqa: PT017


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
_KEYS = {"numbers", "scores", "pairs", "sufficient", "answers", "evidence", "clues", "keywords", "keys", "questions"}
_KEYS |= {"right", "triples", "types"}


@given(st.sampled_from(sorted(KINDS)), st.fixed_dictionaries(dict.fromkeys(sorted(_KEYS), _JSON)))
def test_values_of_wrong_types_are_read_or_refused(kind: str, said: dict[str, Any]) -> None:
    try:
        parse(kind, json.dumps(said))
    except BadReplyError as error:
        assert str(error)  # noqa: PT017


@given(st.sampled_from(sorted(KINDS)), st.text())
def test_any_text_is_read_or_refused(kind: str, text: str) -> None:
    try:
        parse(kind, text)
    except BadReplyError as error:
        assert str(error)  # noqa: PT017
