"""What is the search agent's own: its one tool, its turns, and what its answer is held against."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import america
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache

import thinkgraph as tg
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.knowledge import Knowledge

ROLE = "search_agent.search"


def look(entity: str, *relations: str, direction: str = "both") -> dict[str, Any]:
    return {"entity": entity, "direction": direction, "relations": list(relations)}


def ask(
    *turns: Any, question: str = "What is the capital of Panama?", knowledge: Knowledge | None = None, **settings: Any
) -> tuple[Any, list[str]]:
    """The answer, and what the searches of each turn had shown when the model was asked next."""
    shown: list[str] = []

    def reply(prompt: ParsedPrompt) -> Any:
        shown.append(prompt.text("evidence"))
        turn = turns[min(len(shown), len(turns)) - 1]
        return {"search": turn} if isinstance(turn, list) else turn

    graph = tg.build(
        "search_agent", knowledge=knowledge or america(), model=FakeModel({ROLE: reply}), settings=settings
    )
    return graph.invoke({"question": question})["answer"], shown


def said(*numbers: int, answer: str = "Panama City") -> dict[str, Any]:
    return {"sufficient": True, "answers": [answer], "evidence": list(numbers)}


def test_without_relations_a_search_lists_them_and_with_them_the_statements() -> None:
    answer, shown = ask([look("Panama")], [look("Panama", "capital")], said(6))
    assert "[1] (Panama) -[capital]-> x1" in shown[1]
    assert "(Panama) -[capital]-> (Panama City)" not in shown[1]
    assert shown[2].splitlines()[-1].endswith("(Panama) -[capital]-> (Panama City)")
    assert (answer["status"], answer["rounds"]) == ("grounded", 2)


@pytest.mark.parametrize(
    ("direction", "borders"),
    [
        ("out", ["-[borders]-> (Ecuador), (Peru), (Brazil)"]),
        ("in", ["<-[borders]- (Panama)"]),
        ("both", ["-[borders]-> (Ecuador), (Peru), (Brazil)", "<-[borders]- (Panama)"]),
    ],
)
def test_a_direction_leaves_the_other_out(direction: str, borders: list[str]) -> None:
    _, shown = ask([look("Colombia", "borders", direction=direction)], said())
    lines = [line.partition("(Colombia) ")[2] for line in shown[1].splitlines() if "borders]" in line]
    assert sorted(lines) == sorted(borders)


def test_several_things_are_searched_in_one_turn_and_their_lines_are_numbered_through() -> None:
    answer, shown = ask([look("Panama", "capital"), look("Colombia", "capital")], said(2, answer="Bogota"))
    assert [line[:3] for line in shown[1].splitlines() if "capital" in line] == ["[1]", "[2]"]
    assert [path["text"] for path in answer["evidence"]["paths"]] == ["(Colombia) -[capital]-> (Bogota)"]


def test_an_unknown_name_and_an_unknown_relation_are_said() -> None:
    _, shown = ask([look("Atlantis"), look("Panama", "mayor")], said())
    assert "There is no entity called 'Atlantis'" in shown[1]
    assert "It has no such relation. Its relations: capital" in shown[1]


def test_a_search_without_its_entity_is_told_to_the_model() -> None:
    answer, _ = ask([{}], [look("Panama", "capital")], said(1))
    assert (answer["status"], answer["answers"]) == ("grounded", ["Panama City"])


def test_a_long_list_is_cut_and_counted() -> None:
    _, shown = ask([look("Colombia", "borders", direction="out")], said(), tails=2)
    assert shown[1].rstrip().endswith("... and 1 more")


def test_a_name_stands_for_as_many_namesakes_as_the_setting_says() -> None:
    rows = [(f"S{number}", "county", f"County {number}") for number in range(5)]
    labels = {f"S{number}": "Springfield" for number in range(5)}
    graph = MemoryGraphStore(rows, labels=labels, name="g")
    knowledge = Knowledge(graph=graph, text=None, embedder=HashEmbedder(), name="g")
    for most in (2, 4):
        _, shown = ask([look("Springfield", "county")], said(), knowledge=knowledge, namesakes=most)
        assert shown[1].count("-[county]->") == most


def test_an_agent_that_only_searches_ends_with_its_turns() -> None:
    answer, shown = ask([look("Panama")], turns=3)
    assert (answer["status"], answer["usage"]["total"]["calls"], len(shown)) == ("unknown", 3, 3)
    assert "did not answer within 3 turns" in answer["reason"]


def test_an_answer_that_no_line_holds_is_none_without_own_knowledge() -> None:
    answer, _ = ask([look("Panama", "capital")], said(1, answer="Colón"))
    assert (answer["status"], answer["answers"]) == ("unknown", [])
    answer, _ = ask([look("Panama", "capital")], said(1, answer="Colón"), own_knowledge=True)
    assert (answer["status"], answer["answers"]) == ("memory", ["Colón"])


@pytest.mark.parametrize("answer", ["Tall Ferry", "the ferry of Tall Ferry"])
def test_an_answer_made_of_the_prompts_example_is_none(answer: str) -> None:
    found, _ = ask([look("Panama", "capital")], said(1, answer=answer), own_knowledge=True)
    assert (found["status"], found["answers"]) == ("unknown", [])
    asked = f"What is the capital of Panama, Panama City or {answer}?"
    found, _ = ask([look("Panama", "capital")], said(1, answer=answer), question=asked, own_knowledge=True)
    assert (found["status"], found["answers"]) == ("memory", [answer])


def test_a_list_of_relations_is_no_evidence() -> None:
    answer, _ = ask([look("Panama")], said(1, answer="capital"))
    assert (answer["status"], answer["evidence"]["triples"]) == ("unknown", [])


def test_a_reply_that_a_cache_holds_is_that_models_own() -> None:
    set_llm_cache(InMemoryCache())
    try:
        lazy = tg.build("search_agent", knowledge=america(), model=FakeModel({ROLE: "{}"}, cache=False))
        assert lazy.invoke({"question": "What is the capital of Panama?"})["answer"]["status"] == "unknown"
        turns = iter([{"search": [look("Panama", "capital")]}, said(1)])
        other = tg.build(
            "search_agent", knowledge=america(), model=FakeModel({ROLE: lambda _: next(turns)}, cache=False)
        )
        answer = other.invoke({"question": "What is the capital of Panama?"})["answer"]
    finally:
        set_llm_cache(None)
    assert answer["answers"] == ["Panama City"]
    assert answer["usage"]["total"]["calls"] == 2


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_stream_of_messages_holds_the_answer_alone(mode: str) -> None:
    turns = iter([{"search": [look("Panama", "capital")]}, said(1)])
    graph = tg.build("search_agent", knowledge=america(), model=FakeModel({ROLE: lambda _: next(turns)}))
    asked: Any = {"messages": [("user", "What is the capital of Panama?")]}
    options: Any = {"stream_mode": "messages", "subgraphs": True}
    if mode == "sync":
        parts = list(graph.stream(asked, **options))
    else:
        parts = [part async for part in graph.astream(asked, **options)]
    assert [(message.type, message.content) for _, (message, _) in parts] == [("ai", "Panama City")]


@pytest.mark.parametrize("given", ["three", "three countries", "It borders 3 countries."])
def test_a_count_in_words_is_read_as_the_other_methods_read_it(given: str) -> None:
    answer, _ = ask(
        [look("Colombia", "borders", direction="out")],
        said(1, answer=given),
        question="How many countries border Colombia?",
    )
    assert (answer["answers"], answer["status"]) == (["3"], "grounded")


@pytest.mark.parametrize("given", ["capital", '["capital"]'])
def test_relations_may_be_a_lone_name_or_a_list_written_as_a_text(given: str) -> None:
    _, shown = ask([{"entity": "Panama", "direction": "out", "relations": given}], said(1))
    assert shown[1].splitlines()[-1].endswith("(Panama) -[capital]-> (Panama City)")
