"""Uses the owner's vector indexes where they were made with the encoder at hand; what it cannot be sure of it leaves alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thinkgraph.errors import KnowledgeError
from thinkgraph.state.knowledge import Entity
from thinkgraph.tools.encoders.embeddings import embed_array
from thinkgraph.tools.neo4j import cypher, rows
from thinkgraph.tools.neo4j.address import NONE
from thinkgraph.tools.neo4j.schema import Index
from thinkgraph.tools.vectorstores.index import entity_text

if TYPE_CHECKING:
    from thinkgraph.tools.neo4j.graph import Neo4jGraphStore
    from thinkgraph.tools.protocols import Embedder

HAS_INDEXES = (5, 13)
HAS_SIMILARITY = (5, 18)
"""Releases that search a vector index from a query's parameter, and that compare two vectors."""
_TRIED = 3
_ALIKE = 0.9
"""Cosine from which a stored vector is taken for one of the encoder's own of the same text."""
_SHORTEST_TRIED, _LONGEST_TRIED = 40, 600
_LOOKED_AT = 300


def vector_indexes(store: Neo4jGraphStore, labels: Sequence[str]) -> list[Index]:
    """The vector indexes over some labels; only the one the address names, if it names one.

    Raises:
        KnowledgeError: the address names one that is not there.
    """
    wanted = store.connection.address.vectors
    every = [index for index in store.plan.catalogue.indexes if index.kind == "VECTOR"]
    if wanted not in {None, NONE} and wanted not in {index.name for index in every}:
        known = ", ".join(index.name for index in every) or "there is none"
        raise KnowledgeError(f"vectors={str(wanted)[:80]}: the database has no such vector index (known: {known})")
    if wanted == NONE or store.connection.version < HAS_SIMILARITY:
        return []
    return [index for index in every if set(index.labels) & set(labels) and wanted in {None, index.name}]


def fits(store: Neo4jGraphStore, index: Index, embedder: Embedder, texts: dict[str, list[str]]) -> bool:
    """Whether an index holds vectors of the embedder: as long as its own, and near its own for some of the same texts.

    Args:
        store: the database.
        index: one of its vector indexes.
        embedder: the encoder at hand.
        texts: by element id of some of the nodes, the texts that their vectors may have been made from.
    """
    if not texts or embed_array(embedder, ["dimensions"]).shape[1] != index.dimensions:
        return False
    if store.connection.address.vectors == index.name:
        return True
    key = f"n.{cypher.quoted(index.properties[0])}"
    found = store.connection.rows(
        f"UNWIND $ids AS id MATCH (n) WHERE elementId(n) = id AND size({key}) = $size RETURN id, {key}",
        {"ids": list(texts), "size": index.dimensions},
    )
    if not found:
        return False
    alike = 0
    for element, stored in found:
        vector = np.asarray(stored, np.float32)
        own = embed_array(embedder, texts[str(element)])
        alike += bool(float(np.max(own @ vector)) >= _ALIKE * float(np.linalg.norm(vector) or 1))
    return alike * 2 > len(found)


def sampled(store: Neo4jGraphStore, label: str, key: str, text: str = "") -> list[list[Any]]:
    """Heads and values of a few nodes of a label that have a vector, those with the shortest text of some length first."""
    size = f"size(toStringOrNull(n.{cypher.quoted(text)}))" if text else "0"
    query = (
        f"MATCH (n:{cypher.quoted(label)}) WHERE n.{cypher.quoted(key)} IS NOT NULL WITH n LIMIT {_LOOKED_AT} "
        f"WITH n ORDER BY CASE WHEN {size} < {_SHORTEST_TRIED} THEN {_LONGEST_TRIED} ELSE {size} END "
        f"RETURN {cypher.head('n')}, {cypher.facts('n', most='1', cut=str(_LONGEST_TRIED))} "
        f"LIMIT {_TRIED}"
    )
    return store.connection.rows(query, {"heads": store.plan.heads, "data": [key]})


class Neo4jEntityIndex:
    """Finds entities by what they mean, through a vector index over their nodes. Stands in for `EntityIndex`."""

    def __init__(self, store: Neo4jGraphStore, embedder: Embedder, index: Index) -> None:
        """Search `index`, whose vectors must have been made by `embedder`: tried at the first use, and else not used."""
        self._store = store
        self._embedder = embedder
        self._index = index
        self._fits: bool | None = None

    def nearest(self, texts: Sequence[str], *, limit: int = 10) -> list[list[tuple[Entity, float]]]:
        """The `limit` entities nearest to each text with their cosines, best first; none where the index does not fit.

        Raises:
            StoreError: the database cannot be read.
            KnowledgeError: the embedder fails.
        """
        if not texts or not self._usable():
            return [[] for _ in texts]
        store = self._store
        queries = [vector.tolist() for vector in embed_array(self._embedder, texts)]
        hidden = cypher.any_label("m", store.plan.hidden_labels)
        query = (
            "UNWIND range(0, size($queries) - 1) AS i "
            "CALL db.index.vector.queryNodes($index, toInteger($limit), $queries[i]) YIELD node AS n, score "
            f"RETURN i, score, {cypher.head('n')}, {cypher.facts('n', most='1')}, {cypher.edges('n', hidden=hidden)}"
        )
        plan = store.plan
        constants = {"heads": plan.heads, "data": plan.data, "hidden": sorted(plan.hidden_types)}
        found: list[list[tuple[Entity, float]]] = [[] for _ in texts]
        for at, score, head, details, edges in store.connection.rows(
            query, {"queries": queries, "index": self._index.name, "limit": limit, **constants}
        ):
            node = rows.node(plan, store.ids, head)
            if not node.hidden and not node.literal:
                found[at].append((rows.entity(node, details, edges), cosine(score)))
        return [sorted(hits, key=lambda hit: (-hit[1], hit[0]["id"])) for hits in found]

    def _usable(self) -> bool:
        if self._fits is None:
            texts: dict[str, list[str]] = {}
            for head, details in sampled(self._store, self._index.labels[0], self._index.properties[0]):
                node = rows.node(self._store.plan, self._store.ids, head)
                said = [str(values[0]) for _, _, values in details if values and isinstance(values[0], str)]
                described = rows.entity(node, details)
                texts[node.element] = list(dict.fromkeys([node.label, entity_text(described), *said]))
            self._fits = fits(self._store, self._index, self._embedder, texts)
        return self._fits


def cosine(score: float) -> float:
    """Neo4j's similarity, which lies between 0 and 1, as a cosine."""
    return round(2 * float(score) - 1, 6)
