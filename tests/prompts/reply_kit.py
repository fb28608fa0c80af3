"""Replies of every kind, good ones, and how tests read them."""

from __future__ import annotations

from typing import Any

from thinkgraph.prompts.kinds import KINDS, ExtractedKey, Judgement, Shape, Statements
from thinkgraph.state.coggrag import SubQuestion

SHAPE = Shape(options=5, evidence=4, clues=3, questions=3, fields=("clues", "query"))

# kind, what the model says as an object, what is read.
GOOD: list[tuple[str, dict[str, Any], Any]] = [
    ("pick", {"numbers": [2, 5]}, [2, 5]),
    ("pick", {"numbers": []}, []),
    ("score", {"scores": [[2, 9], [5, 4.5]]}, [(2, 9.0), (5, 4.5)]),
    ("score", {"scores": []}, []),
    ("pairs", {"pairs": [[1, 3], [2, 5]]}, [(1, 3), (2, 5)]),
    ("pairs", {"pairs": []}, []),
    (
        "judge",
        {"sufficient": True, "answers": ["Panama"], "evidence": [1, 4], "clues": "c", "query": "q"},
        Judgement(sufficient=True, answers=["Panama"], evidence=[1, 4], clues="c", query="q"),
    ),
    (
        "judge",
        {"sufficient": False, "answers": [], "evidence": []},
        Judgement(sufficient=False, answers=[], evidence=[], clues="", query=""),
    ),
    ("keywords", {"keywords": ["river", "river", "mouth"]}, ["river", "river", "mouth"]),
    ("names", {"names": ["Osk", "Varn", "Osk"]}, ["Osk", "Varn"]),
    ("texts", {"texts": ["One.", "Two.", "Three.", "Four.", "Five."]}, ["One.", "Two.", "Three.", "Four.", "Five."]),
    (
        "keys",
        {"keys": [{"key": ["Panama"], "of": []}, {"key": ["Panama", "capital", "?2"], "of": [2, 3]}]},
        [ExtractedKey(key=["Panama"], of=[]), ExtractedKey(key=["Panama", "capital", "?2"], of=[2, 3])],
    ),
    (
        "subquestions",
        {
            "questions": [
                {"question": "a?", "open": True, "refers": []},
                {"question": "b?", "open": False, "refers": [1]},
            ]
        },
        [SubQuestion(question="a?", open=True, refers=[]), SubQuestion(question="b?", open=False, refers=[1])],
    ),
    ("verdict", {"right": False}, {"right": False}),
    (
        "triples",
        {"triples": [["Panama", "capital", "Panama City"]], "types": [["Panama", "country"]]},
        Statements(triples=[["Panama", "capital", "Panama City"]], types={}),
    ),
    ("triples", {"triples": []}, Statements(triples=[], types={})),
]
JSON_KINDS = [name for name in KINDS if name != "text"]
GOOD_OF = {kind: (said, meant) for kind, said, meant in reversed(GOOD)}


def parse(kind: str, text: str, shape: Shape = SHAPE) -> Any:
    """A reply as its kind reads it."""
    return KINDS[kind].parse(text, shape)
