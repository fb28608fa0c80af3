"""Five look-ups in a knowledge base for whoever is not a method: MCP, LangChain tools, a program.

Plain functions over `Knowledge`. Each gives a dict that JSON can hold, costs at most two round trips beside the linking, and
shows every item twice: in fields, and as one `line` in the grammar of `prompts/lines.py`. An entity may be given by its id or
by a name that only it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from typing_extensions import TypedDict

from thinkgraph.errors import KnowledgeError, UsageError
from thinkgraph.prompts.lines import entity_line, one_line, passage_line, path_line, relation_line
from thinkgraph.state.knowledge import Direction, Entity, LinkMethod, Passage, PassageHit, Relation, Step, Triple
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.protocols import GraphStore, Linker, TextStore, call_checked

MAX_LIMIT = 200
"""Most items that one look-up gives."""
_NAMESAKES = 10
_BOTH: tuple[Direction, ...] = ("out", "in")


class FoundEntity(TypedDict):
    """An entity that a text may mean."""

    id: str
    label: str
    type: str
    description: str
    mention: str
    """The stretch of the text."""
    method: LinkMethod
    score: float
    """0 to 1."""
    line: str


class FoundEntities(TypedDict):
    """What `find_entities` gives, best first."""

    entities: list[FoundEntity]


class NamedEntity(TypedDict):
    """The entity that was looked at."""

    id: str
    label: str
    description: str


class FoundRelation(TypedDict):
    """One kind of edge at an entity."""

    relation: str
    """The store's name of it, which `neighbours` takes."""
    label: str
    direction: Direction
    count: int
    line: str


class RelationsFound(TypedDict):
    """What `relations_of` gives, rarest first."""

    entity: NamedEntity
    relations: list[FoundRelation]
    total: int
    """How many there are; more than listed where the limit cut."""


class FoundTriple(Triple):
    """One statement of the graph."""

    line: str


class NeighboursFound(TypedDict):
    """What `neighbours` gives."""

    entity: NamedEntity
    triples: list[FoundTriple]
    total: int
    """How many there are; more than listed where the limit cut (a sample that is the same every time)."""


class FoundPassage(Passage):
    """A passage with the store's own similarity, higher is nearer."""

    score: float
    line: str


class PassagesFound(TypedDict):
    """What `passages_of` and `search_passages` give, nearest first."""

    passages: list[FoundPassage]


def find_entities(knowledge: Knowledge, text: str, *, limit: int = 10) -> FoundEntities:
    """The entities that a text mentions: a bare name or a whole question.

    Raises:
        UsageError: an empty text, or a limit out of range.
        StoreError: the store fails.
    """
    links = call_checked(Linker, knowledge.linker, "link", [_said("text", text)], limit=_limit(limit))[0]
    return {
        "entities": [
            {
                "id": link["entity"]["id"],
                "label": one_line(link["entity"]["label"]),
                "type": one_line(link["entity"]["type"]),
                "description": one_line(link["entity"]["description"]),
                "mention": one_line(link["mention"]),
                "method": link["method"],
                "score": link["score"],
                "line": entity_line(link["entity"]),
            }
            for link in links
        ]
    }


def relations_of(knowledge: Knowledge, entity: str, *, limit: int = 100) -> RelationsFound:
    """The kinds of edges at an entity, both ways, with their counts. A hub costs the same as a leaf.

    Raises:
        UsageError: a limit out of range.
        KnowledgeError: there is no such entity, or its name is not its own.
        StoreError: the store fails.
    """
    size = _limit(limit)
    (found,) = _entities(knowledge, [entity])
    kinds: list[Relation] = _graph(knowledge, "relations", [found["id"]])[0]
    return {
        "entity": _named(found),
        "relations": [
            {
                "relation": kind["name"],
                "label": one_line(kind["label"]),
                "direction": kind["direction"],
                "count": kind["count"],
                "line": relation_line(kind, found["label"]),
            }
            for kind in kinds[:size]
        ],
        "total": len(kinds),
    }


