"""The subgraph that answers one question of CogGRAG's mind map: its steps, its share of the ceilings, where it goes on."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import small_knowledge
from graphs.coggrag.coggrag_kit import STEPS, TWO_HOPS, events_of, holding, script
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import thinkgraph as tg
from thinkgraph.errors import ModelError, RunError
from thinkgraph.graphs.build import MethodGraph, outline
from thinkgraph.prompts.parsed import ParsedPrompt

THREAD: Any = {"configurable": {"thread_id": "1"}}
LANDS, TOWNS, BOTH = "Who borders Panama?", "What is the capital of Panama?", "Which land and which town?"
SPLITS = {BOTH: [(LANDS, ()), (TOWNS, ())]}
KEYS = [{"key": ["Panama", "borders", "?2"], "of": [2]}, {"key": ["Panama", "capital", "?3"], "of": [3]}]
ANSWERS = {LANDS: ["Colombia"], TOWNS: ["Panama City"], BOTH: ["Colombia"]}


def make(model: FakeModel, **settings: Any) -> Any:
    return tg.build(
        "coggrag",
        knowledge=small_knowledge(),
        model=model,
        settings={**STEPS, **settings},
        checkpointer=InMemorySaver(),
    )


def test_every_step_of_the_paper_is_a_node() -> None:
    graph = outline("coggrag")
    assert set(graph.nodes) - {"__start__"} == {
        *("begin", "mind_map", "decompose", "extract_keys", "retrieve", "question", "conclude", "answer")
    }
    assert set(dict(graph.get_subgraphs())["question"].nodes) - {"__start__"} == {"reason", "verify", "rethink"}


def test_a_slow_question_does_not_hold_back_the_verification_of_another() -> None:
    verified = threading.Event()

    def reason(prompt: ParsedPrompt) -> Any:
        # Passes at once where the other question is verified meanwhile, and fails where it waits for this one.
        if prompt.text("question") == LANDS:
            assert verified.wait(20)
        found = ANSWERS[prompt.text("question")]
        return {"sufficient": True, "answers": found, "evidence": holding(prompt, found)}

    def verify(prompt: ParsedPrompt) -> Any:
        if prompt.text("question") == TOWNS:
            verified.set()
        return {"right": True}

    answer = make(FakeModel(script(SPLITS, KEYS, ANSWERS, reason=reason, verify=verify))).invoke(
        {"question": BOTH}, THREAD
    )["answer"]
    assert (answer["answers"], answer["status"]) == (["Colombia"], "grounded")


@pytest.mark.parametrize("ceiling", range(4, 24))
def test_the_steps_of_a_question_share_what_it_may_spend(ceiling: int) -> None:
    model = FakeModel(script(SPLITS, KEYS, ANSWERS, verify={"right": False}))
    answer = make(model, rethinks=5, max_calls=ceiling).invoke({"question": BOTH}, THREAD)["answer"]
    assert answer["usage"]["total"]["calls"] == len(model.asked) <= ceiling
    assert f"the ceiling of {ceiling} calls is reached" in answer["reason"]
    # The two questions below the root have equal shares of what the root does not need.
    shares = Counter(
        prompt.text("question")
        for prompt in model.asked
        if prompt.role.split(".")[1] in {"reason", "verify", "rethink"}
    )
    assert abs(shares[LANDS] - shares[TOWNS]) <= 1
    assert shares[BOTH] >= 1


def test_a_ceiling_raised_in_one_step_is_there_for_the_next() -> None:
    model = FakeModel(script({}, KEYS[1:], {TOWNS: ["Panama City"]}, verify={"right": False}))
    graph = make(model, decompose=False, rethinks=3, max_calls=3, ask_user="budget")
    out = graph.invoke({"question": TOWNS}, THREAD)
    assert [role.split(".")[1] for role in model.roles] == ["extract_keys_local", "reason", "verify"]
    assert "max_calls" in out["__interrupt__"][0].value["text"]
    answer = graph.invoke(Command(resume=20), THREAD)["answer"]
    roles = Counter(model.roles)
    assert (roles["coggrag.reason"], roles["coggrag.verify"], roles["coggrag.rethink"]) == (1, 3, 3)
    assert answer["usage"]["total"]["calls"] == len(model.asked) == 8
    # Every execution of a node has its record, the second verification too.
    work = graph.get_state(THREAD).values["work"]
    assert {f"verify/1/0{again}" for again in ("", "/1", "/2")} <= set(work)


def test_a_question_goes_on_at_the_step_where_it_stopped() -> None:
    failing = [True]

    def verify(_: ParsedPrompt) -> Any:
        if failing:
            failing.clear()
            raise ModelError("the verifier is away")
        return {"right": True}

    model = FakeModel(script(verify=verify))
    graph = make(model)
    with pytest.raises(ModelError, match="away"):
        graph.invoke({"question": TWO_HOPS}, THREAD)
    before = model.roles.count("coggrag.reason")
    answer = graph.invoke(None, THREAD)["answer"]
    assert answer["answers"] == ["Panama City"]
    # Without a journal: the answer was in the subgraph's own checkpoint.
    assert (before, model.roles.count("coggrag.reason")) == (1, 3)


def test_events_of_its_steps_reach_a_plain_stream_once() -> None:
    events = events_of(TWO_HOPS, script())
    called = Counter(event["role"] for event in events if event["type"] == "called")
    assert called["coggrag.reason"] == called["coggrag.verify"] == 3
    graph = make(FakeModel(script()))
    parts = list(graph.stream({"question": TWO_HOPS}, THREAD, stream_mode="custom", subgraphs=True))
    assert [event["type"] for _, event in parts] == [event["type"] for event in events]
    within = {event["role"] for ns, event in parts if ns and event["type"] == "called"}
    assert within == {"coggrag.reason", "coggrag.verify"}


def test_an_edited_state_is_explained_within_it() -> None:
    graph = make(FakeModel(script()))
    for _ in graph.stream({"question": TWO_HOPS}, THREAD, stream_mode="updates", interrupt_before=["question"]):
        pass
    evidence = graph.get_state(THREAD).values["evidence"]
    item = next(iter(evidence))
    broken = {item: {**evidence[item], "score": 2.0, "tails": 5}}
    # As another release may have left it.
    super(MethodGraph, graph).update_state(THREAD, {"evidence": broken}, as_node="retrieve")
    with pytest.raises(RunError, match=r"state of this thread cannot be worked on: 'items\.\d+\.tails'"):
        graph.invoke(None, THREAD)
