"""Which model answers which role."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from models.by_hand import PRICES, no_offline

from thinkgraph.errors import UsageError
from thinkgraph.models.roles import Models, ModelSpec
from thinkgraph.prompts.library import PromptLibrary

PROMPTS = PromptLibrary()


def models(spec: ModelSpec, **options: Any) -> Models:
    return Models(spec, offline=no_offline, **options)


def named(name: str) -> FakeModel:
    return FakeModel({}, model_name=name)


def who(answers: Models, role: str) -> str:
    return answers.of(PROMPTS.get(role)).name


def test_one_model_answers_all() -> None:
    every = models(named("one"))
    assert {who(every, role) for role in ("tog2.reason", "rank.texts")} == {"one"}
    assert every.default == "one"


def test_the_nearest_name_wins() -> None:
    spec = {name: named(name) for name in ("default", "explore", "reason", "tog2", "tog2.reason")}
    every = models(spec)
    assert who(every, "tog2.reason") == "tog2.reason"
    assert who(every, "tog2.topic_prune") == "tog2"
    assert who(every, "rank.texts") == "explore"
    del spec["tog2"], spec["tog2.reason"], spec["explore"]
    assert who(models(spec), "tog2.query_reform") == "reason"
    assert who(models(spec), "rank.texts") == "default"


@pytest.mark.parametrize(
    ("joint", "step"),
    [
        ("tog2.steer", "tog2.reason"),
        ("fasttog.steer", "fasttog.reason"),
        ("coggrag.extract_keys_joint", "coggrag.extract_keys_local"),
    ],
)
def test_a_joint_call_goes_to_the_model_of_its_step(joint: str, step: str) -> None:
    spec = {name: named(name) for name in ("default", joint.partition(".")[0], step)}
    assert who(models(spec), joint) == step
    assert who(models({**spec, joint: named(joint)}), joint) == joint


def test_one_client_serves_one_model() -> None:
    shared = named("shared")
    every = models({"default": shared, "tog2.reason": shared, "explore": named("shared")})
    default, reason = (every.of(PROMPTS.get(role)) for role in ("tog2.query_reform", "tog2.reason"))
    assert default is reason
    assert every.of(PROMPTS.get("rank.texts")) is not default


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"tog2.reason": "openai:x"}, "models: models by role need a 'default' too"),
        ({}, "models: models by role need a 'default' too"),
        ({"default": "gpt-4o"}, "must be named provider:name"),
        ({"default": "openai:x", "tog2.reasn": "openai:y"}, "no role 'tog2.reasn'; known: closing"),
        ("", "must be named provider:name"),
    ],
)
def test_a_malformed_specification_is_refused_at_once(spec: Any, fault: str) -> None:
    with pytest.raises(UsageError, match=fault) as raised:
        models(spec)
    assert "\n" not in str(raised.value)


def test_offline_is_made_on_first_use() -> None:
    made: list[FakeModel] = []

    def make() -> FakeModel:
        made.append(named("x"))
        return made[-1]

    every = Models("offline", offline=make)
    assert (every.default, made) == ("offline", [])
    assert every.of(PROMPTS.get("tog2.reason")).make() is made[0]
    assert every.price(every.of(PROMPTS.get("tog2.reason")).name) == (0.0, 0.0)


def test_unpriced_models_are_named() -> None:
    every = models(
        {"default": "openai:gpt-4o", "reason": "openai:nobody-knows", "explore": named("fake")}, prices=PRICES
    )
    assert every.unpriced() == ["openai:nobody-knows"]
    assert every.price(every.of(PROMPTS.get("rank.texts")).name) == (1e-6, 2e-6)


@pytest.mark.parametrize("prices", [{"m": (1.0,)}, {"m": 3}, {"m": (-1, 2)}, {"m": ("a", "b")}])
def test_malformed_prices_are_refused(prices: Any) -> None:
    with pytest.raises(UsageError, match="price of 'm' must be"):
        models(named("m"), prices=prices)
