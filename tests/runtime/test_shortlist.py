"""Only the options nearest to the question are shown, and replies choose among them by their own numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from thinkgraph.models.calls import CallResult, ModelCall
from thinkgraph.prompts.files import Profile
from thinkgraph.prompts.kinds import KINDS, KindName, Shape
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.prompts.lines import numbered
from thinkgraph.runtime.driver import Driver
from thinkgraph.runtime.shortlist import nearest, prunes, renumbered, shortlist, with_nearest_clues
from thinkgraph.state.fasttog import FastTogSettings
from thinkgraph.state.fiske import FiskeSettings
from thinkgraph.state.settings import RunSettings
from thinkgraph.testing.embedder import HashEmbedder

OPTIONS = ["(Osk) -[length]-> x1", "(Osk) <-[mouth]- x3", "(Osk) -[source]-> x1", "(Osk) -[bridge]-> x9"]


class Deps:
    """Knowledge with an encoder alone."""

    def __init__(self) -> None:
        self.knowledge = self
        self.embedder = HashEmbedder()


def a_call(kind: KindName = "pick", question: str = "Osk source") -> ModelCall[Any]:
    inputs = {"question": question, "options": numbered(OPTIONS)}
    return ModelCall(kind=KINDS[kind], role="a.b", inputs=inputs, shape=Shape(options=4, clues=2), fallback=[1])


def narrowed(call: ModelCall[Any], most: int) -> tuple[ModelCall[Any], list[int]]:
    return Driver({}, Deps()).drive(shortlist(call, most))  # type: ignore[arg-type]


def test_the_nearest_options_are_shown_best_first() -> None:
    shown, numbers = narrowed(a_call(), 2)
    assert numbers[0] == 3
    assert shown.inputs["options"].split("\n") == [
        f"[{place}] {OPTIONS[number - 1]}" for place, number in enumerate(numbers, start=1)
    ]
    assert (shown.shape.options, shown.shape.clues, len(numbers)) == (2, 2, 2)


@pytest.mark.parametrize(
    ("kind", "most", "chosen"),
    [
        ("pick", 1, [3]),
        ("pick", 9, [3, 2, 1, 4]),
        ("score", 1, [(3, 10.0), (2, 9.0), (1, 8.0), (4, 7.0)]),
        ("pairs", 2, [(2, 3), (1, 2)]),
    ],
)
def test_the_encoder_chooses_what_is_nearest_to_the_question(kind: KindName, most: int, chosen: Any) -> None:
    call = a_call(kind, "source mouth of the Osk, its source")
    call = replace(call, inputs={**call.inputs, "clues": numbered(["mouth", "source", "Osk"])})
    call = replace(call, shape=replace(call.shape, clues=3, most=most))
    assert Driver({}, Deps()).drive(nearest(call)) == chosen, "a clue that is a name matches no option"  # type: ignore[arg-type]


def test_the_encoder_chooses_only_where_a_prompt_and_the_settings_let_it() -> None:
    prompt, other = PromptLibrary().get("tog2.relation_prune"), PromptLibrary().get("tog2.topic_prune")
    encoder = RunSettings(pruning="encoder")
    assert [prunes(prompt, encoder), prunes(other, encoder), prunes(prompt, RunSettings())] == [True, False, False]
    assert FastTogSettings().for_small().pruning == FiskeSettings().for_small().pruning == "encoder"
    assert FiskeSettings(pruning="model").for_small().pruning == "model"


@pytest.mark.parametrize("most", [0, 4, 9])
def test_a_call_that_fits_stays_as_it_is(most: int) -> None:
    call = a_call()
    assert narrowed(call, most) == (call, [])


def test_what_must_stay_whole_stays_so() -> None:
    call = a_call("texts")
    assert narrowed(call, 2) == (call, [])


@pytest.mark.parametrize(
    ("kind", "said", "meant"),
    [("pick", [2, 1], [1, 3]), ("score", [(1, 9.0)], [(3, 9.0)]), ("pairs", [(2, 2)], [(2, 1)])],
)
def test_replies_mean_the_options_as_they_were(kind: KindName, said: Any, meant: Any) -> None:
    call = a_call(kind)
    assert renumbered(call, CallResult(said, fell_back=False), [3, 1]).value == meant
    assert renumbered(call, CallResult(said, fell_back=True), [3, 1]).value == said
    assert renumbered(call, CallResult(said, fell_back=False), []).value == said


def test_a_community_is_as_near_as_its_nearest_list() -> None:
    filler = "; ".join(f"-[{word}]-> ({word})" for word in ("mayor", "flag", "anthem", "motto", "area", "coast"))
    options = [f"(Varn) {filler}", f"(Merrow) {filler}; -[source]-> (Osk)", f"(Seddle) {filler}"]
    call = replace(a_call(), inputs={"question": "Osk source", "options": numbered(options)})
    assert narrowed(call, 1)[1] == [2]


@pytest.mark.parametrize(
    ("role", "profile", "nearest"),
    [
        ("fiske.r_mapping", "small", (2, 1, 1, 2)),
        ("fiske.r_mapping", "standard", ()),
        ("fiske.e_mapping", "small", ()),
        ("tog2.relation_prune", "small", ()),
    ],
)
def test_an_option_matches_the_clue_nearest_to_it_where_the_reply_only_names_options(
    role: str, profile: Profile, nearest: tuple[int, ...]
) -> None:
    prompt, options = PromptLibrary().get(role), ["(Osk) -[length]-> x1", *OPTIONS[1:3], "(Osk) -[length km]-> x1"]
    inputs = {"question": "?", "clues": numbered(["source of a mouth", "length"]), "options": numbered(options)}
    call = replace(a_call(prompt.kind.name), inputs=inputs)
    told = Driver({}, Deps()).drive(with_nearest_clues(call, prompt, profile))  # type: ignore[arg-type]
    assert told == replace(call, shape=replace(call.shape, nearest=nearest))
