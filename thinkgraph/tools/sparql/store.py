"""A SPARQL 1.1 endpoint as a `GraphStore`."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from cachetools import TTLCache

from thinkgraph.errors import StoreError
from thinkgraph.state.knowledge import Direction, Entity, GraphInfo, Match, Neighbours, Relation, Step, Triple, copied
from thinkgraph.tools.kb_files import json_hash
from thinkgraph.tools.linking.names import normal_name
from thinkgraph.tools.protocols import Closing
from thinkgraph.tools.sparql import queries
from thinkgraph.tools.sparql.describing import Describer
from thinkgraph.tools.sparql.endpoint import Endpoint, Row, item_in, node_in, number_in, rows_of
from thinkgraph.tools.sparql.http import Bindings, RequestPolicy, SlowError, SparqlClient
from thinkgraph.tools.sparql.names import Hit, NameFinder
from thinkgraph.tools.sparql.profiles import PROFILES, Profile
from thinkgraph.tools.sparql.terms import RdfTerm
from thinkgraph.tools.sparql.triples import Raw, TripleReader, raw_of

T = TypeVar("T", bound=Hashable)

UNKNOWN = -1
"""Stands for a count that was not asked for."""

_PAIRED = 1_000
"""Nodes on either side of one request for the edges between them."""
_COUNTED, _SECONDS = 20_000, 600.0
_BOTH: tuple[Direction, ...] = ("out", "in")

Key = tuple[str, str, str]
"""Entity, relation and direction of a step."""
Edges = tuple[dict[tuple[str, Direction], int], bool]
"""Counts by relation's IRI and direction, and whether the bound cut them."""


