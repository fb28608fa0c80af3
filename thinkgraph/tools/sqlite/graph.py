"""The embedded graph store: a knowledge graph in one SQLite file."""

from __future__ import annotations

import json
import random
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.state.knowledge import Direction, Entity, GraphInfo, Match, Neighbours, Relation, Step, Triple, copied
from thinkgraph.tools.linking.names import key_label
from thinkgraph.tools.protocols import Closing, closed_on_error
from thinkgraph.tools.sqlite import graph_schema as schema
from thinkgraph.tools.sqlite import names
from thinkgraph.tools.sqlite.file import ReadOnlyFile, chunks, json_array
from thinkgraph.tools.values import shortened, value_kind

_CHUNK = 20_000
_FACTS = 3
_SMALL_DEGREE = 2_000
_HUB, _RUN = 20, 10
"""Of a node with so many times the triples that are wanted, runs of so many are drawn: far fewer pages are read."""

_KEYED = "FROM json_each(?1) j CROSS JOIN node n ON n.key = j.value ->> 0 AND n.literal = j.value ->> 1"
_ENTITY = "SELECT n.id, n.key, n.literal, n.label, n.type, n.description"
_NODES = f"{_ENTITY} {_KEYED}"
_NUMBERS = f"SELECT n.id, n.key, n.literal {_KEYED}"
_BY_NUMBER = f"{_ENTITY} FROM json_each(?1) j CROSS JOIN node n ON n.id = j.value"
_EDGES = (
    f"SELECT j.key, n.triples, e.direction, r.name, r.label, e.triples {_KEYED} "
    "LEFT JOIN edge e ON e.direction IN (0, 1) AND e.node = n.id LEFT JOIN relation r ON r.id = e.relation"
)
_STEPS = (
    f"SELECT j.key, e.first, e.triples {_KEYED} "
    "CROSS JOIN relation r ON r.name = j.value ->> 2 "
    "CROSS JOIN edge e ON e.direction = j.value ->> 3 AND e.node = n.id AND e.relation = r.id"
)
_SPANS = (
    "SELECT n.id, e.direction, min(e.first), sum(e.triples) "
    "FROM json_each(?1) j CROSS JOIN node n ON n.id = j.value "
    "CROSS JOIN edge e ON e.direction IN (0, 1) AND e.node = n.id GROUP BY n.id, e.direction"
)
_LOOPS = (
    "SELECT l.node, l.inverse FROM json_each(?1) j CROSS JOIN loop l ON l.node = j.value ORDER BY l.node, l.inverse"
)
_INVERSE = "SELECT i.id, i.triple FROM json_each(?1) j CROSS JOIN inverse i ON i.id = j.value"
_TRIPLES = (
    "SELECT t.id, s.key, s.label, r.name, r.label, o.key, o.literal, o.label, q.pairs "
    "FROM json_each(?1) j CROSS JOIN triple t ON t.id = j.value CROSS JOIN node s ON s.id = t.subject "
    "CROSS JOIN relation r ON r.id = t.relation CROSS JOIN node o ON o.id = t.object "
    "LEFT JOIN qualifier q ON q.id = t.qualifiers"
)
_AMONG_OUT = (
    "SELECT t.id FROM json_each(?1) j CROSS JOIN edge e ON e.direction = 0 AND e.node = j.value "
    "CROSS JOIN triple t ON t.id >= e.first AND t.id < e.first + e.triples "
    "WHERE t.object IN (SELECT value FROM json_each(?2))"
)
_AMONG_IN = (
    "SELECT t.id FROM json_each(?1) j CROSS JOIN edge e ON e.direction = 1 AND e.node = j.value "
    "CROSS JOIN inverse i ON i.id >= e.first AND i.id < e.first + e.triples CROSS JOIN triple t ON t.id = i.triple "
    "WHERE t.subject IN (SELECT value FROM json_each(?2))"
)
# The most telling edges of a node: what kind of thing it is, then relations with few objects that many entities have;
# incoming ones only where it has no others.
_FACT_EDGES = f"""
SELECT e.node, e.direction, r.typing, r.label, e.triples, o.key, o.literal, o.label FROM (
    SELECT e.*, min(e.direction) OVER (PARTITION BY e.node) AS side, row_number() OVER (
        PARTITION BY e.node, e.direction ORDER BY r.typing DESC, min(e.triples, 3), r.triples DESC, r.name) AS place
    FROM json_each(?1) j CROSS JOIN edge e ON e.direction IN (0, 1) AND e.node = j.value
    CROSS JOIN relation r ON r.id = e.relation
) e CROSS JOIN relation r ON r.id = e.relation LEFT JOIN inverse i ON e.direction = 1 AND i.id = e.first
CROSS JOIN triple t ON t.id = iif(e.direction, i.triple, e.first)
CROSS JOIN node o ON o.id = iif(e.direction, t.subject, t.object)
WHERE e.direction = e.side AND e.place <= {_FACTS} ORDER BY e.node, e.place
"""


