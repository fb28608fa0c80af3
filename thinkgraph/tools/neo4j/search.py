"""Finds texts and entities in a database: by words through full-text indexes or a bounded scan, by meaning through vector indexes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from thinkgraph.errors import KnowledgeError
from thinkgraph.state.knowledge import Entity
from thinkgraph.tools.encoders.embeddings import embed_array, embed_queries
from thinkgraph.tools.linking.meaning import entity_text
from thinkgraph.tools.neo4j import cypher, rows
from thinkgraph.tools.neo4j.connection import NONE, Row
from thinkgraph.tools.neo4j.rows import Neo4jNode, Neo4jReader
from thinkgraph.tools.neo4j.schema import Index
from thinkgraph.tools.protocols import Embedder

SCANNED = 5_000
"""Nodes of a label above which a note recommends a full-text index."""
_CUT = 20_000
"""Characters of a text that a scan looks at."""


class TextFinder:
    """Finds the nodes that hold texts by words. Safe from several threads."""

    def __init__(self, reader: Neo4jReader) -> None:
        """Find passages' nodes, and entities with long texts of their own."""
        self._reader = reader
        self.indexes: dict[str, set[str]] = {}
        """Properties by the full-text index that covers them."""
        self._scanned: list[tuple[str, str]] = []
        plan = reader.plan
        texts = {(label, one.passage) for label, one in plan.passages.items()}
        texts |= {(label, key) for label, one in plan.things.items() if label for key in one.texts}
        for label, key in sorted(texts):
            if index := next(iter(plan.catalogue.full_text(label, [key])), None):
                self.indexes.setdefault(index, set()).add(key)
            else:
                self._scanned.append((label, key))
        counts, unfit = plan.catalogue.labels, plan.catalogue.case_sensitive
        self.notes = [
            plan.catalogue.wait_for(["FULLTEXT"], [label], [key])
            or cypher.advice(
                f"searching the {key} of {counts[label]:,} {label}",
                f"texts_of_{label}",
                [label],
                [key],
                unfit([label], [key]),
            )
            for label, key in self._scanned
            if counts[label] > SCANNED
        ]
        """The full-text indexes that would replace long scans, one line each."""

    def find(self, words: Sequence[str], limit: int) -> list[str]:
        """Element ids of at most `limit` nodes with texts that have some of the words, those with most of them first."""
        found = self._indexed(words, limit) if self.indexes else []
        if self._scanned:
            found += self._scan(words, limit)
        found.sort(key=lambda row: -row[1])
        return list(dict.fromkeys(str(element) for element, _ in found))[:limit]

    def _indexed(self, words: Sequence[str], limit: int) -> list[Row]:
        parts = list(map(cypher.literally, words))
        queries = [
            {"index": name, "line": cypher.in_fields(keys, parts)} for name, keys in sorted(self.indexes.items())
        ]
        query = (
            "UNWIND $p.queries AS a CALL db.index.fulltext.queryNodes(a.index, a.line, {limit: toInteger($p.limit)}) "
            "YIELD node, score RETURN elementId(node), score"
        )
        # Lucene's scores have no upper end: the best of each index counts as if it had all the words.
        found = self._reader.rows(query, queries=queries, limit=limit)
        best = max((score for _, score in found), default=1.0) or 1.0
        return [[element, len(words) * score / best] for element, score in found]

    def _scan(self, words: Sequence[str], limit: int) -> list[Row]:
        parts = [
            f"MATCH (n:{cypher.quoted(label)}) WITH n, n.{cypher.quoted(key)} AS t WHERE t = toStringOrNull(t) "
            f"WITH n, toLower(left(t, {_CUT})) AS t WITH n, size([w IN $p.words WHERE t CONTAINS w]) AS hits WHERE hits > 0 "
            "RETURN elementId(n) AS element, hits ORDER BY hits DESC, element LIMIT toInteger($p.limit)"
            for label, key in self._scanned
        ]
        return self._reader.scan(" UNION ALL ".join(parts), self.notes, words=list(words), limit=limit)


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
    for index in reader.plan.catalogue.unready:
        if index.kind == "VECTOR" and index.name == wanted:
            raise KnowledgeError(f"vectors={wanted}: {index.wait}")
    if wanted not in {None, NONE} and wanted not in {index.name for index in every}:
        known = ", ".join(index.name for index in every) or "there is none"
        raise KnowledgeError(f"vectors={str(wanted)[:80]}: the database has no such vector index (known: {known})")
    if wanted == NONE or reader.connection.version < HAS_SIMILARITY:
        return []
    return [index for index in every if set(index.labels) & set(labels) and wanted in {None, index.name}]