class SparqlGraphStore(Closing):
    """Reads a SPARQL endpoint, and nothing but SELECT queries ever goes there.

    One call of the protocol is one logical round trip; long lists go in several requests (`batch`), long answers come in
    pages (`page`). Triples with a blank node are left out, because a blank node cannot be asked about again; so are those with
    an IRI or a text that cannot stand in a query, and literals longer than `literal_length`. Labels are cached for an hour and counts for ten minutes.

    With `bound`, at most that many incoming triples of a node (or of a step backwards) are read: larger counts are lower
    bounds, and samples of hubs are drawn from the first triples in the server's order. Without it everything is exact, but
    a public server may refuse to count a hub of millions.
    """

    def __init__(
        self,
        url: str,
        *,
        profile: str | Profile = "rdf",
        policy: RequestPolicy | None = None,
        login: tuple[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
        batch: int = 300,
        page: int = 5_000,
        version: str = "",
        name: str = "",
        **changes: Any,
    ) -> None:
        """Set the store up. No request is sent yet.

        Args:
            url: its address, http or https.
            profile: how its graph is written: wikidata, dbpedia, freebase, rdf, or one of your own.
            policy: timeout, retries, rate, user agent.
            login: user and password.
            parameters: further form fields of every request.
            batch: rows sent in one request.
            page: rows expected in one answer.
            version: part of the fingerprint; change it when the data changed.
            name: for people; by default host and path.
            changes: fields of `Profile` that are otherwise here: `languages`, `names`, `search`, `counts`, `bound` …
        """
        found = PROFILES[profile] if isinstance(profile, str) else profile
        self.profile = found = dataclasses.replace(found, **changes)
        self._client = SparqlClient(url, policy or RequestPolicy(), login=login, parameters=parameters)
        self._endpoint = Endpoint(self._client, found, batch=batch, page=page)
        self._ids = self._endpoint.ids
        self._describer = Describer(self._endpoint)
        self._reader = TripleReader(self._endpoint, self._describer)
        self._finder = NameFinder(self._endpoint, self._describer, lambda: self.info()["fingerprint"])
        self._edges: TTLCache[str, Edges] = TTLCache(_COUNTED, _SECONDS)
        self._name = name or url.split("://", 1)[-1].rpartition("@")[2].partition("?")[0]
        self._settings = [url.partition("#")[0], found.name, found.languages, found.bound, found.literal_length]
        self._settings += [found.statements and found.qualifiers, sorted((parameters or {}).items()), version]
        self._lock, self._edges_lock = threading.Lock(), threading.Lock()
        self._info: GraphInfo | None = None

    def close(self) -> None:
        """End the connections; later calls raise `StoreError`."""
        self._client.close()
        self._finder.close()

    @property
    def notes(self) -> list[str]:
        """What this endpoint cannot do, in one line each."""
        found = self._finder.notes()
        if self._info and not self._info["triples"]:
            beside = " beside names" if self.profile.counts == "all" else ""
            found.append(
                f"the endpoint's default graph holds no triples{beside}: if named graphs do, have the server read them as one, "
                "or name one (x-default-graph-uri=)"
            )
        elif self.profile.counts != "all":
            found.append("the endpoint's graph is not counted (counts=yes asks for it)")
        if bound := self.profile.bound:
            found.append(f"counts and samples of hubs look at {bound:,} incoming triples at most (bound=)")
        return found

    # ---- info -----------------------------------------------------------------------------------------------------

    def info(self) -> GraphInfo:
        """Name, fingerprint and counts, asked for once. Counts that were not asked for are -1.

        The fingerprint is a hash of address, profile, options and counts. A change of the data that changes no count does
        not change it (`version` does).
        """
        with self._lock:
            if self._info is None:
                self._info = self._asked_info()
            return self._info.copy()

    def _asked_info(self) -> GraphInfo:
        asked = self.profile.counts
        # Something is asked even if nothing is counted, so that a wrong address is found now.
        counting = {"all": queries.TOTALS, "total": [queries.TOTAL], "none": [queries.REACHABLE]}[asked]
        try:
            rows = [self._endpoint.select(query) for query in counting]
        except SlowError as error:
            raise SlowError(f"{error}; if it is too large to be counted, open it with counts=no") from None
        if any(len(one) != 1 for one in rows):
            raise StoreError(f"the SPARQL endpoint {self._name} does not count its triples; open it with counts=no")
        found = [number_in(row, name) for (row,) in rows for name in ("n", "r") if name in row]
        # The total of all triples tells no number of these, unless there are none.
        told = found if asked == "all" else [0] * 4 if found == [0] else []
        counts = dict(zip(("triples", "relations", "literals", "entities"), told, strict=False))
        return {
            "name": self._name,
            "fingerprint": json_hash([self._settings, asked, found]),
            "entities": counts.get("entities", UNKNOWN),
            "literals": counts.get("literals", UNKNOWN),
            "triples": counts.get("triples", UNKNOWN),
            "relations": counts.get("relations", UNKNOWN),
        }

    # ---- names ----------------------------------------------------------------------------------------------------

    def lookup(self, names: Sequence[str], *, limit: int = 10) -> list[list[Match]]:
        """See `GraphStore.lookup`. An entity's id finds it as an alias does.

        If the server looks names up, a name is found as written, in lower and upper case, with a capital, and as a title.
        The triples of namesakes are counted as the profile says (on Wikidata, their own statements).
        """
        limit = max(limit, 0)
        found = self._finder.find(names, limit)
        degrees = self._degrees(sorted({id_ for hits in found.values() if len(hits) > 1 for id_ in hits}))
        chosen: dict[str, list[Hit]] = {}
        for name, hits in found.items():
            rows = sorted(hits.items(), key=lambda hit: (hit[1][0] != "exact", -degrees.get(hit[0], 0), hit[0]))
            chosen[name] = [(id_, text, method, 1.0) for id_, (method, text) in rows[:limit]]
        return self._matches([chosen.get(normal_name(name), []) for name in names])

    def search(self, texts: Sequence[str], *, limit: int = 10, fuzzy: bool = False) -> list[list[Match]]:
        """See `GraphStore.search`. A server that looks names up uses its full-text search, if it has one, and finds nothing
        by similar spelling (see `notes`).
        """
        if not texts or limit < 1:
            return [[] for _ in texts]
        return self._matches(self._finder.search(texts, limit, fuzzy=fuzzy))

    def _matches(self, hits: Sequence[Sequence[Hit]]) -> list[list[Match]]:
        """The hits with their entities, without those that do not exist."""
        ids = dict.fromkeys(hit[0] for found in hits for hit in found)
        entities = {one["id"]: one for one in self.entities(list(ids)) if one}
        return [
            [
                {"entity": entity.copy(), "name": name or entity["label"], "method": method, "score": score}
                for id_, name, method, score in found
                if (entity := entities.get(id_))
            ]
            for found in hits
        ]

    def _degrees(self, ids: Sequence[str]) -> dict[str, int]:
        """The number of triples or statements of each entity, by which namesakes are ordered."""
        nodes = {id_: node for id_, node in self._nodes(ids).items() if not node.literal}
        if not self.profile.bound and not self.profile.degree:
            return {id_: sum(edges.values()) for id_, (edges, _) in self._edges_of(nodes).items()}
        query = queries.TOLD_DEGREES if self.profile.degree else queries.DEGREES
        return self._counted(query, list(nodes), rows_of(nodes.values()))

    def _counted(self, query: str, keys: Sequence[T], rows: Sequence[Row]) -> dict[T, int]:
        """What a query counts (?n) for each key."""
        return {item_in(row, keys): number_in(row, "n") for row in self._endpoint.select_all(query, rows)}

    # ---- nodes ----------------------------------------------------------------------------------------------------

    def _nodes(self, ids: Sequence[str]) -> dict[str, RdfTerm]:
        """The nodes of the ids that the store writes so."""
        return {id_: node for id_ in dict.fromkeys(ids) if (node := self._ids.node(id_))}

    def _known(self, query: str, keys: Sequence[str], rows: Sequence[Row]) -> list[str]:
        """The keys that a query about their rows finds."""
        return [item_in(row, keys) for row in self._endpoint.select_all(query, rows)]

    def entities(self, ids: Sequence[str]) -> list[Entity | None]:
        """See `GraphStore.entities`. The type is the label of a class, the description the endpoint's own."""
        nodes = self._nodes(ids)
        known = self._known(queries.KNOWN, list(nodes), rows_of(nodes.values()))
        facts = self._describer.facts(nodes[key].value for key in known if not nodes[key].literal)
        found: dict[str, Entity] = {}
        for key in known:
            node = nodes[key]
            if node.literal:
                kind = node.datatype.rpartition("#")[2].rpartition("/")[2]
                label, description = self._describer.literal_label(node), ""
            else:
                label, kind, description = facts[node.value]
            found[key] = {"id": key, "label": label, "type": kind, "description": description, "literal": node.literal}
        return [entity.copy() if (entity := found.get(id_)) else None for id_ in ids]

    def relations(self, ids: Sequence[str]) -> list[list[Relation]]:
        """See `GraphStore.relations`. Two requests at most, however large the hubs are, and one for labels."""
        edges = self._edges_of(self._nodes(ids))
        names = {one: self._ids.relation_name(one) for counts, _ in edges.values() for one, _ in counts}
        labels = self._describer.relation_labels(names)
        found: dict[str, list[Relation]] = {}
        for id_, (counts, _) in edges.items():
            rows: list[Relation] = [
                {"entity": id_, "name": names[one], "label": labels[one], "direction": direction, "count": count}
                for (one, direction), count in counts.items()
            ]
            found[id_] = sorted(rows, key=lambda row: (row["count"], row["name"], row["direction"]))
        return [[row.copy() for row in found.get(id_, ())] for id_ in ids]

    def _edges_of(self, nodes: Mapping[str, RdfTerm]) -> dict[str, Edges]:
        """The counts of all edges of each node."""
        found = self._cached_edges(nodes)
        asked = {id_: node for id_, node in nodes.items() if id_ not in found}
        counts: list[dict[tuple[str, Direction], int]] = [{} for _ in asked]
        rows = rows_of(asked.values())
        for direction in _BOTH:
            subjects = [row for row, node in zip(rows, asked.values(), strict=True) if not node.literal]
            query = queries.RELATIONS[self._way(direction)]
            for row in self._endpoint.select_all(query, subjects if direction == "out" else rows):
                if relation := node_in(row, "p"):
                    item_in(row, counts)[relation.value, direction] = number_in(row, "n")
        bound = self.profile.bound
        for id_, one in zip(asked, counts, strict=True):
            found[id_] = one, 0 < bound <= sum(n for (_, direction), n in one.items() if direction == "in")
        with self._edges_lock:
            self._edges.update({id_: found[id_] for id_ in asked})
        return found

    def _cached_edges(self, ids: Iterable[str]) -> dict[str, Edges]:
        with self._edges_lock:
            return {id_: edges for id_ in ids if (edges := self._edges.get(id_))}

    def _way(self, direction: Direction) -> str:
        """How triples are counted in a direction."""
        return "bounded" if direction == "in" and self.profile.bound else direction

    # ---- triples --------------------------------------------------------------------------------------------------

    def neighbours(self, steps: Sequence[Step], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbours`. A hub's triples are counted, not fetched. The server draws the sample, in the order
        of a hash of seed and triple.
        """
        wanted = [(step["entity"], step["relation"], step["direction"]) for step in steps]
        parsed: dict[Key, tuple[Direction, RdfTerm, RdfTerm]] = {}
        for key in wanted:
            id_, name, direction = key
            node, relation = self._ids.node(id_), self._ids.relation(name)
            if node and relation and self.profile.is_relation(relation) and not (node.literal and direction == "out"):
                parsed[key] = direction, node, RdfTerm(relation)
        return self._read(wanted, parsed, self._totals(parsed), limit, seed)

    def _totals(self, steps: Mapping[Key, tuple[Direction, RdfTerm, RdfTerm]]) -> dict[Key, int]:
        """The number of triples of each step, from the cached counts or from the server."""
        edges = self._cached_edges(key[0] for key in steps)
        found = dict.fromkeys(steps, 0)
        for direction in _BOTH:
            asked = []
            for key in (key for key in steps if steps[key][0] == direction):
                counts, cut = edges.get(key[0], ({}, True))
                if not cut or (direction == "out" and key[0] in edges):
                    found[key] = counts.get((steps[key][2].value, direction), 0)
                else:
                    asked.append(key)
            rows = [Row.of(i, *steps[key][1:]) for i, key in enumerate(asked)]
            found |= self._counted(queries.STEP_COUNTS[self._way(direction)], asked, rows)
        return found

    def neighbourhood(self, ids: Sequence[str], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbourhood`. Sampled as in `neighbours`."""
        nodes = self._nodes(ids)
        edges = self._edges_of(nodes)
        # A triple from a node to itself is counted twice. Only relations in both directions can have any.
        looped = [
            id_
            for id_, (counts, _) in edges.items()
            if any((relation, "in") in counts for relation, direction in counts if direction == "out")
        ]
        loops = self._counted(queries.LOOPS, looped, rows_of(nodes[id_] for id_ in looped))
        totals = {id_: sum(edges[id_][0].values()) - loops.get(id_, 0) for id_ in nodes}
        kinds = {id_: ("onto" if node.literal else "around", node) for id_, node in nodes.items()}
        return self._read(ids, kinds, totals, limit, seed)

    def _read(
        self,
        wanted: Sequence[T],
        asked: Mapping[T, tuple[str, *tuple[RdfTerm, ...]]],
        totals: Mapping[T, int],
        limit: int,
        seed: int,
    ) -> list[Neighbours]:
        """The triples, at most `limit`, of each key whose kind of query and terms are in `asked`."""
        limit = max(limit, 0)
        raws: dict[int, list[Raw]] = {}
        rows: dict[str, list[Row]] = {}
        for number, (key, (kind, *nodes)) in enumerate(asked.items()):
            rows.setdefault(kind, []).append(Row.of(number, *nodes, weight=totals[key]))
        for kind, some in rows.items():
            raws |= self._reader.read(kind, some, limit, seed)
        shown = self._reader.shown(one for found in raws.values() for one in found)
        numbers = {key: number for number, key in enumerate(asked)}
        out: list[Neighbours] = []
        for key in wanted:
            found = sorted(set(raws.get(numbers.get(key, -1), ())), key=self._reader.order)
            total = totals.get(key, 0)
            # The graph may have changed since it was counted.
            total = total if total > limit else len(found)
            out.append({"triples": [copied(shown[one]) for one in found[:limit]], "total": total})
        return out

    def triples(self, ids: Sequence[str]) -> list[Triple | None]:
        """See `GraphStore.triples`. A triple's id is its subject, relation and object."""
        parsed = {id_: raw for id_ in dict.fromkeys(ids) if (raw := self._reader.parsed(id_))}
        rows = [Row.of(i, *raw) for i, raw in enumerate(parsed.values())]
        found = self._reader.shown(parsed[id_] for id_ in self._known(queries.EXACT, list(parsed), rows))
        return [copied(found[raw]) if (raw := parsed.get(id_)) and raw in found else None for id_ in ids]

    def edges_among(self, ids: Sequence[str], *, limit: int = 10_000) -> list[Triple]:
        """See `GraphStore.edges_among`. In the order of the ids of triples."""
        nodes = list(self._nodes(ids).values()) if limit > 0 else []
        objects = rows_of(nodes)
        # One request has both; subjects have negative numbers.
        subjects = [
            row._replace(number=~row.number) for row, node in zip(objects, nodes, strict=True) if not node.literal
        ]

        def between(part: Sequence[Row]) -> list[Bindings]:
            ends = [" ".join(row.terms[0] for row in part if (row.number < 0) == own) for own in (True, False)]
            if not all(ends):
                return []
            query = self._endpoint.fill(queries.AMONG, subjects=ends[0], objects=ends[1])
            return list(self._endpoint.pages(query, most=limit, small=True))

        raws: set[Raw] = set()
        for theirs in self._endpoint.batches(objects, _PAIRED):
            for own in self._endpoint.batches(subjects, _PAIRED):
                raws.update(filter(None, map(raw_of, self._endpoint.select_accepted([*own, *theirs], between))))
        chosen = sorted(raws, key=self._reader.order)[:limit]
        found = self._reader.shown(chosen)
        return [copied(found[one]) for one in chosen]
