"""What nodes tell whoever listens: each report is one progress event, and of a prune also the note that state keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.ops import Flow, Update
from thinkgraph.runtime import requests
from thinkgraph.state.answer import Prunable, PrunedNote, TraceLine
from thinkgraph.state.events import Linked, Pruned, Reasoned, Retrieved, Scored, Stopped, Traced
from thinkgraph.state.knowledge import Link

EXAMPLES = 5
"""Most things that a note, or a report of what was retrieved, names."""


def labelled(things: Iterable[Scored]) -> list[tuple[str, float]]:
    """Label and score of each thing, as `pruned` takes them."""
    return [(thing["label"], thing["score"]) for thing in things]


def _scored(pairs: Iterable[tuple[str, float]]) -> list[Scored]:
    return [Scored(label=label, score=round(score, 4)) for label, score in pairs]


def linked(links: Iterable[Link]) -> Flow[None]:
    """Mentions were linked to these entities."""
    found = _scored((link["entity"]["label"], link["score"]) for link in links)
    yield from requests.emit(Linked(type="linked", candidates=found))


def pruned(
    what: Prunable,
    number: int,
    kept: Iterable[tuple[str, float]],
    dropped: Iterable[tuple[str, float]],
    reason: str,
    *,
    unseen: int = 0,
    examples: Sequence[str] = (),
) -> Flow[list[PrunedNote]]:
    """Tell what a prune kept and dropped: label and score of each, and why things were dropped.

    `unseen` more were dropped without being looked at. `examples` are what the note names before the things dropped.

    Returns:
        The note, for the channel `pruned`.
    """
    event = Pruned(type="pruned", what=what, round=number, kept=_scored(kept), dropped=_scored(dropped), reason=reason)
    yield from requests.emit(event)
    named = [*examples, *(left["label"] for left in event["dropped"])][:EXAMPLES]
    count = len(event["dropped"]) + unseen
    return [PrunedNote(round=number, what=what, kept=len(event["kept"]), dropped=count, examples=named)]


def retrieved(
    number: int, best: Sequence[str], *, entities: int = 0, triples: int = 0, passages: int = 0, ranked: int = 0
) -> Flow[None]:
    """Knowledge was fetched and ranked: the best of it in words, and how much was looked at, fetched and scored."""
    yield from requests.emit(
        Retrieved(
            type="retrieved",
            round=number,
            entities=entities,
            triples=triples,
            passages=passages,
            ranked=ranked,
            best=list(best[:EXAMPLES]),
        )
    )


def reasoned(number: int, *, sufficient: bool, answers: Sequence[str], clues: str = "", query: str = "") -> Flow[None]:
    """The model judged the evidence of a round; see `Judgement`."""
    yield from requests.emit(
        Reasoned(type="reasoned", round=number, sufficient=sufficient, answers=list(answers), clues=clues, query=query)
    )


def stopped(spent: BudgetSpentError) -> Flow[Update]:
    """A ceiling leaves no room for a call that a run can go on without. Returns the update that says so."""
    yield from requests.emit(Stopped(type="stopped", reason=spent.reason))
    return {"stopped": spent.reason}


def traced(number: int, title: str, lines: Sequence[TraceLine]) -> Flow[None]:
    """The method's bookkeeping as it stands after a step; see `Trace`."""
    yield from requests.emit(Traced(type="traced", round=number, title=title, lines=list(lines)))
