"""A small graph, a model that maps by rule, and what the tests of FiSKE ask of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fakes import FakeModel

import thinkgraph as tg
from thinkgraph.prompts.lines import Item
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.protocols import Embedder

ROWS = [
    ("Kenya", "capital", "Nairobi"),
    ("Kenya", "export_partner", "Uganda"),
    ("Kenya", "export_partner", "Peru"),
    ("Kenya", "population", "52"),
    ("Uganda", "capital", "Kampala"),
    ("Uganda", "population", "49"),
    ("Uganda", "head_of_state", "Ayo"),
    ("Peru", "capital", "Lima"),
    ("Peru", "population", "33"),
    ("Kampala", "mayor", "Ibo"),
]
TRADE = [row for row in ROWS if row[:2] != ("Kenya", "capital")]


def knowledge(rows: Sequence[Any] = ROWS, embedder: Embedder | None = None, **options: Any) -> Knowledge:
    return Knowledge(graph=MemoryGraphStore(rows, literals=["population", "founded"], **options), embedder=embedder)


def mapping(*wanted: tuple[str, str]) -> Callable[[ParsedPrompt], Any]:
    """Pairs a clue with every option whose relation is the word, or that has the word in its name or in what is told."""

    def fits(item: Item, word: str) -> bool:
        if item.step:
            return item.step[1] == word
        return word == item.label or f" {word} " in f" {item.about} "

    def reply(prompt: ParsedPrompt) -> Any:
        return {
            "pairs": [
                [clue.number, item.number]
                for clue in prompt.lines("clues")
                for text, word in wanted
                if clue.text == text
                for item in prompt.lines("options")
                if fits(item, word)
            ]
        }

    return reply


def first_of(*wanted: tuple[str, str]) -> Any:
    """Pairs the clue with the first of these relations that is offered."""

    def reply(prompt: ParsedPrompt) -> Any:
        for pair in wanted:
            if (found := mapping(pair)(prompt))["pairs"]:
                return found
        return {"pairs": []}

    return reply


def everything(prompt: ParsedPrompt) -> Any:
    """The last ends of all evidence lines as the answer."""
    ends = [
        (hop.object if hop.outgoing else hop.subject, item)
        for item in prompt.lines("evidence")
        for hop in item.hops[-1]
    ]
    return {
        "sufficient": bool(ends),
        "answers": [end for end, _ in ends],
        "evidence": sorted({item.number for _, item in ends}),
    }


def ask(
    clues: Sequence[str],
    *wanted: tuple[str, str],
    kb: Knowledge | None = None,
    replies: Mapping[str, Any] | None = None,
    question: str = "What is asked?",
    **settings: Any,
) -> tuple[Any, FakeModel]:
    model = FakeModel(
        {
            "fiske.extract_clues": {"keywords": list(clues)},
            "fiske.r_mapping": mapping(*wanted),
            "fiske.e_mapping": mapping(*wanted),
            "fiske.conclude": everything,
            "recall.direct": {"sufficient": True, "answers": ["from memory"], "evidence": []},
            **(replies or {}),
        }
    )
    graph = tg.build("fiske", knowledge=kb or knowledge(), model=model, settings={"backtracks": 0, **settings})
    return graph.invoke({"question": question})["answer"], model


def asked(model: FakeModel, role: str) -> list[ParsedPrompt]:
    return [prompt for prompt in model.asked if prompt.role == f"fiske.{role}"]


def row(answer: Any, number: int) -> Any:
    return answer["trace"]["data"]["clues"][number - 1]


def members(count: int) -> list[tuple[str, str, str]]:
    return [(f"Member {n:03}", "member_of", "League") for n in range(count)] + [
        (f"Member {n:03}", "capital", f"City {n:03}") for n in range(count)
    ]


BUYER = (("buyer", "export partner"), ("seat", "capital"))