def neighbours(
    knowledge: Knowledge,
    entity: str,
    relation: str | None = None,
    *,
    direction: Literal["out", "in", "both"] = "both",
    limit: int = 50,
) -> NeighboursFound:
    """The triples of an entity along one relation (its name or its label), or all that touch it.

    Raises:
        UsageError: a limit or a direction out of range.
        KnowledgeError: there is no such entity or no such relation at it.
        StoreError: the store fails.
    """
    size = _limit(limit)
    if direction not in {"out", "in", "both"}:
        raise UsageError(f"direction is out, in or both, not '{one_line(str(direction))}'")
    (found,) = _entities(knowledge, [entity])
    here, ways = found["id"], _BOTH if direction == "both" else (direction,)
    if relation is None and direction == "both":
        parts = _graph(knowledge, "neighbourhood", [here], limit=size)
    else:
        every: list[Relation] = _graph(knowledge, "relations", [here])[0]
        kinds = [kind for kind in every if kind["direction"] in ways]
        if relation is not None:
            wanted = relation.strip()
            kinds = [kind for kind in kinds if kind["name"] == wanted] or [
                kind for kind in kinds if kind["label"].casefold() == wanted.casefold()
            ]
            if not kinds:
                raise KnowledgeError(_no_relation(found, wanted, every))
        steps = [Step(entity=here, relation=kind["name"], direction=kind["direction"]) for kind in kinds]
        parts = _graph(knowledge, "neighbours", steps, limit=size) if steps else []
    read: list[Triple] = [triple for part in parts for triple in part["triples"]]
    triples = {triple["id"]: triple for triple in read}
    # A loop is counted both ways.
    total = sum(part["total"] for part in parts) - (len(read) - len(triples))
    return {
        "entity": _named(found),
        "triples": [
            {
                **triple,
                "subject_label": one_line(triple["subject_label"]),
                "relation_label": one_line(triple["relation_label"]),
                "object_label": one_line(triple["object_label"]),
                "qualifiers": [[one_line(name), one_line(value)] for name, value in triple["qualifiers"]],
                "line": path_line(here, [triple]),
            }
            for triple in list(triples.values())[:size]
        ],
        "total": max(total, len(triples)),
    }


def passages_of(knowledge: Knowledge, entities: Sequence[str], query: str, *, limit: int = 5) -> PassagesFound:
    """The passages about some entities that are nearest to a query.

    Raises:
        UsageError: no entity, an empty query, or a limit out of range.
        KnowledgeError: there is no such entity, or the knowledge base has no passages.
        StoreError: the store fails.
    """
    size, wanted = _limit(limit), _said("query", query)
    if isinstance(entities, str) or not entities:
        raise UsageError("entities is a list of at least one id or name")
    ids = [entity["id"] for entity in _entities(knowledge, entities)]
    return _passages(call_checked(TextStore, _text(knowledge), "passages_of", ids, wanted, limit=size))


def search_passages(knowledge: Knowledge, query: str, *, limit: int = 5) -> PassagesFound:
    """The passages of the whole knowledge base that are nearest to a query.

    Raises:
        UsageError: an empty query, or a limit out of range.
        KnowledgeError: the knowledge base has no passages.
        StoreError: the store fails.
    """
    size, wanted = _limit(limit), _said("query", query)
    return _passages(call_checked(TextStore, _text(knowledge), "search", [wanted], limit=size)[0])


def _no_relation(entity: Entity, wanted: str, every: Sequence[Relation]) -> str:
    other = any(wanted == kind["name"] or wanted.casefold() == kind["label"].casefold() for kind in every)
    hint = "it has it in the other direction" if other else "relations_of lists those it has"
    return f"{one_line(entity['label'])} has no relation '{one_line(wanted)}' that way: {hint}"


def _entities(knowledge: Knowledge, given: Sequence[str]) -> list[Entity]:
    """Each by its id, else by a name that is its own: one round trip, two where there are names."""
    wanted = [_said("entity", one) for one in given]
    found: dict[str, Entity | None] = dict(zip(wanted, _graph(knowledge, "entities", wanted), strict=True))
    names = [name for name, entity in found.items() if entity is None]
    named = _graph(knowledge, "lookup", names, limit=_NAMESAKES) if names else []
    for name, matches in zip(names, named, strict=True):
        meant = {match["entity"]["id"]: match["entity"] for match in matches}
        if not meant:
            raise KnowledgeError(
                f"there is no entity '{one_line(name)}': find_entities finds those that a text may mean"
            )
        if len(meant) > 1:
            told = "; ".join(f"{one_line(one['id'])} ({entity_line(one)})" for one in meant.values())
            raise KnowledgeError(f"'{one_line(name)}' is the name of several entities, give an id: {told}")
        (found[name],) = meant.values()
    return [entity for name in wanted if (entity := found[name])]


def _named(entity: Entity) -> NamedEntity:
    return {"id": entity["id"], "label": one_line(entity["label"]), "description": one_line(entity["description"])}


def _passages(hits: Sequence[PassageHit]) -> PassagesFound:
    return {
        "passages": [
            {
                **(passage := hit["passage"]),
                "title": one_line(passage["title"]),
                "section": one_line(passage["section"]),
                "text": one_line(passage["text"]),
                "score": float(hit["score"]),
                "line": passage_line(passage["title"], passage["section"], passage["text"]),
            }
            for hit in hits
        ]
    }


def _graph(knowledge: Knowledge, method: str, asked: Sequence[Any], **options: Any) -> Any:
    return call_checked(GraphStore, knowledge.graph, method, asked, **options)


def _text(knowledge: Knowledge) -> TextStore:
    if knowledge.text is None:
        raise KnowledgeError(f"the knowledge base {one_line(knowledge.name)} has no passages")
    return knowledge.text


def _limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise UsageError(f"limit is a number from 1 to {MAX_LIMIT}, not {limit!r:.40}")
    return limit


def _said(what: str, text: object) -> str:
    # A NUL ends a text for SQLite and some servers.
    if not isinstance(text, str) or not (plain := text.replace("\0", " ").strip()):
        raise UsageError(f"{what} is empty")
    return plain
