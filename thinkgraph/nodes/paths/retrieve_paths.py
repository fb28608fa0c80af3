"""The retrieval of `paths`: the relation paths that fit the question best, and passages about what they reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.evidence_lines import line_cost
from thinkgraph.nodes.common.link_entities import BY_NAME
from thinkgraph.nodes.common.ranking import cut, rank
from thinkgraph.nodes.common.relation_fit import unnamed
from thinkgraph.nodes.common.relation_paths import Place, RelationPath
from thinkgraph.nodes.common.reports import pruned, retrieved
from thinkgraph.nodes.paths.lines import lines_of, way_to
from thinkgraph.nodes.paths.walk import walk
from thinkgraph.prompts.lines import passage_line
from thinkgraph.runtime import requests
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.tog2 import PathsSettings, Tog2State, Topic, relation_key

MOST_READ = 400
"""Most entities whose documents are looked at."""


def retrieve_paths(state: Tog2State, settings: PathsSettings) -> Flow[Update]:
    """Rank the relation paths of at most D hops from the starting entities; the best ones are the first evidence.

    The search that may follow begins at the starting entities and at the best that the paths reach. Once a ceiling is spent, nothing is
    read.
    """
    if state["stopped"]:
        return {}
    starts = _starts(state, settings)
    names = [candidate["mention"] for candidate in state["candidates"]]
    paths = yield from walk(starts, unnamed(state["question"], names), settings)
    best = _best(paths, settings)
    places = _places(starts, best)
    chunks, cost = yield from _passages(places, state["question"], settings)
    items, hidden = lines_of(best, settings.evidence_tokens - cost)
    yield from retrieved(
        0,
        [path.shown for path in best],
        entities=len(places),
        triples=sum(len(leg.tails) for path in paths for leg in path.legs),
        passages=len({item["passage"] for item in chunks}),
        ranked=len(paths),
    )
    shown = set(map(id, best))
    left = [(path.shown, path.score) for path in paths if id(path) not in shown]
    kept = [(path.shown, path.score) for path in best]
    note = yield from pruned("paths", 0, kept, left, "they fit the question less", unseen=hidden)
    topics = {topic["id"]: topic for topic in (*starts, *_reached(best, settings.width))}
    return {
        "topics": list(topics.values()),
        "visited": {key: topic for key, topic in topics.items() if key not in state["visited"]},
        "evidence": {item["id"]: item for item in (*items, *chunks)},
        "pruned": note,
    }


def _starts(state: Tog2State, settings: PathsSettings) -> list[Topic]:
    """The starting entities: those that the model chose, else all that the question names, else the best guesses."""
    if settings.topic_prune:
        return state["topics"]
    named = {candidate["id"] for candidate in state["candidates"] if candidate["method"] in BY_NAME}
    every = list(state["visited"].values())
    return [topic for topic in every if topic["id"] in named] or every


def _best(paths: Sequence[RelationPath], settings: PathsSettings) -> list[RelationPath]:
    """The best paths. One that others go on from takes no place beside them."""
    best: list[RelationPath] = []
    inner: set[int] = set()
    least = settings.near * max((path.score for path in paths), default=0.0)
    for path in paths:
        if path.score < least or sum(id(one) not in inner for one in best) >= settings.top_paths:
            break
        inner |= {id(part) for part in path.parts[:-1]}
        best.append(path)
    return best


def _places(starts: Sequence[Topic], best: Sequence[RelationPath]) -> dict[str, Place]:
    """What the paths start from and reach on their way, by id, the best first."""
    found = {topic["id"]: Place.start(topic["id"], topic["label"]) for topic in starts}
    for path in best:
        for part in path.parts:
            for end in part.ends:
                found.setdefault(end.id, end)
    return dict(list(found.items())[:MOST_READ])


def _passages(
    places: Mapping[str, Place], question: str, settings: PathsSettings
) -> Flow[tuple[list[EvidenceItem], int]]:
    """The chunks of documents that fit the question best, in at most half of the room, and the tokens that they take."""
    passages = yield from requests.candidates_of(list(places), question, limit=settings.rank_texts)
    chunks = cut(passages, settings)[: settings.rank_texts]
    scores = yield from rank([chunk.rankable() for chunk in chunks], question, "", settings, key="0")
    items: list[EvidenceItem] = []
    spent = 0
    for score, chunk in sorted(zip(scores, chunks, strict=True), key=lambda pair: -pair[0])[: settings.top_k]:
        cost = line_cost(passage_line(*chunk.head, chunk.text))
        if spent + cost <= settings.evidence_tokens // 2:
            spent += cost
            owner = next(places[one] for one in chunk.passage["entities"] if one in places)
            items.append(chunk.item(owner.id, path=way_to(owner), score=score))
    return items, spent


def _reached(best: Sequence[RelationPath], width: int) -> list[Topic]:
    """Entities to go on from: of each of the best paths that reach any, the first one."""
    return [
        Topic(
            id=end.id,
            label=end.label,
            description="",
            path=way_to(end),
            on_path=list(end.on_path),
            score=round(path.score, 6),
            came_by=relation_key(end.on_path[-2], path.relation["direction"], path.relation["name"]),
        )
        for path in best
        if path.relation
        for end in path.ends[:1]
    ][:width]
