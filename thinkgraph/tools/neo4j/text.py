"""The texts of a Neo4j graph as a `TextStore`: long properties of entities, and nodes that are passages about them.

A text is handed over in parts of at most 16,400 characters, so that a book in one property is many passages and never has
to be read whole. Vectors come from the owner's vector index where it was made with the encoder at hand; otherwise the
passages of the given entities are encoded at the call, at most 256 stretches (of more, those that share most words with
the query), and the encoder caches their vectors.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from thinkgraph.state.knowledge import Passage, PassageHit, TextInfo
from thinkgraph.tools.encoders.embeddings import WindowedEmbedder, embed_array, split_words
from thinkgraph.tools.encoders.rankers import Bm25Ranker
from thinkgraph.tools.linking.lexical import content_tokens, tokens
from thinkgraph.tools.linking.names import relation_label, well_formed
from thinkgraph.tools.neo4j import cypher
from thinkgraph.tools.neo4j.connection import Row
from thinkgraph.tools.neo4j.graph import Neo4jGraphStore
from thinkgraph.tools.neo4j.roles import plain_words
from thinkgraph.tools.neo4j.rows import Neo4jNode, Neo4jReader, escaped, render
from thinkgraph.tools.neo4j.schema import Index
from thinkgraph.tools.neo4j.search import TextFinder, cosine, fits, sampled, vector_indexes
from thinkgraph.tools.sqlite.file import chunks

if TYPE_CHECKING:
    from thinkgraph.tools.protocols import Embedder

PART, OVERLAP = 16_000, 400
"""Characters from the beginning of one part of a text to that of the next, and how many it repeats of it."""
MOST_PARTS = 64
"""Parts of one text: what lies beyond a million characters is not read."""
ENCODED = 256
"""Stretches of text encoded at most to answer one call."""
_STRETCH = 800
"""About how many characters an encoder takes at once."""
_MOST_TEXTS = 2_000
_SLACK = 1e-6
_MOST_ENTITIES = 100
_CANDIDATES = 50
_CHUNK = 2_000
_TITLES = frozenset({"title", "name", "heading", "label", "headline"})
_ID = re.compile(r"([^@]+)(?:@([^@]*)(?:@(\d{1,3}))?)?")


@dataclass(frozen=True)
class _Part:
    """A passage before it is scored."""

    passage: Passage
    known: float | None = None
    """Its score, where the database's own vectors gave one."""

    @property
    def prefix(self) -> str:
        """What is encoded before the text."""
        title = self.passage["title"].strip()
        return f"{title}: " if title and not self.passage["text"].startswith(title) else ""

    @property
    def size(self) -> int:
        """About how many stretches an encoder makes of it."""
        return 1 + len(self.passage["text"]) // _STRETCH