_NUMBERED: Mapping[Direction, int] = {"out": schema.OUT, "in": schema.IN}


class _Span(NamedTuple):
    """Numbers of a node's triples."""

    out: range
    """In `triple`."""
    back: range
    """In `inverse`."""
    loops: list[int]
    """Those in `back` that are loops, which are among `out` already."""

    @property
    def total(self) -> int:
        """How many triples touch the node."""
        return len(self.out) + len(self.back) - len(self.loops)

    def place(self, index: int) -> tuple[int, int]:
        """Direction and number of the index-th triple, the outgoing ones first."""
        if index < len(self.out):
            return schema.OUT, self.out[index]
        first = self.back.start
        index -= len(self.out)
        # loops[i] - i is how many other triples come before the i-th loop.
        return schema.IN, first + index + bisect_right([loop - first - i for i, loop in enumerate(self.loops)], index)


_NO_SPAN = _Span(range(0), range(0), [])


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
        with closed_on_error(self.close):
            try:
                with self._file.connection() as db:
                    meta: dict[str, str] = dict(db.execute("SELECT name, value FROM meta").fetchall())
                if (version := int(meta["format"])) != schema.GRAPH_FORMAT:
                    again = "build it again with `thinkgraph kb build`"
                    verb = "update thinkgraph" if version > schema.GRAPH_FORMAT else again
                    raise KnowledgeError(f"{path} has graph format {version}, not {schema.GRAPH_FORMAT}; {verb}")
                self._info: GraphInfo = {
                    "name": meta["name"],
                    "fingerprint": meta["fingerprint"],
                    "entities": int(meta["entities"]),
                    "literals": int(meta["literals"]),
                    "triples": int(meta["triples"]),
                    "relations": int(meta["relations"]),
                }
                self._prefix = meta["literal_prefix"]
            except (KeyError, ValueError):
                raise StoreError(f"{path} is not a finished graph; build the knowledge base again") from None

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
        sql = "SELECT key FROM node WHERE literal = 0 ORDER BY triples DESC, key LIMIT ?"
        with self._file.connection() as db:
            return [self._id(key, 0) for (key,) in db.execute(sql, (limit,))]

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
        numbers = [_triple_number(one, self._info["triples"]) for one in ids]
        with self._file.connection() as db:
            found = self._fetch(db, (number for number in numbers if number is not None))
        return [None if number is None else copied(found[number]) for number in numbers]

    def relations(self, ids: Sequence[str]) -> list[list[Relation]]:
        """See `GraphStore.relations`."""
        found: list[list[Relation]] = []
        with self._file.connection() as db:
            for part in chunks(ids, _CHUNK):
                edges: list[list[Relation]] = [[] for _ in part]
                for at, degree, direction, name, label, count in db.execute(_EDGES, (self._keys(part),)):
                    if name is not None:
                        way: Direction = "in" if direction else "out"
                        edges[at].append(
                            {"entity": part[at], "name": name, "label": label, "direction": way, "count": count}
                        )
                    elif degree or direction is not None:
                        raise self._damaged()
                found += edges
        for some in found:
            some.sort(key=lambda edge: (edge["count"], edge["name"], edge["direction"]))
        return found

    def neighbours(self, steps: Sequence[Step], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbours`. Reads the rows it returns and no others, whatever the hub."""
        wanted = [(step["entity"], step["relation"], step["direction"]) for step in steps]
        ranges = [range(0)] * len(wanted)
        with self._file.connection() as db:
            for start in range(0, len(wanted), _CHUNK):
                rows = ((*self._key(e), r, _NUMBERED[way]) for e, r, way in wanted[start : start + _CHUNK])
                for at, first, count in db.execute(_STEPS, (json_array(rows),)):
                    ranges[start + at] = range(first, first + count)
            picks = [
                [(_NUMBERED[step[2]], found[i]) for i in _sample(len(found), limit, seed, *step)]
                for step, found in zip(wanted, ranges, strict=True)
            ]
            return self._picked(db, picks, [len(one) for one in ranges])

    def neighbourhood(self, ids: Sequence[str], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbourhood`. Outgoing triples first; a loop counts once."""
        with self._file.connection() as db:
            nodes = self._numbers(db, ids)
            spans = self._spans(db, list(nodes.values()))
            found = [spans.get(nodes.get(one, 0), _NO_SPAN) for one in ids]
            picks = [
                [span.place(i) for i in _sample(span.total, limit, seed, one)]
                for one, span in zip(ids, found, strict=True)
            ]
            return self._picked(db, picks, [span.total for span in found])

    def edges_among(self, ids: Sequence[str], *, limit: int = 10_000) -> list[Triple]:
        """See `GraphStore.edges_among`. In the store's order."""
        with self._file.connection() as db:
            nodes = list(self._numbers(db, ids).values())
            spans = self._spans(db, nodes)
            # The triples of a large subject are read from their other ends where that is less to read.
            large = [node for node, span in spans.items() if len(span.out) > _SMALL_DEGREE]
            if sum(len(span.back) for span in spans.values()) >= sum(len(spans[node].out) for node in large):
                large = []
            scanned = [node for node in nodes if node not in set(large)]
            rows = db.execute(_AMONG_OUT, (json.dumps(scanned), json.dumps(nodes))).fetchall()
            if large:
                rows += db.execute(_AMONG_IN, (json.dumps(nodes), json.dumps(large)))
            chosen = sorted(number for (number,) in rows)[: max(limit, 0)]
            found = self._fetch(db, chosen)
        return [found[number] for number in chosen]

    def _numbers(self, db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, int]:
        """Numbers of the nodes that there are."""
        found: dict[str, int] = {}
        for part in chunks(list(dict.fromkeys(ids)), _CHUNK):
            rows = db.execute(_NUMBERS, (self._keys(part),))
            found.update((self._id(key, literal), node) for node, key, literal in rows)
        return found

    def _spans(self, db: sqlite3.Connection, nodes: Sequence[int]) -> dict[int, _Span]:
        """The numbers of each node's triples, for those that have any."""
        spans: dict[int, _Span] = {}
        for part in chunks(nodes, _CHUNK):
            for node, direction, first, count in db.execute(_SPANS, (json.dumps(part),)):
                span, found = spans.get(node, _NO_SPAN), range(first, first + count)
                spans[node] = span._replace(back=found, loops=[]) if direction else span._replace(out=found)
            for node, place in db.execute(_LOOPS, (json.dumps(part),)):
                spans[node].loops.append(place)
        return spans

    def _picked(
        self, db: sqlite3.Connection, picks: Sequence[Sequence[tuple[int, int]]], totals: Sequence[int]
    ) -> list[Neighbours]:
        """The triples with these directions and numbers."""
        incoming = {number for pick in picks for direction, number in pick if direction == schema.IN}
        back: dict[int, int] = dict(self._rows(db, _INVERSE, incoming))
        numbers = [[back[number] if direction else number for direction, number in pick] for pick in picks]
        found = self._fetch(db, (number for pick in numbers for number in pick))
        return [
            {"triples": [copied(found[number]) for number in pick], "total": total}
            for pick, total in zip(numbers, totals, strict=True)
        ]

    def _fetch(self, db: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, Triple]:
        """The triples with these numbers."""
        return {
            number: {
                "id": f"t{number}",
                "subject": self._id(subject, 0),
                "relation": relation,
                "object": self._id(obj, literal),
                "subject_label": subject_label or _label(subject, 0),
                "relation_label": relation_label,
                "object_label": object_label or _label(obj, literal),
                "literal": bool(literal),
                "qualifiers": json.loads(pairs) if pairs else [],
            }
            for (
                number, subject, subject_label, relation, relation_label, obj, literal, object_label, pairs
            ) in self._rows(db, _TRIPLES, set(numbers))
        }  # fmt: skip

    def _rows(self, db: sqlite3.Connection, sql: str, numbers: set[int]) -> list[tuple[Any, ...]]:
        """The rows with these numbers, which must all be there."""
        found = [row for part in chunks(sorted(numbers), _CHUNK) for row in db.execute(sql, (json.dumps(part),))]
        if len(found) < len(numbers):
            raise self._damaged()
        return found

    def _damaged(self) -> StoreError:
        return StoreError(f"{self._file.path} is damaged (rows are missing); build or copy the knowledge base again")

    def _matches(self, db: sqlite3.Connection, found: Sequence[Sequence[names.Found]]) -> list[list[Match]]:
        nodes = {hit.node for hits in found for hit in hits}
        entities = self._entities(db, self._rows(db, _BY_NUMBER, nodes))
        return [
            [
                {
                    "entity": (entity := entities[hit.node]).copy(),
                    "name": hit.text or (entity["id"] if hit.kind == schema.KEY else entity["label"]),
                    "method": hit.method,
                    "score": hit.score,
                }
                for hit in hits
            ]
            for hits in found
        ]

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
        """Type and description of each node, made from at most three of its own triples."""
        types: dict[int, str] = {}
        texts: dict[int, list[str]] = {}
        for part in chunks(nodes, _CHUNK):
            for node, direction, typing, label, count, key, literal, given in db.execute(
                _FACT_EDGES, (json.dumps(part),)
            ):
                end = given or _label(key, literal)
                if typing > 0 and not direction:
                    types.setdefault(node, end)
                    shown = end
                else:
                    shown = f"{label} of {end}" if direction else f"{label}: {end}"
                    shown += " …" * (count > 1)
                texts.setdefault(node, []).append(shown)
        return {node: (types.get(node, ""), shortened("; ".join(parts))) for node, parts in texts.items()}

    def _id(self, key: str, literal: int) -> str:
        return self._prefix + key if literal else key

    def _key(self, public: str) -> tuple[str, int]:
        return (public[len(self._prefix) :], 1) if public.startswith(self._prefix) else (public, 0)

    def _keys(self, ids: Iterable[str]) -> str:
        return json_array(self._key(one) for one in ids)


def _triple_number(triple: str, triples: int) -> int | None:
    """The number in a triple's id; None for what is no id."""
    digits = triple[1:]
    # Written back, because "t01" is no id though Python would read it as a number.
    if triple[:1] != "t" or not digits.isdecimal() or len(digits) > 18 or str(int(digits)) != digits:  # noqa: PLR2004
        return None
    return int(digits) if 1 <= int(digits) <= triples else None


def _label(key: str, literal: int) -> str:
    return key if literal else key_label(key)


def _sample(total: int, limit: int, seed: int, *key: str) -> Iterable[int]:
    """All indices below `total`, or `limit` of them in order, drawn by seed and key alone; from a hub in short runs."""
    if total <= limit:
        return range(total)
    if limit <= 0:
        return ()
    drawn = random.Random("\0".join((str(seed), str(limit), *key)).encode("utf-8", "surrogatepass"))  # noqa: S311
    if total < _HUB * limit:
        return sorted(drawn.sample(range(total), limit))
    starts = sorted(drawn.sample(range(0, total - _RUN + 1, _RUN), -(-limit // _RUN)))
    return [start + i for start in starts for i in range(_RUN)][:limit]
