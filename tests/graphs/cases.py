"""One case per method: a small question over a small graph, with a model that knows how to answer it.

A new method adds its case here, and every test of the contract runs over it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thinkgraph.prompts.lines import ParsedPrompt
from thinkgraph.state.knowledge import Passage
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore
from thinkgraph.tools.knowledge import Knowledge

ROWS = [
    ("Panama", "capital", "Panama City"),
    ("Panama", "highest_point", "Baru"),
    ("Panama", "population", "4500000"),
    ("Panama", "borders", "Colombia"),
    ("Panama", "borders", "Costa Rica"),
    ("Colombia", "capital", "Bogota"),
    ("Costa Rica", "capital", "San Jose"),
    ("Baru", "elevation_m", "3475"),
]
PASSAGES = [
    Passage(
        id="p1",
        entities=["Panama"],
        title="Panama",
        section="Voting",
        text="Citizens of Panama vote from the age of 18.",
    ),
    Passage(id="p2", entities=["Colombia"], title="Colombia", section="Land", text="Three ranges cross Colombia."),
]


def small_knowledge(name: str = "small") -> Knowledge:
    """Panama and its neighbours."""
    graph = MemoryGraphStore(
        ROWS, literals=["population", "elevation_m"], descriptions={"Panama": "country"}, name=name
    )
    return Knowledge(graph=graph, text=MemoryTextStore(PASSAGES, name=name), name=name)


@dataclass(frozen=True)
class Case:
    """What the contract's tests need to know about a method."""

    method: str
    question: str
    answers: list[str]
    replies: Mapping[str, Any]
    """For FakeModel: replies by role that lead to `answers`."""
    calls: int
    """Model calls the run makes."""
    other_question: str
    """Another question that the same replies lead through without an answer."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    busy: Mapping[str, Any] = field(default_factory=dict)
    """Settings that make `other_question` fan out, for kills and concurrency."""
    knowledge: Callable[[], Knowledge] = small_knowledge


def _tog2_relations(prompt: ParsedPrompt) -> Any:
    wanted = {"highest point", "borders", "capital"}
    return {"scores": [[item.number, 9] for item in prompt.lines("options") if item.step and item.step[1] in wanted]}


def _tog2_reason(prompt: ParsedPrompt) -> Any:
    if "vote" in prompt.text("question"):
        for item in prompt.lines("evidence"):
            if "18" in item.passage:
                return {"sufficient": True, "answers": ["18"], "evidence": [item.number], "clues": "", "query": ""}
    return {"sufficient": False, "answers": [], "evidence": [], "clues": "so far: nothing", "query": "age to vote"}


AMERICA = [
    *ROWS,
    ("Baru", "located_in", "Chiriqui"),
    ("Chiriqui", "part_of", "Panama"),
    ("Colombia", "borders", "Ecuador"),
    ("Colombia", "borders", "Peru"),
    ("Colombia", "borders", "Brazil"),
    ("Ecuador", "capital", "Quito"),
    ("Ecuador", "borders", "Peru"),
    ("Peru", "capital", "Lima"),
    ("Peru", "borders", "Brazil"),
    ("Brazil", "capital", "Brasilia"),
    ("Costa Rica", "borders", "Nicaragua"),
    ("Nicaragua", "capital", "Managua"),
    ("Nicaragua", "borders", "Honduras"),
    ("Honduras", "capital", "Tegucigalpa"),
    ("Costa Rica", "population", "5100000"),
]


def america() -> Knowledge:
    """A graph wide enough for chains that go several ways."""
    graph = MemoryGraphStore(
        AMERICA, literals=["population", "elevation_m"], descriptions={"Panama": "country"}, name="america"
    )
    return Knowledge(graph=graph, text=MemoryTextStore(PASSAGES, name="america"), name="america")


def _fasttog_names(prompt: ParsedPrompt) -> Any:
    return {"names": [name for name in ("Baru", "Panama") if name in prompt.text("question")]}


def _fasttog_pick(prompt: ParsedPrompt) -> Any:
    every = [item.number for item in prompt.lines("options")]
    if "queen" in prompt.text("question"):
        return {"numbers": every[: 3 if prompt.role == "fasttog.headers" else 1]}
    wanted = {"Panama", "Panama City"}
    return {
        "numbers": [n.number for n in prompt.lines("options") if wanted & {t.object for t in n.triples}][:1] or every
    }


def _fasttog_reason(prompt: ParsedPrompt) -> Any:
    if "capital" in prompt.text("question"):
        for item in prompt.lines("evidence"):
            if any((t.subject, t.relation) == ("Panama", "capital") for t in item.triples):
                return {"sufficient": True, "answers": ["Panama City"], "evidence": [item.number]}
    return {"sufficient": False, "answers": [], "evidence": []}


CASES: dict[str, Case] = {
    "fasttog": Case(
        method="fasttog",
        question="What is the capital of the country whose highest point is Baru?",
        answers=["Panama City"],
        replies={
            "fasttog.subjects": _fasttog_names,
            "fasttog.headers": _fasttog_pick,
            "fasttog.prune": _fasttog_pick,
            "fasttog.reason": _fasttog_reason,
            "fasttog.io": {"sufficient": False, "answers": [], "evidence": []},
        },
        calls=5,
        other_question="Which queen visited Panama?",
        settings={"community_size": 1, "depth": 3},
        busy={"community_size": 2},
        knowledge=america,
    ),
    "tog2": Case(
        method="tog2",
        question="From which age may one vote in the country whose highest point is Baru?",
        answers=["18"],
        replies={
            "tog2.topic_prune": {"numbers": [1]},
            "tog2.relation_prune": _tog2_relations,
            "tog2.reason": _tog2_reason,
            "tog2.query_reform": "age to vote",
        },
        calls=2,
        other_question="Which queen visited Baru?",
        settings={"ranker": "bm25"},
        busy={"combined": False, "fused": False},
    ),
}
