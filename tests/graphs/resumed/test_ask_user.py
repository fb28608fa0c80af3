"""Runs that pause to ask the person: what is asked, what a reply does, and that nothing is paid for twice."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES, Case
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import thinkgraph as tg
from thinkgraph.errors import ManifestMismatchError, SettingsError
from thinkgraph.graphs.build import Graph
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.state.base import newest_manifest
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore

SPENDING = sorted(name for name, case in CASES.items() if case.calls > 1)
THREAD: Any = {"configurable": {"thread_id": "1"}}


@pytest.fixture(autouse=True)
def no_blocked_types(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.WARNING):
        yield
    assert [r.getMessage() for r in caplog.records if "serializ" in r.getMessage().casefold()] == []


def make(case: Case, saver: Any = None, **settings: Any) -> tuple[Graph, FakeModel]:
    model = FakeModel(case.replies)
    saver = saver if saver is not None else InMemorySaver()
    settings = {**case.settings, "ask_user": "budget", **settings}
    graph = tg.build(case.method, knowledge=case.knowledge(), model=model, settings=settings, checkpointer=saver)
    return graph, model


def waiting(out: Any) -> list[Any]:
    return list(out.get("__interrupt__", ()))


def reply(out: Any, value: Any) -> Any:
    """The same reply to all that is asked."""
    asked = waiting(out)
    return Command(resume={one.id: value for one in asked} if len(asked) > 1 else value)


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("name", SPENDING)
def test_a_raised_ceiling_lets_the_run_go_on_and_pays_nothing_twice(name: str, mode: str) -> None:
    case = CASES[name]
    graph, model = make(case, max_calls=1)

    def go(what: Any) -> Any:
        return asyncio.run(graph.ainvoke(what, THREAD)) if mode == "async" else graph.invoke(what, THREAD)

    out = go({"question": case.question})
    question = waiting(out)[0].value
    assert json.loads(json.dumps(question)) == question
    assert question["kind"] == "budget"
    assert "ceiling of 1 calls (max_calls) is reached" in question["text"]
    assert question["problem"] == ""
    assert "answer" not in out or out["answer"] is None
    answer = go(reply(out, 50))["answer"]
    assert answer["answers"] == case.answers
    assert answer["usage"]["total"]["calls"] == len(model.asked) == case.calls
    manifest = graph.get_state(THREAD).values["manifest"]
    assert manifest["settings"]["max_calls"] == 50
    assert manifest["raised"] == {"max_calls": 1}


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("name", SPENDING)
def test_one_ceiling_after_the_other_is_raised_by_the_id_of_what_is_asked(name: str, mode: str) -> None:
    case = CASES[name]
    graph, model = make(case, max_calls=1, max_tokens=1300, max_output_tokens=500)
    out: Any = {"question": case.question}
    for _ in range(2 * case.calls + 2):
        out = asyncio.run(graph.ainvoke(out, THREAD)) if mode == "async" else graph.invoke(out, THREAD)
        if not (asked := waiting(out)):
            break
        assert not any(one.value["problem"] for one in asked)
        out = Command(resume={one.id: 900 if "max_calls" in one.value["text"] else 90_000 for one in asked})
    assert out["answer"]["answers"] == case.answers
    assert len(model.asked) == case.calls


@pytest.mark.parametrize("name", SPENDING)
def test_enough_is_enough(name: str) -> None:
    case = CASES[name]
    graph, model = make(case, max_calls=1)
    out = graph.invoke({"question": case.question}, THREAD)
    pauses = 0
    while waiting(out):
        pauses += len(waiting(out))
        out = graph.invoke(reply(out, "stop"), THREAD)
    # Tasks side by side each ask; after them nobody does.
    assert pauses == (3 if name == "cot_sc" else 1)
    assert len(model.asked) <= 1
    if name != "cot_sc":
        assert out["answer"]["status"] == "unknown"
        assert "ceiling of 1 calls" in out["answer"]["reason"]


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("name", SPENDING)
def test_no_ceiling_is_passed_however_it_is_raised(name: str, mode: str) -> None:
    case = CASES[name]
    ceiling = 2
    graph, model = make(case, max_calls=ceiling, **case.busy)

    def go(what: Any) -> Any:
        return asyncio.run(graph.ainvoke(what, THREAD)) if mode == "async" else graph.invoke(what, THREAD)

    out = go({"question": case.other_question})
    rounds = 0
    while waiting(out) and rounds < 25:
        rounds += 1
        assert len(model.asked) <= ceiling
        ceiling += 7
        out = go(reply(out, ceiling))
    assert not waiting(out)
    assert rounds > 0
    assert len(model.asked) <= ceiling
    assert out["answer"]["usage"]["total"]["calls"] == len(model.asked)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ("x", "'x' is no number"),
        (True, "True is no number"),
        (float("nan"), "nan is no number"),
        (1, "1 is not more than the ceiling of 1"),
        ({"max_tokens": 5}, "it is max_calls that is reached"),
        (99_999, "max_calls"),
        (2.5, "max_calls"),
    ],
)
def test_a_wrong_reply_is_asked_again(wrong: Any, says: str) -> None:
    case = CASES["tog2"]
    graph, model = make(case, max_calls=1)
    out = graph.invoke({"question": case.question}, THREAD)
    first = waiting(out)[0].value
    for _ in range(2):
        out = graph.invoke(reply(out, wrong), THREAD)
        again = waiting(out)[0].value
        assert says in again["problem"]
        assert "\n" not in again["problem"]
        assert says in again["action_requests"][0]["description"]
        assert {**again, "problem": "", "action_requests": first["action_requests"]} == first
    assert graph.invoke(reply(out, {"max_calls": "9"}), THREAD)["answer"]["answers"] == case.answers
    assert len(model.asked) == case.calls


@pytest.mark.parametrize(("ceiling", "more"), [({"max_tokens": 100}, 100_000), ({"max_seconds": 0.000001}, 60)])
def test_other_ceilings_are_raised_too(ceiling: dict[str, Any], more: float) -> None:
    case = CASES["tog2"]
    graph, model = make(case, **ceiling)
    out = graph.invoke({"question": case.question}, THREAD)
    while waiting(out):
        out = graph.invoke(reply(out, more), THREAD)
        more *= 2
    assert out["answer"]["answers"] == case.answers
    assert len(model.asked) == case.calls


def test_the_first_settings_may_be_given_again_and_no_others() -> None:
    case = CASES["tog2"]
    graph, _ = make(case, ask_user="never")
    started: Any = {"ask_user": "budget", "max_calls": 1}
    out = graph.invoke({"question": case.question}, THREAD, context=started)
    out = graph.invoke(reply(out, 2), THREAD, context=started)
    assert out["answer"]["answers"] == case.answers
    out = graph.invoke({"question": case.question}, THREAD, context=started)
    with pytest.raises(ManifestMismatchError, match="max_calls=1"):
        graph.invoke(reply(out, 2), THREAD, context={**started, "max_calls": 3})


def test_a_graph_made_anew_goes_on_with_the_journal_and_the_checkpoints() -> None:
    case, saver, journal = CASES["fiske"], InMemorySaver(), tg.MemoryJournal()

    def again() -> tuple[Graph, FakeModel]:
        model = FakeModel(case.replies)
        settings = {**case.settings, "ask_user": "budget", "max_calls": 3}
        graph = tg.build(
            case.method,
            knowledge=case.knowledge(),
            model=model,
            settings=settings,
            checkpointer=saver,
            journal=journal,
        )
        return graph, model

    graph, before = again()
    out = graph.invoke({"question": case.question}, THREAD)
    other, after = again()
    answer = other.invoke(reply(out, 20), THREAD)["answer"]
    assert answer["answers"] == case.answers
    assert len(before.asked) + len(after.asked) == case.calls == answer["usage"]["total"]["calls"]


def test_nothing_is_asked_without_a_checkpointer_or_by_default() -> None:
    case = CASES["tog2"]
    graph = tg.build("tog2", knowledge=case.knowledge(), model=FakeModel({}), settings={"ask_user": "both"})
    with pytest.raises(SettingsError, match="ask_user=both needs a checkpointer"):
        graph.invoke({"question": case.question})
    plain = tg.build(
        "tog2",
        knowledge=georgia(),
        model=FakeModel(REPLIES),
        settings={"max_calls": 1, "ranker": "bm25"},
        checkpointer=InMemorySaver(),
    )
    assert not waiting(plain.invoke({"question": CAPITAL}, THREAD))


CAPITAL = "What is the capital of Georgia?"


def georgia() -> tg.Knowledge:
    """Two that share a name, and one that has it as an alias."""
    rows = [("g1", "capital", "Tbilisi"), ("g2", "capital", "Atlanta"), ("g3", "capital", "Nowhere")]
    graph = MemoryGraphStore(
        rows,
        labels={"g1": "Georgia", "g2": "Georgia", "g3": "South Georgia"},
        aliases={"g3": ["Georgia"]},
        descriptions={"g1": "country", "g2": "state\x1b[31m\nof the US"},
    )
    return tg.Knowledge(graph=graph, embedder=HashEmbedder(), name="georgia")


def _said(prompt: ParsedPrompt) -> Any:
    for item in prompt.lines("evidence"):
        for hop in item.triples:
            if hop.relation == "capital":
                return {"sufficient": True, "answers": [hop.object], "evidence": [item.number]}
    return {"sufficient": False, "answers": [], "evidence": [], "clues": "", "query": ""}


def _every(prompt: ParsedPrompt) -> Any:
    return {"numbers": [1], "scores": [[item.number, 9] for item in prompt.lines("options")]}


REPLIES: dict[str, Any] = {
    "tog2.topic_prune": _every,
    "tog2.relation_prune": _every,
    "tog2.reason": _said,
    "tog.entity_prune": _every,
    "kg_rag.reason": _said,
    "rag.reason": _said,
    "fiske.extract_clues": {"keywords": ["Georgia", "capital"]},
    "fiske.r_mapping": {"pairs": [[2, 1]]},
    "fiske.e_mapping": {"pairs": []},
    "fiske.conclude": _said,
    "recall.direct": {"sufficient": False, "answers": [], "evidence": []},
    "fasttog.extract_subjects": {"names": ["Georgia"]},
    "fasttog.header_choice": _every,
    "fasttog.community_prune": _every,
    "fasttog.reason": _said,
    "coggrag.decompose": {"questions": [{"question": CAPITAL, "open": False, "refers": []}]},
    "coggrag.extract_keys_local": {"keys": [{"key": ["Georgia", "capital", "?1"], "of": [1]}]},
    "coggrag.extract_keys_joint": {"keys": [{"key": ["Georgia", "capital", "?1"], "of": [1]}]},
    "coggrag.reason": _said,
    "coggrag.verify": {"right": True},
    "history.rephrase": CAPITAL,
}


def asking(method: str, **settings: Any) -> tuple[Graph, FakeModel]:
    model = FakeModel(REPLIES)
    base = {"ranker": "bm25"} if method in {"tog2", "coggrag", "kg_rag"} else {}
    graph = tg.build(
        method,
        knowledge=georgia(),
        model=model,
        settings={**base, "ask_user": "ambiguity", **settings},
        checkpointer=InMemorySaver(),
    )
    return graph, model


@pytest.mark.parametrize(("answer", "capital"), [(1, "Tbilisi"), ("2", "Atlanta"), ("g2", "Atlanta")])
@pytest.mark.parametrize("method", ["tog2", "tog", "kg_rag", "fiske", "fasttog", "coggrag"])
def test_the_entity_that_is_meant_is_the_one_that_is_looked_at(method: str, answer: Any, capital: str) -> None:
    graph, _ = asking(method)
    out = graph.invoke({"question": CAPITAL}, THREAD)
    question = waiting(out)[0].value
    assert question["kind"] == "ambiguity"
    assert question["text"] == "Which 'Georgia' is meant?"
    assert [(one["number"], one["id"], one["label"]) for one in question["options"]] == [
        (1, "g1", "Georgia"),
        (2, "g2", "Georgia"),
    ]
    assert question["options"][1]["description"] == "state [31m of the US"
    out = graph.invoke(reply(out, answer), THREAD)
    assert not waiting(out)
    assert out["answer"]["answers"] == [capital]


@pytest.mark.parametrize(
    ("decision", "capital"),
    [
        ({"type": "respond", "message": "2"}, "Atlanta"),
        ({"type": "edit", "edited_action": {"name": "choose_entity", "args": {"reply": "g1"}}}, "Tbilisi"),
    ],
)
def test_the_question_and_its_reply_have_the_form_of_agents_chat_pages(decision: dict[str, Any], capital: str) -> None:
    graph, _ = asking("tog2")
    asked = waiting(graph.invoke({"question": CAPITAL}, THREAD))[0].value
    (request,), (config,) = asked["action_requests"], asked["review_configs"]
    assert request["name"] == config["action_name"] == "choose_entity"
    assert asked["text"] in request["description"]
    assert decision["type"] in config["allowed_decisions"]
    out = graph.invoke(Command(resume={"decisions": [decision]}), THREAD)
    assert out["answer"]["answers"] == [capital]


def test_who_rejects_means_any_or_wants_no_more() -> None:
    rejected = Command(resume={"decisions": [{"type": "reject"}]})
    graph, _ = asking("tog2")
    graph.invoke({"question": CAPITAL}, THREAD)
    graph.invoke(rejected, THREAD)
    assert graph.get_state(THREAD).values["manifest"]["not_meant"] == []
    case = CASES["tog2"]
    graph, model = make(case, max_calls=1)
    graph.invoke({"question": case.question}, THREAD)
    answer = graph.invoke(rejected, THREAD)["answer"]
    assert answer["status"] != "grounded"
    assert len(model.asked) <= 1


@pytest.mark.parametrize("wrong", [{"type": "approve"}, {"type": "edit"}, {}])
def test_a_decision_that_decides_nothing_is_asked_again(wrong: dict[str, Any]) -> None:
    graph, _ = asking("tog2")
    graph.invoke({"question": CAPITAL}, THREAD)
    out = graph.invoke(Command(resume={"decisions": [wrong]}), THREAD)
    assert waiting(out)[0].value["problem"]


def test_any_of_them_may_be_meant() -> None:
    graph, _ = asking("tog2")
    out = graph.invoke({"question": CAPITAL}, THREAD)
    graph.invoke(reply(out, 0), THREAD)
    state = graph.get_state(THREAD).values
    assert state["manifest"]["not_meant"] == []
    assert {"g1", "g2"} <= {one["id"] for one in state["candidates"]}


@pytest.mark.parametrize("wrong", ["Georgia", 3, -1, "g3", True, None, [], {"x": 1}, "9" * 5000])
def test_a_reply_that_names_none_of_them_is_asked_again(wrong: Any) -> None:
    graph, _ = asking("tog2")
    out = graph.invoke({"question": CAPITAL}, THREAD)
    if wrong is None:
        # LangGraph takes None for no reply at all.
        out = graph.invoke(None, THREAD)
    else:
        out = graph.invoke(Command(resume=wrong), THREAD)
        problem = waiting(out)[0].value["problem"]
        assert "names none of them" in problem
        assert "\n" not in problem
        assert len(problem) < 200
    assert graph.invoke(Command(resume="g1"), THREAD)["answer"]["answers"] == ["Tbilisi"]


def test_a_call_before_the_question_is_not_made_again() -> None:
    graph, model = asking("tog2", history=True)
    told = [("user", "Hello"), ("assistant", "Hello."), ("user", "And its capital?")]
    out = graph.invoke({"messages": told}, THREAD)
    out = graph.invoke(Command(resume="nobody"), THREAD)
    assert waiting(out)[0].value["problem"]
    out = graph.invoke(Command(resume=2), THREAD)
    assert out["answer"]["answers"] == ["Atlanta"]
    assert model.roles.count("history.rephrase") == 1
    assert out["answer"]["usage"]["total"]["calls"] == len(model.asked)


@pytest.mark.parametrize("method", ["direct", "cot", "search_agent"])
def test_methods_that_link_no_names_do_not_ask(method: str) -> None:
    case = CASES[method]
    graph, _ = make(case, ask_user="both")
    assert not waiting(graph.invoke({"question": case.question}, THREAD))
    model = FakeModel({**REPLIES, **dict.fromkeys(("recall.cot", "search_agent.search"), REPLIES["recall.direct"])})
    other = tg.build(
        method, knowledge=georgia(), model=model, settings={"ask_user": "ambiguity"}, checkpointer=InMemorySaver()
    )
    assert not waiting(other.invoke({"question": CAPITAL}, THREAD))


def test_manifests_of_tasks_side_by_side_become_one() -> None:
    base: Any = {"run": 1, "settings": {"max_calls": 5, "max_cost": None, "seed": 0}}
    one = {**base, "settings": {**base["settings"], "max_calls": 9}, "raised": {"max_calls": 5}}
    two = {**base, "settings": {**base["settings"], "max_calls": 7}, "raised": {"max_calls": 5}, "enough": True}
    for first, second in ((one, two), (two, one)):
        merged = newest_manifest(newest_manifest(base, first), second)
        assert merged["settings"] == {"max_calls": 9, "max_cost": None, "seed": 0}
        assert merged["raised"] == {"max_calls": 5}
        assert merged["enough"]
    # Another run's manifest takes nothing over, and a person may lower what nobody raised.
    assert newest_manifest(one, {**base, "run": 2}) == {**base, "run": 2}
    lower = {**base, "settings": {**base["settings"], "max_calls": 3}}
    assert newest_manifest(base, lower) == lower
