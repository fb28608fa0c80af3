"""The embedded graph store: a knowledge graph in one SQLite file."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from pathlib import Path
from typing import Any, NamedTuple

from thinkgraph.closing import Closing
from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.state.knowledge import Direction, Entity, GraphInfo, Match, Neighbours, Relation, Step, Triple
from thinkgraph.tools.linking.names import key_label
from thinkgraph.tools.sqlite import graph_schema as schema
from thinkgraph.tools.sqlite import names
from thinkgraph.tools.sqlite.adjacency import (
    INVERSE,
    QUALIFIED,
    TRIPLES,
    Edge,
    Span,
    edges_of,
    places_between,
    spans_of,
)
from thinkgraph.tools.sqlite.file import ReadOnlyFile, chunks, json_array
from thinkgraph.tools.values import value_kind

_CHUNK = 20_000
_FACTS = 3
_DESCRIPTION_LENGTH = 160
_SMALL_DEGREE = 2_000
_KEPT_RELATIONS = 50_000

_NODES = (
    "SELECT n.id, n.key, n.literal, n.label, n.type, n.description "
    "FROM json_each(?1) j CROSS JOIN node n ON n.key = j.value ->> 0 AND n.literal = j.value ->> 1"
)
_NUMBERS = (
    "SELECT n.id, n.key, n.literal "
    "FROM json_each(?1) j CROSS JOIN node n ON n.key = j.value ->> 0 AND n.literal = j.value ->> 1"
)
_BY_NUMBER = (
    "SELECT n.id, n.key, n.literal, n.label, n.type, n.description "
    "FROM json_each(?1) j CROSS JOIN node n ON n.id = j.value"
)
_ENDS = "SELECT n.id, n.key, n.literal, n.label FROM json_each(?1) j CROSS JOIN node n ON n.id = j.value"
_PAIRS = "SELECT q.id, q.pairs FROM json_each(?1) j CROSS JOIN qualifier q ON q.id = j.value"
_RELATIONS = (
    "SELECT r.id, r.name, r.label, r.triples, r.typing FROM json_each(?1) j CROSS JOIN relation r ON r.id = j.value"
)
_RELATION_NUMBERS = "SELECT r.name, r.id FROM json_each(?1) j CROSS JOIN relation r ON r.name = j.value"


class _RelationRow(NamedTuple):
    name: str
    label: str
    triples: int
    typing: int


class SqliteGraphStore(Closing):
    """A graph built by `thinkgraph kb build`, as a `GraphStore`. Nothing is written, not even beside the file.

    Safe to use from several threads at once. Close it, or use it as a context manager.
    """

    def __init__(self, path: Path | str) -> None:
        """Open `graph.sqlite`.

        Raises:
            KnowledgeError: the file is missing or of a format version that this release does not read.
            StoreError: the file is damaged or no graph.
        """
        self._file = ReadOnlyFile(Path(path), setup=schema.VOCABULARY, mapped=schema.MAPPED_BYTES)
        self._relations: dict[int, _RelationRow] = {}
        try:
            with self._file.connection() as db:
                meta: dict[str, str] = dict(db.execute("SELECT name, value FROM meta").fetchall())
            version = int(meta["format"])
            if version == schema.GRAPH_FORMAT:
                self._info: GraphInfo = {
                    "name": meta["name"],
                    "fingerprint": meta["fingerprint"],
                    "entities": int(meta["entities"]),
                    "literals": int(meta["literals"]),
                    "triples": int(meta["triples"]),
                    "relations": int(meta["relations"]),
                }
                self._prefix = meta["literal_prefix"]
                with self._file.connection() as db:
                    self._qualified = db.execute("SELECT 1 FROM qualified LIMIT 1").fetchone() is not None
        except (KeyError, ValueError):
            self.close()
            raise StoreError(f"{path} is not a finished graph; build the knowledge base again") from None
        except StoreError:
            self.close()
            raise
        if version != schema.GRAPH_FORMAT:
            self.close()
            verb = "update thinkgraph" if version > schema.GRAPH_FORMAT else "build it again with `thinkgraph kb build`"
            raise KnowledgeError(f"{path} has graph format {version}, not {schema.GRAPH_FORMAT}; {verb}")

    def close(self) -> None:
        """Close the file; using the store afterwards raises `StoreError`."""
        self._file.close()

    def info(self) -> GraphInfo:
        """See `GraphStore.info`."""
        return self._info.copy()

    def relation_counts(self) -> list[tuple[str, str, int]]:
        """Name, label and number of triples of every relation, the most frequent first."""
        with self._file.connection() as db:
            rows = db.execute("SELECT name, label, triples FROM relation WHERE triples > 0 ORDER BY 3 DESC, 1")
            return [(name, label, count) for name, label, count in rows]

    def most_linked(self, limit: int) -> list[str]:
        """The ids of the `limit` entities with the most triples, most first, then by id."""
        sql = "SELECT n.key FROM (SELECT node, max(triples) AS degree FROM name GROUP BY node) m JOIN node n ON n.id = m.node"
        with self._file.connection() as db:
            return [self._id(key, 0) for (key,) in db.execute(f"{sql} ORDER BY m.degree DESC, n.key LIMIT ?", (limit,))]

    def lookup(self, names_: Sequence[str], *, limit: int = 10) -> list[list[Match]]:
        """See `GraphStore.lookup`. An entity's id finds it as an alias does."""
        with self._file.connection() as db:
            return self._matches(db, names.equal(db, names_, limit))

    def search(self, texts: Sequence[str], *, limit: int = 10, fuzzy: bool = False) -> list[list[Match]]:
        """See `GraphStore.search`. Words that stand in very many names are used only to order what the others find."""
        with self._file.connection() as db:
            found = names.spelt_like(db, texts, limit) if fuzzy else names.sharing_words(db, texts, limit)
            return self._matches(db, found)

    def entities(self, ids: Sequence[str]) -> list[Entity | None]:
        """See `GraphStore.entities`. Type and description come from the entities file, else from its own triples."""
        found: dict[str, Entity] = {}
        with self._file.connection() as db:
            for part in chunks(list(dict.fromkeys(ids)), _CHUNK):
                rows = db.execute(_NODES, (self._keys(part),)).fetchall()
                found.update((entity["id"], entity) for entity in self._entities(db, rows).values())
        return [None if (entity := found.get(one)) is None else entity.copy() for one in ids]

    def triples(self, ids: Sequence[str]) -> list[Triple | None]:
        """See `GraphStore.triples`."""
        places = [_place(one, self._info["triples"]) for one in ids]
        with self._file.connection() as db:
            found = self._fetch(db, (place for place in places if place is not None))
        return [None if place is None else _copied(found[place]) for place in places]

    def relations(self, ids: Sequence[str]) -> list[list[Relation]]:
        """See `GraphStore.relations`."""
        found: dict[str, list[Relation]] = {}
        with self._file.connection() as db:
            for part in chunks(list(dict.fromkeys(ids)), _CHUNK):
                nodes = self._numbers(db, part)
                for direction, edges in edges_of(db, list(nodes.values())).items():
                    rows = self._relation_rows(db, {edge.relation for some in edges.values() for edge in some})
                    for entity, node in nodes.items():
                        found.setdefault(entity, []).extend(
                            Relation(
                                entity=entity,
                                name=rows[edge.relation].name,
                                label=rows[edge.relation].label,
                                direction=direction,
                                count=edge.number,
                            )
                            for edge in edges.get(node, ())
                        )
        for some in found.values():
            some.sort(key=lambda edge: (edge["count"], edge["name"], edge["direction"]))
        return [[edge.copy() for edge in found.get(one, ())] for one in ids]

    def neighbours(self, steps: Sequence[Step], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbours`. Reads the rows it returns and no others, whatever the hub."""
        wanted = [(step["entity"], step["relation"], step["direction"]) for step in steps]
        with self._file.connection() as db:
            ranges = self._ranges(db, list(dict.fromkeys(wanted)))
            picks: list[list[tuple[bool, int]]] = []
            for step in wanted:
                span = ranges.get(step, range(0))
                chosen = _sample(len(span), limit, seed, *step)
                picks.append([(step[2] == "out", span[i]) for i in chosen])
            return self._picked(db, picks, [len(ranges.get(step, ())) for step in wanted])

    def neighbourhood(self, ids: Sequence[str], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbourhood`. Outgoing triples first; a loop counts once."""
        with self._file.connection() as db:
            spans = self._spans(db, ids)
            picks = [
                []
                if (span := spans.get(one)) is None
                else [span.place(i) for i in _sample(span.total, limit, seed, one)]
                for one in ids
            ]
            return self._picked(db, picks, [spans[one].total if one in spans else 0 for one in ids])

    def edges_among(self, ids: Sequence[str], *, limit: int = 10_000) -> list[Triple]:
        """See `GraphStore.edges_among`. In the store's order."""
        with self._file.connection() as db:
            nodes = self._numbers(db, ids)
            spans = spans_of(db, list(nodes.values()))
            chosen = places_between(db, spans, small=_SMALL_DEGREE)[: max(limit, 0)]
            found = self._fetch(db, chosen)
        return [found[place] for place in chosen]

    def _numbers(self, db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, int]:
        """Numbers of the nodes that there are."""
        found: dict[str, int] = {}
        for part in chunks(list(dict.fromkeys(ids)), _CHUNK):
            rows = db.execute(_NUMBERS, (self._keys(part),))
            found.update((self._id(key, literal), node) for node, key, literal in rows)
        return found

    def _spans(self, db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, Span]:
        nodes = self._numbers(db, ids)
        spans = spans_of(db, list(nodes.values()))
        return {one: spans[node] for one, node in nodes.items()}

    def _ranges(
        self, db: sqlite3.Connection, steps: Sequence[tuple[str, str, Direction]]
    ) -> dict[tuple[str, str, Direction], range]:
        """Places of the triples of each step that has any."""
        found: dict[tuple[str, str, Direction], range] = {}
        for part in chunks(steps, _CHUNK):
            nodes = self._numbers(db, (entity for entity, _, _ in part))
            names = json_array(list({relation for _, relation, _ in part}))
            relations: dict[str, int] = dict(db.execute(_RELATION_NUMBERS, (names,)).fetchall())
            for direction in dict.fromkeys(step[2] for step in part):
                asked = [step for step in part if step[2] == direction and step[0] in nodes and step[1] in relations]
                edges = edges_of(db, list({nodes[entity] for entity, _, _ in asked}), [direction])[direction]
                by_relation = {node: {edge.relation: edge for edge in some} for node, some in edges.items()}
                for step in asked:
                    edge = by_relation.get(nodes[step[0]], {}).get(relations[step[1]])
                    if edge is not None:
                        found[step] = range(edge.first, edge.first + edge.number)
        return found

    def _picked(
        self, db: sqlite3.Connection, picks: Sequence[Sequence[tuple[bool, int]]], totals: Sequence[int]
    ) -> list[Neighbours]:
        out = {place for pick in picks for forward, place in pick if forward}
        back = INVERSE.at(db, {place for pick in picks for forward, place in pick if not forward})
        found = self._fetch(db, out.union(place for (place,) in back.values()))
        return [
            {
                "triples": [_copied(found[place if forward else back[place][0]]) for forward, place in pick],
                "total": total,
            }
            for pick, total in zip(picks, totals, strict=True)
        ]

    def _fetch(self, db: sqlite3.Connection, places: Iterable[int]) -> dict[int, Triple]:
        """The triples at these places."""
        found: dict[int, Triple] = {}
        for part in chunks(sorted(set(places)), _CHUNK):
            rows = TRIPLES.at(db, part)
            nodes = self._ends(db, {node for s, _, o in rows.values() for node in (s, o)})
            relations = self._relation_rows(db, {r for _, r, _ in rows.values()})
            sets = {
                place: number
                for place, (number,) in (QUALIFIED.at(db, part) if self._qualified else {}).items()
                if number
            }
            pairs = dict(db.execute(_PAIRS, (json.dumps(sorted(set(sets.values()))),))) if sets else {}
            for place, (s, r, o) in rows.items():
                subject, subject_label, _ = nodes[s]
                obj, object_label, literal = nodes[o]
                found[place] = {
                    "id": f"t{place + 1}",
                    "subject": subject,
                    "relation": relations[r].name,
                    "object": obj,
                    "subject_label": subject_label,
                    "relation_label": relations[r].label,
                    "object_label": object_label,
                    "literal": literal,
                    "qualifiers": json.loads(pairs[sets[place]]) if place in sets else [],
                }
        return found

    def _ends(self, db: sqlite3.Connection, nodes: Iterable[int]) -> dict[int, tuple[str, str, bool]]:
        """Id and label of each node, and whether it is a literal."""
        return {
            node: (self._id(key, literal), label or _label(key, literal), bool(literal))
            for node, key, literal, label in self._rows(db, _ENDS, set(nodes))
        }

    def _relation_rows(self, db: sqlite3.Connection, numbers: set[int]) -> Mapping[int, _RelationRow]:
        """The rows of relations, kept for the next time: they are few and asked for all the time."""
        known = self._relations
        found = {number: row for number in numbers if (row := known.get(number)) is not None}
        if len(found) < len(numbers):
            rows = self._rows(db, _RELATIONS, numbers - found.keys())
            found.update((number, _RelationRow(*row)) for number, *row in rows)
            if len(known) + len(rows) > _KEPT_RELATIONS:
                known.clear()
            known.update(found)
        return found

    def _rows(self, db: sqlite3.Connection, sql: str, numbers: set[int]) -> list[tuple[Any, ...]]:
        """The rows with these numbers, which must all be there."""
        found = [row for part in chunks(sorted(numbers), _CHUNK) for row in db.execute(sql, (json.dumps(part),))]
        if len(found) < len(numbers):
            raise StoreError(f"{self._file.path} is damaged (rows are missing); build or copy the knowledge base again")
        return found

    def _matches(self, db: sqlite3.Connection, found: Sequence[Sequence[names.Found]]) -> list[list[Match]]:
        nodes = {hit.node for hits in found for hit in hits}
        entities = self._entities(db, self._rows(db, _BY_NUMBER, nodes))
        return [
            [
                {
                    "entity": entities[hit.node].copy(),
                    "name": hit.text
                    if hit.kind == schema.ALIAS and hit.text
                    else self._named(entities[hit.node], hit.kind),
                    "method": hit.method,
                    "score": hit.score,
                }
                for hit in hits
            ]
            for hits in found
        ]

    def _named(self, entity: Entity, kind: int) -> str:
        return entity["id"] if kind == schema.KEY else entity["label"]

    def _entities(self, db: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> dict[int, Entity]:
        """Entities by node, from rows (id, key, literal, label, type, description)."""
        bare = [node for node, _, literal, _, kind, text in rows if not literal and not (kind and text)]
        facts = self._facts(db, bare) if bare else {}
        found: dict[int, Entity] = {}
        for node, key, literal, label, kind, description in rows:
            type_, text = (value_kind(key) or "", "") if literal else facts.get(node, ("", ""))
            found[node] = {
                "id": self._id(key, literal),
                "label": label or _label(key, literal),
                "type": kind or type_,
                "description": description or text,
                "literal": bool(literal),
            }
        return found

    def _facts(self, db: sqlite3.Connection, nodes: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Type and description of each node, made from at most three of its own triples.

        The most telling come first: what kind of thing it is, then relations with few objects that many entities have.
        """
        types: dict[int, str] = {}
        texts: dict[int, list[str]] = {}
        edges = edges_of(db, nodes)
        shapes: dict[Direction, str] = {"out": "{relation}: {end}", "in": "{relation} of {end}"}
        for direction, shape in shapes.items():
            some = {node: edges[direction][node] for node in edges[direction] if node not in texts}
            rows = self._relation_rows(db, {edge.relation for one in some.values() for edge in one})

            def telling(edge: Edge, rows: Mapping[int, _RelationRow] = rows) -> tuple[int, int, int, str]:
                row = rows[edge.relation]
                return -row.typing, min(edge.number, 3), -row.triples, row.name

            chosen = {node: nsmallest(_FACTS, one, key=telling) for node, one in some.items()}
            firsts = {edge.first for one in chosen.values() for edge in one}
            places = (
                {first: first for first in firsts}
                if direction == "out"
                else {first: place for first, (place,) in INVERSE.at(db, firsts).items()}
            )
            triples = TRIPLES.at(db, places.values())
            ends = {first: triples[place][2 if direction == "out" else 0] for first, place in places.items()}
            labels = self._ends(db, ends.values())
            for node, one in chosen.items():
                for edge in one:
                    row, end = rows[edge.relation], labels[ends[edge.first]][1]
                    if row.typing > 0 and direction == "out":
                        types.setdefault(node, end)
                        shown = end
                    else:
                        shown = shape.format(relation=row.label, end=end) + (" …" if edge.number > 1 else "")
                    texts.setdefault(node, []).append(shown)
        return {node: (types.get(node, ""), _shortened("; ".join(parts))) for node, parts in texts.items()}

    def _id(self, key: str, literal: int) -> str:
        return self._prefix + key if literal else key

    def _key(self, public: str) -> tuple[str, int]:
        return (public[len(self._prefix) :], 1) if public.startswith(self._prefix) else (public, 0)

    def _keys(self, ids: Iterable[str]) -> str:
        return json_array(self._key(one) for one in ids)


def _place(triple: str, triples: int) -> int | None:
    """The place that a triple's id stands for; None for what is no id."""
    digits = triple[1:]
    # Written back, because "t01" is no id though Python would read it as a number.
    if triple[:1] != "t" or not digits.isdecimal() or len(digits) > 18 or str(int(digits)) != digits:  # noqa: PLR2004
        return None
    return int(digits) - 1 if 1 <= int(digits) <= triples else None


def _label(key: str, literal: int) -> str:
    return key if literal else key_label(key)


def _copied(triple: Triple) -> Triple:
    return {**triple, "qualifiers": [list(pair) for pair in triple["qualifiers"]]}


def _shortened(text: str) -> str:
    return text if len(text) <= _DESCRIPTION_LENGTH else text[: _DESCRIPTION_LENGTH - 1].rstrip() + "…"


def _sample(total: int, limit: int, seed: int, *key: str) -> Iterable[int]:
    """All indices below `total`, or `limit` of them in order, drawn by seed and key alone."""
    if total <= limit:
        return range(total)
    if limit <= 0:
        return ()
    drawn = random.Random("\0".join((str(seed), str(limit), *key)).encode("utf-8", "surrogatepass"))  # noqa: S311
    return sorted(drawn.sample(range(total), limit))
