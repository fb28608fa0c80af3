"""The five look-ups as tools: what each takes, what a model is told of it, and how its finds read. Every face offers these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from thinkgraph.integrations.langchain.shared import quoted, shortened
from thinkgraph.prompts.lines import passage_line
from thinkgraph.tools import lookups
from thinkgraph.tools.knowledge import Knowledge

MAX_PASSAGE = 2000
"""Longest passage shown, in characters; the finds themselves hold it whole."""
MAX_TEXT = 20_000
"""Longest text that shows what a look-up found, in characters."""

_FEW, _SOME, _ABOUT = 5, 50, 5
_LONGEST = 8_000
"""Longest text given, in characters: as for a question."""
_ENTITY = Field(
    max_length=_LONGEST, description="The entity's id, as find_entities gives it, or a name that only it has."
)
_QUERY = Field(max_length=_LONGEST, description="What the passages should tell.")


class Arguments(BaseModel):
    """Arguments of a tool. Others than these are refused."""

    model_config = ConfigDict(extra="forbid")

    about: ClassVar[str]
    """What the model that calls it is told of the tool."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        # Chat models write null for an argument that they leave out.
        return {name: one for name, one in given.items() if one is not None} if isinstance(given, Mapping) else given


class LookUp(Arguments):
    """Arguments of a look-up, which they can make."""

    name: ClassVar[str]
    """The tool's, and that of its function in `tools.lookups`, which takes the same arguments."""
    reads_passages: ClassVar[bool] = False

    def look_up(self, knowledge: Knowledge) -> Mapping[str, Any]:
        """What there is, as `tools.lookups` gives it.

        Raises:
            UsageError: an empty text.
            KnowledgeError: no such entity, or no such relation at it.
            StoreError: the store fails.
        """
        found: Mapping[str, Any] = getattr(lookups, self.name)(knowledge, **self.model_dump())
        return found


class FindEntities(LookUp):
    """`find_entities`."""

    name = "find_entities"
    about = (
        "Find the entities of the knowledge graph that a name or a whole text may mean. Start here: the other tools take the "
        "ids that this one gives. Namesakes are told apart by their descriptions."
    )
    text: str = Field(max_length=_LONGEST, description="A name, or a text that mentions entities.")
    limit: int = Field(10, ge=1, le=lookups.MAX_LIMIT, description="Most entities.")


class RelationsOf(LookUp):
    """`relations_of`."""

    name = "relations_of"
    about = "List the relations of an entity, in both directions, with the number of triples behind each."
    entity: str = _ENTITY
    limit: int = Field(100, ge=1, le=lookups.MAX_LIMIT, description="Most relations.")


class NeighboursOf(LookUp):
    """`neighbours`."""

    name = "neighbours"
    about = (
        "List the triples of an entity: along one relation, or all that touch it; with the ids of what they lead to."
    )
    entity: str = _ENTITY
    relation: str | None = Field(
        None, max_length=_LONGEST, description="Name or label of a relation, as relations_of gives it."
    )
    direction: Literal["out", "in", "both"] = Field(
        "both", description="out: the entity is the subject; in: the object."
    )
    limit: int = Field(_SOME, ge=1, le=lookups.MAX_LIMIT, description="Most triples; of more, a fixed sample.")


class PassagesOf(LookUp):
    """`passages_of`."""

    name = "passages_of"
    about = "Find the passages about some entities that are nearest to a query."
    reads_passages = True
    entities: list[str] = Field(
        min_length=1, max_length=lookups.MAX_LIMIT, description="Ids, or names that only one entity has."
    )
    query: str = _QUERY
    limit: int = Field(_FEW, ge=1, le=lookups.MAX_LIMIT, description="Most passages.")


class SearchPassages(LookUp):
    """`search_passages`."""

    name = "search_passages"
    about = "Find the passages of the whole knowledge base that are nearest to a query; for where no entity is known."
    reads_passages = True
    query: str = _QUERY
    limit: int = Field(_FEW, ge=1, le=lookups.MAX_LIMIT, description="Most passages.")


LOOK_UPS: Mapping[str, type[LookUp]] = {
    kind.name: kind for kind in (FindEntities, RelationsOf, NeighboursOf, PassagesOf, SearchPassages)
}
"""By name, in the order in which they are listed."""


def look_ups(knowledge: Knowledge) -> dict[str, type[LookUp]]:
    """Those that a knowledge base has a use for: without passages none that reads them."""
    return {name: kind for name, kind in LOOK_UPS.items() if knowledge.text is not None or not kind.reads_passages}


def shown(found: Mapping[str, Any]) -> str:
    """What a look-up found, for a model or a person to read: one item a line with the id that goes on from it.

    At most MAX_TEXT characters; the last line says how many items were left out.
    """
    lines = list(_lines(found))
    kept: list[str] = []
    room = MAX_TEXT
    for line in lines:
        room -= len(line) + 1
        if room < -1:
            break
        kept.append(line)
    if (left := int(found.get("total", len(lines))) - len(kept)) > 0:
        kept.append(f"... and {left} more")
    return "\n".join(kept) or "nothing found"


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    for entity in found.get("entities", ()):
        yield f"{entity['line']} | id {quoted(entity['id'])} | {entity['method']} {entity['score']:.2f}"
    for kind in found.get("relations", ()):
        yield f"{kind['line']} | relation {quoted(kind['relation'])} {kind['direction']}"
    for triple in found.get("triples", ()):
        end = triple["object"] if triple["subject"] == found["entity"]["id"] else triple["subject"]
        value = triple["literal"] and end == triple["object"]
        yield f"{triple['line']} | " + ("a value, no id" if value else f"id {quoted(end)}")
    for passage in found.get("passages", ()):
        about = ", ".join(map(quoted, passage["entities"][:_ABOUT]))
        line = passage_line(passage["title"], passage["section"], shortened(passage["text"], MAX_PASSAGE))
        yield f"{line} | id {quoted(passage['id'])}" + (f" | about {about}" if about else "")
