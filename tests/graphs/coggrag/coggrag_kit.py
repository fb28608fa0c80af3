"""A small graph, a model that answers by its questions' text, and what the tests of CogGRAG ask of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fakes import FakeModel
from graphs.cases import small_knowledge

import thinkgraph as tg
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.knowledge import Knowledge

TWO_HOPS = "What is the capital of the country whose highest point is Baru?"
SPLIT = {TWO_HOPS: [("Which country has the highest point Baru?", ()), ("What is the capital of #1?", (1,))]}
KEYS = [
    {"key": ["?2", "highest point", "Baru"], "of": [2]},
    {"key": ["?2", "capital", "?3"], "of": [3]},
]
ANSWERS = {
    "Which country has the highest point Baru?": ["Panama"],
    "What is the capital of Panama?": ["Panama City"],
    TWO_HOPS: ["Panama City"],
}
BIGGER = "Which has more neighbours, Panama or Colombia?"
Splits = Mapping[str, Sequence[tuple[str, Sequence[int]]]]
STEPS = {"ranker": "bm25", "passages": 0, "backtracks": 0, "joint_keys": False}
"""Settings of tests that script the paper's steps: doubt is off."""
DOUBT = {**STEPS, "backtracks": 2}


def holding(prompt: ParsedPrompt, answers: Sequence[str]) -> list[int]:
    """Numbers of the evidence lines in which answers stand."""
    return [item.number for item in prompt.lines("evidence") if any(answer in item.text for answer in answers)]


def script(
    splits: Splits = SPLIT,
    keys: Sequence[Mapping[str, Any]] = KEYS,
    answers: Mapping[str, Sequence[str]] = ANSWERS,
    **replies: Any,
) -> dict[str, Any]:
    """Replies of a model that answers questions by their text, from lines that hold the answer."""

    def decompose(prompt: ParsedPrompt) -> Any:
        question = prompt.text("question")
        parts = splits.get(question, [(question, ())])
        return {
            "questions": [{"question": text, "open": text in splits, "refers": list(refers)} for text, refers in parts]
        }

    def reason(prompt: ParsedPrompt) -> Any:
        found = list(answers.get(prompt.text("question"), ()))
        lines = holding(prompt, found)
        known = bool(found and lines)
        return {"sufficient": known, "answers": found if known else [], "evidence": lines}

    return {
        "coggrag.decompose": decompose,
        "coggrag.extract_keys_local": {"keys": list(keys)},
        "coggrag.extract_keys_global": {"keys": [key for key in keys if len(key["key"]) == 3]},
        "coggrag.reason": reason,
        "coggrag.verify": {"right": True},
        "coggrag.rethink": reason,
        **{f"coggrag.{role}": reply for role, reply in replies.items()},
    }


def ask(
    question: str, replies: Mapping[str, Any], knowledge: Knowledge | None = None, **settings: Any
) -> tuple[Any, FakeModel]:
    model = FakeModel(replies)
    graph = tg.build(
        "coggrag",
        knowledge=knowledge or small_knowledge(),
        model=model,
        settings={**STEPS, **settings},
    )
    return graph.invoke({"question": question})["answer"], model


def events_of(question: str, replies: Mapping[str, Any], knowledge: Knowledge | None = None, **settings: Any) -> Any:
    graph = tg.build(
        "coggrag",
        knowledge=knowledge or small_knowledge(),
        model=FakeModel(replies),
        settings={**STEPS, **settings},
    )
    return list(graph.stream({"question": question}, stream_mode="custom"))


def outline(answer: Any) -> list[str]:
    return [line["text"] for line in answer["trace"]["lines"]]


def asked(model: FakeModel, role: str) -> list[str]:
    return [prompt.text("question") for prompt in model.asked if prompt.role == f"coggrag.{role}"]


# --- the mind map and the calls -------------------------------------------------------------------------------------


class Spy:
    """A store or linker that counts what it is asked."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.asked: list[tuple[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            self.asked.append((name, arguments[0] if arguments else None))
            return method(*arguments, **options)

        return call

    def times(self, name: str) -> int:
        return sum(asked == name for asked, _ in self.asked)


def spied() -> tuple[Knowledge, Spy, Spy]:
    whole = small_knowledge()
    graph, linker = Spy(whole.graph), Spy(whole.linker)
    return Knowledge(graph=graph, linker=linker, embedder=HashEmbedder(), name="spied"), graph, linker
