"""Reads edges and stretches of triples from the sorted arrays of `graph.sqlite` (see `graph_schema`)."""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from thinkgraph.state.knowledge import Direction
from thinkgraph.tools.sqlite.file import chunks
from thinkgraph.tools.sqlite.pages import PagedArray

TRIPLES = PagedArray("triple")
QUALIFIED = PagedArray("qualified", sparse=True)
INVERSE = PagedArray("inverse")

_SPANS = PagedArray("span")
_EDGES: Mapping[Direction, PagedArray] = {"out": PagedArray("edge_out"), "in": PagedArray("edge_in")}
_LOOPS = (
    "SELECT l.node, l.inverse FROM json_each(?1) j CROSS JOIN loop l ON l.node = j.value ORDER BY l.node, l.inverse"
)
_CHUNK = 20_000


class Edge(NamedTuple):
    """The triples of a node along one relation."""

    relation: int
    first: int
    """Place of the first of them, in `triple` or in `inverse`."""
    number: int
    """How many they are."""


class Span(NamedTuple):
    """Where a node's triples are."""

    out: range
    """Places of its outgoing triples."""
    back: range
    """Places of its incoming triples in `inverse`."""
    loops: list[int]
    """Places in `back` that are loops, which are among `out` already."""

    @property
    def total(self) -> int:
        """How many triples touch the node."""
        return len(self.out) + len(self.back) - len(self.loops)

    def place(self, index: int) -> tuple[bool, int]:
        """Whether the index-th triple is an outgoing one, and its place in `triple` or in `inverse`."""
        if index < len(self.out):
            return True, self.out[index]
        at = self.back[index - len(self.out)] if not self.loops else self._past_loops(index - len(self.out))
        return False, at

    def _past_loops(self, index: int) -> int:
        # loops[i] - i is how many other places come before the i-th loop.
        first = self.back.start
        return first + index + bisect_right([loop - first - i for i, loop in enumerate(self.loops)], index)


def edges_of(
    db: sqlite3.Connection, nodes: Sequence[int], directions: Iterable[Direction] = ("out", "in")
) -> dict[Direction, dict[int, list[Edge]]]:
    """The edges of each node by direction, in the order of the relations' numbers; none for a node without."""
    spans = _SPANS.at(db, (place for node in nodes for place in (node, node + 1)))
    found: dict[Direction, dict[int, list[Edge]]] = {}
    for direction in directions:
        side = 0 if direction == "out" else 1
        linked = [node for node in nodes if spans[node][side] < spans[node + 1][side]]
        # With the first place of what follows, where the last edge ends.
        wanted = [range(spans[node][side], spans[node + 1][side] + 1) for node in linked]
        flat: dict[int, list[int]] = {}
        for number, _, numbers in _EDGES[direction].stretches(db, wanted):
            flat.setdefault(linked[number], []).extend(numbers)
        found[direction] = {
            node: [
                Edge(relation, first, end - first)
                for relation, first, end in zip(one[:-2:2], one[1:-1:2], one[3::2], strict=True)
            ]
            for node, one in flat.items()
        }
    return found


def spans_of(db: sqlite3.Connection, nodes: Sequence[int]) -> dict[int, Span]:
    """Where the triples of each node are."""
    spans = _SPANS.at(db, (place for node in nodes for place in (node, node + 1)))
    firsts = []
    for side, array in enumerate(_EDGES.values()):
        entries = array.at(db, {spans[place][side] for node in nodes for place in (node, node + 1)})
        firsts.append({place: first for place, (_, first) in entries.items()})
    out, back = firsts
    loops: dict[int, list[int]] = {}
    for part in chunks(nodes, _CHUNK):
        for node, place in db.execute(_LOOPS, (json.dumps(part),)):
            loops.setdefault(node, []).append(place)
    return {
        node: Span(
            range(out[spans[node][0]], out[spans[node + 1][0]]),
            range(back[spans[node][1]], back[spans[node + 1][1]]),
            loops.get(node, []),
        )
        for node in nodes
    }


def places_between(db: sqlite3.Connection, spans: Mapping[int, Span], *, small: int) -> list[int]:
    """Places of the triples both whose ends are among the nodes, in order. Subjects with more than `small` outgoing
    triples are read from the other ends where that is less to read.
    """
    large = [span.out for span in spans.values() if len(span.out) > small]
    back = sum(len(span.back) for span in spans.values()) < sum(map(len, large))
    scanned = [span.out for span in spans.values() if not back or len(span.out) <= small]
    found: list[int] = []
    for _, first, numbers in TRIPLES.stretches(db, scanned):
        found += [first + i for i, node in enumerate(numbers[2::3].tolist()) if node in spans]
    if back:
        large.sort(key=lambda out: out.start)
        starts = [out.start for out in large]
        for _, _, numbers in INVERSE.stretches(db, [span.back for span in spans.values()]):
            found += [place for place in numbers if (i := bisect_right(starts, place)) and place in large[i - 1]]
    return sorted(found)
