"""Questions that come as messages: which one is asked, what was said before it, and how the answer joins them."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, Citation, HumanMessage

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow
from thinkgraph.prompts.kinds import TEXT, Shape
from thinkgraph.prompts.lines import one_line, safe_block
from thinkgraph.runtime import requests
from thinkgraph.state.answer import Answer
from thinkgraph.state.base import BeginState
from thinkgraph.state.events import Rephrased, Stopped
from thinkgraph.state.settings import RunSettings

ROLE = "history.rephrase"
MAX_TURNS = 10
"""Most earlier messages that are looked back at."""
MAX_TURN = 600
"""Most characters of each."""
BETWEEN = "; "
"""Between the parts of an answer in its text."""

_WHO = {"human": "person", "ai": "assistant"}


@dataclass(frozen=True)
class Turn:
    """What is asked now."""

    question: object
    message: str
    """Id of the message that asks it; empty for a plain question."""
    earlier: Sequence[AnyMessage]
    """What was said before."""


def asked(state: BeginState) -> Turn:
    """The question: a person's message that ends the conversation and was not taken before, else the plain one.

    A message that was taken is asked again where it was edited since, or nothing answers it, unless a plain question was asked
    after it. Where something else was said since the last answer, the plain one that answer was for is not asked again.
    """
    messages = state.get("messages") or []
    manifest = state.get("manifest")
    last = messages[-1] if messages and messages[-1].type == "human" else None
    if last and not (manifest and last.id == manifest.get("message")):
        return Turn(str(last.text), last.id or "", messages[:-1])
    if manifest and state.get("question") == manifest.get("question"):
        for at, one in enumerate(messages):
            if one.id == manifest.get("message") and (one is last or str(one.text) != manifest.get("said")):
                return Turn(str(one.text), one.id or "", messages[:at])
    question: object = state.get("question")
    answer = state.get("answer")
    said = bool(messages) and messages[-1].type != "human" and not _ours(messages[-1])
    if said and answer and question == answer["question"]:
        question = None
    return Turn(question, "", messages)


def _ours(message: AnyMessage) -> bool:
    """Whether a message is one of our replies."""
    return message.type == "ai" and {"status", "method"} <= message.response_metadata.keys()


def note(turn: Turn, question: str, settings: RunSettings) -> tuple[list[AnyMessage], str]:
    """What the conversation gains by a question, and the id of the message that asks it.

    With `history` a plain question is part of the thread's conversation too, so that the next one can refer to it.
    """
    if turn.message or not settings.history:
        return [], turn.message
    message = HumanMessage(question, id=str(uuid.uuid4()))
    return [message], str(message.id)


def in_full(question: str, earlier: Sequence[AnyMessage], settings: RunSettings) -> Flow[str]:
    """A follow-up question so that it is understood without what was said before; one call, none for a first question.

    Where a ceiling leaves no room for the call, or its reply is no question, the question stays as it was asked.
    """
    said = [(_WHO[message.type], str(message.text).strip()) for message in earlier if message.type in _WHO]
    lines = [f"{who}: {safe_block(text)[:MAX_TURN]}" for who, text in said if text][-MAX_TURNS:]
    if not lines:
        return question
    try:
        reply = yield from requests.call(
            TEXT,
            ROLE,
            {"conversation": "\n".join(lines), "question": safe_block(question)},
            shape=Shape(),
            fallback=question,
            spare=1,
        )
    except BudgetSpentError as spent:
        yield from requests.emit(Stopped(type="stopped", reason=f"{spent.reason}: the question stays as it was asked"))
        return question
    full = one_line(reply)
    if not full or len(full) > settings.max_question:
        return question
    if full != question:
        yield from requests.emit(Rephrased(type="rephrased", question=question, full=full))
    return full


def reply(answer: Answer) -> AIMessage:
    """The answer as the conversation's next message; the whole of it is in `answer`."""
    about = {
        "status": answer["status"],
        "confidence": answer["confidence"],
        "method": answer["method"],
        "model_name": answer["model"],
        "citations": citations(answer),
    }
    return AIMessage(answer["text"], response_metadata=about)


def citations(answer: Answer) -> list[Citation]:
    """What an answer stands on, in the form of LangChain's citations; the whole of it is in `answer`.

    Args:
        answer: of any method.

    Returns:
        Its paths, each with the ids of its triples, then its passages. Those that hold a part of the answer say which characters
        of the answer's text that part is.
    """
    evidence = answer["evidence"]
    places: dict[tuple[str, int], tuple[int, int]] = {}
    at = 0
    for part, support in zip(answer["answers"], answer["support"], strict=False):
        places.setdefault((support["within"], support["line"]), (at, at + len(part)))
        at += len(part) + len(BETWEEN)
    found: dict[tuple[str, int], Citation] = {}
    for line, path in enumerate(evidence["paths"]):
        extras: dict[str, Any] = {"triples": list(path["triples"])}
        found["paths", line] = Citation(type="citation", cited_text=path["text"], extras=extras)
    for line, one in enumerate(evidence["passages"]):
        title = " / ".join(filter(None, (one["title"], one["section"])))
        extras = {"passage": one["id"], "start": one["start"], "end": one["end"]}
        found["passages", line] = Citation(type="citation", title=title, cited_text=one["text"], extras=extras)
    for place in places.keys() & found.keys():
        found[place]["start_index"], found[place]["end_index"] = places[place]
    return list(found.values())
