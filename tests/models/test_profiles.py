"""What is known of a model before it is asked."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from models.wire.wires import WIRES, wire_of

from thinkgraph.errors import UsageError
from thinkgraph.models.client import client_for
from thinkgraph.models.profiles import ChatProfile, check_profiles, named_profile, profile_of
from thinkgraph.models.wire.arguments import fitting
from thinkgraph.state.settings import RunSettings


@pytest.mark.parametrize(
    ("name", "size"),
    [
        *(("openai:qwen2.5-coder-1.5b-instruct", "small"), ("ollama:llama3.1:8b", "small"), ("gemma-3-4b-it", "small")),
        *(("ollama:qwen3:32b", "standard"), ("mixtral-8x7b-q4", "standard"), ("openai:gpt-4o-mini", "standard")),
        *(("ollama:llama3.1:70B", "standard"), ("ollama:qwen2.5:0.5b", "small")),
        *(("ollama:gemma3:270m", "small"), ("smollm2-135m-q4", "small"), ("qwen2.5-14b-instruct-1m", "standard")),
        ("claude-sonnet-4-5[1m]", "standard"),
    ],
)
def test_the_name_tells_the_size(name: str, size: str) -> None:
    assert named_profile(name).size == size


def test_the_class_and_langchains_profile_tell_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in WIRES:
        wire = wire_of(provider)
        model = wire.make("http://127.0.0.1:9")
        assert profile_of(model, "m").provider == provider
    assert profile_of(FakeModel({}), "fake") == ChatProfile()
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    client = client_for("openai:gpt-5-mini")
    assert client.profile.window is None
    client.made()
    known = client.profile
    assert (known.reasoning, known.temperature, known.efforts[0]) == (True, False, "minimal")
    assert (known.window or 0) > 100_000


def test_what_the_user_says_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    table = check_profiles({"openai:gpt-5-mini": {"window": 8192, "size": "small", "reasoning": False}}, "here")
    client = client_for("openai:gpt-5-mini", table)
    for _ in range(2):
        assert (client.profile.window, client.profile.size, client.profile.reasoning) == (8192, "small", False)
        client.made()


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (3, "'models' holds a table for each model"),
        ({"m": 3}, "'models.m' is a table"),
        ({"m": {"windw": 3}}, "no such key; known: provider, window"),
        ({"m": {"window": "big"}}, "'models.m.window' is a number of tokens"),
        ({"m": {"window": True}}, "is a number of tokens"),
        ({"m": {"window": 0}}, "is a number of tokens above 0"),
        ({"m": {"size": "huge"}}, "is one of small, standard"),
        ({"m": {"provider": "nobody"}}, "is one of openai, anthropic"),
        ({"m": {"reasoning": "yes"}}, "is true or false"),
        ({"m": {"efforts": "low"}}, "is a list of texts"),
    ],
)
def test_a_malformed_table_is_refused_in_one_line(value: Any, fault: str) -> None:
    with pytest.raises(UsageError, match=fault) as raised:
        check_profiles(value, "thinkgraph.toml")
    assert str(raised.value).startswith("thinkgraph.toml: ")
    assert "\n" not in str(raised.value)


def test_a_schema_loses_only_what_a_provider_refuses() -> None:
    schema = {"type": "object", "properties": {"minimum": {"type": "array", "maxItems": 3, "items": {"maximum": 2}}}}
    assert fitting(schema, "ollama", frozenset()) == schema
    assert fitting(schema, "google_genai", frozenset()) == schema
    bare = {"type": "object", "properties": {"minimum": {"type": "array", "items": {}}}}
    assert fitting(schema, "anthropic", frozenset()) == bare, "a field may have a keyword's name"


def test_a_model_that_needs_ninety_seconds_for_its_first_token_works_by_default() -> None:
    assert RunSettings.model_fields["call_timeout"].default > 2 * 90
