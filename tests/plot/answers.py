"""Answers to draw, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from thinkgraph.prompts.lines import path_line
from thinkgraph.state.answer import Answer, CitedPassage, CitedPath, Evidence, Status, Trace
from thinkgraph.state.knowledge import Triple
from thinkgraph.state.usage import summarise

NO_TRACE = Trace(title="", lines=[], data={})


def path(start: str, hops: Sequence[Triple], tails: Sequence[Triple] = ()) -> CitedPath:
    """A path as an answer cites it."""
    return CitedPath(text=path_line(start, hops, tails), triples=[t["id"] for t in [*hops, *tails]], score=1.0)


def passage(key: str, title: str, text: str) -> CitedPassage:
    """A passage as an answer cites it."""
    return CitedPassage(id=key, title=title, section="", start=0, end=len(text), text=text, score=1.0)


def answer_of(
    answers: Sequence[str],
    paths: Sequence[CitedPath] = (),
    triples: Sequence[Triple] = (),
    passages: Sequence[CitedPassage] = (),
    *,
    question: str = "Which?",
    status: Status = "grounded",
    trace: Trace = NO_TRACE,
) -> Answer:
    """A whole answer."""
    return Answer(
        question=question,
        text="; ".join(answers) or "I don't know: nothing was found.",
        answers=list(answers),
        status=status,
        reason="the evidence holds the answer",
        evidence=Evidence(triples=list(triples), passages=list(passages), paths=list(paths)),
        usage=summarise({}, {}),
        pruned=[],
        trace=trace,
        rounds=1,
        method="tog2",
        model="offline",
        confidence=None,
        signals={},
        support=[],
    )


def community(key: str, number: int, nodes: Sequence[str], inside: Sequence[Triple], joining: Sequence[Triple]) -> Any:
    """A community as the trace of FastToG has it (state/fasttog.py)."""
    return {
        "id": key,
        "what": "header" if number == 0 else "chosen",
        "round": number,
        "nodes": list(nodes),
        "labels": list(nodes),
        "triples": [t["id"] for t in inside],
        "joining": [t["id"] for t in joining],
        "prose": "",
    }


def chains(starts: Sequence[str], *every: Sequence[Any]) -> Trace:
    """The trace of FastToG."""
    listed = [
        {"chain": number, "starts": list(starts), "ended": "", "communities": list(communities)}
        for number, communities in enumerate(every, start=1)
    ]
    data = {"start": [{"id": name, "label": name} for name in starts], "start_triples": [], "chains": listed}
    return Trace(title="chains of communities", lines=[], data=data)
