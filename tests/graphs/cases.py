"""One case per method: a small question over a small graph, with a model that knows how to answer it.

A new method adds its case here, and every test of the contract runs over it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.state.knowledge import Passage
from thinkgraph.testing.embedder import HashEmbedder
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
    # An encoder without weights: a process of a test starts at once.
    return Knowledge(graph=graph, text=MemoryTextStore(PASSAGES, name=name), embedder=HashEmbedder(), name=name)


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
    status: str = "grounded"
    """Of the answer; `memory` for a method without evidence."""


def _tog2_relations(prompt: ParsedPrompt) -> Any:
    wanted = {"highest point", "borders", "capital"}
    return {"scores": [[item.number, 9] for item in prompt.lines("options") if item.step and item.step[1] in wanted]}


def _tog2_reason(prompt: ParsedPrompt) -> Any:
    if "vote" in prompt.text("question"):
        for item in prompt.lines("evidence"):
            if "18" in item.passage:
                return {"sufficient": True, "answers": ["18"], "evidence": [item.number], "clues": "", "query": ""}
    return {"sufficient": False, "answers": [], "evidence": [], "clues": "so far: nothing", "query": "age to vote"}


def _fiske_clues(prompt: ParsedPrompt) -> Any:
    asked = prompt.text("question")
    if "Baru" not in asked:
        return {"keywords": []}
    if "queen" in asked:
        return {"keywords": ["Baru", "high point", "neighbour", "queen"]}
    return {"keywords": ["Baru", "high point", "number of people"]}


_FISKE_SAME = {"high point": "highest point", "neighbour": "borders", "number of people": "population"}


def _fiske_pairs(prompt: ParsedPrompt) -> Any:
    """Relations by what they mean, and every node that such a relation led to."""
    return {
        "pairs": [
            [clue.number, item.number]
            for clue in prompt.lines("clues")
            for item in prompt.lines("options")
            if _FISKE_SAME.get(clue.text, "-") in (item.step[1] if item.step else item.about)
        ]
    }


def _fiske_answer(prompt: ParsedPrompt) -> Any:
    for item in prompt.lines("evidence"):
        if "people" in prompt.text("question") and "4500000" in item.text:
            return {"sufficient": True, "answers": ["4500000"], "evidence": [item.number]}
    return {"sufficient": False, "answers": [], "evidence": []}


def _from_memory(prompt: ParsedPrompt) -> Any:
    known = ["18"] if "vote" in prompt.text("question") else []
    return {"why": "Everybody knows.", "sufficient": bool(known), "answers": known, "evidence": []}


def _capital(prompt: ParsedPrompt) -> Any:
    for item in prompt.lines("evidence") if "capital" in prompt.text("question") else ():
        if any(hop.relation == "capital" and hop.subject == "Panama" for hop in item.triples):
            return {"sufficient": True, "answers": ["Panama City"], "evidence": [item.number]}
    return {"sufficient": False, "answers": [], "evidence": []}


def _searching(prompt: ParsedPrompt) -> Any:
    start = "Panama" if "Panama" in prompt.text("question") else "Baru"
    shown = [hop for item in prompt.lines("evidence") for hop in item.triples]
    if not prompt.lines("evidence"):
        return {"search": [{"entity": start, "direction": "both", "relations": []}]}
    if not shown:
        wanted = "capital" if start == "Panama" else "highest point"
        return {"search": [{"entity": start, "direction": "both", "relations": [wanted]}]}
    return _capital(prompt)


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
    return Knowledge(
        graph=graph, text=MemoryTextStore(PASSAGES, name="america"), embedder=HashEmbedder(), name="america"
    )


def _fasttog_names(prompt: ParsedPrompt) -> Any:
    return {"names": [name for name in ("Baru", "Panama") if name in prompt.text("question")]}


def _fasttog_pick(prompt: ParsedPrompt) -> Any:
    every = [item.number for item in prompt.lines("options")]
    if "queen" in prompt.text("question"):
        return {"numbers": every[: 3 if prompt.role == "fasttog.header_choice" else 1]}
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


def _coggrag_decompose(prompt: ParsedPrompt) -> Any:
    question = prompt.text("question")
    if "queen" in question:
        parts = ["Who visited Baru?", "Where does Baru lie?", "Who rules Colombia?", "Is #1 a queen of #2?"]
        return {"questions": [{"question": part, "open": False, "refers": []} for part in parts]}
    parts = ["Which country has Baru as its highest point?", "From which age may one vote in #1?"]
    named = [{"question": part, "open": False, "refers": [1] * at} for at, part in enumerate(parts)]
    return {"questions": named if "whose" in question else [{"question": question, "open": False, "refers": []}]}


def _coggrag_reason(prompt: ParsedPrompt) -> Any:
    question = prompt.text("question")
    for item in prompt.lines("evidence"):
        told = item.answers if "whose" in question and "age may one vote" in item.asked else ()
        if "vote" in question and "whose" not in question and "18" in item.passage:
            told = ("18",)
        if question.startswith("Which country") and "whose" not in question:
            told = tuple(hop.subject for hop in item.triples if hop.relation == "highest point")
        if told:
            return {"sufficient": True, "answers": list(told), "evidence": [item.number]}
    return {"sufficient": False, "answers": [], "evidence": []}


CASES: dict[str, Case] = {
    "fiske": Case(
        method="fiske",
        question="How many people live in the country whose highest point is Baru?",
        answers=["4500000"],
        replies={
            "fiske.extract_clues": _fiske_clues,
            "fiske.r_mapping": _fiske_pairs,
            "fiske.e_mapping": _fiske_pairs,
            "fiske.conclude": _fiske_answer,
            "recall.direct": {"sufficient": True, "answers": ["Atlantis"], "evidence": []},
        },
        calls=5,
        other_question="Which queen visited a neighbour of the country whose high point is Baru?",
        busy={"chunk": 2},
    ),
    "fasttog": Case(
        method="fasttog",
        question="What is the capital of the country whose highest point is Baru?",
        answers=["Panama City"],
        replies={
            "fasttog.extract_subjects": _fasttog_names,
            "fasttog.header_choice": _fasttog_pick,
            "fasttog.community_prune": _fasttog_pick,
            "fasttog.reason": _fasttog_reason,
            "fasttog.steer": _fasttog_reason,
            "recall.direct": {"sufficient": False, "answers": [], "evidence": []},
        },
        calls=4,
        other_question="Which queen visited Panama?",
        settings={"community_size": 1, "depth": 3},
        busy={"community_size": 2},
        knowledge=america,
    ),
    "coggrag": Case(
        method="coggrag",
        question="From which age may one vote in the country whose highest point is Baru?",
        answers=["18"],
        replies={
            "coggrag.decompose": _coggrag_decompose,
            "coggrag.extract_keys_local": {"keys": [{"key": ["?2", "highest point", "Baru"], "of": [2]}]},
            "coggrag.extract_keys_joint": {"keys": [{"key": ["?2", "highest point", "Baru"], "of": [2, 3]}]},
            "coggrag.reason": _coggrag_reason,
            "coggrag.verify": {"right": True},
            "coggrag.rethink": {"sufficient": False, "answers": [], "evidence": []},
        },
        calls=7,
        other_question="Which queen visited Baru?",
        settings={"ranker": "bm25"},
        busy={"skip_settled": False},
    ),
    "tog2": Case(
        method="tog2",
        question="From which age may one vote in the country whose highest point is Baru?",
        answers=["18"],
        replies={
            "tog2.topic_prune": {"numbers": [1]},
            "tog2.relation_prune": _tog2_relations,
            "tog2.reason": _tog2_reason,
            "tog2.steer": _tog2_reason,
            "tog2.query_reform": "age to vote",
        },
        calls=2,
        other_question="Which queen visited Baru?",
        settings={"ranker": "bm25"},
        busy={"combined": False, "fused": False},
    ),
    **{
        name: Case(
            method=name,
            question="From which age may one vote in Panama?",
            answers=["18"],
            replies={f"recall.{name}": _from_memory},
            calls=1,
            other_question="Which queen visited Baru?",
            status="memory",
        )
        for name in ("direct", "cot")
    },
    "cot_sc": Case(
        method="cot_sc",
        question="From which age may one vote in Panama?",
        answers=["18"],
        replies={"recall.cot": _from_memory},
        calls=4,
        other_question="Which queen visited Baru?",
        settings={"samples": 4},
        status="memory",
    ),
    "rag": Case(
        method="rag",
        question="From which age may one vote in Panama?",
        answers=["18"],
        replies={"rag.reason": _tog2_reason},
        calls=1,
        other_question="Which queen visited Panama?",
        settings={"ranker": "bm25"},
    ),
    "kg_rag": Case(
        method="kg_rag",
        question="What is the capital of Panama?",
        answers=["Panama City"],
        replies={"kg_rag.reason": _capital},
        calls=1,
        other_question="Which queen visited Panama?",
        settings={"ranker": "bm25"},
    ),
    "paths": Case(
        method="paths",
        question="What is the capital of the country whose highest point is Baru?",
        answers=["Panama City"],
        replies={"tog2.relation_prune": _tog2_relations, "tog2.reason": _capital, "tog2.steer": _capital},
        calls=3,
        other_question="Which queen visited Baru?",
        # No path of one hop holds the answer: the search goes on from what it reaches.
        settings={"ranker": "bm25", "depth": 1, "backtracks": 0},
        busy={"combined": False, "depth": 2},
    ),
    "search_agent": Case(
        method="search_agent",
        question="What is the capital of Panama?",
        answers=["Panama City"],
        replies={"search_agent.search": _searching},
        calls=3,
        other_question="Which queen visited Baru?",
    ),
    "tog": Case(
        method="tog",
        question="What is the capital of the country whose highest point is Baru?",
        answers=["Panama City"],
        replies={
            "tog2.topic_prune": {"numbers": [1]},
            "tog2.relation_prune": _tog2_relations,
            "tog.entity_prune": lambda prompt: {"scores": [[item.number, 5] for item in prompt.lines("options")]},
            "tog2.reason": _capital,
            "tog2.steer": _capital,
        },
        calls=5,
        other_question="Which queen visited Panama?",
        settings={"beam": "entities"},
        busy={"depth": 2},
    ),
}
