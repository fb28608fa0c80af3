"""A small in-memory graph and text store for the tests of models and evaluation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from thinkgraph.state.knowledge import (
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


class MemoryGraph:
    """Triples (subject id, relation, object id or literal, qualifiers); entity ids may carry a remark in parentheses."""

    def __init__(
        self,
        rows: Sequence[tuple[str, str, str] | tuple[str, str, str, str]],
        about: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
    ) -> None:
        self.labels = labels or {}
        self.about = about or {}
        self.calls: list[str] = []
        self._triples: dict[str, Triple] = {}
        self._edges: dict[tuple[str, str, str], list[str]] = {}
        self._literals: set[str] = set()
        self._entities: dict[str, None] = {}
        for n, row in enumerate(rows):
            subject, relation, obj = row[:3]
            literal = bool(re.match(r"^-?[\d.,]+$|^\d{4}-\d\d", obj))
            if literal:
                self._literals.add(obj)
            for end in (subject, obj):
                self._entities.setdefault(end)
            quals = [part.split("=") for part in row[3].split("; ")] if len(row) > 3 and row[3] else []
            self._triples[f"t{n}"] = Triple(
                id=f"t{n}",
                subject=subject,
                relation=relation,
                object=obj,
                subject_label=self.label(subject),
                relation_label=relation.replace("_", " "),
                object_label=self.label(obj),
                literal=literal,
                qualifiers=quals,
            )
            self._edges.setdefault((subject, relation, "out"), []).append(f"t{n}")
            self._edges.setdefault((obj, relation, "in"), []).append(f"t{n}")
        self._at: dict[str, list[tuple[str, str]]] = {}
        for subject, relation, direction in self._edges:
            self._at.setdefault(subject, []).append((relation, direction))

    def label(self, key: str) -> str:
        return self.labels.get(key, key)

    def info(self) -> GraphInfo:
        return GraphInfo(
            name="memory",
            fingerprint="0",
            entities=len(self._entities),
            literals=0,
            triples=len(self._triples),
            relations=0,
        )

    def entity(self, key: str) -> Entity | None:
        if key not in self._entities:
            return None
        return Entity(
            id=key, label=self.label(key), type="", description=self.about.get(key, ""), literal=key in self._literals
        )

    def entities(self, ids: Sequence[str]) -> list[Entity | None]:
        self.calls.append("entities")
        return [self.entity(key) for key in ids]

    def lookup(self, names: Sequence[str], *, limit: int = 10) -> list[list[Match]]:
        self.calls.append("lookup")
        wanted = [name.casefold() for name in names]
        found: list[list[Match]] = []
        for name in wanted:
            keys = [k for k in self._entities if k not in self._literals and self.label(k).casefold() == name]
            found.append(
                [
                    Match(entity=e, name=e["label"], method="exact", score=1.0)
                    for e in map(self.entity, keys[:limit])
                    if e is not None
                ]
            )
        return found

    def search(self, texts: Sequence[str], *, limit: int = 10, fuzzy: bool = False) -> list[list[Match]]:
        return [[] for _ in texts]

    def triples(self, ids: Sequence[str]) -> list[Triple | None]:
        return [self._triples.get(key) for key in ids]

    def relations(self, ids: Sequence[str]) -> list[list[Relation]]:
        self.calls.append("relations")
        return [
            [
                Relation(
                    entity=key,
                    name=relation,
                    label=relation.replace("_", " "),
                    direction="out" if direction == "out" else "in",
                    count=len(self._edges[key, relation, direction]),
                )
                for relation, direction in self._at.get(key, [])
            ]
            for key in ids
        ]

    def neighbours(self, steps: Sequence[Step], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        self.calls.append("neighbours")
        found = [self._edges.get((s["entity"], s["relation"], s["direction"]), []) for s in steps]
        return [Neighbours(triples=[self._triples[t] for t in ids[:limit]], total=len(ids)) for ids in found]

    def neighbourhood(self, ids: Sequence[str], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        raise NotImplementedError

    def edges_among(self, ids: Sequence[str], *, limit: int = 10_000) -> list[Triple]:
        raise NotImplementedError


class MemoryTexts:
    """Passages ranked by words shared with the query."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = {p["id"]: p for p in passages}

    def info(self) -> TextInfo:
        return TextInfo(name="memory", fingerprint="0", passages=len(self._passages), entities=0)

    def passages(self, ids: Sequence[str]) -> list[Passage | None]:
        return [self._passages.get(key) for key in ids]

    def passages_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[PassageHit]:
        words = set(query.casefold().split())
        hits = [
            PassageHit(passage=p, score=float(len(words & set(p["text"].casefold().split()))))
            for p in self._passages.values()
            if set(p["entities"]) & set(entities)
        ]
        return sorted(hits, key=lambda hit: -hit["score"])[:limit]

    def search(self, queries: Sequence[str], *, limit: int = 10) -> list[list[PassageHit]]:
        return [[] for _ in queries]


ROWS = [
    ("Kenya", "capital", "Nairobi"),
    ("Uganda", "capital", "Kampala"),
    ("Tanzania", "capital", "Dodoma"),
    ("Panama", "capital", "Panama City"),
    ("Kenya", "shares_border_with", "Uganda"),
    ("Kenya", "shares_border_with", "Tanzania"),
    ("Uganda", "shares_border_with", "Kenya"),
    ("Uganda", "shares_border_with", "Tanzania"),
    ("Tanzania", "shares_border_with", "Kenya"),
    ("Tanzania", "shares_border_with", "Uganda"),
    ("Kenya", "export_partner", "Uganda", "share_pct=10"),
    ("Kenya", "export_partner", "Panama", "share_pct=4"),
    ("Kenya", "population", "52400000"),
    ("Uganda", "population", "49300000"),
    ("Tanzania", "population", "67400000"),
    ("Panama", "highest_point", "Volcan Baru"),
    ("Kenya", "official_language", "English"),
    ("Kenya", "official_language", "Swahili"),
    ("Uganda", "official_language", "English"),
    ("Tanzania", "official_language", "Swahili"),
    ("Tanzania", "official_language", "English"),
    ("Niger", "capital", "Niamey"),
    ("Niger (river)", "length_km", "4180"),
    ("Niger (river)", "flows_through", "Niger"),
    ("Panama", "currency", "balboa"),
]
ABOUT = {"Niger": "country in Africa", "Niger (river)": "river in Africa", "Kenya": "country in Africa"}
LABELS = {"Niger (river)": "Niger"}
VOTING = Passage(
    id="pa-1",
    entities=["Panama"],
    title="Panama",
    section="Voting",
    text="A person must have reached 18 to vote in Panama. Parliament has one house with 71 seats.",
)
FLAG = Passage(id="pa-2", entities=["Panama"], title="Panama", section="Flag", text="The flag shows two stars.")


def small_world() -> tuple[MemoryGraph, MemoryTexts]:
    return MemoryGraph(ROWS, ABOUT, LABELS), MemoryTexts([VOTING, FLAG])
