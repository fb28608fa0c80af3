"""Finds texts and entities in a database: by words through full-text indexes or a bounded scan, by meaning through vector indexes."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thinkgraph.errors import KnowledgeError
from thinkgraph.state.knowledge import Entity
from thinkgraph.tools.encoders.embeddings import embed_array
from thinkgraph.tools.neo4j import cypher, rows
from thinkgraph.tools.neo4j.connection import NONE, TimedOutError
from thinkgraph.tools.neo4j.names import literally
from thinkgraph.tools.neo4j.rows import Neo4jReader
from thinkgraph.tools.neo4j.schema import Index
from thinkgraph.tools.vectorstores.index import entity_text

if TYPE_CHECKING:
    from thinkgraph.tools.protocols import Embedder

SCANNED = 5_000
"""Nodes of a label above which a note recommends a full-text index."""
_CUT = 20_000
"""Characters of a text that a scan looks at."""

_log = logging.getLogger(__name__)


class TextFinder:
    """Finds the nodes that hold texts by words. Safe from several threads."""

    def __init__(self, reader: Neo4jReader, keys: Sequence[str]) -> None:
        """Find passages' nodes, and entities with one of the long properties `keys`."""
        self._reader = reader
        plan = reader.plan
        every = [(label, one.passage) for label, one in plan.passages.items()]
        every += [
            (label, key)
            for label, one in plan.roles.items()
            if label and label not in plan.hidden_labels | plan.literal_labels
            for key in one.texts
            if key in keys
        ]
        self.indexes: dict[str, list[str]] = {}
        """Properties by the full-text index that covers them."""
        self.scanned: list[tuple[str, str]] = []
        """Label and property of texts that no index covers."""
        for label, key in sorted(every):
            found = [
                index.name
                for index in plan.catalogue.indexes
                if index.kind == "FULLTEXT" and label in index.labels and key in index.properties
            ]
            for name in found[:1]:
                known = self.indexes.setdefault(name, [])
                known += [] if key in known else [key]
            if not found:
                self.scanned.append((label, key))
        self._gave_up = False

    @property
    def notes(self) -> list[str]:
        """The full-text indexes that would replace long scans, one line each."""
        counts = self._reader.plan.catalogue.labels
        return [
            f"searching the {key} of {counts[label]:,} {label} reads them all, for {self._seconds:g} s at most; their owner can "
            f"run: CREATE FULLTEXT INDEX texts_of_{re.sub(r'[^a-z0-9]+', '_', label.lower())} FOR (n:{cypher.quoted(label)}) "
            f"ON EACH [n.{cypher.quoted(key)}]"
            for label, key in self.scanned
            if counts.get(label, 0) > SCANNED
        ]

    @property
    def _seconds(self) -> float:
        return self._reader.connection.address.scan

    def find(self, words: Sequence[str], limit: int) -> list[str]:
        """Element ids of at most `limit` nodes with texts that have some of the words, those with most of them first."""
        found = self._indexed(words, limit) if self.indexes else []
        if self.scanned and not self._gave_up:
            try:
                found += self._scan(words, limit)
            except TimedOutError:
                self._gave_up = True
                for note in self.notes:
                    _log.warning("Neo4j: texts without an index are left out from now on: %s", note)
        found.sort(key=lambda row: -row[1])
        return list(dict.fromkeys(element for element, _ in found))[:limit]

    def _indexed(self, words: Sequence[str], limit: int) -> list[tuple[str, float]]:
        either = " OR ".join(map(literally, words))
        queries = [
            {"index": name, "line": " OR ".join(f"{literally(key)}:({either})" for key in keys)}
            for name, keys in sorted(self.indexes.items())
        ]
        query = (
            "UNWIND $queries AS a CALL db.index.fulltext.queryNodes(a.index, a.line, {limit: toInteger($limit)}) "
            "YIELD node, score RETURN elementId(node), score"
        )
        # Lucene's scores have no upper end: the best of each index counts as if it had all the words.
        found = self._rows(query, queries=queries, limit=limit)
        best = max((score for _, score in found), default=1.0) or 1.0
        return [(element, len(words) * score / best) for element, score in found]

    def _scan(self, words: Sequence[str], limit: int) -> list[tuple[str, float]]:
        parts = [
            f"MATCH (n:{cypher.quoted(label)}) WITH n, n.{cypher.quoted(key)} AS t WHERE t = toStringOrNull(t) "
            f"WITH n, toLower(left(t, {_CUT})) AS t WITH n, size([w IN $words WHERE t CONTAINS w]) AS hits WHERE hits > 0 "
            "RETURN elementId(n) AS element, hits ORDER BY hits DESC, element LIMIT toInteger($limit)"
            for label, key in self.scanned
        ]
        return self._rows(" UNION ALL ".join(parts), seconds=self._seconds, words=list(words), limit=limit)

    def _rows(self, query: str, *, seconds: float | None = None, **parameters: Any) -> list[tuple[str, float]]:
        found = self._reader.rows(query, seconds=seconds, **parameters)
        return [(str(element), float(score)) for element, score in found]


