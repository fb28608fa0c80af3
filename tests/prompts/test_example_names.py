"""Names of a prompt's worked examples are no answers."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel

import thinkgraph as tg
from thinkgraph.prompts.example_names import example_names, without_example_names
from thinkgraph.prompts.library import PromptLibrary, builtin_roles

EXAMPLES = PromptLibrary().get("tog2.reason").worked
INPUTS = {"question": "What is the capital of Gabon?", "evidence": "[1] (Gabon) -[capital]-> (Libreville)"}
KEYS = [{"key": ["Lindow Hall", "architect", "?2"], "of": [1]}, {"key": ["Gabon", "capital", "?1"], "of": [1]}]


def _question(text: str, *refers: int) -> dict[str, Any]:
    return {"question": text, "open": False, "refers": list(refers)}


QUESTIONS = [_question("Which school did Tomas Brede attend?"), _question("What is the capital of Gabon?")]


def test_names_are_collected_from_the_prompt_files() -> None:
    assert {"Tomas Brede", "Lindow Hall", "Osk", "Varn", "Varnic", "Low Merish"} <= example_names(EXAMPLES)
    assert not {"Which", "In", "The", "Question", "Evidence"} & example_names(EXAMPLES)
    for word in ("Life", "Line", "Two", "History", "Water", "Port"):
        assert not any(word in PromptLibrary().get(role).example_names for role in builtin_roles())
    for role in builtin_roles():
        assert all(name[0].isupper() for name in PromptLibrary().get(role).example_names)


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"answers": ["Tomas Brede", "Libreville"], "evidence": [1]}, {"answers": ["Libreville"], "evidence": [1]}),
        ({"answers": ["varn."], "clues": "The Osk rises in Varn."}, {"answers": [], "clues": ""}),
        (["Osk", "Gabon"], ["Gabon"]),
        ("school that Tomas Brede attended", ""),
        ("the capital of Gabon", "the capital of Gabon"),
        ([(1, 9.0)], [(1, 9.0)]),
        ({"right": True}, {"right": True}),
        ({"answers": ["the architect Tomas Brede", "Libreville"]}, {"answers": ["Libreville"]}),
        (["Life", "Osktown", "A Short Life"], ["Life", "Osktown", "A Short Life"]),
        (KEYS, KEYS[1:]),
        (QUESTIONS, QUESTIONS[1:]),
        ([*QUESTIONS, _question("Who wrote #2?", 2)], []),
        ([*QUESTIONS, _question("Who wrote #2?")], []),
        ({"triples": [["Lindow Hall", "architect", "Tomas Brede"], ["a", "b", "c"]]}, {"triples": [["a", "b", "c"]]}),
    ],
)
def test_what_was_copied_goes(value: Any, left: Any) -> None:
    assert without_example_names(value, example_names(EXAMPLES), INPUTS) == left


def test_a_name_that_was_asked_about_stays() -> None:
    value = {"answers": ["Tomas Brede", "the architect Tomas Brede"]}
    assert without_example_names(value, example_names(EXAMPLES), {"question": "Who is Tomas Brede?"}) == value


def test_a_prompt_without_examples_refuses_nothing() -> None:
    assert without_example_names(["Osk"], frozenset(), {}) == ["Osk"]


def test_an_answer_made_of_an_example_is_none() -> None:
    reply = {"sufficient": True, "answers": ["Ostrel"], "evidence": []}
    graph = tg.build("direct", knowledge=tg.Knowledge.open("world"), model=FakeModel({"recall.direct": reply}))
    assert graph.invoke({"question": "What is the capital of Gabon?"})["answer"]["status"] == "unknown"
    known = graph.invoke({"question": "Is Ostrel or Varn the capital?"})["answer"]
    assert (known["answers"], known["status"]) == (["Ostrel"], "memory")
