"""Graph and text stores in memory, for tests and for small graphs written in Python."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from thinkgraph.state.knowledge import (
    Direction,
    Entity,
    GraphInfo,
    Match,
    Neighbours,
    Passage,
    PassageHit,
    Relation,
    Step,
    TextInfo,
    Triple,
)
from thinkgraph.tools.linking.names import normal_name

Row = tuple[str, str, str] | tuple[str, str, str, Mapping[str, str]]


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, ensure_ascii=False, sort_keys=True).encode()).hexdigest()[:16]


class MemoryGraphStore:
    """A graph of (subject, relation, object[, qualifiers]) rows; ids are the names given."""

    def __init__(
        self,
        rows: Iterable[Row],
        *,
        literals: Iterable[str] = (),
        labels: Mapping[str, str] | None = None,
        descriptions: Mapping[str, str] | None = None,
        aliases: Mapping[str, Sequence[str]] | None = None,
        name: str = "memory",
    ) -> None:
        """Hold the graph.

        Args:
            rows: the triples; equal rows are kept once.
            literals: relations whose objects are literal values.
            labels: label by id, where it is not the id.
            descriptions: one line by id.
            aliases: other names by id.
            name: for traces.
        """
        self._name = name
        self._labels = dict(labels or {})
        self._descriptions = dict(descriptions or {})
        self._aliases = {key: list(names) for key, names in (aliases or {}).items()}
        values = frozenset(literals)
        self._triples: dict[str, Triple] = {}
        self._touching: dict[str, list[Triple]] = defaultdict(list)
        self._entities: dict[str, Entity] = {}
        for row in rows:
            subject, relation, value = row[0], row[1], row[2]
            qualifiers = row[3] if len(row) == 4 else {}  # noqa: PLR2004 - the fourth is optional
            pairs = [[key, text] for key, text in qualifiers.items()]
            literal = relation in values
            end = f'"{value}"' if literal else value
            key = "m" + _digest([subject, relation, end, pairs])
            if key in self._triples:
                continue
            triple = Triple(
                id=key,
                subject=subject,
                relation=relation,
                object=end,
                subject_label=self._label(subject),
                relation_label=relation.replace("_", " "),
                object_label=value if literal else self._label(value),
                literal=literal,
                qualifiers=pairs,
            )
            self._triples[key] = triple
            self._add(subject, self._label(subject), literal=False)
            self._add(end, triple["object_label"], literal=literal)
            self._touching[subject].append(triple)
            if end != subject:
                self._touching[end].append(triple)
        named: dict[str, dict[str, Match]] = defaultdict(dict)
        for entity in self._entities.values():
            for place, text in enumerate(self._names(entity)):
                match = Match(entity=entity, name=text, method="alias" if place else "exact", score=1.0)
                named[normal_name(text)].setdefault(entity["id"], match)
        self._named = {text: sorted(matches.values(), key=self._rank) for text, matches in named.items()}

    def _label(self, key: str) -> str:
        return self._labels.get(key, key)

    def _add(self, key: str, label: str, *, literal: bool) -> None:
        self._entities.setdefault(
            key, Entity(id=key, label=label, type="", description=self._descriptions.get(key, ""), literal=literal)
        )

    def info(self) -> GraphInfo:
        """See GraphStore."""
        literals = sum(entity["literal"] for entity in self._entities.values())
        return GraphInfo(
            name=self._name,
            fingerprint=_digest([sorted(self._triples), self._labels, self._descriptions, self._aliases]),
            entities=len(self._entities) - literals,
            literals=literals,
            triples=len(self._triples),
            relations=len({triple["relation"] for triple in self._triples.values()}),
        )

    def lookup(self, names: Sequence[str], *, limit: int = 10) -> list[list[Match]]:
        """See GraphStore."""
        return [copy.deepcopy(self._named.get(normal_name(name), [])[:limit]) for name in names]

    def _rank(self, match: Match) -> tuple[bool, int, str]:
        key = match["entity"]["id"]
        return match["method"] != "exact", -len(self._touching[key]), key

    def _names(self, entity: Entity) -> list[str]:
        """Its label, then its aliases; a literal has no name."""
        return [] if entity["literal"] else [entity["label"], *self._aliases.get(entity["id"], ())]

    def search(self, texts: Sequence[str], *, limit: int = 10, fuzzy: bool = False) -> list[list[Match]]:
        """See GraphStore."""
        return [self._search(text, fuzzy=fuzzy)[:limit] for text in texts]

    def _search(self, text: str, *, fuzzy: bool) -> list[Match]:
        from rapidfuzz.fuzz import ratio

        found: list[Match] = []
        words = set(normal_name(text).split())
        for entity in self._entities.values():
            best, name = 0.0, ""
            for candidate in self._names(entity):
                parts = set(normal_name(candidate).split())
                likeness = (
                    ratio(normal_name(text), normal_name(candidate)) / 100
                    if fuzzy
                    else len(words & parts) / len(words | parts or {""})
                )
                if likeness > best:
                    best, name = likeness, candidate
            if best > (0.6 if fuzzy else 0.0):
                method = "fuzzy" if fuzzy else "fulltext"
                found.append(Match(entity=entity.copy(), name=name, method=method, score=min(best, 0.99)))  # type: ignore[typeddict-item]
        return sorted(found, key=lambda match: (-match["score"], match["entity"]["id"]))

    def entities(self, ids: Sequence[str]) -> list[Entity | None]:
        """See GraphStore."""
        return [copy.copy(self._entities.get(key)) for key in ids]

    def triples(self, ids: Sequence[str]) -> list[Triple | None]:
        """See GraphStore."""
        return [copy.deepcopy(self._triples.get(key)) for key in ids]

    def relations(self, ids: Sequence[str]) -> list[list[Relation]]:
        """See GraphStore."""
        return [self._relations(key) for key in ids]

    def _relations(self, key: str) -> list[Relation]:
        counts: Counter[tuple[str, Direction]] = Counter()
        for triple in self._touching.get(key, ()):
            if triple["subject"] == key:
                counts[triple["relation"], "out"] += 1
            if triple["object"] == key:
                counts[triple["relation"], "in"] += 1
        return [
            Relation(entity=key, name=name, label=name.replace("_", " "), direction=direction, count=count)
            for (name, direction), count in sorted(counts.items(), key=lambda item: (item[1], item[0]))
        ]

    def neighbours(self, steps: Sequence[Step], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See GraphStore."""
        out = []
        for step in steps:
            end = "subject" if step["direction"] == "out" else "object"
            every = [
                triple
                for triple in self._touching.get(step["entity"], ())
                if triple["relation"] == step["relation"] and triple[end] == step["entity"]  # type: ignore[literal-required]
            ]
            out.append(_bounded(every, limit, [step["entity"], step["relation"], step["direction"], seed]))
        return out

    def neighbourhood(self, ids: Sequence[str], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See GraphStore."""
        return [_bounded(self._touching.get(key, []), limit, [key, seed]) for key in ids]

    def edges_among(self, ids: Sequence[str], *, limit: int = 10_000) -> list[Triple]:
        """See GraphStore."""
        inside = set(ids)
        every = {
            t["id"]: t for key in ids for t in self._touching.get(key, ()) if {t["subject"], t["object"]} <= inside
        }
        return [copy.deepcopy(triple) for triple in list(every.values())[: max(limit, 0)]]


def _bounded(every: Sequence[Triple], limit: int, salt: object) -> Neighbours:
    if len(every) <= limit:
        chosen: Iterable[int] = range(len(every))
    else:
        drawn = random.Random(_digest(salt))  # noqa: S311 - a sample, not a secret
        chosen = sorted(drawn.sample(range(len(every)), max(limit, 0)))
    # Copied one by one, as the caller may change them and a triple may stand in several results.
    return Neighbours(triples=[copy.deepcopy(every[at]) for at in chosen], total=len(every))


class MemoryTextStore:
    """Passages in memory, compared by shared words."""

    def __init__(self, passages: Iterable[Passage], *, name: str = "memory") -> None:
        """Hold the passages; ids must be unique."""
        self._name = name
        self._passages = {passage["id"]: passage for passage in passages}
        self._by_entity: dict[str, list[str]] = defaultdict(list)
        for passage in self._passages.values():
            for entity in passage["entities"]:
                self._by_entity[entity].append(passage["id"])

    def info(self) -> TextInfo:
        """See TextStore."""
        return TextInfo(
            name=self._name,
            fingerprint=_digest(list(self._passages.values())),
            passages=len(self._passages),
            entities=len(self._by_entity),
        )

    def passages(self, ids: Sequence[str]) -> list[Passage | None]:
        """See TextStore."""
        return [copy.deepcopy(self._passages.get(key)) for key in ids]

    def passages_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[PassageHit]:
        """See TextStore."""
        return self._ranked({key for entity in entities for key in self._by_entity.get(entity, ())}, query, limit)

    def search(self, queries: Sequence[str], *, limit: int = 10) -> list[list[PassageHit]]:
        """See TextStore."""
        return [self._ranked(set(self._passages), query, limit) for query in queries]

    def _ranked(self, keys: set[str], query: str, limit: int) -> list[PassageHit]:
        wanted = set(normal_name(query).split())
        hits = []
        for key in sorted(keys):
            passage = self._passages[key]
            words = set(normal_name(f"{passage['title']} {passage['section']} {passage['text']}").split())
            hits.append(PassageHit(passage=passage, score=len(wanted & words) / (len(wanted) or 1)))
        # The caller may change what it gets.
        return copy.deepcopy(sorted(hits, key=lambda hit: -hit["score"])[: max(limit, 0)])
