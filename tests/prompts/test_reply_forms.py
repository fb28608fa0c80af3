"""The schema, the instruction and the length that a kind asks for, and that its reader takes what they allow."""

from __future__ import annotations

import json
from typing import Any

import pytest
from reply_kit import JSON_KINDS, SHAPE, parse

from thinkgraph.prompts.forms import BOUNDS, without
from thinkgraph.prompts.kinds import KINDS, Shape
from thinkgraph.prompts.reading import find_json


@pytest.mark.parametrize("kind", JSON_KINDS)
@pytest.mark.parametrize("explain", [False, True])
def test_schema_and_instruction_ask_for_what_the_parser_reads(kind: str, explain: bool) -> None:  # noqa: FBT001
    shape = Shape(options=5, evidence=4, clues=3, fields=("clues", "query"), explain=explain)
    schema = KINDS[kind].schema(shape)
    assert schema is not None
    assert set(schema["required"]) == set(schema["properties"])
    assert schema["additionalProperties"] is False
    words = KINDS[kind].instruction(shape)
    example = find_json(words)
    assert set(example) == set(schema["required"]) - {"why"}
    assert ("why" in schema["properties"]) == explain == ("explains" in words)
    if explain:
        assert next(iter(schema["properties"])) == "why", "the explanation comes before what it explains"


def test_labels_stand_in_schema_and_instruction() -> None:
    shape = Shape(labels=("true", "false"))
    schema = KINDS["judge"].schema(shape)
    assert schema is not None
    assert schema["properties"]["answers"]["items"]["enum"] == ["true", "false"]
    assert "true, false" in KINDS["judge"].instruction(shape)


def test_plain_text_has_no_schema() -> None:
    assert KINDS["text"].schema(SHAPE) is None


def bounds(schema: Any, *, least: bool) -> Any:
    """The smallest or the largest value that a schema allows."""
    if "enum" in schema:
        return schema["enum"][0]
    match schema["type"]:
        case "object":
            return {name: bounds(one, least=least) for name, one in schema["properties"].items()}
        case "array":
            count = schema.get("minItems", 0) if least else schema["maxItems"]
            return [bounds(schema["items"], least=least) for _ in range(count)]
        case "integer":
            return schema["minimum" if least else "maximum"]
        case "boolean":
            return not least
        case _:
            # A limit on the reply's length ends it long before every text is as long as it may be.
            return "a" * (0 if least else min(schema["maxLength"], 50))


@pytest.mark.parametrize("least", [True, False])
@pytest.mark.parametrize("kind", JSON_KINDS)
def test_whatever_is_within_the_bounds_of_a_schema_is_read(kind: str, least: bool) -> None:  # noqa: FBT001
    shape = Shape(options=10, evidence=4, clues=10, questions=3, fields=("clues", "query", "types"), explain=True)
    schema = KINDS[kind].schema(shape)
    if kind == "texts":
        shape = Shape(options=0) if least else shape
    parse(kind, json.dumps(bounds(schema, least=least)), shape)
    assert KINDS[kind].tokens(shape) > 0


def test_bounds_follow_what_the_prompt_shows() -> None:
    def schema(kind: str, shape: Shape) -> Any:
        return (KINDS[kind].schema(shape) or {})["properties"]

    assert schema("pick", Shape(options=9))["numbers"]["maxItems"] == 9
    assert schema("pick", Shape(options=9, most=1))["numbers"]["maxItems"] == 1
    assert schema("pick", Shape(options=9))["numbers"]["items"]["maximum"] == 9
    assert schema("score", Shape(options=9, unseen=(1, 2)))["scores"]["maxItems"] == 7
    judge = schema("judge", Shape(evidence=3))
    assert judge["evidence"]["maxItems"] == 3
    assert judge["answers"]["maxItems"] >= 60, "one line may list sixty answers"
    assert schema("judge", Shape(labels=("true", "false")))["answers"]["maxItems"] == 1, "a claim is not both"


def test_the_limit_on_a_reply_follows_what_it_may_hold() -> None:
    def tokens(kind: str, **shape: Any) -> int:
        return KINDS[kind].tokens(Shape(**shape))

    assert tokens("pick", options=30, most=1) < tokens("pick", options=30) < tokens("score", options=30)
    assert tokens("judge", evidence=1) > 60 * 8, "sixty answers of one line"
    assert (
        tokens("judge", evidence=9)
        < tokens("judge", evidence=9, explain=True)
        < tokens("judge", evidence=9, steps=True)
    )
    for questions in (1, 3, 10):
        schema: Any = KINDS["keys"].schema(Shape(questions=questions, most=100))
        assert 27 * schema["properties"]["keys"]["maxItems"] < tokens("keys", questions=questions), "one key, repeated"
    assert max(tokens(kind, options=400, clues=40, evidence=400, questions=99) for kind in KINDS) <= 4000


def test_bounds_can_be_taken_out_for_providers_that_refuse_them() -> None:
    schema = KINDS["judge"].schema(Shape(evidence=3))
    plain = without(schema, BOUNDS)
    assert plain["properties"]["evidence"] == {"type": "array", "items": {"type": "integer"}}
    assert plain["required"] == (schema or {})["required"]
    assert without({"properties": {"maximum": {"type": "integer", "maximum": 3}}}, BOUNDS) == {
        "properties": {"maximum": {"type": "integer"}}
    }


def test_a_pick_of_one_shows_one_and_a_verdict_shows_both() -> None:
    assert '{"numbers": [2]}' in KINDS["pick"].instruction(Shape(options=9, most=1))
    words = KINDS["verdict"].instruction(Shape())
    assert '{"right": true}' in words
    assert '{"right": false}' in words
    assert '"evidence": []' in KINDS["judge"].instruction(Shape())
    assert '"evidence": [1]' in KINDS["judge"].instruction(Shape(evidence=2))


def test_the_order_of_a_judges_keys_can_be_turned_round() -> None:
    shape = Shape(evidence=2, fields=("clues",), order="evidence first")
    schema = KINDS["judge"].schema(shape) or {}
    assert list(schema["properties"]) == ["evidence", "answers", "sufficient", "clues"]
    assert list(find_json(KINDS["judge"].instruction(shape))) == list(schema["properties"])
    assert next(iter((KINDS["judge"].schema(Shape()) or {})["properties"])) == "sufficient"
