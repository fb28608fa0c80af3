"""The texts of a Neo4j graph as a `TextStore`: long properties of entities, and nodes that are passages about them.

A text is handed over in parts of at most 16,400 characters, so that a book in one property is many passages and never has
to be read whole. Vectors come from the owner's vector index where it was made with the encoder at hand; otherwise the
passages of the given entities are encoded at the call, at most 256 stretches (of more, those that share most words with
the query), and the encoder caches their vectors.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import Any
from urllib.parse import unquote

import numpy as np

from thinkgraph.state.knowledge import Passage, PassageHit, TextInfo
from thinkgraph.tools.encoders.embeddings import embed_queries
from thinkgraph.tools.encoders.rankers import Bm25Ranker
from thinkgraph.tools.encoders.windows import windows_of
from thinkgraph.tools.linking.lexical import query_tokens
from thinkgraph.tools.linking.names import relation_label, well_formed
from thinkgraph.tools.neo4j import cypher
from thinkgraph.tools.neo4j.graph import Neo4jGraphStore
from thinkgraph.tools.neo4j.roles import plain_words
from thinkgraph.tools.neo4j.rows import Neo4jNode, Neo4jReader, escaped, render
from thinkgraph.tools.neo4j.schema import Index
from thinkgraph.tools.neo4j.search import TextFinder, VectorIndex, cosine, vector_indexes
from thinkgraph.tools.protocols import Embedder
from thinkgraph.tools.sqlite.file import chunks
from thinkgraph.tools.sqlite.text_schema import own_passage, title_prefix

PART, OVERLAP = 16_000, 400
"""Characters from the beginning of one part of a text to that of the next, and how many it repeats of it."""
MOST_PARTS = 64
"""Parts of one text: what lies beyond a million characters is not read."""
ENCODED = 256
"""Stretches of text encoded at most to answer one call."""
_STRETCH = 800
"""About how many characters an encoder takes at once."""
_MOST_TEXTS = 2_000
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
    def size(self) -> int:
        """About how many stretches an encoder makes of it."""
        return 1 + len(self.passage["text"]) // _STRETCH


class Neo4jTextStore:
    """The texts of one database. Shares its connection with the graph store, which closes it."""

    def __init__(self, store: Neo4jGraphStore, embedder: Embedder) -> None:
        """Read the texts that `store`'s plan recognised; the embedder is not loaded before something is searched.

        Raises:
            KnowledgeError: the address names a vector index that is not there.
        """
        self._plan = plan = store.plan
        self._graph = store.info()
        self._keys = sorted({key for one in plan.things.values() for key in one.texts})
        """Properties of entities that are text."""
        self._own_keys = sorted({one.passage for one in plan.passages.values()})
        self._no_thing = cypher.any_label("e", plan.hidden_labels | plan.literal_labels)
        self._hide = set(plan.mapping.get("hide", ()))
        parameters: dict[str, Any] = {"keys": self._keys, "own": self._own_keys, "hidden": sorted(self._hide)}
        self._entities = Neo4jReader(store.connection, plan, **parameters)
        self._nodes = Neo4jReader(store.connection, plan, passages=True, **parameters)
        self._embedder = embedder
        self.vectors: list[VectorIndex] = []
        """The vector indexes over passages; each is used if it fits the embedder."""
        for index in vector_indexes(self._entities, list(plan.passages)):
            label = next(label for label in plan.passages if label in index.labels)
            text = plan.passages[label].passage
            self.vectors.append(VectorIndex(self._entities, embedder, index, _passage_texts, label, text))
        self.finder = TextFinder(self._entities)
        self._info = self._counted()

    @staticmethod
    def recognised(store: Neo4jGraphStore) -> bool:
        """Whether there is any text in a database."""
        return bool(store.plan.passages) or any(one.texts for one in store.plan.things.values())

    def info(self) -> TextInfo:
        """See `TextStore.info`. Counted when the store was opened; in large databases about right, for a text may have parts."""
        return self._info.copy()

    def passages(self, ids: Sequence[str]) -> list[Passage | None]:
        """See `TextStore.passages`."""
        places = [place for one in dict.fromkeys(ids) if (place := _read_id(one))]
        own = [place for place in places if not place[1]]
        extras: list[dict[str, Any]] = [{"at": at} for _, _, at in own]
        query = f"RETURN {self._columns('a.at')}"
        made = self._own_parts(self._nodes.found([owner for owner, _, _ in own], query, extras))
        texts = [place for place in places if place[1]]
        query = (
            "WITH a, n WHERE n[a.key] = toStringOrNull(n[a.key]) "
            f"RETURN {cypher.head('n')}, [[a.key, a.at, {_piece('n[a.key]', 'a.at')}]]"
        )
        extras = [{"key": key, "at": at} for _, key, at in texts]
        made += self._entity_parts(self._entities.found([owner for owner, _, _ in texts], query, extras))
        found = {one["id"]: one for one in made}
        return [None if (passage := found.get(one)) is None else own_passage(passage) for one in ids]

    def passages_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[PassageHit]:
        """See `TextStore.passages_of`. Exact where a vector index fits or the texts make at most 256 stretches; else among
        those that share most words with the query. At most 2,000 texts are read.
        """
        wanted = sorted(set(entities))
        if not wanted or limit < 1:
            return []
        parts: dict[str, _Part] = {}
        for targets in chunks(self._entities.targets(wanted), _CHUNK):
            parts.update((one["id"], _Part(one)) for one in self._of_entities(self._entities.find, targets))
            if self._plan.passages:
                parts.update((one.passage["id"], one) for one in self._linked_parts(targets, query))
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
            if not parts or self._keys:
                parts = {**{one["id"]: _Part(one) for one in self._by_words(query, limit)}, **parts}
            results.append(self._ranked(list(parts.values()), query, limit))
        return results

    # Scoring

    def _ranked(self, parts: Sequence[_Part], query: str, limit: int) -> list[PassageHit]:
        """The best of some passages, by the cosine of query and passage (of its best stretch), to six decimals."""
        open_ = self._bounded([part for part in parts if part.known is None], query)
        hits: list[PassageHit] = [
            {"passage": own_passage(part.passage), "score": part.known} for part in parts if part.known is not None
        ]
        if open_:
            stretches = [windows_of(self._embedder, part.passage["text"], title_prefix(part.passage)) for part in open_]
            queries, vectors = embed_queries(self._embedder, [query], list(chain.from_iterable(stretches)))
            scores = vectors.astype(np.float64) @ queries[0].astype(np.float64)
            start = 0
            for part, group in zip(open_, stretches, strict=True):
                best = round(float(scores[start : start + len(group)].max()), 6)
                start += len(group)
                hits.append({"passage": own_passage(part.passage), "score": best})
        return sorted(hits, key=lambda hit: (-hit["score"], hit["passage"]["id"]))[:limit]

    @staticmethod
    def _bounded(parts: list[_Part], query: str) -> list[_Part]:
        """As many parts as may be encoded, those that share most words with the query first."""
        if sum(part.size for part in parts) <= ENCODED:
            return parts
        scores = Bm25Ranker().score(query, [title_prefix(part.passage) + part.passage["text"] for part in parts])
        order = sorted(zip(scores, parts, strict=True), key=lambda pair: (-pair[0], pair[1].passage["id"]))
        ends = accumulate(part.size for _, part in order)
        return [part for at, ((_, part), end) in enumerate(zip(order, ends, strict=True)) if not at or end <= ENCODED]

    def _indexes(self) -> dict[str, Index]:
        """The vector index of each label of passages that has one which fits; the first of several."""
        fitting = [one.index for one in self.vectors if one.fits]
        return {label: index for index in reversed(fitting) for label in index.labels if label in self._plan.passages}

    # Reading

    def _columns(self, at: str = "null") -> str:
        """Cypher for a passage's node `n`: its head, the heads of its entities, and its text.

        The text is [[property, part, text], …]: the part `at`, or all where that is null.
        """
        texts = ", ".join(f"[$own[{number}], n.{cypher.quoted(key)}]" for number, key in enumerate(self._own_keys))
        parts = f"CASE WHEN {at} IS NULL THEN range(0, {_last('t[1]')}) ELSE [{at}] END"
        return (
            f"{cypher.head('n')}, COLLECT {{ MATCH (n)-[r]-(e) WHERE NOT {self._no_thing} AND NOT type(r) IN $hidden "
            f"WITH DISTINCT e LIMIT {_MOST_ENTITIES} RETURN {cypher.head('e')} }}, "
            f"head([t IN [{texts}] WHERE t[1] = toStringOrNull(t[1]) | [p IN {parts} | [t[0], p, {_piece('t[1]', 'p')}]]])"
        )

    def _of_entities(self, match: str, targets: Sequence[Any] | None = None, most: int = _MOST_TEXTS) -> list[Passage]:
        """The texts that are properties of the entities `n` that `match` finds."""
        if not self._keys:
            return []
        pieces = f"[p IN range(0, {_last('n[k]')}) | [k, p, {_piece('n[k]', 'p')}]]"
        texts = f"reduce(all = [], one IN [k IN keys(n) WHERE k IN $keys AND n[k] = toStringOrNull(n[k]) | {pieces}] | all + one)"
        query = f"{match} WITH DISTINCT n LIMIT toInteger($p.most) RETURN {cypher.head('n')}, {texts}"
        return self._entity_parts(self._entities.rows(query, targets, most=most))

    def _linked_parts(self, targets: Sequence[Any], query: str) -> list[_Part]:
        """The passages' nodes that are linked to entities, scored by the database where its vectors fit."""
        indexes = {label: index for label, index in self._indexes().items() if label not in self._hide}
        near = " ".join(
            f"WHEN n:{cypher.quoted(label)} AND size(n.{key}) = {index.dimensions} "
            f"THEN vector.similarity.cosine(n.{key}, $p.vector)"
            for label, index in indexes.items()
            for key in [cypher.quoted(index.properties[0])]
        )
        text = (
            f"{self._entities.find} MATCH (n)-[r]-(c) "
            f"WHERE {cypher.any_label('c', self._plan.passages.keys() - self._hide)} AND NOT type(r) IN $hidden "
            f"WITH DISTINCT c AS n WITH n, {f'CASE {near} END' if near else 'null'} AS score "
            f"ORDER BY score DESC LIMIT {_MOST_TEXTS} RETURN {self._columns()}, score"
        )
        vector = embed_queries(self._embedder, [query])[0][0].tolist() if near else None
        return [
            _Part(passage, None if score is None else cosine(score))
            for *row, score in self._entities.rows(text, targets, vector=vector)
            for passage in self._own_parts([row])
        ]

    def _by_vector(self, queries: Sequence[str], limit: int) -> list[list[_Part]]:
        """What vector indexes that fit find for each query."""
        found: list[list[_Part]] = [[] for _ in queries]
        for one in self.vectors:
            for at, score, *row in one.nearest(queries, limit, self._columns()) if one.fits else ():
                found[at] += [_Part(passage, score) for passage in self._own_parts([row])]
        return found

    def _by_words(self, query: str, limit: int) -> list[Passage]:
        """Texts that share words with a query: through full-text indexes, else by a scan that is bounded in time."""
        words = sorted(dict.fromkeys(query_tokens(query)))[:_CANDIDATES]
        if not words:
            return self._every(limit)
        targets = [{"element": element} for element in self.finder.find(words, max(_CANDIDATES, 2 * limit))]
        match = "UNWIND $p.targets AS a MATCH (n) WHERE elementId(n) = a.element"
        own = f"{match} AND {cypher.any_label('n', self._plan.passages)} RETURN {self._columns()}"
        return self._own_parts(self._entities.rows(own, targets)) + self._of_entities(match, targets)

    def _every(self, most: int = ENCODED) -> list[Passage]:
        """The first texts of the store."""
        found: list[Passage] = []
        for label in sorted(self._plan.passages):
            query = f"MATCH (n:{cypher.quoted(label)}) WITH n LIMIT toInteger($p.most) RETURN {self._columns()}"
            found += self._own_parts(self._entities.rows(query, most=most))
        for label, one in sorted(self._plan.things.items()):
            if one.texts and label:
                has = " OR ".join(f"n.{cypher.quoted(key)} IS NOT NULL" for key in one.texts)
                found += self._of_entities(f"MATCH (n:{cypher.quoted(label)}) WHERE {has}", most=most)
        return list({one["id"]: one for one in found}.values())

    def _own_parts(self, found: Iterable[Sequence[Any]]) -> list[Passage]:
        """Passages from rows of passages' nodes: head, heads of linked entities, [[property, part, text], …]."""
        made: list[Passage] = []
        for head, linked, texts in found:
            node = self._nodes.node(head)
            entities = sorted({self._entities.node(one).id for one in linked})
            section = render(node.values.get(node.roles.section)) if node.roles.section else ""
            for key, at, text in texts or ():
                if key == node.roles.passage and text:
                    id_ = _id(node.id, "", int(at))
                    made.append(Passage(id=id_, entities=entities, title=_title(node), section=section, text=text))
        return made

    def _entity_parts(self, found: Iterable[Sequence[Any]]) -> list[Passage]:
        """Passages from rows of entities: head, [[property, part, text], …]."""
        made: list[Passage] = []
        for head, texts in found:
            node = self._entities.node(head)
            for key, at, text in sorted(texts, key=lambda one: (str(one[0]), int(one[1]))):
                if key in node.roles.texts and text and not node.hidden and not node.literal:
                    id_, section = _id(node.id, str(key), int(at)), relation_label(str(key))
                    made.append(Passage(id=id_, entities=[node.id], title=node.label, section=section, text=text))
        return made

    def _counted(self) -> TextInfo:
        plan, graph = self._plan, self._graph
        passages = entities = 0
        for label, one in (*plan.passages.items(), *plan.things.items()):
            facts = plan.catalogue.samples[label]
            keys = [one.passage] if one.passage else one.texts
            present = [facts.properties[key].present for key in keys if key in facts.properties]
            if present:
                passages += round(facts.count * sum(present) / facts.sampled)
                entities += round(facts.count * max(present) / facts.sampled) if label in plan.things else 0
        if plan.exact and plan.passages:
            query = (
                f"MATCH (c)-[r]-(e) WHERE {cypher.any_label('c', plan.passages)} AND NOT {self._no_thing} "
                "AND NOT type(r) IN $hidden RETURN count(DISTINCT e)"
            )
            ((linked,),) = self._entities.rows(query)
            entities += int(linked)
        elif plan.passages:
            entities += min(passages, graph["entities"])
        parts = [graph["fingerprint"], self._embedder.name, PART, OVERLAP, [one.index.name for one in self.vectors]]
        fingerprint = hashlib.blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return {
            "name": graph["name"],
            "fingerprint": fingerprint,
            "passages": passages,
            "entities": min(entities, graph["entities"]),
        }


def _title(node: Neo4jNode) -> str:
    for name in node.roles.names:
        if not _TITLES.isdisjoint(plain_words(name.keys[0])[-1:]):
            return name.render({key: render(value) for key, value in node.values.items()})
    return ""


def _passage_texts(node: Neo4jNode, facts: Any) -> list[str]:
    """What the vector of a passage's node may have been made from."""
    text = next((str(values[0]) for key, _, values in facts if key == node.roles.passage and values), "")
    return [text, *(f"{_title(node)}{between}{text}" for between in (": ", "\n", " "))] if text else []


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
