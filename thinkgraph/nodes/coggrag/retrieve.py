"""Retrieval (CogGRAG section 4.2): link the keys' entities, expand them one hop, keep what is near the keys.

It runs once for the whole mind map. With `follow_answers` (ours) it runs again when an answer names an entity that a later
question asks about. It calls no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from langgraph.types import Overwrite

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.coggrag.extract_keys import as_keys, is_open, settled, words_of
from thinkgraph.nodes.coggrag.tree import children, listed, put_in, references
from thinkgraph.nodes.coggrag.triple_lists import Pruning, expand, left_out, prune
from thinkgraph.nodes.common.link_entities import BY_NAME
from thinkgraph.nodes.common.reports import linked, pruned, retrieved
from thinkgraph.nodes.doubt.judged import rounds_since
from thinkgraph.prompts.lines import one_line
from thinkgraph.runtime import requests
from thinkgraph.state.answer import PrunedNote
from thinkgraph.state.coggrag import CogGragSettings, CogGragState, MapKey, Solution
from thinkgraph.state.evidence import MAX_EVIDENCE, EvidenceItem
from thinkgraph.state.knowledge import Link
from thinkgraph.tools.linking.names import normal_name

_OF_QUESTIONS = 2
"""How many times `least` are kept of a question that stands for a key."""


def in_words(parts: Sequence[str], unknown: Mapping[str, str] | None = None) -> str:
    """A key as a sentence; what is unknown is left out ("Panama capital" for Panama, capital, ?).

    Args:
        parts: of the key.
        unknown: questions by id. If given, what is unknown stays: in the words of the question that asks for it, or in its own ("?school").
    """
    kept = parts if unknown is not None else [part for part in parts if not is_open(part)]
    return one_line(" ".join((unknown or {}).get(part[1:], part[1:]) if is_open(part) else part for part in kept))


def ends_of(key: MapKey) -> list[str]:
    """The known entities that a key names; a relation is none."""
    parts = key["parts"]
    ends = parts[:1] if len(parts) < 3 else [parts[0], parts[2]]  # noqa: PLR2004 - a triple
    return [part for part in ends if not is_open(part)]


def prunes(key: MapKey, settings: CogGragSettings) -> bool:
    """Whether triples are compared with a key: it must be a triple, or a tuple where those count."""
    size = len(key["parts"])
    return size == 3 or (size == 2 and settings.open_tuples)  # noqa: PLR2004 - triples and tuples


def retrieve(state: CogGragState, settings: CogGragSettings) -> Flow[Update]:
    """T: the triples around the entities of the keys, or of the last answers, that are near some key."""
    first = rounds_since(state) == 0
    search = Search()
    words = own_words(state, settings) if first else []
    if first:
        search = search_by_keys(state, words, settings)
    elif settings.follow_answers and not state["stopped"]:
        search = search_by_answers(state, settings)
    update: Update = {"round": state["round"] + 1, "unfollowed": search.left, "linked": {}}
    if words:
        update["keys"] = {"words": words}
    if search.names:
        update["linked"] = yield from _link(search, settings)
    ids = list(dict.fromkeys([*search.entities, *(one for group in update["linked"].values() for one in group)]))
    if len(ids) > settings.entities:
        search.notes.append(left_out(len(ids), settings.entities, "entities were not expanded (entities)"))
        ids = ids[: settings.entities]
    if not ids or not search.sentences:
        if first:
            yield from _report(state, Pruning(), search, 0, 0)
        return update
    found = yield from expand(ids, search.sentences, settings)
    # A question's words are further from those of a relation than a key's are.
    least = settings.least * (_OF_QUESTIONS if search.by_questions else 1)
    pruning = yield from prune(found, search.sentences, settings, least=least)
    search.notes += found.notes
    known = _merged(state["evidence"], [one.item(score, state["round"] + 1) for one, score in pruning.kept])
    update["evidence"] = Overwrite(bounded(known, state["solved"], settings))
    update["pruned"] = yield from _report(state, pruning, search, len(ids), found.triples)
    return update


@dataclass
class Search:
    """What one retrieval looks for."""

    names: list[str] = field(default_factory=list)
    """Names to link."""
    entities: list[str] = field(default_factory=list)
    """Ids that are known without linking."""
    sentences: list[str] = field(default_factory=list)
    """The keys in words, without their unknown ends."""
    by_questions: bool = False
    """The sentences are questions, as no key has more than an entity."""
    notes: list[str] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    """By question, how many of its answers are not followed although a later question needs them."""


def _once(texts: Iterable[str]) -> list[str]:
    found: dict[str, str] = {}
    for text in texts:
        found.setdefault(normal_name(text), text)
    return list(found.values())


def own_words(state: CogGragState, settings: CogGragSettings) -> list[MapKey]:
    """Questions that are keys themselves, so that the names in them are looked up.

    These are all questions if a ceiling stopped the run before any keys were extracted, and on the way back, because the keys may have
    been the fault. Otherwise, with `own_names`, they are the leaves of the mind map that wait for no other's answer and have no key that
    names an entity.
    """
    nodes = state["mind_map"]
    ids, questions = listed(nodes)
    keys = as_keys(words_of(questions), ids, "local")
    if state["backtracked"] or not state["keys"]:
        return keys
    named = {at for level in state["keys"].values() for key in level if ends_of(key) for at in key["of"]}
    lost = {at for at in ids if at not in named and not children(nodes, at) and not references(nodes, at)}
    return [key for key in keys if settings.own_names and lost.issuperset(key["of"])]


def search_by_keys(state: CogGragState, words: Sequence[MapKey], settings: CogGragSettings) -> Search:
    """All keys of the mind map, and the questions that are keys themselves."""
    ids, questions = listed(state["mind_map"])
    keys = settled({**state["keys"], "words": words}, state["mind_map"])
    search = Search(names=_once(name for key in keys for name in ends_of(key)))
    comparable = [key for key in keys if prunes(key, settings)]
    # A key between two unknowns is near to every triple of its relation. It waits until an answer is put in.
    anchored = [key for key in comparable if ends_of(key) or not settings.anchored_keys]
    unknown = dict(zip(ids, questions, strict=True)) if settings.placeholders else None
    search.sentences = _once(in_words(key["parts"], unknown) for key in anchored or comparable)
    if not search.sentences and settings.least and search.names:
        # Entities alone prune nothing: the questions do.
        search.sentences, search.by_questions = _once(questions), True
    return search


def search_by_answers(state: CogGragState, settings: CogGragSettings) -> Search:
    """The answers of the last wave that an open question needs, and the keys with them in place of their placeholders."""
    nodes, solved = state["mind_map"], state["solved"]
    keys = settled(state["keys"], nodes)
    search = Search()
    for at, solution in solved.items():
        if solution["wave"] != state["round"] or not solution["answers"]:
            continue
        place = f"?{at}"
        asking = [key for key in nodes if key not in solved and at in references(nodes, key)]
        using = [key for key in keys if place in key["parts"] and _still_asks(key, at, solved, asked=bool(asking))]
        if not asking and not using:
            continue
        room = settings.follow - len(search.names) - len(search.entities)
        taken = solution["answers"][: max(room, 0)]
        if len(taken) < len(solution["answers"]):
            search.left[at] = len(solution["answers"]) - len(taken)
            search.notes.append(f"{search.left[at]} answers were not followed (follow)")
        # Where no key says what to look for, the question that needs the answer does.
        unsaid = [key for key in asking if not any(key in one["of"] for one in using)]
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
            search.sentences += [
                put_in(nodes, key, {**solved, at: {**solution, "answers": [answer]}}) for key in unsaid
            ]
    search.names = _once(search.names)
    search.entities = list(dict.fromkeys(search.entities))
    search.sentences = _once(search.sentences)
    return search


def _still_asks(key: MapKey, at: str, solved: Mapping[str, Solution], *, asked: bool) -> bool:
    """Whether a key with the placeholder of question `at` asks for something now that this question is answered.

    The statement that gave the answer does not. A key that belongs to no question may, if a question needs the answer.
    """
    if at in key["of"] and not any(is_open(part) for part in key["parts"] if part != f"?{at}"):
        return False
    return any(owner not in solved for owner in key["of"] if owner != at) or (asked and not key["of"])


def meant(name: str, links: Sequence[Link]) -> list[str]:
    """Ids of the entities that a name stands for: all that bear exactly this name, else the best guess."""
    sure = [link for link in links if link["method"] in BY_NAME]
    whole = [link for link in sure if normal_name(link["mention"]) == normal_name(name)]
    return [link["entity"]["id"] for link in (whole or sure or links[:1])]


def _link(search: Search, settings: CogGragSettings) -> Flow[dict[str, list[str]]]:
    names = search.names[: settings.names]
    if len(names) < len(search.names):
        search.notes.append(left_out(len(search.names), settings.names, "names were not linked (names)"))
    every = yield from requests.link(names, limit=settings.link_candidates)
    yield from linked(link for links in every for link in links[:1])
    return {normal_name(name): meant(name, links) for name, links in zip(names, every, strict=True)}


def _merged(known: Mapping[str, EvidenceItem], new: Sequence[EvidenceItem]) -> dict[str, EvidenceItem]:
    merged = dict(known)
    for item in new:
        merged[item["id"]] = item
        if old := known.get(item["id"]):
            # It keeps its place among the lines, so that prompts of the next wave begin as those of this one did.
            tails = list(dict.fromkeys([*old["tails"], *item["tails"]]))
            score = max(old["score"], item["score"])
            merged[item["id"]] = {**item, "tails": tails, "round": old["round"], "score": score}
    return merged


def bounded(
    items: Mapping[str, EvidenceItem], solved: Mapping[str, Solution], settings: CogGragSettings
) -> dict[str, EvidenceItem]:
    """At most `lines` lines of evidence: what answers stand on first, then what is nearest to the keys."""
    cited = {key for solution in solved.values() for key in (*solution["cited"], *solution["instead_of"])}
    order = sorted(items.values(), key=lambda item: (item["id"] not in cited, -item["score"], item["id"]))
    most = max(settings.lines, min(MAX_EVIDENCE, len(cited & items.keys())))
    keep = {item["id"] for item in order[:most]}
    return {key: item for key, item in items.items() if key in keep}


def _report(
    state: CogGragState, pruning: Pruning, search: Search, entities: int, triples: int
) -> Flow[list[PrunedNote]]:
    best = [one.line for one, _ in pruning.kept]
    yield from retrieved(state["round"], best, entities=entities, triples=triples, ranked=pruning.compared)
    kept = [(one.open_sentence, score) for one, score in pruning.kept]
    why = "; ".join(["not near enough to any key", *search.notes])
    return (yield from pruned("triples", state["round"], kept, pruning.dropped, why, examples=search.notes))