HAS_SIMILARITY = (5, 18)
"""The first release that compares two vectors in a query."""
_TRIED = 3
_ALIKE = 0.9
"""Cosine from which a stored vector is taken for one of the encoder's own of the same text."""
_SHORTEST_TRIED, _LONGEST_TRIED = 40, 600
_LOOKED_AT = 300


def vector_indexes(reader: Neo4jReader, labels: Sequence[str]) -> list[Index]:
    """The vector indexes over some labels; only the one the address names, if it names one.

    Raises:
        KnowledgeError: the address names one that is not there.
    """
    wanted = reader.connection.address.vectors
    every = [index for index in reader.plan.catalogue.indexes if index.kind == "VECTOR"]
    if wanted not in {None, NONE} and wanted not in {index.name for index in every}:
        known = ", ".join(index.name for index in every) or "there is none"
        raise KnowledgeError(f"vectors={str(wanted)[:80]}: the database has no such vector index (known: {known})")
    if wanted == NONE or reader.connection.version < HAS_SIMILARITY:
        return []
    return [index for index in every if set(index.labels) & set(labels) and wanted in {None, index.name}]


def fits(reader: Neo4jReader, index: Index, embedder: Embedder, texts: dict[str, list[str]]) -> bool:
    """Whether the embedder made the vectors of an index: same dimensions, and near its own vectors of some of the texts.

    Args:
        reader: the database.
        index: one of its vector indexes.
        embedder: the encoder at hand.
        texts: by element id of some of the nodes, the texts that their vectors may have been made from.
    """
    if not texts or embed_array(embedder, ["dimensions"]).shape[1] != index.dimensions:
        return False
    if reader.connection.address.vectors == index.name:
        return True
    key = f"n.{cypher.quoted(index.properties[0])}"
    query = f"UNWIND $targets AS id MATCH (n) WHERE elementId(n) = id AND size({key}) = $size RETURN id, {key}"
    alike = []
    for element, stored in reader.rows(query, list(texts), size=index.dimensions):
        vector = np.asarray(stored, np.float32)
        own = embed_array(embedder, texts[str(element)])
        alike.append(float(np.max(own @ vector)) >= _ALIKE * float(np.linalg.norm(vector) or 1))
    return sum(alike) * 2 > len(alike)


def sampled(reader: Neo4jReader, label: str, key: str, text: str = "") -> list[list[Any]]:
    """Heads and values of a few nodes of a label that have a vector, those with the shortest text of some length first."""
    size = f"size(toStringOrNull(n.{cypher.quoted(text)}))" if text else "0"
    query = (
        f"MATCH (n:{cypher.quoted(label)}) WHERE n.{cypher.quoted(key)} IS NOT NULL WITH n LIMIT {_LOOKED_AT} "
        f"WITH n ORDER BY CASE WHEN {size} < {_SHORTEST_TRIED} THEN {_LONGEST_TRIED} ELSE {size} END "
        f"RETURN {cypher.head('n')}, {cypher.facts('n', most='1', cut=str(_LONGEST_TRIED))} "
        f"LIMIT {_TRIED}"
    )
    return reader.rows(query, data=[key])


class Neo4jEntityIndex:
    """Finds entities by meaning, through a vector index over their nodes. Takes the place of `EntityIndex`."""

    def __init__(self, reader: Neo4jReader, embedder: Embedder, index: Index) -> None:
        """Search `index`, whose vectors must have been made by `embedder`: checked at the first use, and else not used."""
        self._reader = reader
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
        query = (
            "UNWIND range(0, size($queries) - 1) AS i "
            "CALL db.index.vector.queryNodes($index, toInteger($limit), $queries[i]) YIELD node AS n, score "
            f"RETURN i, score, {cypher.described('n', self._reader.plan.hidden_labels)}"
        )
        queries = [vector.tolist() for vector in embed_array(self._embedder, texts)]
        found: list[list[tuple[Entity, float]]] = [[] for _ in texts]
        for at, score, head, details, edges in self._reader.rows(
            query, queries=queries, index=self._index.name, limit=limit
        ):
            node = self._reader.node(head)
            if not node.hidden and not node.literal:
                found[at].append((rows.entity(node, details, edges), cosine(score)))
        return [sorted(hits, key=lambda hit: (-hit[1], hit[0]["id"])) for hits in found]

    def _usable(self) -> bool:
        if self._fits is None:
            texts: dict[str, list[str]] = {}
            for head, details in sampled(self._reader, self._index.labels[0], self._index.properties[0]):
                node = self._reader.node(head)
                strings = [str(values[0]) for _, _, values in details if values and isinstance(values[0], str)]
                text = entity_text(rows.entity(node, details))
                texts[node.element] = list(dict.fromkeys([node.label, text, *strings]))
            self._fits = fits(self._reader, self._index, self._embedder, texts)
        return self._fits


def cosine(score: float) -> float:
    """Neo4j's similarity, which lies between 0 and 1, as a cosine."""
    return round(2 * float(score) - 1, 6)
