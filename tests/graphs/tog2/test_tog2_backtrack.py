"""ToG-2 in doubt: a search without a supported answer goes back to what it pruned, and an answer that does not fit is none."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import AMERICA, PASSAGES, small_knowledge
from graphs.tog2.test_tog2 import BORDERS, NEVER, every_relation, only
from langgraph.checkpoint.memory import InMemorySaver

import thinkgraph as tg
from thinkgraph.errors import ModelError, SettingsError
from thinkgraph.graphs.registry import find_method
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.state.baselines.tog import TogSettings
from thinkgraph.state.settings import resolve_settings
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore
from thinkgraph.tools.knowledge import Knowledge

VOLGA = [
    ("Volga", "ends_in", "Russia"),
    ("Russia", "population", "144000000"),
    ("Russia", "head_of_government", "Ada Lund"),
]
PEOPLE = "How many people live in the country where the Volga ends?"
FAULT = "the question asks for a number, and Russia is a name"
THREAD: Any = {"configurable": {"thread_id": "t"}}


def build(replies: dict[str, Any], knowledge: Knowledge | None = None, **options: Any) -> tuple[Any, FakeModel]:
    base = {"tog2.topic_prune": {"numbers": [1]}, "tog2.relation_prune": every_relation, "tog2.reason": NEVER}
    model = FakeModel({**base, "tog2.query_reform": "a query", **replies})
    settings = {"ranker": "bm25", "depth": 1, "steered": False, **options.pop("settings", {})}
    return tg.build("tog2", knowledge=knowledge or small_knowledge(), model=model, settings=settings, **options), model


def volga() -> Knowledge:
    return Knowledge(graph=MemoryGraphStore(VOLGA, literals=["population"]), name="volga")


def sure(answers: list[str], *lines: int) -> Any:
    return {"sufficient": True, "answers": answers, "evidence": list(lines), "clues": "", "query": ""}


def neighbours(prompt: ParsedPrompt) -> Any:
    for item in prompt.lines("evidence"):
        found = [hop.object for hop in item.triples if hop.relation == "borders"]
        if found:
            return sure(found, item.number)
    return NEVER


def capital_first(prompt: ParsedPrompt) -> Any:
    """The wrong relation where it is offered, else all."""
    return only("capital")(prompt) if "capital" in offered([prompt])[0] else every_relation(prompt)


def offered(prompts: list[ParsedPrompt]) -> list[set[str]]:
    """The relations of Panama that each relation prune chose from."""
    return [
        {item.step[1] for item in prompt.lines("options") if item.step and item.step[0] == "Panama"}
        for prompt in prompts
        if prompt.role == "tog2.relation_prune"
    ]


def steps_of(graph: Any, question: str, given: Any = None) -> list[str]:
    values = {"question": question} if given is None else given
    return [name for update in graph.stream(values) for name in update]


def test_a_pruned_relation_comes_back_and_a_walked_one_is_not_offered_twice() -> None:
    replies = {"tog2.relation_prune": capital_first, "tog2.reason": neighbours}
    graph, model = build(replies)
    answer = graph.invoke({"question": BORDERS})["answer"]
    assert (set(answer["answers"]), answer["status"]) == ({"Colombia", "Costa Rica"}, "grounded")
    first, second = offered(model.asked)
    assert "capital" in first
    assert second == first - {"capital"}
    one_way, _ = build(replies, settings={"backtracks": 0})
    assert one_way.invoke({"question": BORDERS})["answer"]["status"] == "unknown"


def test_a_relation_that_was_kept_but_not_walked_comes_back() -> None:
    # W · R = 1 relation is walked a round, of one for each entity that is kept.
    graph, model = build({}, settings={"width": 1, "relations": 1, "backtracks": 2})
    graph.invoke({"question": BORDERS})
    asked = [prompt for prompt in model.asked if prompt.role == "tog2.relation_prune"]
    assert len(asked) == 3
    sizes = [{item.step for item in prompt.lines("options")} for prompt in asked]
    assert len(asked[1].lines("entities")) == 2, "two are kept the second time, of which one is walked"
    old = {step for step in sizes[1] if step in sizes[2]}
    assert len(old) == len(sizes[1]) - 1


def test_a_topic_that_was_dropped_though_the_question_names_it_comes_back() -> None:
    def first_panama(prompt: ParsedPrompt) -> Any:
        return {"numbers": [item.number for item in prompt.lines("options") if "Panama" in item.text]}

    graph, model = build({"tog2.topic_prune": first_panama})
    graph.invoke({"question": "Does Panama border Colombia?"})
    starts = [
        {item.label for item in prompt.lines("entities")}
        for prompt in model.asked
        if prompt.role == "tog2.relation_prune"
    ]
    assert starts[0] == {"Panama"}
    assert {"Panama", "Colombia"} <= starts[1]


HUB = [
    *[("Panama", "films", f"Film {number}") for number in range(1, 6)],
    *[(f"Film {number}", "year", f"190{number}") for number in range(1, 6)],
    *[(f"Film {number}", "spoken", "Kuna") for number in (4, 5)],
]


@pytest.mark.parametrize("combined", [True, False])
def test_entities_that_entity_prune_dropped_come_back_as_one_option_a_relation(*, combined: bool) -> None:
    def kuna(prompt: ParsedPrompt) -> Any:
        lines = [item.number for item in prompt.lines("evidence") if "Kuna" in item.text]
        return sure(["Kuna"], *lines) if lines else NEVER

    replies = {"tog2.relation_prune": only("films", "spoken"), "tog2.reason": kuna}
    knowledge = Knowledge(graph=MemoryGraphStore(HUB), name="films")
    settings = {"width": 1, "backtracks": 1, "ranker": "bm25", "combined": combined}
    graph, model = build(replies, knowledge, settings=settings)
    answer = graph.invoke({"question": "What is spoken in the films of Panama?"})["answer"]
    assert (answer["answers"], answer["status"]) == (["Kuna"], "grounded")
    asked = [prompt for prompt in model.asked if prompt.role == "tog2.relation_prune"][-1]
    steps = {item.step for item in asked.lines("options")}
    assert ("Film 4 and 1 more", "spoken", True) in steps
    assert {(entity[len("Film 1 ") :], relation) for entity, relation, _ in steps} == {
        ("and 1 more", "spoken"),
        ("and 4 more", "year"),
        ("and 4 more", "films"),
    }
    once, _ = build(replies, knowledge, settings={**settings, "backtracks": 0})
    assert once.invoke({"question": "What is spoken in the films of Panama?"})["answer"]["status"] == "unknown"


def test_where_topic_prune_chose_none_the_named_ones_are_gone_back_to() -> None:
    graph, model = build({"tog2.topic_prune": {"numbers": []}}, settings={"backtracks": 1})
    graph.invoke({"question": "Does Panama border Colombia?"})
    assert model.roles == ["tog2.topic_prune", "tog2.relation_prune", "tog2.reason"]
    assert {item.label for item in model.asked[1].lines("entities")} == {"Panama", "Colombia"}


@pytest.mark.parametrize("backtracks", [0, 1, 3])
@pytest.mark.parametrize("question", [BORDERS, "Does Panama border Colombia?", PEOPLE])
def test_the_search_goes_back_as_often_as_it_may(question: str, backtracks: int) -> None:
    graph, _ = build({}, settings={"backtracks": backtracks})
    steps = steps_of(graph, question)
    # Nothing is named in the last question: there is nothing to go back to.
    assert steps.count("backtrack") == (0 if question == PEOPLE else backtracks)
    assert steps[-1] == "answer"


def test_where_no_round_is_walked_there_is_no_way_back() -> None:
    graph, model = build({}, settings={"depth": 0})
    assert "backtrack" not in steps_of(graph, BORDERS)
    assert "tog2.relation_prune" not in model.roles


def test_tog_does_not_go_back() -> None:
    with pytest.raises(SettingsError, match="backtracks"):
        resolve_settings(TogSettings, {"backtracks": 1})


def test_rounds_after_a_way_back_are_as_many_as_the_depth() -> None:
    knowledge = Knowledge(graph=MemoryGraphStore(AMERICA), text=MemoryTextStore(PASSAGES), name="america")
    graph, _ = build({}, knowledge, settings={"depth": 2, "backtracks": 1, "relations": 1, "width": 2})
    steps = steps_of(graph, BORDERS)
    back = steps.index("backtrack")
    assert steps[:back].count("entity_discovery") == steps[back:].count("entity_discovery") == 2


def test_a_doubted_answer_lets_the_walk_go_on_and_ends_as_unknown_with_the_reason() -> None:
    def bridge(prompt: ParsedPrompt) -> Any:
        lines = [item.number for item in prompt.lines("evidence") if "Russia" in item.text]
        return sure(["Russia"], *lines) if lines else NEVER

    graph, model = build({"tog2.reason": bridge}, volga(), settings={"depth": 2, "backtracks": 1})
    answer = graph.invoke({"question": PEOPLE})["answer"]
    assert (answer["answers"], answer["status"], answer["reason"]) == ([], "unknown", FAULT)
    assert answer["rounds"] > 2
    told = [prompt.text("doubted answer") for prompt in model.asked if prompt.role == "tog2.reason"]
    assert told[:2] == ["", f"[1] {FAULT}"], "the first answer only was not doubted before"
    assert {*told[2:]} == {f"[1] {FAULT}; it was given again all the same"}
    once, _ = build({"tog2.reason": bridge}, volga(), settings={"depth": 2, "backtracks": 0})
    answer = once.invoke({"question": PEOPLE})["answer"]
    assert (answer["answers"], answer["status"], answer["rounds"]) == (["Russia"], "partial", 1)


def test_a_doubted_answer_may_be_put_right_where_the_evidence_holds_the_right_one() -> None:
    def on_second_thoughts(prompt: ParsedPrompt) -> Any:
        said = "144000000" if prompt.text("doubted answer") else "Russia"
        lines = [item.number for item in prompt.lines("evidence") if said in item.text]
        return sure([said], *lines) if lines else NEVER

    graph, model = build({"tog2.reason": on_second_thoughts}, volga(), settings={"depth": 2})
    answer = graph.invoke({"question": PEOPLE})["answer"]
    assert (answer["answers"], answer["status"], answer["rounds"]) == (["144000000"], "grounded", 2)
    assert model.roles.count("tog2.reason") == 3, "in round 1 two, in round 2 one"


@pytest.mark.parametrize("combined", [True, False])
@pytest.mark.parametrize("most", range(1, 14))
def test_ceilings_hold_on_the_way_back(most: int, *, combined: bool) -> None:
    graph, model = build({}, settings={"max_calls": most, "combined": combined, "backtracks": 3})
    answer = graph.invoke({"question": BORDERS})["answer"]
    assert answer["status"] == "unknown"
    assert len(model.asked) == answer["usage"]["total"]["calls"] <= most


@pytest.mark.parametrize("settings", [{}, {"combined": False}, {"fused": False}, {"width": 1, "combined": False}])
@pytest.mark.parametrize("depth", [1, 2])
def test_the_bound_holds_where_every_answer_is_doubted(settings: dict[str, Any], depth: int) -> None:
    def neighbour(prompt: ParsedPrompt) -> Any:
        lines = [item.number for item in prompt.lines("evidence") if "Colombia" in item.text]
        return sure(["Colombia"], *lines) if lines else NEVER

    knowledge = Knowledge(graph=MemoryGraphStore(AMERICA), text=MemoryTextStore(PASSAGES), name="america")
    chosen = {"ranker": "bm25", "depth": depth, "relations": 2, **settings}
    graph, model = build({"tog2.reason": neighbour}, knowledge, settings=chosen)
    answer = graph.invoke({"question": "How many people live in the countries that border Panama?"})["answer"]
    assert answer["status"] == "unknown"
    assert any(prompt.text("doubted answer") for prompt in model.asked)
    method = find_method("tog2")
    most = method.bound(resolve_settings(method.settings, chosen), answer)
    assert most is not None
    assert answer["usage"]["total"]["calls"] <= most


REPLIES = {"tog2.relation_prune": capital_first, "tog2.reason": neighbours}


def comparable(answer: dict[str, Any]) -> Any:
    return [answer[key] for key in ("answers", "status", "reason", "evidence", "rounds", "pruned")] + [
        answer["usage"]["total"]["calls"]
    ]


def test_a_run_goes_on_from_before_and_after_the_way_back() -> None:
    graph, _ = build(REPLIES)
    whole = graph.invoke({"question": BORDERS})["answer"]
    assert comparable(asyncio.run(graph.ainvoke({"question": BORDERS}))["answer"]) == comparable(whole)
    for when in ("interrupt_before", "interrupt_after"):
        graph, model = build(REPLIES, checkpointer=InMemorySaver())
        graph.invoke({"question": BORDERS}, THREAD, **{when: ["backtrack"]})
        assert "backtrack" in graph.get_state(THREAD).next or graph.get_state(THREAD).values["backtracked"] == 1
        assert comparable(graph.invoke(None, THREAD)["answer"]) == comparable(whole)
        assert len(model.asked) == whole["usage"]["total"]["calls"]


def test_a_run_that_failed_on_either_way_repeats_no_call() -> None:
    graph, _ = build(REPLIES)
    whole = graph.invoke({"question": BORDERS})["answer"]
    calls = whole["usage"]["total"]["calls"]
    for after in range(calls):
        asked: list[str] = []
        broken = True

        def failing(prompt: ParsedPrompt) -> Any:
            if broken and len(asked) == after:  # noqa: B023 - used within this turn of the loop
                raise ConnectionError("the server is gone")
            asked.append(prompt.role)  # noqa: B023
            return REPLIES[prompt.role](prompt)

        graph, _ = build(
            dict.fromkeys(REPLIES, failing),
            checkpointer=InMemorySaver(),
            journal=tg.MemoryJournal(),
            settings={"call_retries": 0},
        )
        with pytest.raises(ModelError, match="the server is gone"):
            graph.invoke({"question": BORDERS}, THREAD)
        broken = False
        *found, counted = comparable(graph.invoke(None, THREAD)["answer"])
        assert found == comparable(whole)[:-1]
        assert counted == calls + 1, "the attempt that failed counts"
        assert len(asked) == calls