class Neo4jTextStore(AbstractContextManager["Neo4jTextStore"]):
    """The texts of one database. Shares its connection with the graph store, which closes it."""

    def __init__(self, store: Neo4jGraphStore, embedder: Embedder) -> None:
        """Read the texts that `store`'s plan recognised; the embedder is not loaded before something is searched.

        Raises:
            KnowledgeError: the address names a vector index that is not there.
        """
        self._plan = store.plan
        self._graph = store.info()
        self._entities = store.reader
        self._nodes = Neo4jReader(store.connection, store.plan, passages=True)
        self._embedder = embedder
        self._lock = threading.Lock()
        self._vectors: dict[str, bool] = {}
        self._indexes = vector_indexes(self._entities, list(self._plan.passages))
        self.keys = sorted({key for label in self._things() for key in self._plan.roles[label].texts})
        """Properties of entities that are text."""
        self._own_keys = sorted({one.passage for one in self._plan.passages.values()})
        self.finder = TextFinder(self._entities, self.keys)
        self._info = self._counted()

    def __exit__(self, *_error: object) -> None:
        """Nothing: the graph store closes the connection."""

    def close(self) -> None:
        """Nothing, as above."""

    @staticmethod
    def recognised(store: Neo4jGraphStore) -> bool:
        """Whether there is any text in a database."""
        plan = store.plan
        return bool(plan.passages) or any(
            one.texts for label, one in plan.roles.items() if label not in plan.hidden_labels | plan.literal_labels
        )

    def info(self) -> TextInfo:
        """See `TextStore.info`. Counted when the store was opened; in large databases about right, for a text may have parts."""
        return self._info.copy()

    def passages(self, ids: Sequence[str]) -> list[Passage | None]:
        """See `TextStore.passages`."""
        places = [place for one in dict.fromkeys(ids) if (place := _read_id(one))]
        own = [(owner, {"at": at}) for owner, key, at in places if not key and self._plan.passages]
        of_entities = [(owner, {"key": key, "at": at}) for owner, key, at in places if key and self.keys]
        query = f"RETURN {self._columns('n', 'a.at')}"
        made = self._own_parts(self._found(self._nodes, own, query))
        query = (
            "WITH a, n WHERE n[a.key] = toStringOrNull(n[a.key]) "
            f"RETURN {cypher.head('n')}, [[a.key, a.at, {_piece('n[a.key]', 'a.at')}]]"
        )
        made += self._entity_parts(self._found(self._entities, of_entities, query))
        found = {one["id"]: one for one in made}
        return [None if (passage := found.get(one)) is None else _own(passage) for one in ids]

    def passages_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[PassageHit]:
        """See `TextStore.passages_of`. Exact where a vector index fits or the texts make at most 256 stretches; else among
        those that share most words with the query. At most 2,000 texts are read.
        """
        wanted = sorted(set(entities))
        if not wanted or limit < 1:
            return []
        parts: dict[str, _Part] = {}
        for targets in chunks(self._entities.targets(wanted), _CHUNK):
            parts.update((one["id"], _Part(one)) for one in self._of_entities(targets))
            if self._plan.passages:
                parts.update((one.passage["id"], one) for one in self._linked_parts(targets, query, limit))
        return self._ranked(list(parts.values()), query, limit)

    def search(self, queries: Sequence[str], *, limit: int = 10) -> list[list[PassageHit]]:
        """See `TextStore.search`. Through a vector index that fits, else among what full-text indexes or a bounded scan find.

        A store of few texts is read whole.
        """
        if limit < 1 or not queries:
            return [[] for _ in queries]
        if self._info["passages"] <= ENCODED // 2:
            every = [_Part(one) for one in self._every()]
            if sum(part.size for part in every) <= ENCODED:
                return [self._ranked(every, query, limit) for query in queries]
        by_vector = self._by_vector(queries, limit)
        results = []
        for at, query in enumerate(queries):
            parts = {one.passage["id"]: one for one in by_vector[at]}
            if not parts or self.keys:
                parts = {**{one["id"]: _Part(one) for one in self._by_words(query, limit)}, **parts}
            results.append(self._ranked(list(parts.values()), query, limit))
        return results

    # Scoring

    def _ranked(self, parts: Sequence[_Part], query: str, limit: int) -> list[PassageHit]:
        """The best of some passages, by the cosine of query and passage (of its best stretch), to six decimals."""
        open_ = self._bounded([part for part in parts if part.known is None], query)
        hits: list[PassageHit] = [
            {"passage": _own(part.passage), "score": part.known} for part in parts if part.known is not None
        ]
        if open_:
            split = self._embedder.windows if isinstance(self._embedder, WindowedEmbedder) else split_words
            stretches = [split(part.passage["text"], part.prefix) for part in open_]
            vectors = embed_array(self._embedder, [query, *(text for group in stretches for text in group)])
            scores = vectors[1:].astype(np.float64) @ vectors[0].astype(np.float64)
            start = 0
            for part, group in zip(open_, stretches, strict=True):
                best = round(float(scores[start : start + len(group)].max()), 6)
                start += len(group)
                hits.append({"passage": _own(part.passage), "score": best})
        return sorted(hits, key=lambda hit: (-hit["score"], hit["passage"]["id"]))[:limit]

    @staticmethod
    def _bounded(parts: list[_Part], query: str) -> list[_Part]:
        """As many parts as may be encoded, those that share most words with the query first."""
        if sum(part.size for part in parts) <= ENCODED:
            return parts
        scores = Bm25Ranker().score(query, [part.prefix + part.passage["text"] for part in parts])
        order = sorted(zip(scores, parts, strict=True), key=lambda pair: (-pair[0], pair[1].passage["id"]))
        chosen: list[_Part] = []
        room = ENCODED
        for _, part in order:
            room -= part.size
            if room < 0 and chosen:
                break
            chosen.append(part)
        return chosen

    def _index_for(self, label: str) -> Index | None:
        """A vector index over a label's passages that was made with our encoder; tried once."""
        key = self._plan.passages[label].passage
        for index in self._indexes:
            if label not in index.labels:
                continue
            with self._lock:
                if index.name not in self._vectors:
                    texts: dict[str, list[str]] = {}
                    for head, details in sampled(self._entities, label, index.properties[0], key):
                        node = self._nodes.node(head)
                        if text := next((str(values[0]) for name, _, values in details if name == key and values), ""):
                            title = _title(node)
                            texts[node.element] = [text, f"{title}: {text}", f"{title}\n{text}", f"{title} {text}"]
                    self._vectors[index.name] = fits(self._entities, index, self._embedder, texts)
                if self._vectors[index.name]:
                    return index
        return None

    def vector_use(self) -> list[tuple[str, bool]]:
        """Every vector index over passages, and whether it is used; loads the encoder."""
        for label in self._plan.passages:
            self._index_for(label)
        return sorted(self._vectors.items())

    # Reading

    def _parameters(self) -> dict[str, Any]:
        return {"keys": self.keys, "own": self._own_keys, "hidden": sorted(self._plan.mapping.get("hide", ()))}

    def _rows(self, query: str, targets: Sequence[Any] | None = None, **more: Any) -> list[Row]:
        return self._entities.rows(query, targets, **self._parameters(), **more)

    def _found(self, reader: Neo4jReader, pairs: Sequence[tuple[str, dict[str, Any]]], query: str) -> Iterator[Row]:
        """The rows of a query for the nodes of ids, each with more columns."""
        extras = [extra for _, extra in pairs]
        return reader.found([one for one, _ in pairs], query, extras, **self._parameters())

    def _things(self) -> list[str]:
        plan = self._plan
        return [label for label in plan.roles if label not in plan.hidden_labels | plan.literal_labels]

    def _text_of(self, node: str, at: str) -> str:
        """Cypher for the text of a passage's node: [[property, part, text]] for one part, or all where `at` is null."""
        texts = [f"[$own[{number}], {node}.{cypher.quoted(key)}]" for number, key in enumerate(self._own_keys)]
        return (
            f"head([t IN [{', '.join(texts)}] WHERE t[1] = toStringOrNull(t[1]) | "
            f"[p IN CASE WHEN {at} IS NULL THEN range(0, {_last('t[1]')}) ELSE [{at}] END | [t[0], p, {_piece('t[1]', 'p')}]]])"
        )

    def _linked(self, node: str) -> str:
        """Cypher for the heads of the entities that a passage's node is linked to."""
        hidden = cypher.any_label("e", self._plan.hidden_labels | self._plan.literal_labels)
        return (
            f"COLLECT {{ MATCH ({node})-[r]-(e) WHERE NOT {hidden} AND NOT type(r) IN $hidden "
            f"WITH DISTINCT e LIMIT {_MOST_ENTITIES} RETURN {cypher.head('e')} }}"
        )

    def _columns(self, node: str, at: str = "null") -> str:
        """Cypher for a passage's node: its head, the heads of its entities, and its text as `_text_of` gives it."""
        return f"{cypher.head(node)}, {self._linked(node)}, {self._text_of(node, at)}"

    def _of_entities(self, targets: Sequence[Any], most: int = _MOST_TEXTS) -> list[Passage]:
        """The texts that are properties of entities."""
        if not self.keys:
            return []
        pieces = f"[p IN range(0, {_last('n[k]')}) | [k, p, {_piece('n[k]', 'p')}]]"
        texts = f"reduce(all = [], one IN [k IN keys(n) WHERE k IN $keys AND n[k] = toStringOrNull(n[k]) | {pieces}] | all + one)"
        query = f"{self._entities.find} WITH DISTINCT n LIMIT toInteger($most) RETURN {cypher.head('n')}, {texts}"
        return self._entity_parts(self._rows(query, targets, most=most))

    def _linked_parts(self, targets: Sequence[Any], query: str, limit: int) -> list[_Part]:
        """The passages' nodes that are linked to entities: scored by the database where its vectors fit, else all."""
        labels = [label for label in self._plan.passages if label not in (self._plan.mapping.get("hide", ()))]
        index = {label: found for label in labels if (found := self._index_for(label))}
        walk = (
            f"{self._entities.find} MATCH (n)-[r]-(c) "
            f"WHERE {cypher.any_label('c', labels)} AND NOT type(r) IN $hidden WITH DISTINCT c "
        )
        give = f"RETURN {self._columns('c')}, score"
        if not index:
            return self._scored(self._rows(f"{walk} WITH c, null AS score LIMIT {_MOST_TEXTS} {give}", targets))
        near = " ".join(
            f"WHEN c:{cypher.quoted(label)} AND size(c.{cypher.quoted(one.properties[0])}) = {one.dimensions} "
            f"THEN vector.similarity.cosine(c.{cypher.quoted(one.properties[0])}, $vector)"
            for label, one in index.items()
        )
        text = (
            f"CALL {{ {walk} WITH c, CASE {near} END AS score WITH c, score ORDER BY score DESC "
            "WITH collect([c, score]) AS every "
            "WITH [x IN every WHERE x[1] IS NOT NULL] AS scored, [x IN every WHERE x[1] IS NULL] AS open "
            # All that cannot be told from the last one come along: equal scores are put in order by id, here.
            f"WITH scored, open, coalesce(scored[toInteger($limit) - 1][1], 0.0) - {_SLACK} AS least "
            f"UNWIND [x IN scored WHERE x[1] >= least][..{_MOST_TEXTS}] + open[..{_MOST_TEXTS}] AS one "
            f"RETURN one[0] AS c, one[1] AS score }} {give}"
        )
        vector = embed_array(self._embedder, [query])[0].tolist()
        return self._scored(self._rows(text, targets, vector=vector, limit=limit))

    def _by_vector(self, queries: Sequence[str], limit: int) -> list[list[_Part]]:
        """What vector indexes that fit find for each query."""
        found: list[list[_Part]] = [[] for _ in queries]
        indexes = {index.name: index for label in self._plan.passages if (index := self._index_for(label))}
        if not indexes:
            return found
        vectors = embed_array(self._embedder, queries)
        places = [{"i": at, "v": vector.tolist()} for at, vector in enumerate(vectors)]
        query = (
            "UNWIND $targets AS a CALL db.index.vector.queryNodes($index, toInteger($limit), a.v) YIELD node AS c, score "
            f"RETURN a.i, {self._columns('c')}, score"
        )
        for name in sorted(indexes):
            for at, *row in self._rows(query, places, index=name, limit=limit):
                found[at] += self._scored([row])
        return found

    def _by_words(self, query: str, limit: int) -> list[Passage]:
        """Texts that share words with a query: through full-text indexes, else by a scan that is bounded in time."""
        words = sorted(dict.fromkeys(content_tokens(query) or tokens(query)))[:_CANDIDATES]
        if not words:
            return self._every(limit)
        return self._of_elements(self.finder.find(words, max(_CANDIDATES, 2 * limit)))

    def _of_elements(self, elements: Sequence[str]) -> list[Passage]:
        targets = [{"element": element} for element in elements]
        found: list[Passage] = []
        if self._plan.passages:
            labels = cypher.any_label("n", self._plan.passages)
            query = f"UNWIND $targets AS a MATCH (n) WHERE elementId(n) = a.element AND {labels} RETURN {self._columns('n')}"
            found += self._own_parts(self._rows(query, targets))
        return found + self._of_entities(targets)

    def _every(self, most: int = ENCODED) -> list[Passage]:
        """The first texts of the store."""
        found: list[Passage] = []
        for label in sorted(self._plan.passages):
            query = f"MATCH (n:{cypher.quoted(label)}) WITH n LIMIT toInteger($most) RETURN {self._columns('n')}"
            found += self._own_parts(self._rows(query, most=most))
        for label in sorted(self._things()):
            wanted = self._plan.roles[label].texts
            if wanted and label:
                has = " OR ".join(f"n.{cypher.quoted(key)} IS NOT NULL" for key in wanted)
                query = f"MATCH (n:{cypher.quoted(label)}) WHERE {has} RETURN elementId(n) LIMIT toInteger($most)"
                targets = [{"element": str(row[0])} for row in self._rows(query, most=most)]
                found += self._of_entities(targets, most)
        return list({one["id"]: one for one in found}.values())

    def _scored(self, found: Iterable[Row]) -> list[_Part]:
        """Passages from rows as for `_own_parts`, with the score that the database gave them."""
        return [
            _Part(passage, None if score is None else cosine(score))
            for *row, score in found
            for passage in self._own_parts([row])
        ]

    def _own_parts(self, found: Iterable[Sequence[Any]]) -> list[Passage]:
        """Passages from rows of passages' nodes: head, heads of linked entities, [[property, part, text], …]."""
        made: list[Passage] = []
        for head, linked, texts in found:
            node = self._nodes.node(head)
            entities = sorted({self._entities.node(one).id for one in linked})
            section = render(node.values.get(node.roles.section)) if node.roles.section else ""
            for key, at, text in texts or ():
                if key == node.roles.passage and text:
                    made.append(
                        {
                            "id": _id(node.id, "", int(at)),
                            "entities": list(entities),
                            "title": _title(node),
                            "section": section,
                            "text": text,
                        }
                    )
        return made

    def _entity_parts(self, found: Iterable[Sequence[Any]]) -> list[Passage]:
        """Passages from rows of entities: head, [[property, part, text], …]."""
        made: list[Passage] = []
        for head, texts in found:
            node = self._entities.node(head)
            for key, at, text in sorted(texts, key=lambda one: (str(one[0]), int(one[1]))):
                if key in node.roles.texts and text and not node.hidden and not node.literal:
                    made.append(
                        {
                            "id": _id(node.id, str(key), int(at)),
                            "entities": [node.id],
                            "title": node.label,
                            "section": relation_label(str(key)),
                            "text": text,
                        }
                    )
        return made

    # Neo4jCounts

    def _counted(self) -> TextInfo:
        plan, graph = self._plan, self._graph
        passages = entities = 0
        for label, one in sorted(plan.passages.items()):
            count = plan.catalogue.labels.get(label, 0)
            if plan.exact:
                size = f"1 + {_last(f'n.{cypher.quoted(one.passage)}')}"
                query = (
                    f"MATCH (n:{cypher.quoted(label)}) WHERE n.{cypher.quoted(one.passage)} <> '' "
                    f"RETURN sum(CASE WHEN n.{cypher.quoted(one.passage)} = toStringOrNull(n.{cypher.quoted(one.passage)}) THEN {size} END)"
                )
                ((count,),) = self._rows(query)
            passages += int(count or 0)
        if plan.exact and plan.passages:
            hidden = cypher.any_label("e", plan.hidden_labels | plan.literal_labels)
            query = (
                f"MATCH (c)-[r]-(e) WHERE {cypher.any_label('c', plan.passages)} AND NOT {hidden} AND NOT type(r) IN $hidden "
                "RETURN count(DISTINCT e)"
            )
            ((linked,),) = self._rows(query)
            entities += int(linked)
        elif plan.passages:
            entities += min(passages, graph["entities"])
        for label in self._things():
            facts = plan.catalogue.samples.get(label)
            texts = [facts.properties[key] for key in plan.roles[label].texts if facts and key in facts.properties]
            if facts and facts.sampled and texts:
                passages += round(facts.count * sum(one.present for one in texts) / facts.sampled)
                entities += round(facts.count * max(one.present for one in texts) / facts.sampled)
        parts = [graph["fingerprint"], self._embedder.name, PART, OVERLAP, [index.name for index in self._indexes]]
        fingerprint = hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return {
            "name": graph["name"],
            "fingerprint": fingerprint,
            "passages": passages,
            "entities": min(entities, graph["entities"]),
        }


