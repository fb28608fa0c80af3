"""The knowledge as LangChain tools, for agents of one's own: the same requests that nodes make, bounded and in plain text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from thinkgraph.faces.asking import opened, quoted, shortened
from thinkgraph.faces.fetching import afetch, fetch, only
from thinkgraph.prompts.lines import entity_line, one_line, passage_line, path_line, relation_line
from thinkgraph.state.knowledge import Direction, Entity, PassageHit, Relation, Step
from thinkgraph.tools import requests as ask
from thinkgraph.tools.deps import Deps
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.requests import Steps

MAX_IDS = 20
"""Most entities one call takes."""
MAX_LIMIT = 100
"""Most of anything one call may ask for."""
MAX_PASSAGE = 2000
"""Longest passage shown, in characters; the artifact has it whole."""
MAX_TEXT = 20_000
"""Longest result shown, in characters."""

_NAMED = 3
"""Most unknown ids that an error names."""

Found = tuple[str, list[dict[str, Any]]]
"""What a tool returns: text for the model, and the same as the store gave it."""

_IDS = Field(min_length=1, max_length=MAX_IDS, description="Ids of entities, as find_entities gives them.")


class _Names(BaseModel):
    names: list[str] = Field(
        min_length=1, max_length=MAX_IDS, description="Names to look for, or whole questions in which they occur."
    )
    limit: int = Field(10, ge=1, le=MAX_LIMIT, description="Most entities for each.")


class _Relations(BaseModel):
    entities: list[str] = _IDS
    limit: int = Field(50, ge=1, le=MAX_LIMIT, description="Most relations for each entity.")


class _Neighbours(BaseModel):
    entity: str = Field(description="Id of the entity to start from, as find_entities gives it.")
    relation: str = Field(description="Name of the relation to follow, as relations_of gives it.")
    direction: Direction = Field(
        "out", description="'out': the entity is the subject of the statement; 'in': it is the object."
    )
    limit: int = Field(25, ge=1, le=MAX_LIMIT, description="Most triples; of more, a fixed sample.")


class _PassagesOf(BaseModel):
    entities: list[str] = _IDS
    query: str = Field(min_length=1, description="What the passages should tell.")
    limit: int = Field(5, ge=1, le=MAX_LIMIT, description="Most passages.")


class _Search(BaseModel):
    query: str = Field(min_length=1, description="What the passages should tell.")
    limit: int = Field(5, ge=1, le=MAX_LIMIT, description="Most passages.")


class KnowledgeTool(BaseTool):
    """One request to a knowledge base as a tool. `knowledge_tools` makes them."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True

    _deps: Deps = PrivateAttr()
    _steps: Callable[..., Steps[Found]] = PrivateAttr()

    def __init__(self, *, deps: Deps, steps: Callable[..., Steps[Found]], **options: Any) -> None:
        super().__init__(**options)
        self._deps = deps
        self._steps = steps

    def _run(self, **arguments: Any) -> Found:
        return fetch(self._steps(**arguments), self._deps)

    async def _arun(self, **arguments: Any) -> Found:
        return await afetch(self._steps(**arguments), self._deps)


def knowledge_tools(knowledge: Knowledge | str | Path = "world", **options: Any) -> list[BaseTool]:
    """Tools that read a knowledge base, for an agent of your own:

        agent = create_agent(model, tg.knowledge_tools("world"))

    find_entities, relations_of and neighbours walk the graph; passages_of and search_passages read its documents, and are
    there only where the knowledge has documents. They take and give the store's own ids, cost one to three round trips each,
    call no model, and never write. Results are text with a bound on its length; the artifact holds what the store gave.

    What a model can mend (an id or a relation that there is not) is a ToolException of one line, which by default it gets to
    read; with handle_tool_error=False it is raised.

    Args:
        knowledge: opened knowledge, or what `Knowledge.open` takes.
        options: further fields of the tools, such as `handle_tool_error` or `tags`.

    Raises:
        KnowledgeError: the knowledge cannot be opened.
    """
    found = opened(knowledge)
    deps = only(found)

    def tool(schema: type[BaseModel], steps: Callable[..., Steps[Found]], description: str) -> BaseTool:
        return KnowledgeTool(
            deps=deps,
            steps=steps,
            **{"name": steps.__name__, "description": description, "args_schema": schema, **options},
        )

    tools = [
        tool(
            _Names,
            find_entities,
            "Finds the entities of a knowledge graph that names or questions mention. Start here: the other tools take the "
            "ids that this one gives. Namesakes are told apart by their descriptions.",
        ),
        tool(
            _Relations,
            relations_of,
            "Lists the kinds of statements a knowledge graph makes about entities: the name of each relation, its direction "
            "and how many statements there are.",
        ),
        tool(
            _Neighbours,
            neighbours,
            "Follows one relation from an entity of a knowledge graph and gives the statements, with the ids of what they "
            "lead to.",
        ),
    ]
    if found.text is not None:
        tools += [
            tool(_PassagesOf, passages_of, "Finds the passages about given entities that tell most about a query."),
            tool(
                _Search,
                search_passages,
                "Searches all passages for what tells most about a query; use it where no entity is known.",
            ),
        ]
    return tools


