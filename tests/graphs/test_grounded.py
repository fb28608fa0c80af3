"""What an answer's status rests on: structure, the lines that the model cites, and a last look where one is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from graphs.tog2.test_tog2 import every_relation

import thinkgraph as tg
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.state.knowledge import Passage
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore
from thinkgraph.tools.knowledge import Knowledge

ROWS = [
    ("Gabon", "capital", "Libreville"),
    ("Gabon", "largest_city", "Port-Gentil"),
    ("Gabon", "area_sq_km", "267667"),
]
TOWN = Passage(
    id="d1",
    title="Gabon",
    section="",
    text="The parliament of Gabon has 140 seats. Its president lives by the sea.",
    entities=["Gabon"],
    fields={},
)
CAPITAL = "Which city is the capital of Gabon?"


def gabon() -> Knowledge:
    text = MemoryTextStore([TOWN])
    return Knowledge(graph=MemoryGraphStore(ROWS, literals=["area_sq_km"]), text=text, name="gabon")


def cites(answer: str, *shown: str) -> Any:
    """A reply that gives an answer and cites the lines that hold these words."""

    def reply(prompt: ParsedPrompt) -> Any:
        lines = [item.number for item in prompt.lines("evidence") if any(one in item.text for one in shown)]
        return {"sufficient": True, "answers": [answer], "evidence": lines, "clues": "", "query": ""}

    return reply


def ask(question: str, reason: Any, **settings: Any) -> tuple[Any, FakeModel]:
    replies = {"tog2.topic_prune": {"numbers": [1]}, "tog2.relation_prune": every_relation, "tog2.reason": reason}
    model = FakeModel({**replies, "closing.verify": {"right": settings.pop("right", True)}})
    graph = tg.build(
        "tog2", knowledge=gabon(), model=model, settings={"ranker": "bm25", "depth": 1, "backtracks": 0, **settings}
    )
    return graph.invoke({"question": question})["answer"], model


def test_an_answer_says_where_it_stands() -> None:
    answer, _ = ask(CAPITAL, cites("Libreville", "capital"))
    (support,) = answer["support"]
    line = answer["evidence"]["paths"][support["line"]]["text"]
    assert (support["kind"], line[support["start"] : support["end"]]) == ("path", "Libreville")
    assert answer["status"] == "grounded"


def test_a_right_answer_with_a_wrong_citation_is_grounded_and_says_so() -> None:
    answer, _ = ask(CAPITAL, cites("Libreville", "area"))
    assert answer["status"] == "grounded"
    assert "on other lines than the model cited" in answer["reason"]
    assert [path["text"] for path in answer["evidence"]["paths"]] == ["(Gabon) -[capital]-> (Libreville)"]


def test_a_wrong_answer_with_the_citation_of_the_right_one_is_not_grounded() -> None:
    answer, _ = ask(CAPITAL, cites("Port-Gentil", "capital"))
    assert (answer["status"], answer["answers"]) == ("partial", ["Port-Gentil"])
    assert answer["reason"].endswith("but they fit the question no better than those")


@pytest.mark.parametrize("said", ["It is {}", "The answer is {}.", "The capital of Gabon is {}"])
@pytest.mark.parametrize(("name", "status"), [("Libreville", "grounded"), ("Gabon", "partial")])
def test_an_answer_in_a_sentence_is_doubted_as_the_name_alone_is(said: str, name: str, status: str) -> None:
    for given in (name, said.format(name)):
        answer, _ = ask(CAPITAL, cites(given, "capital"))
        assert (answer["status"], answer["answers"]) == (status, [name])


def test_in_doubt_the_model_is_asked_to_cite_again() -> None:
    told: list[str] = []

    def reply(prompt: ParsedPrompt) -> Any:
        told.append(prompt.text("doubted answer"))
        return cites("Libreville" if told[-1] else "Port-Gentil", "capital")(prompt)

    answer, _ = ask(CAPITAL, reply, backtracks=1)
    assert told[1:] == ["", "[1] Port-Gentil does not stand in the lines cited for it"]
    assert (answer["status"], answer["answers"]) == ("grounded", ["Libreville"])


@pytest.mark.parametrize(("question", "number"), [("How many people live in Gabon?", "140"), (CAPITAL, "The seats")])
def test_what_only_shares_words_with_a_line_is_not_grounded(question: str, number: str) -> None:
    answer, _ = ask(question, cites(number, "seats"))
    assert (answer["status"], answer["support"][0]["kind"]) == ("partial", "words")
    assert f"nothing cited leads to {number}, which only shares words with it" in answer["reason"]


@pytest.mark.parametrize("right", [True, False])
def test_a_last_look_is_one_call_over_the_lines_cited(*, right: bool) -> None:
    plain, before = ask(CAPITAL, cites("Libreville", "capital"))
    answer, model = ask(CAPITAL, cites("Libreville", "capital"), verify=True, right=right)
    assert model.roles == [*before.roles, "closing.verify"]
    shown = model.asked[-1]
    assert [item.text for item in shown.lines("evidence")] == ["(Gabon) -[capital]-> (Libreville)"]
    assert (shown.text("question"), shown.text("answer")) == (CAPITAL, "Libreville")
    assert answer["status"] == ("grounded" if right else "partial")
    assert right or "a verifier judged that it does not follow from the lines cited" in answer["reason"]
    assert plain["usage"]["total"]["calls"] + 1 == answer["usage"]["total"]["calls"]


def test_a_last_look_that_a_ceiling_forbids_leaves_a_best_effort() -> None:
    _, before = ask(CAPITAL, cites("Libreville", "capital"))
    answer, _ = ask(CAPITAL, cites("Libreville", "capital"), verify=True, max_calls=len(before.roles))
    assert (answer["status"], answer["answers"]) == ("partial", ["Libreville"])
    assert "nothing verified it" in answer["reason"]


@pytest.mark.parametrize(("profile", "strict"), [("standard", {}), ("small", {}), ("standard", {"strict": True})])
def test_a_small_models_answer_wants_a_relation_that_the_question_names(profile: str, strict: dict[str, bool]) -> None:
    question = "Where is Gabon ruled from?"
    answer, _ = ask(question, cites("Port-Gentil", "largest"), prompt_profile=profile, **strict)
    assert answer["status"] == ("partial" if strict or profile == "small" else "grounded")
    named, _ = ask(CAPITAL, cites("Libreville", "capital"), prompt_profile=profile, **strict)
    assert named["status"] == "grounded"
