"""A model that plays FastToG's roles by rule, and what the tests of FastToG ask of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakes import FakeModel
from graphs.cases import america

import thinkgraph as tg
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.knowledge import Knowledge

NEVER = {"sufficient": False, "answers": [], "evidence": []}
CAPITAL = "What is the capital of the country whose highest point is Baru?"
Script = Callable[[ParsedPrompt], Any]


def names(*found: str) -> Any:
    return {"names": list(found)}


def every(prompt: ParsedPrompt) -> Any:
    return {"numbers": [item.number for item in prompt.lines("options")]}


def holding(*labels: str) -> Script:
    """Choose the options in which any of these things stands, in the order of the labels."""

    def choose(prompt: ParsedPrompt) -> Any:
        found = [
            item.number
            for label in labels
            for item in prompt.lines("options")
            if any(label in (hop.subject, hop.object) for hop in item.triples)
        ]
        return {"numbers": list(dict.fromkeys(found))}

    return choose


def answer_with(answer: str, *subject: str) -> Script:
    """Judge sufficient as soon as a line shows the answer (with a subject)."""

    def judge(prompt: ParsedPrompt) -> Any:
        for item in prompt.lines("evidence"):
            if any(hop.object == answer and (not subject or hop.subject in subject) for hop in item.triples):
                return {"sufficient": True, "answers": [answer], "evidence": [item.number]}
        return NEVER

    return judge


def ask(
    question: str, replies: dict[str, Any], knowledge: Knowledge | None = None, **settings: Any
) -> tuple[Any, FakeModel]:
    base = {
        "fasttog.extract_subjects": names("Baru"),
        "fasttog.header_choice": every,
        "fasttog.community_prune": every,
        "fasttog.reason": NEVER,
        "recall.direct": NEVER,
        "recall.cot": NEVER,
    }
    model = FakeModel({**base, **replies})
    graph = tg.build(
        "fasttog",
        knowledge=knowledge or america(),
        model=model,
        settings={
            "community_size": 1,
            "backtracks": 0,
            "ask_subjects": True,
            "steered": False,
            "whole_lists": 0,
            **settings,
        },
    )
    return graph.invoke({"question": question})["answer"], model


def graph_of(*rows: Any, **options: Any) -> Knowledge:
    return Knowledge(graph=MemoryGraphStore(rows, **options), name="rows")


def chains(answer: Any) -> list[list[list[str]]]:
    """By chain, the labels of its communities."""
    return [[c["labels"] for c in chain["communities"]] for chain in answer["trace"]["data"]["chains"]]
