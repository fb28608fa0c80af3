"""Scores and pairs in other forms, where a prompt's header asks for them: `form: {named: true}`, `form: {ranked: true}`."""

from __future__ import annotations

import json
import re

import pytest

from thinkgraph.prompts.kinds import KINDS, Shape
from thinkgraph.prompts.library import PromptLibrary

SHAPE = Shape(options=8, clues=2, named=True)


@pytest.mark.parametrize(
    ("kind", "key", "ranges"),
    [("pairs", "pairs", {"clue": (1, 2), "option": (1, 8)}), ("score", "scores", {"option": (1, 8), "score": (0, 10)})],
)
def test_each_number_has_its_own_range(kind: str, key: str, ranges: object) -> None:
    schema = KINDS[kind].schema(SHAPE)
    assert schema is not None
    entry = schema["properties"][key]["items"]
    assert {name: (one["minimum"], one["maximum"]) for name, one in entry["properties"].items()} == ranges
    assert entry["required"] == list(entry["properties"])


@pytest.mark.parametrize(
    ("role", "read"), [("fiske.r_mapping", [(1, 1), (1, 3)]), ("tog2.relation_prune", [(3, 9.0), (2, 2.0)])]
)
def test_form_and_examples_have_names_and_read_as_the_pairs_they_were(role: str, read: object) -> None:
    prompt = PromptLibrary().get(role)
    form = re.search(r"in this form: (\{.*\})", prompt.kind.instruction(SHAPE))
    assert form is not None
    said = [form[1], *(reply for _, reply in prompt.examples(SHAPE))]
    assert all(isinstance(entry, dict) for reply in said for entry in next(iter(json.loads(reply).values())))
    assert prompt.kind.parse(said[1], SHAPE) == read
    lists = prompt.examples(Shape(options=8, clues=2))
    assert prompt.kind.parse(lists[0][1], SHAPE) == read


def test_the_best_options_alone_are_read_as_scores() -> None:
    prompt, shape = PromptLibrary().get("tog2.relation_prune"), Shape(options=8, most=3, ranked=True)
    schema = prompt.kind.schema(shape)
    assert schema is not None
    assert schema["properties"]["numbers"]["maxItems"] == 3
    assert json.loads(prompt.examples(shape)[0][1]) == {"numbers": [3, 2]}
    assert prompt.kind.parse('{"numbers": [5, 2]}', shape) == [(5, 10.0), (2, 9.0)]
    assert prompt.kind.parse('{"scores": [[5, 4]]}', shape) == [(5, 4.0)]


def test_the_best_options_alone_are_read_as_pairs_with_the_clue_nearest_to_each() -> None:
    prompt, shape = PromptLibrary().get("fiske.r_mapping"), Shape(options=3, clues=2, ranked=True, nearest=(2, 1, 2))
    schema = prompt.kind.schema(shape)
    assert schema is not None
    assert schema["properties"]["numbers"]["items"] == {"type": "integer", "minimum": 1, "maximum": 3}
    assert json.loads(prompt.examples(shape)[0][1]) == {"numbers": [1, 3]}
    assert prompt.kind.parse('{"numbers": [3, 2, 9]}', shape) == [(2, 3), (1, 2)]
    assert prompt.kind.parse('{"pairs": [[1, 3]]}', shape) == [(1, 3)]