def _title(node: Neo4jNode) -> str:
    for name in node.roles.names:
        if plain_words(name.keys[0])[-1:] and plain_words(name.keys[0])[-1] in _TITLES:
            return name.render({key: render(value) for key, value in node.values.items()})
    return ""


def _last(value: str) -> str:
    """Cypher for the number of a text's last part."""
    last = f"CASE WHEN size({value}) <= {PART + OVERLAP} THEN 0 ELSE (size({value}) - {OVERLAP} - 1) / {PART} END"
    return f"CASE WHEN {last} < {MOST_PARTS} THEN {last} ELSE {MOST_PARTS - 1} END"


def _piece(value: str, part: str) -> str:
    """Cypher for one part of a text; empty beyond its end."""
    return f"CASE WHEN {part} <= {_last(value)} THEN substring({value}, {part} * {PART}, {PART + OVERLAP}) ELSE '' END"


def _id(owner: str, key: str, part: int) -> str:
    tail = f"@{part}" if part else ""
    return f"{escaped(owner)}@{escaped(key)}{tail}" if key or part else escaped(owner)


def _read_id(id_: str) -> tuple[str, str, int] | None:
    """Owner, property ("" for a passage's own node) and part of a passage's id; None for what is none."""
    if not id_ or well_formed(id_) != id_:
        return None
    found = _ID.fullmatch(id_)
    if not found or int(found[3] or 0) >= MOST_PARTS:
        return None
    owner, key, part = unquote(found[1]), unquote(found[2] or ""), int(found[3] or 0)
    # Only what `_id` writes is an id.
    return (owner, key, part) if _id(owner, key, part) == id_ else None


def _own(passage: Passage) -> Passage:
    return {**passage, "entities": [*passage["entities"]]}
