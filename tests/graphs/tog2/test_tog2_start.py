"""Where ToG-2 starts: linking, topic prune, and the pre-check that may answer from memory."""

from __future__ import annotations

from typing import Any

import pytest
from graphs.tog2.test_tog2 import BORDERS, ask

from thinkgraph.errors import SettingsError
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.state.settings import resolve_settings
from thinkgraph.state.tog2 import Tog2Settings
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.knowledge import Knowledge


def test_topic_prune_is_skipped_for_one_exact_name_unless_the_paper_is_wanted() -> None:
    _, ours = ask(BORDERS, {}, depth=0)
    _, paper = ask(BORDERS, {}, depth=0, preset="paper")
    assert "tog2.topic_prune" not in ours.roles
    assert paper.roles[0] == "tog2.topic_prune"


def test_topic_prune_may_choose_none_and_that_costs_no_further_call() -> None:
    answer, model = ask("Does Panama border Colombia?", {"tog2.topic_prune": {"numbers": []}})
    assert model.roles == ["tog2.topic_prune"]
    assert answer["status"] == "unknown"


def test_no_topic_with_own_knowledge_is_one_call_from_memory() -> None:
    known = {"sufficient": True, "answers": ["Paris"], "evidence": [], "clues": "", "query": ""}
    answer, model = ask("What is the capital of France?", {"tog2.reason": known}, own_knowledge=True)
    assert model.roles == ["tog2.reason"]
    assert (answer["status"], answer["answers"]) == ("memory", ["Paris"])


def test_topic_prune_starts_from_w_entities_at_most_however_many_are_chosen() -> None:
    lands = ["Panama", "Colombia", "Peru", "Chile"]
    knowledge = Knowledge(graph=MemoryGraphStore([(land, "continent", "America") for land in lands]))
    replies = {"tog2.topic_prune": {"numbers": [1, 2, 3, 4]}}
    _, model = ask(f"Where are {', '.join(lands)}?", replies, knowledge, preset="paper", depth=1)
    (prune,) = (prompt for prompt in model.asked if prompt.role == "tog2.relation_prune")
    assert len(prune.lines("entities")) == 3


def test_topic_prune_off_starts_from_the_best_links() -> None:
    _, model = ask("Does Panama border Colombia?", {}, topic_prune=False, depth=1)
    assert "tog2.topic_prune" not in model.roles
    first = next(prompt for prompt in model.asked if prompt.role == "tog2.relation_prune")
    assert {item.label for item in first.lines("entities")} == {"Panama", "Colombia"}


def test_link_entities_tells_namesakes_apart_by_id() -> None:
    graph = MemoryGraphStore(
        [("niger_c", "capital", "Niamey"), ("niger_r", "flows_through", "Mali")],
        labels={"niger_c": "Niger", "niger_r": "Niger"},
        descriptions={"niger_c": "country", "niger_r": "river"},
    )

    def river(prompt: ParsedPrompt) -> Any:
        return {"numbers": [item.number for item in prompt.lines("options") if item.about == "river"]}

    def reason(prompt: ParsedPrompt) -> Any:
        lines = prompt.lines("evidence")
        return {
            "sufficient": bool(lines),
            "answers": ["Mali"] if lines else [],
            "evidence": [1],
            "clues": "",
            "query": "",
        }

    answer, model = ask(
        "Where does the Niger flow?",
        {"tog2.topic_prune": river, "tog2.reason": reason},
        Knowledge(graph=graph),
        skip_exact_topic=False,
    )
    offered = next(prompt for prompt in model.asked if prompt.role == "tog2.relation_prune")
    assert [item.step for item in offered.lines("options")] == [("Niger", "flows through", True)]
    assert answer["answers"] == ["Mali"]


def test_precheck_answers_from_memory_where_a_majority_agrees() -> None:
    samples = {"sufficient": True, "answers": ["Paris"], "evidence": []}
    answer, model = ask(BORDERS, {"tog2.precheck": samples}, precheck=True, own_knowledge=True, precheck_samples=5)
    assert model.roles == ["tog2.precheck"] * 5
    assert (answer["answers"], answer["status"]) == (["Paris"], "memory")


def test_precheck_goes_on_where_no_majority_agrees() -> None:
    count = iter(range(100))

    def scattered(_prompt: ParsedPrompt) -> Any:
        return {"sufficient": True, "answers": [f"answer {next(count)}"], "evidence": []}

    answer, model = ask(
        BORDERS, {"tog2.precheck": scattered}, precheck=True, own_knowledge=True, precheck_samples=4, depth=1
    )
    assert model.roles[:4] == ["tog2.precheck"] * 4
    assert "tog2.relation_prune" in model.roles
    assert answer["status"] == "unknown"


def test_claims_are_prechecked_step_by_step_where_the_paper_is_wanted(sent: list[list[Any]]) -> None:
    sure = {"why": "Step by step.", "sufficient": True, "answers": ["REFUTES"], "evidence": []}
    answer, model = ask("Panama borders Chile.", {"tog2.precheck": sure}, preset="paper", task="fact")
    assert model.roles == ["tog2.precheck"] * 10
    assert (answer["answers"], answer["status"]) == (["REFUTES"], "memory")
    assert "Put the steps that lead to it first" in sent[0][0].content
    assert sum(message.type == "human" for message in sent[0]) == 3 + 1, "three examples and the claim"
    _, question = ask(BORDERS, {}, preset="paper", ranker="bm25", depth=0)
    assert "tog2.precheck" not in question.roles


def test_precheck_needs_own_knowledge() -> None:
    with pytest.raises(SettingsError, match="own_knowledge"):
        resolve_settings(Tog2Settings, {"precheck": True})