def find_entities(names: Sequence[str], limit: int = 10) -> Steps[Found]:
    """Entities that each text mentions, best first."""
    links = yield from ask.link(names, limit=limit)
    found = [{"text": text, **link} for text, group in zip(names, links, strict=True) for link in group]
    lines: list[str] = []
    for text, group in zip(names, links, strict=True):
        if len(names) > 1 or not group:
            lines.append(
                f"{shortened(one_line(text), 80)}:" if group else f"{shortened(one_line(text), 80)}: nothing found"
            )
        lines += [
            f"{entity_line(link['entity'])} | id {quoted(link['entity']['id'])} | {link['method']} {link['score']:.2f}"
            for link in group
        ]
    return _bounded(lines), found


def relations_of(entities: Sequence[str], limit: int = 50) -> Steps[Found]:
    """The kinds of edges at entities, rarest first."""
    ids = list(dict.fromkeys(entities))
    known = yield from _known(ids)
    every = yield from ask.relations(ids)
    lines: list[str] = []
    found: list[dict[str, Any]] = []
    for entity, relations in zip(known, every, strict=True):
        found += [dict(relation) for relation in relations[:limit]]
        lines += [
            f"{relation_line(relation, entity['label'])} | relation {quoted(relation['name'])} {relation['direction']}"
            for relation in relations[:limit]
        ]
        if not relations:
            lines.append(f"{entity_line(entity)}: no statements")
        if len(relations) > limit:
            lines.append(f"... and {len(relations) - limit} more relations of {one_line(entity['label'])}")
    return _bounded(lines), found


def neighbours(entity: str, relation: str, direction: Direction = "out", limit: int = 25) -> Steps[Found]:
    """The triples of one entity along one relation."""
    known = (yield from _known([entity]))[0]
    reached = (
        yield from ask.neighbours([Step(entity=entity, relation=relation, direction=direction)], limit=limit, seed=0)
    )[0]
    if not reached["triples"]:
        edges: list[Relation] = (yield from ask.relations([entity]))[0]
        other = any(edge["name"] == relation for edge in edges)
        hint = "it has it in the other direction" if other else "relations_of lists what it has"
        raise ToolException(
            f"{shortened(one_line(known['label']), 80)} has no relation {shortened(quoted(relation), 80)} "
            f"in direction {direction}; {hint}"
        )
    lines = []
    for triple in reached["triples"]:
        end = triple["object"] if direction == "out" else triple["subject"]
        value = "a value, no id" if triple["literal"] and direction == "out" else f"id {quoted(end)}"
        lines.append(f"{path_line(entity, [triple])} | {value}")
    more = reached["total"] - len(reached["triples"])
    return _bounded(lines, more), [dict(triple) for triple in reached["triples"]]


def passages_of(entities: Sequence[str], query: str, limit: int = 5) -> Steps[Found]:
    """The passages of entities nearest to a query."""
    ids = list(dict.fromkeys(entities))
    yield from _known(ids)
    return _passages((yield from ask.passages_of(ids, query, limit=limit)))


def search_passages(query: str, limit: int = 5) -> Steps[Found]:
    """The passages of the whole knowledge base nearest to a query."""
    return _passages((yield from ask.search_passages([query], limit=limit))[0])


def _known(ids: Sequence[str]) -> Steps[list[Entity]]:
    found = yield from ask.entities(ids)
    missing = [key for key, entity in zip(ids, found, strict=True) if entity is None]
    if missing:
        named = ", ".join(shortened(quoted(key), 80) for key in missing[:_NAMED])
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        raise ToolException(f"no entity has the id {named}{more}; find_entities gives the ids that there are")
    return [entity for entity in found if entity is not None]


def _passages(hits: Sequence[PassageHit]) -> Found:
    lines = []
    for hit in hits:
        passage = hit["passage"]
        text = shortened(one_line(passage["text"]), MAX_PASSAGE)
        about = ", ".join(quoted(key) for key in passage["entities"][:5])
        lines.append(
            f"{passage_line(passage['title'], passage['section'], text)} | id {quoted(passage['id'])}"
            + (f" | about {about}" if about else "")
        )
    return _bounded(lines), [{**hit["passage"], "score": hit["score"]} for hit in hits]


def _bounded(lines: Iterable[str], more: int = 0) -> str:
    """One line for each find, no more than MAX_TEXT characters, and how many were left out."""
    kept: list[str] = []
    room = MAX_TEXT
    every = list(lines)
    for line in every:
        if len(line) > room:
            break
        kept.append(line)
        room -= len(line) + 1
    left = len(every) - len(kept) + more
    if left > 0:
        kept.append(f"... and {left} more")
    return "\n".join(kept) or "nothing found"
