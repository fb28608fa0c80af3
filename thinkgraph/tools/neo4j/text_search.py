"""Finds texts that share words with a query: through full-text indexes, else by a scan that is bounded in time."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from thinkgraph.tools.neo4j import cypher
from thinkgraph.tools.neo4j.connection import TimedOutError
from thinkgraph.tools.neo4j.names import literally

if TYPE_CHECKING:
    from thinkgraph.tools.neo4j.graph import Neo4jGraphStore

SCANNED = 5_000
"""Nodes of a label up to which a scan of its texts is nothing worth a note."""
_CUT = 20_000
"""Characters of a text that a scan looks at."""

_log = logging.getLogger(__name__)


class TextFinder:
    """Finds the nodes that hold texts by words. Safe from several threads."""

    def __init__(self, store: Neo4jGraphStore, keys: Sequence[str]) -> None:
        """Find passages' nodes, and entities with one of the long properties `keys`."""
        self._store = store
        plan = store.plan
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
        """What would help where many texts are scanned, one line each."""
        counts = self._store.plan.catalogue.labels
        return [
            f"searching the {key} of {counts[label]:,} {label} reads them all, for {self._seconds:g} s at most; their owner can "
            f"run: CREATE FULLTEXT INDEX texts_of_{re.sub(r'[^a-z0-9]+', '_', label.lower())} FOR (n:{cypher.quoted(label)}) "
            f"ON EACH [n.{cypher.quoted(key)}]"
            for label, key in self.scanned
            if counts.get(label, 0) > SCANNED
        ]

    @property
    def _seconds(self) -> float:
        return self._store.connection.address.scan

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
        asked = [
            {"index": name, "line": " OR ".join(f"{literally(key)}:({either})" for key in keys)}
            for name, keys in sorted(self.indexes.items())
        ]
        query = (
            "UNWIND $asked AS a CALL db.index.fulltext.queryNodes(a.index, a.line, {limit: toInteger($limit)}) "
            "YIELD node, score RETURN elementId(node), score"
        )
        # Lucene's scores have no upper end: the best of each index counts as if it had all the words.
        rows = self._rows(query, asked=asked, limit=limit)
        best = max((score for _, score in rows), default=1.0) or 1.0
        return [(element, len(words) * score / best) for element, score in rows]

    def _scan(self, words: Sequence[str], limit: int) -> list[tuple[str, float]]:
        parts = [
            f"MATCH (n:{cypher.quoted(label)}) WITH n, n.{cypher.quoted(key)} AS t WHERE t = toStringOrNull(t) "
            f"WITH n, toLower(left(t, {_CUT})) AS t WITH n, size([w IN $words WHERE t CONTAINS w]) AS hits WHERE hits > 0 "
            "RETURN elementId(n) AS element, hits ORDER BY hits DESC, element LIMIT toInteger($limit)"
            for label, key in self.scanned
        ]
        return self._rows(" UNION ALL ".join(parts), seconds=self._seconds, words=list(words), limit=limit)

    def _rows(self, query: str, *, seconds: float | None = None, **parameters: Any) -> list[tuple[str, float]]:
        rows = self._store.connection.rows(query, parameters, seconds=seconds)
        return [(str(element), float(score)) for element, score in rows]
