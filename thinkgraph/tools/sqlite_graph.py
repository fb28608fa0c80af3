"""The embedded graph store: a knowledge graph in one SQLite file."""

from __future__ import annotations

import json
import random
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.state.knowledge import Entity, GraphInfo, Match, Neighbours, Relation, Step, Triple
from thinkgraph.tools import graph_schema as schema
from thinkgraph.tools import sqlite_names as names
from thinkgraph.tools.names import key_label
from thinkgraph.tools.sqlite_file import ReadOnlyFile, chunks, json_array
from thinkgraph.tools.values import value_kind

_CHUNK = 20_000
_FACTS = 3
_DESCRIPTION_LENGTH = 160
_SMALL_DEGREE = 2_000

_TRIPLE = (
    "SELECT p.value, t.id, s.key, s.literal, s.label, r.name, r.label, o.key, o.literal, o.label, q.pairs FROM {source} "
    "JOIN node s ON s.id = t.s JOIN relation r ON r.id = t.r JOIN node o ON o.id = t.o "
    "LEFT JOIN qualifier q ON q.id = t.q"
)
_BY_ID = _TRIPLE.format(source="json_each(?1) p CROSS JOIN triple t ON t.id = p.value")
_BY_INVERSE = _TRIPLE.format(
    source="json_each(?1) p CROSS JOIN inverse i ON i.id = p.value CROSS JOIN triple t ON t.id = i.triple"
)

_NODES = (
    "SELECT n.id, n.key, n.literal, n.label, n.type, n.description "
    "FROM json_each(?1) j CROSS JOIN node n ON n.key = j.value ->> 0 AND n.literal = j.value ->> 1"
)

_RELATIONS = (
    "SELECT n.key, n.literal, r.name, r.label, '{direction}', e.n "
    "FROM json_each(?1) j CROSS JOIN node n ON n.key = j.value ->> 0 AND n.literal = j.value ->> 1 "
    "CROSS JOIN {table} e ON e.node = n.id CROSS JOIN relation r ON r.id = e.relation"
)

_STEP = (
    "SELECT j.value ->> 0, j.value ->> 1, j.value ->> 2, 'out', e.first, e.n "
    "FROM json_each(?1) j CROSS JOIN node n ON n.key = j.value ->> 0 AND n.literal = j.value ->> 1 "
    "CROSS JOIN relation r ON r.name = j.value ->> 2 "
    "CROSS JOIN {table} e ON e.node = n.id AND e.relation = r.id"
)

_SPAN = (
    "SELECT n.id, n.key, n.literal, (SELECT min(first) FROM edge_out WHERE node = n.id), "
    "(SELECT coalesce(sum(e.n), 0) FROM edge_out e WHERE e.node = n.id), "
    "(SELECT min(first) FROM edge_in WHERE node = n.id), "
    "(SELECT coalesce(sum(e.n), 0) FROM edge_in e WHERE e.node = n.id), "
    "(SELECT json_group_array(inverse) FROM (SELECT inverse FROM loop WHERE node = n.id ORDER BY inverse)) "
    "FROM json_each(?1) j CROSS JOIN node n ON n.key = j.value ->> 0 AND n.literal = j.value ->> 1"
)

# The most telling facts first: what kind of thing it is, then relations with few objects that many entities have.
_FACTS_OUT = (
    "WITH ranked AS (SELECT e.node, e.first, e.n, r.label, r.typing, row_number() OVER ("
    "PARTITION BY e.node ORDER BY r.typing DESC, min(e.n, 3), r.triples DESC, r.name) AS place "
    "FROM json_each(?1) j CROSS JOIN {table} e ON e.node = j.value CROSS JOIN relation r ON r.id = e.relation) "
    "SELECT k.node, k.typing, k.label, k.n, x.key, x.label FROM ranked k {join} WHERE k.place <= ?2 "
    "ORDER BY k.node, k.place"
)
_OUT_FACTS = _FACTS_OUT.format(
    table="edge_out", join="CROSS JOIN triple t ON t.id = k.first CROSS JOIN node x ON x.id = t.o"
)
_IN_FACTS = _FACTS_OUT.format(
    table="edge_in",
    join="CROSS JOIN inverse i ON i.id = k.first CROSS JOIN triple t ON t.id = i.triple "
    "CROSS JOIN node x ON x.id = t.s",
)