class VectorIndex:
    """One of the owner's vector indexes, for vectors of our encoder. Safe from several threads."""

    def __init__(
        self,
        reader: Neo4jReader,
        embedder: Embedder,
        index: Index,
        texts: Callable[[Neo4jNode, Any], list[str]],
        label: str,
        text: str = "",
    ) -> None:
        """Search `index`; `texts` gives the texts that the vector of a node with some facts (`cypher.facts`) may have been made from.

        Nodes of `label` are tried, those with a short property `text` first.
        """
        self.index = index
        self._reader = reader
        self._embedder = embedder
        self._texts = texts
        self._label = cypher.quoted(label)
        self._size = f"size(toStringOrNull(n.{cypher.quoted(text)}))" if text else "0"

    @cached_property
    def fits(self) -> bool:
        """Whether the encoder made the vectors: same dimensions, and near its own vectors of some nodes' texts; tried once."""
        dimensions = self.index.dimensions
        found = [(self._reader.node(head), facts, vector) for head, facts, vector in self._sampled()]
        tried = [(vector, texts) for node, facts, vector in found if (texts := self._texts(node, facts))]
        if not tried or embed_array(self._embedder, ["dimensions"]).shape[1] != dimensions:
            return False
        if self._reader.connection.address.vectors == self.index.name:
            return True
        stored = [(np.asarray(vector, np.float32), texts) for vector, texts in tried]
        alike = [
            float(np.max(embed_array(self._embedder, texts) @ vector)) >= _ALIKE * float(np.linalg.norm(vector) or 1)
            for vector, texts in stored
            if vector.shape == (dimensions,)
        ]
        return sum(alike) * 2 > len(alike)

    def _sampled(self) -> list[Row]:
        """Head, facts and vector of a few nodes, those with the shortest text of some length first."""
        key, size = self.index.properties[0], self._size
        query = (
            f"MATCH (n:{self._label}) WHERE n.{cypher.quoted(key)} IS NOT NULL WITH n LIMIT {_LOOKED_AT} "
            f"WITH n ORDER BY CASE WHEN {size} < {_SHORTEST_TRIED} THEN {_LONGEST_TRIED} ELSE {size} END "
            f"RETURN {cypher.head('n')}, {cypher.facts(most='1', cut=str(_LONGEST_TRIED))}, n.{cypher.quoted(key)} "
            f"LIMIT {_TRIED}"
        )
        return self._reader.connection.rows(query, {"heads": self._reader.plan.heads, "data": [key]})

    def nearest(self, queries: Sequence[str], limit: int, columns: str) -> list[Row]:
        """Rows [number of the query, cosine, column of the node `n`, …] of the nodes nearest to each query."""
        query = (
            "UNWIND range(0, size($p.queries) - 1) AS i "
            "CALL db.index.vector.queryNodes($p.index, toInteger($p.limit), $p.queries[i]) YIELD node AS n, score "
            f"RETURN i, score, {columns}"
        )
        vectors = embed_queries(self._embedder, queries)[0].tolist()
        found = self._reader.rows(query, queries=vectors, index=self.index.name, limit=limit)
        return [[at, cosine(score), *row] for at, score, *row in found]


class Neo4jEntityIndex:
    """Finds entities by meaning, through vector indexes over their nodes. Takes the place of `EntityIndex`."""

    def __init__(self, reader: Neo4jReader, embedder: Embedder, indexes: Sequence[Index]) -> None:
        """Search those of `indexes` whose vectors `embedder` has made: checked at the first use."""
        self._reader = reader
        self._indexes = [VectorIndex(reader, embedder, one, _entity_texts, one.labels[0]) for one in indexes]

    def nearest(self, texts: Sequence[str], *, limit: int = 10) -> list[list[tuple[Entity, float]]]:
        """The `limit` entities nearest to each text with their cosines, best first; none where no index fits."""
        found: list[dict[str, tuple[Entity, float]]] = [{} for _ in texts]
        columns = cypher.described(self._reader.plan.hidden_labels)
        for index in (one for one in self._indexes if texts and one.fits):
            for at, score, head, details, edges in index.nearest(texts, limit, columns):
                node = self._reader.node(head)
                known = found[at].get(node.id)
                if not node.hidden and not node.literal and (known is None or known[1] < score):
                    found[at][node.id] = rows.entity(node, details, edges), score
        return [sorted(hits.values(), key=lambda hit: (-hit[1], hit[0]["id"]))[:limit] for hits in found]


def _entity_texts(node: Neo4jNode, facts: Any) -> list[str]:
    strings = [str(values[0]) for _, _, values in facts if values and isinstance(values[0], str)]
    return list(dict.fromkeys([node.label, entity_text(rows.entity(node, facts)), *strings]))


def cosine(score: float) -> float:
    """Neo4j's similarity, which lies between 0 and 1, as a cosine."""
    return round(2 * float(score) - 1, 6)
