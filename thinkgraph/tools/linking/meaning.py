"""Entities by what they mean: how they are encoded, and found where no name helps."""

from __future__ import annotations

from collections.abc import Sequence

from thinkgraph.state.knowledge import Entity, Passage
from thinkgraph.tools.protocols import TextStore


class EntityIndex:
    """Finds entities by what their label and description mean, for mentions that no name explains.

    The entities lie in the knowledge base (`entities.sqlite`), in the form of a text store: an entity is a passage whose
    title is its label. So they are encoded and searched as texts are.
    """

    def __init__(self, store: TextStore) -> None:
        """Search `store`, which holds entities written by `entity_passage`."""
        self._store = store

    def nearest(self, texts: Sequence[str], *, limit: int = 10) -> list[list[tuple[Entity, float]]]:
        """The `limit` entities nearest to each text with their cosines, best first. Asks the graph nothing.

        Raises:
            StoreError: the vectors cannot be read.
            KnowledgeError: the embedder fails.
        """
        found = self._store.search(texts, limit=limit)
        return [[(_entity_of(hit["passage"]), hit["score"]) for hit in hits] for hits in found]


def entity_passage(entity: Entity) -> Passage:
    """An entity in the form of a passage; what is encoded of it is `entity_text`."""
    return {
        "id": entity["id"],
        "entities": [],
        "title": entity["label"],
        "section": entity["type"],
        # Never empty, for a text store keeps no passage without a text.
        "text": entity["description"] or entity["label"],
    }


def _entity_of(passage: Passage) -> Entity:
    label, text = passage["title"], passage["text"]
    return {
        "id": passage["id"],
        "label": label,
        "type": passage["section"],
        "description": text if text != label else "",
        "literal": False,
    }


def entity_text(entity: Entity) -> str:
    """What an entity's vector is made from: its label and its description."""
    return f"{entity['label']}: {entity['description']}" if entity["description"] else entity["label"]