class Span(NamedTuple):
    """The ranges of numbers that hold a node's triples."""

    node: int
    out: range
    """Numbers of its outgoing triples."""
    back: range
    """Places of its incoming triples in `inverse`."""
    loops: list[int]
    """Places in `back` that are loops, which are among `out` already."""

    @property
    def total(self) -> int:
        """How many triples touch the node."""
        return len(self.out) + len(self.back) - len(self.loops)

    def place(self, index: int) -> tuple[bool, int]:
        """Whether the index-th triple is an outgoing one, and its number or its place in `inverse`."""
        if index < len(self.out):
            return True, self.out[index]
        at = self.back[index - len(self.out)] if not self.loops else self._past_loops(index - len(self.out))
        return False, at

    def _past_loops(self, index: int) -> int:
        # loops[i] - i is how many other places come before the i-th loop.
        first = self.back.start
        return first + index + bisect_right([loop - first - i for i, loop in enumerate(self.loops)], index)


class SqliteGraphStore:
    """A graph built by `thinkgraph kb build`, as a `GraphStore`. Nothing is written, not even beside the file.

    Safe to use from several threads at once. Close it, or use it as a context manager.
    """

    def __init__(self, path: Path | str) -> None:
        """Open `graph.sqlite`.

        Raises:
            KnowledgeError: the file is missing or of a format version that this release does not read.
            StoreError: the file is damaged or no graph.
        """
        self._file = ReadOnlyFile(Path(path), setup=schema.VOCABULARY)
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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
        numbers = [_number(one) for one in ids]
        with self._file.connection() as db:
            found = self._fetch(db, _BY_ID, (number for number in numbers if number))
        return [None if (triple := found.get(number)) is None else _copied(triple) for number in numbers]

    def relations(self, ids: Sequence[str]) -> list[list[Relation]]:
        """See `GraphStore.relations`."""
        found: dict[str, list[Relation]] = {}
        with self._file.connection() as db:
            for part in chunks(list(dict.fromkeys(ids)), _CHUNK):
                sql = " UNION ALL ".join(
                    _RELATIONS.format(direction=direction, table=table)
                    for direction, table in (("out", "edge_out"), ("in", "edge_in"))
                )
                for key, literal, name, label, direction, count in db.execute(sql, (self._keys(part),)):
                    entity = self._id(key, literal)
                    edge = Relation(entity=entity, name=name, label=label, direction=direction, count=count)
                    found.setdefault(entity, []).append(edge)
        for edges in found.values():
            edges.sort(key=lambda edge: (edge["count"], edge["name"], edge["direction"]))
        return [[edge.copy() for edge in found.get(one, ())] for one in ids]

    def neighbours(self, steps: Sequence[Step], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbours`. Reads the rows it returns and no others, whatever the hub."""
        wanted = [(step["entity"], step["relation"], step["direction"]) for step in steps]
        with self._file.connection() as db:
            ranges: dict[tuple[str, str, str], range] = {}
            for direction, table in (("out", "edge_out"), ("in", "edge_in")):
                rows = [(*self._key(e), r) for e, r, d in dict.fromkeys(wanted) if d == direction]
                for part in chunks(rows, _CHUNK):
                    for key, literal, relation, _, first, n in db.execute(
                        _STEP.format(table=table), (json_array(part),)
                    ):
                        ranges[self._id(key, literal), relation, direction] = range(first, first + n)
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
            spans = {span.node: span for span in self._spans(db, ids).values()}
            small = [s for s in spans.values() if len(s.out) <= _SMALL_DEGREE]
            large = [s for s in spans.values() if len(s.out) > _SMALL_DEGREE]
            inside = json.dumps(list(spans))
            # A hub's edges are read from the other ends where that is less to read.
            back = sum(len(s.back) for s in spans.values()) < sum(len(s.out) for s in large)
            queries = [(_AMONG_OUT, [s.node for s in (small if back else spans.values())])]
            if back and large:
                queries.append((_AMONG_BACK, [s.node for s in large]))
            numbers: set[int] = set()
            for sql, sources in queries:
                numbers.update(row[0] for row in db.execute(sql, (json.dumps(sources), inside, max(limit, 0))))
            chosen = sorted(numbers)[: max(limit, 0)]
            found = self._fetch(db, _BY_ID, chosen)
        return [found[number] for number in chosen]

    def _spans(self, db: sqlite3.Connection, ids: Iterable[str]) -> dict[str, Span]:
        found: dict[str, Span] = {}
        for part in chunks(list(dict.fromkeys(ids)), _CHUNK):
            for node, key, literal, out, outs, back, backs, loops in db.execute(_SPAN, (self._keys(part),)):
                found[self._id(key, literal)] = Span(
                    node,
                    range(out or 0, (out or 0) + outs),
                    range(back or 0, (back or 0) + backs),
                    json.loads(loops),
                )
        return found

    def _picked(
        self, db: sqlite3.Connection, picks: Sequence[Sequence[tuple[bool, int]]], totals: Sequence[int]
    ) -> list[Neighbours]:
        out = self._fetch(db, _BY_ID, {place for pick in picks for forward, place in pick if forward})
        back = self._fetch(db, _BY_INVERSE, {place for pick in picks for forward, place in pick if not forward})
        return [
            {"triples": [_copied((out if forward else back)[place]) for forward, place in pick], "total": total}
            for pick, total in zip(picks, totals, strict=True)
        ]

    def _fetch(self, db: sqlite3.Connection, sql: str, numbers: Iterable[int]) -> dict[int | None, Triple]:
        found: dict[int | None, Triple] = {}
        for part in chunks(sorted(set(numbers)), _CHUNK):
            for asked, number, *ends, pairs in db.execute(sql, (json.dumps(part),)):
                s, s_literal, s_label, relation, relation_label, o, o_literal, o_label = ends
                found[asked] = {
                    "id": f"t{number}",
                    "subject": self._id(s, s_literal),
                    "relation": relation,
                    "object": self._id(o, o_literal),
                    "subject_label": s_label or _label(s, s_literal),
                    "relation_label": relation_label,
                    "object_label": o_label or _label(o, o_literal),
                    "literal": bool(o_literal),
                    "qualifiers": json.loads(pairs) if pairs else [],
                }
        return found

    def _matches(self, db: sqlite3.Connection, found: Sequence[Sequence[names.Found]]) -> list[list[Match]]:
        nodes = {hit.node for hits in found for hit in hits}
        rows = db.execute(
            "SELECT n.id, n.key, n.literal, n.label, n.type, n.description "
            "FROM json_each(?1) j CROSS JOIN node n ON n.id = j.value",
            (json.dumps(sorted(nodes)),),
        ).fetchall()
        entities = self._entities(db, rows)
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
        """Type and description of each node, made from at most three of its own triples."""
        types: dict[int, str] = {}
        texts: dict[int, list[str]] = {}
        for sql, shape in ((_OUT_FACTS, "{relation}: {end}"), (_IN_FACTS, "{relation} of {end}")):
            missing = [node for node in nodes if node not in texts]
            for node, typing, relation, count, key, label in db.execute(sql, (json.dumps(missing), _FACTS)):
                end = label or key_label(key)
                if typing > 0 and sql is _OUT_FACTS:
                    types.setdefault(node, end)
                    shown = end
                else:
                    shown = shape.format(relation=relation, end=end) + (" …" if count > 1 else "")
                texts.setdefault(node, []).append(shown)
        return {node: (types.get(node, ""), _shortened("; ".join(parts))) for node, parts in texts.items()}

    def _id(self, key: str, literal: int) -> str:
        return self._prefix + key if literal else key

    def _key(self, public: str) -> tuple[str, int]:
        return (public[len(self._prefix) :], 1) if public.startswith(self._prefix) else (public, 0)

    def _keys(self, ids: Iterable[str]) -> str:
        return json_array(self._key(one) for one in ids)


_AMONG_OUT = (
    "SELECT t.id FROM json_each(?1) j CROSS JOIN triple t "
    "ON t.id >= (SELECT min(first) FROM edge_out WHERE node = j.value) "
    "AND t.id < (SELECT max(first + n) FROM edge_out WHERE node = j.value) "
    "WHERE t.o IN (SELECT value FROM json_each(?2)) ORDER BY t.id LIMIT ?3"
)
_AMONG_BACK = (
    "SELECT t.id FROM json_each(?2) j CROSS JOIN inverse i "
    "ON i.id >= (SELECT min(first) FROM edge_in WHERE node = j.value) "
    "AND i.id < (SELECT max(first + n) FROM edge_in WHERE node = j.value) "
    "CROSS JOIN triple t ON t.id = i.triple WHERE t.s IN (SELECT value FROM json_each(?1)) ORDER BY t.id LIMIT ?3"
)


def _number(triple: str) -> int | None:
    """The number in a triple's id; None for what cannot be one."""
    digits = triple[1:]
    # Written back, because "t01" is no id though Python would read it as a number.
    if triple[:1] != "t" or not digits.isdecimal() or len(digits) > 18 or str(int(digits)) != digits:  # noqa: PLR2004
        return None
    return int(digits)


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
