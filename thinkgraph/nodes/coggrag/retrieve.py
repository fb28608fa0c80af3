"""Retrieval (CogGRAG section 4.2): link the keys' entities, expand them one hop, keep what is near the keys.

It runs once for the whole mind map, and with `follow_answers` (ours) again whenever an answer names an entity that a later
question asks about. No model is called.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow
from thinkgraph.nodes.coggrag.extract_keys import as_keys, is_open, settled, words_of
from thinkgraph.nodes.coggrag.mind_map import listed, put_in, references
from thinkgraph.nodes.coggrag.triple_lists import Kept, Pruning, expand, prune
from thinkgraph.prompts.lines import one_line
from thinkgraph.runtime import requests
from thinkgraph.runtime.driver import Update
from thinkgraph.state import events
from thinkgraph.state.answer import PrunedNote
from thinkgraph.state.coggrag import CogGragSettings, Key, MindNode, Solution
from thinkgraph.state.events import Linked, Retrieved
from thinkgraph.state.evidence import MAX_EVIDENCE, EvidenceItem
from thinkgraph.state.knowledge import Link
from thinkgraph.tools.linking.names import normal_name

MOST_NAMES = 48
"""Most names linked at a time."""
MOST_ENTITIES = 64
"""Most entities expanded at a time."""
_SURE = frozenset({"exact", "alias"})
_NAMED = 5


@dataclass
class Search:
    """What one retrieval looks for."""

    names: list[str] = field(default_factory=list)
    """To be linked."""
    entities: list[str] = field(default_factory=list)
    """Ids known already."""
    sentences: list[str] = field(default_factory=list)
    """The keys in words, unknown ends left out."""
    notes: list[str] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    """By question, how many of its answers are not looked up although a later question needs them."""


def in_words(parts: Sequence[str]) -> str:
    """A key as a sentence; what is unknown is left out ("Panama capital" for Panama, capital, ?)."""
    return one_line(" ".join(part for part in parts if not is_open(part)))


def ends_of(key: Key) -> list[str]:
    """The known entities that a key names; a relation is none."""
    parts = key["parts"]
    ends = parts[:1] if len(parts) < 3 else [parts[0], parts[2]]  # noqa: PLR2004 - a triple
    return [part for part in ends if not is_open(part)]


def prunes(key: Key, settings: CogGragSettings) -> bool:
    """Whether triples are compared with a key: it must be a triple, or a tuple where those count."""
    size = len(key["parts"])
    return size == 3 or (size == 2 and settings.open_tuples)  # noqa: PLR2004 - triples and tuples


def _once(texts: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for text in texts:
        found.setdefault(normal_name(text), text)
    return list(found.values())


def first_search(state: Mapping[str, Any], settings: CogGragSettings) -> Search:
    """All keys of the mind map."""
    nodes: Mapping[str, MindNode] = state["mind_map"]
    ids, questions = listed(nodes)
    # A ceiling may have stopped the run before any keys were extracted.
    extracted = state["keys"] or {"local": as_keys(words_of(questions), ids, "local")}
    keys = settled(extracted, nodes)
    search = Search(names=_once(name for key in keys for name in ends_of(key)))
    triples = [key for key in keys if prunes(key, settings)]
    # A key between two unknowns is near to everything that has its relation; it waits until an answer is put in.
    anchored = [key for key in triples if ends_of(key) or not settings.anchored_keys]
    search.sentences = _once(in_words(key["parts"]) for key in anchored or triples)
    if not search.sentences and settings.least and search.names:
        # Entities alone prune nothing: what is asked about them does.
        search.sentences = _once(questions)
    return search


def next_search(state: Mapping[str, Any], settings: CogGragSettings) -> Search:
    """The answers of the last wave that an open question needs, and the keys with them put in for their placeholders."""
    nodes: Mapping[str, MindNode] = state["mind_map"]
    solved: Mapping[str, Solution] = state["solved"]
    keys = settled(state["keys"], nodes)
    search = Search()
    for at, solution in solved.items():
        if solution["wave"] != state["round"] or not solution["answers"]:
            continue
        place = f"?{at}"
        asking = [key for key in nodes if key not in solved and at in references(nodes, key)]
        using = [key for key in keys if place in key["parts"] and _is_open_about(key, at, solved, asked=bool(asking))]
        if not asking and not using:
            continue
        room = settings.follow - len(search.names) - len(search.entities)
        taken = solution["answers"][: max(room, 0)]
        if len(taken) < len(solution["answers"]):
            search.left[at] = len(solution["answers"]) - len(taken)
            search.notes.append(f"{search.left[at]} answers were not followed (follow)")
        for answer in taken:
            ids = solution["entities"].get(answer)
            if ids is None:
                search.names.append(answer)
            search.entities += ids or ()
            search.sentences += [
                in_words([answer if part == place else part for part in key["parts"]])
                for key in using
                if prunes(key, settings)
            ]
        if taken and not using:
            # No key says what to look for about it: the questions that need it do.
            search.sentences += [put_in(nodes, key, solved) for key in asking]
    search.names = _once(search.names)
    search.entities = list(dict.fromkeys(search.entities))
    search.sentences = _once(search.sentences)
    return search


def _is_open_about(key: Key, at: str, solved: Mapping[str, Solution], *, asked: bool) -> bool:
    """Whether a key with the placeholder of an answered question still asks for something.

    The statement that gave the answer does not; a key that belongs to no question may, if one needs the answer.
    """
    if at in key["of"] and not any(is_open(part) for part in key["parts"] if part != f"?{at}"):
        return False
    return any(owner not in solved for owner in key["of"] if owner != at) or (asked and not key["of"])


def meant(name: str, links: Sequence[Link]) -> list[str]:
    """Ids of the entities that a name stands for: all namesakes of that very name, else the best guess."""
    sure = [link for link in links if link["method"] in _SURE]
    whole = [link for link in sure if normal_name(link["mention"]) == normal_name(name)]
    return [link["entity"]["id"] for link in (whole or sure or links[:1])]


def retrieve_triples(state: Mapping[str, Any], settings: CogGragSettings) -> Flow[Update]:
    """T: the triples around the entities of the keys (or of the last answers) that are near some key."""
    first = state["round"] == 0
    search = Search()
    if first:
        search = first_search(state, settings)
    elif settings.follow_answers and not state["stopped"]:
        search = next_search(state, settings)
    update: Update = {"round": state["round"] + 1}
    if search.left:
        update["unfollowed"] = search.left
    linked = yield from _linked(search, settings)
    ids = list(dict.fromkeys([*search.entities, *(one for group in linked.values() for one in group)]))
    if len(ids) > MOST_ENTITIES:
        search.notes.append(f"{len(ids) - MOST_ENTITIES} of {len(ids)} entities were not expanded")
        ids = ids[:MOST_ENTITIES]
    if linked:
        update["linked"] = linked
    if not ids or not search.sentences:
        if first:
            yield from _report(state, Pruning([], [], 0, []), search, 0, 0)
        return update
    found = yield from expand(ids, search.sentences, settings)
    search.notes += found.notes
    pruning = yield from prune(found.lists, search.sentences, settings)
    search.notes += pruning.notes
    yield from _report(state, pruning, search, len(ids), found.triples)
    new = _merged(state["evidence"], pruning.kept, state["round"] + 1)
    update["evidence"] = Overwrite(bounded({**state["evidence"], **new}, state["solved"], settings))
    update["pruned"] = [
        PrunedNote(
            round=state["round"],
            what="triples",
            kept=len(pruning.kept),
            dropped=len(pruning.dropped),
            examples=[*search.notes, *(label for label, _ in pruning.dropped)][:_NAMED],
        )
    ]
    return update


def _linked(search: Search, settings: CogGragSettings) -> Flow[dict[str, list[str]]]:
    if len(search.names) > MOST_NAMES:
        search.notes.append(f"{len(search.names) - MOST_NAMES} of {len(search.names)} names were not linked")
        search.names = search.names[:MOST_NAMES]
    if not search.names:
        return {}
    every = yield from requests.link(search.names, limit=settings.link_candidates)
    best = [
        events.Scored(label=link["entity"]["label"], score=round(link["score"], 4))
        for links in every
        for link in links[:1]
    ]
    yield from requests.emit(Linked(type="linked", candidates=best))
    return {normal_name(name): meant(name, links) for name, links in zip(search.names, every, strict=True)}


def _merged(known: Mapping[str, EvidenceItem], kept: Sequence[Kept], number: int) -> dict[str, EvidenceItem]:
    new: dict[str, EvidenceItem] = {}
    for found in kept:
        item = found.item(number)
        old = known.get(item["id"])
        if old is not None:
            # It keeps its place among the lines, so that prompts of the next wave begin as those of this one did.
            tails = list(dict.fromkeys([*old["tails"], *item["tails"]]))
            item = {**item, "tails": tails, "round": old["round"], "score": max(old["score"], item["score"])}
        new[item["id"]] = item
    return new


def bounded(
    items: Mapping[str, EvidenceItem], solved: Mapping[str, Solution], settings: CogGragSettings
) -> dict[str, EvidenceItem]:
    """At most `lines` lines of knowledge: what answers stand on first, then what is nearest to the keys."""
    cited = {key for solution in solved.values() for key in solution["cited"]}
    order = sorted(items.values(), key=lambda item: (item["id"] not in cited, -item["score"], item["id"]))
    most = max(settings.lines, min(MAX_EVIDENCE, len(cited & items.keys())))
    keep = {item["id"] for item in order[:most]}
    return {key: item for key, item in items.items() if key in keep}


def _report(state: Mapping[str, Any], pruning: Pruning, search: Search, entities: int, triples: int) -> Flow[None]:
    number = state["round"]
    yield from requests.emit(
        Retrieved(
            type="retrieved",
            round=number,
            entities=entities,
            triples=triples,
            passages=0,
            ranked=pruning.compared,
            best=[kept.line for kept in pruning.kept[:_NAMED]],
        )
    )
    yield from requests.emit(
        events.Pruned(
            type="pruned",
            what="triples",
            round=number,
            kept=[events.Scored(label=kept.of.open_sentence, score=round(kept.score, 4)) for kept in pruning.kept],
            dropped=[events.Scored(label=label, score=round(value, 4)) for label, value in pruning.dropped],
            reason="; ".join(["not near enough to any key", *search.notes]),
        )
    )
