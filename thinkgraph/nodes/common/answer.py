"""The closing transition of every method: from ids to an answer whose every citation exists in the stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from thinkgraph.errors import StoreError
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common import conversation
from thinkgraph.nodes.common.evidence_lines import Texts, fetch_texts, totals_of
from thinkgraph.prompts.communities import community_line
from thinkgraph.prompts.lines import path_line
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import NodeFunction, Update
from thinkgraph.state.answer import Answer, CitedPassage, CitedPath, Draft, Evidence, Trace
from thinkgraph.state.base import RunState
from thinkgraph.state.events import Answered
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import Triple
from thinkgraph.state.settings import RunSettings
from thinkgraph.state.usage import summarise
from thinkgraph.tools.grounding import fold

MAX_TAILS = 50
"""Most tails of one path that an answer carries where none of them is itself the answer."""


def no_trace(_state: Any) -> Trace:
    """The trace of a method that keeps nothing beside its evidence."""
    return Trace(title="", lines=[], data={})


def answer(role: str, trace: Callable[[Any], Trace] = no_trace) -> NodeFunction:
    """The closing transition.

    Args:
        role: the role that decides, whose model the answer names.
        trace: the method's own bookkeeping, from its state.
    """

    def run(state: RunState, _settings: RunSettings) -> Flow[Update]:
        draft = state.get("draft")
        if draft is None:
            draft = Draft(answers=[], status="unknown", reason=state["stopped"] or "no answer was reached", cited=[])
        items = [state["evidence"][key] for key in draft["cited"]]
        texts = yield from fetch_texts(items)
        evidence = _evidence(items, draft["answers"], texts)
        manifest = state["manifest"]
        text = _text(draft)
        result = Answer(
            question=state["question"],
            text=text,
            answers=draft["answers"],
            status=draft["status"],
            reason=draft["reason"],
            evidence=evidence,
            usage=summarise(state["calls"], state["work"]),
            pruned=state["pruned"],
            trace=trace(state),
            rounds=state["round"],
            method=manifest["method"],
            model=manifest["models"].get(role, ""),
        )
        yield from requests.emit(Answered(type="answered", status=draft["status"], text=text))
        # A conversation goes on where one was begun.
        said = [conversation.reply(result)] if manifest.get("message") else []
        return {"answer": result, "messages": said}

    return run


def _text(draft: Draft) -> str:
    if draft["answers"]:
        return "; ".join(draft["answers"])
    return f"I don't know: {draft['reason']}."


def _evidence(items: Sequence[EvidenceItem], answers: Sequence[str], texts: Texts) -> Evidence:
    """Fetch what the draft cites. Raises StoreError where the store no longer has it: nothing is cited unseen."""
    triples: dict[str, Triple] = {}
    paths: list[CitedPath] = []
    passages: list[CitedPassage] = []
    wanted = {fold(text) for text in answers}
    seen: set[str] = set()
    for item in items:
        lead = [_known(texts.triples, key, "triple") for key in (item["path"]["triples"] if "path" in item else ())]
        if item["kind"] == "chunk":
            passage = _known(texts.passages, item["passage"], "passage")
            passages.append(
                CitedPassage(
                    id=passage["id"],
                    title=passage["title"],
                    section=passage["section"],
                    start=item["start"],
                    end=item["end"],
                    text=passage["text"][item["start"] : item["end"]],
                    score=item["score"],
                )
            )
            tails: list[Triple] = []
        elif item["kind"] == "community":
            members = [_known(texts.triples, key, "triple") for key in item["triples"]]
            triples.update({triple["id"]: triple for triple in members})
            ids = [triple["id"] for triple in members]
            line = community_line(members, totals_of(item))
            paths.append(CitedPath(text=line, triples=ids, score=item["score"]))
            continue
        else:
            every = [_known(texts.triples, key, "triple") for key in item["tails"]]
            tails = _meant(every, wanted) or every[:MAX_TAILS]
        walked = [*lead, *tails]
        triples.update({triple["id"]: triple for triple in walked})
        if walked:
            line = path_line(item["path"]["start"], lead, tails, total=item.get("total", 0) if tails else 0)
            if line not in seen:
                seen.add(line)
                ids = [triple["id"] for triple in walked]
                paths.append(CitedPath(text=line, triples=ids, score=item["score"]))
    return Evidence(triples=list(triples.values()), passages=passages, paths=paths)


def _known(found: Mapping[str, Any], key: str, what: str) -> Any:
    if key not in found:
        raise StoreError(
            f"{what} {key} was retrieved in this run but the store no longer has it; ask the question again"
        )
    return found[key]


def _meant(tails: Sequence[Triple], wanted: set[str]) -> list[Triple]:
    """The tails that are answers themselves (folded)."""
    return [tail for tail in tails if wanted & {fold(tail["object_label"]), fold(tail["subject_label"])}]
