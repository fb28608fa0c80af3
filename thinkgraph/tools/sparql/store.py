"""A SPARQL 1.1 endpoint as a `GraphStore`."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import NamedTuple

from cachetools import TTLCache

from thinkgraph.errors import StoreError
from thinkgraph.state.knowledge import Direction, Entity, GraphInfo, Match, Neighbours, Relation, Step, Triple
from thinkgraph.tools.sparql.batches import BatchedClient, ValuesRow, item_in, node_in, number_in
from thinkgraph.tools.sparql.describing import Describer
from thinkgraph.tools.sparql.http import Bindings, RequestPolicy, SlowError, SparqlClient
from thinkgraph.tools.sparql.names import NameFinder
from thinkgraph.tools.sparql.profiles import PROFILES, Counts, Names, Profile, Search
from thinkgraph.tools.sparql.queries import TOTAL, Queries, values
from thinkgraph.tools.sparql.terms import RdfIds, RdfTerm, iri, strict_iri
from thinkgraph.tools.sparql.triples import Raw, TripleReader, raw_of

UNKNOWN = -1
"""Stands for a count that was not asked for."""

_PAIRED = 1_000
"""Nodes on either side of one request for the edges between them."""
_HUBS = 25
"""Nodes in one request that counts incoming triples up to a bound."""
_COUNTED, _SECONDS = 20_000, 600.0

Key = tuple[str, str, str]
Edges = tuple[dict[tuple[str, Direction], int], bool]
"""Counts by relation's IRI and direction, and whether the bound cut them."""


class _Step(NamedTuple):
    number: int
    node: RdfTerm
    relation: str
    out: bool

    @property
    def terms(self) -> tuple[str, str]:
        return self.node.term(), iri(self.relation)

    @property
    def strict(self) -> bool:
        return self.node.strict and strict_iri(self.relation)


class SparqlGraphStore(AbstractContextManager["SparqlGraphStore"]):
    """Reads a SPARQL endpoint, and nothing but SELECT queries ever goes there.

    One call of the protocol is one logical round trip; long lists go in several requests (`batch`), long answers come in
    pages (`page`). Triples with a blank node are left out, because a blank node cannot be asked about again; so are literals
    longer than `literal_length`. Labels are cached for an hour and counts for ten minutes.

    With `bound`, at most that many incoming triples of a node (or of a step backwards) are read: larger counts are lower
    bounds, and samples of hubs are drawn from the first triples in the server's order. Without it everything is exact, but
    a public server may refuse to count a hub of millions.
    """

    def __init__(
        self,
        url: str,
        *,
        profile: str | Profile = "rdf",
        languages: Sequence[str] = (),
        policy: RequestPolicy | None = None,
        login: tuple[str, str] | None = None,
        parameters: Mapping[str, str] | None = None,
        names: Names | None = None,
        search: Search | None = None,
        statements: bool | None = None,
        counts: Counts | None = None,
        bound: int | None = None,
        batch: int = 300,
        page: int = 5_000,
        literal_length: int = 2_000,
        max_names: int = 2_000_000,
        version: str = "",
        name: str = "",
    ) -> None:
        """Set the store up. No request is sent yet.

        Args:
            url: its address, http or https.
            profile: how its graph is written: wikidata, dbpedia, freebase, rdf, or one of your own.
            languages: of labels and descriptions, the best first (by default the profile's).
            policy: timeout, retries, rate, user agent.
            login: user and password.
            parameters: further form fields of every request.
            names: where names are looked up: in an index of all names in the user's cache (local), or by the server
                (server). A server has no index that ignores case, so usual spellings are tried.
            search: the server's full-text search, where names are looked up by the server.
            statements: whether to ask for qualifiers, precisions and units (Wikidata).
            counts: what is counted for `info` and the fingerprint: all (which reads the whole graph), the total of the
                endpoint's triples (which most servers know), or none.
            bound: the most incoming triples of a node that are read; 0: all.
            batch: rows sent in one request.
            page: rows expected in one answer.
            literal_length: the most characters of a literal that is a value.
            max_names: the most names in a local index.
            version: part of the fingerprint; change it when the data changed.
            name: for people; by default host and path.
        """
        found = PROFILES[profile] if isinstance(profile, str) else profile
        self.profile = found
        self._client = SparqlClient(url, policy or RequestPolicy(), login=login, parameters=parameters)
        self._batched = BatchedClient(self._client, batch=batch, page=page)
        self._queries = Queries(found, tuple(languages) or found.languages, literal_length)
        self._describer = Describer(self._batched, self._queries, found)
        self._ids = RdfIds(found.node_forms, found.relation_forms)
        with_details = found.statements if statements is None else statements and found.statements
        self._reader = TripleReader(
            self._batched, self._queries, self._describer, self._ids, found, statements=with_details
        )
        self._bound = found.bound if bound is None else bound
        self._count = found.counts if counts is None else counts
        self._edges: TTLCache[str, Edges] = TTLCache(_COUNTED, _SECONDS)
        self._name = name or url.split("://", 1)[-1].rpartition("@")[2].partition("?")[0]
        settings = [
            url.partition("#")[0],
            found.name,
            self._queries.languages,
            self._bound,
            literal_length,
            with_details,
        ]
        self._settings = [*settings, sorted((parameters or {}).items()), version]
        self._lock, self._edges_lock = threading.Lock(), threading.Lock()
        self._info: GraphInfo | None = None
        self._finder = NameFinder(
            self._batched,
            self._queries,
            found,
            self._ids,
            where=found.names if names is None else names,
            search=found.search if search is None else search,
            max_names=max_names,
            entities=self.entities,
            degrees=self.degrees,
            any_labels=self._describer.any_labels,
            version=lambda: self.info()["fingerprint"],
        )

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connections; later calls raise `StoreError`."""
        self._client.close()
        self._finder.close()

    @property
    def requests(self) -> int:
        """HTTP requests sent so far."""
        return self._client.requests

    @property
    def notes(self) -> list[str]:
        """What this endpoint cannot do, in one line each."""
        found = self._finder.notes()
        if self._count != "all":
            found.append("the endpoint's graph is not counted (counts=yes asks for it)")
        if self._bound:
            found.append(f"counts and samples of hubs look at {self._bound:,} incoming triples at most (bound=)")
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
        queries = {"all": self._queries.totals(), "total": [TOTAL], "none": ["SELECT (1 AS ?n) {}"]}[self._count]
        try:
            # Something is asked even if nothing is counted, so that a wrong address is found now.
            rows = [self._batched.select(query) for query in queries]
        except SlowError as error:
            raise SlowError(f"{error}; if it is too large to be counted, open it with counts=no") from None
        if any(len(one) != 1 for one in rows):
            raise StoreError(f"the SPARQL endpoint {self._name} does not count its triples; open it with counts=no")
        found = [number_in(row, name) for (row,) in rows for name in ("n", "r") if name in row]
        counts = dict(zip(("triples", "relations", "literals", "entities"), found, strict=False))
        if self._count != "all":
            counts = {}
        mixed = json.dumps([self._settings, self._count, found])
        return {
            "name": self._name,
            "fingerprint": hashlib.blake2b(mixed.encode(), digest_size=16).hexdigest(),
            "entities": counts.get("entities", UNKNOWN),
            "literals": counts.get("literals", UNKNOWN),
            "triples": counts.get("triples", UNKNOWN),
            "relations": counts.get("relations", UNKNOWN),
        }

    # ---- names ----------------------------------------------------------------------------------------------------

    def lookup(self, names: Sequence[str], *, limit: int = 10) -> list[list[Match]]:
        """See `GraphStore.lookup`. An entity's id, or its IRI, finds it as an alias does.

        If the server looks names up, a name is found as written, in lower and upper case, with a capital, and as a title.
        The triples of namesakes are counted as the profile says (on Wikidata, their own statements).
        """
        return self._finder.lookup(names, limit)

    def search(self, texts: Sequence[str], *, limit: int = 10, fuzzy: bool = False) -> list[list[Match]]:
        """See `GraphStore.search`. A server that looks names up uses its full-text search, if it has one, and finds nothing
        by similar spelling (see `notes`).
        """
        return self._finder.search(texts, limit, fuzzy=fuzzy)

    def degrees(self, ids: Sequence[str]) -> dict[str, int]:
        """The number of triples or statements of each entity, by which namesakes are ordered."""
        nodes = {id_: node for id_ in ids if (node := self._ids.node(id_)) and not node.literal}
        if not self._bound and not self.profile.degree:
            return {id_: sum(edges.values()) for id_, (edges, _) in self._edges_of(nodes).items()}
        keys = list(nodes)
        rows = [ValuesRow(i, (nodes[key].term(),), nodes[key].strict) for i, key in enumerate(keys)]
        found = dict.fromkeys(keys, 0)
        for row in self._batched.select_all(rows, lambda part: self._queries.degrees(_values("?i ?s", part))):
            found[item_in(row, keys)] = number_in(row, "n")
        return found

    # ---- nodes ----------------------------------------------------------------------------------------------------

    def entities(self, ids: Sequence[str]) -> list[Entity | None]:
        """See `GraphStore.entities`. The type is the label of a class, the description the endpoint's own."""
        nodes = {id_: node for id_ in dict.fromkeys(ids) if (node := self._ids.node(id_))}
        keys = list(nodes)
        rows = [ValuesRow(i, (nodes[key].term(),), nodes[key].strict) for i, key in enumerate(keys)]
        known = [
            item_in(row, keys)
            for row in self._batched.select_all(rows, lambda part: self._queries.known(_values("?i ?e", part)))
        ]
        facts = self._describer.facts(nodes[key].value for key in known if not nodes[key].literal)
        labels = self._describer.labels(facts)
        found: dict[str, Entity] = {}
        for key in known:
            node = nodes[key]
            if node.literal:
                label, kind, description = self._describer.literal_label(node), _local(node.datatype), ""
            else:
                _, kind, description = facts[node.value]
                label = labels[node.value]
            found[key] = {"id": key, "label": label, "type": kind, "description": description, "literal": node.literal}
        return [entity.copy() if (entity := found.get(id_)) else None for id_ in ids]

    def relations(self, ids: Sequence[str]) -> list[list[Relation]]:
        """See `GraphStore.relations`. Two requests at most, however large the hubs are, and one for labels."""
        nodes = {id_: node for id_ in dict.fromkeys(ids) if (node := self._ids.node(id_))}
        edges = self._edges_of(nodes)
        names = {one: self._ids.relation_name(one) for counts, _ in edges.values() for one, _ in counts}
        labels = self._describer.relation_labels(names, names)
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
        asked = [(id_, node) for id_, node in nodes.items() if id_ not in found]
        counts: list[dict[tuple[str, Direction], int]] = [{} for _ in asked]

        def take(rows: Iterable[Bindings], direction: Direction) -> None:
            for row in rows:
                if relation := node_in(row, "p"):
                    item_in(row, counts)[relation.value, direction] = number_in(row, "n")

        rows = [ValuesRow(i, (node.term(),), node.strict) for i, (_, node) in enumerate(asked)]
        out = [row for row, (_, node) in zip(rows, asked, strict=True) if not node.literal]
        queries, bound = self._queries, self._bound
        take(self._batched.select_all(out, lambda part: queries.relations_out(_values("?i ?s", part))), "out")
        if bound:
            take(
                self._batched.select_all(rows, partial(queries.relations_in_bounded, bound=bound), batch=_HUBS),
                "in",
            )
        else:
            take(self._batched.select_all(rows, lambda part: queries.relations_in(_values("?i ?o", part))), "in")
        for (id_, _), one in zip(asked, counts, strict=True):
            cut = bool(bound) and sum(n for (_, direction), n in one.items() if direction == "in") >= bound
            found[id_] = one, cut
        with self._edges_lock:
            self._edges.update({id_: found[id_] for id_, _ in asked})
        return found

    def _cached_edges(self, ids: Iterable[str]) -> dict[str, Edges]:
        with self._edges_lock:
            return {id_: edges for id_ in ids if (edges := self._edges.get(id_))}

    # ---- triples --------------------------------------------------------------------------------------------------

    def neighbours(self, steps: Sequence[Step], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbours`. A hub's triples are counted, not fetched. The server draws the sample, in the order
        of a hash of seed and triple.
        """
        limit = max(limit, 0)
        wanted = [(step["entity"], step["relation"], step["direction"]) for step in steps]
        parsed: dict[Key, _Step] = {}
        for key in dict.fromkeys(wanted):
            node, relation = self._ids.node(key[0]), self._ids.relation(key[1])
            if node and relation and self.profile.is_relation(relation) and not (node.literal and key[2] == "out"):
                parsed[key] = _Step(len(parsed), node, relation, key[2] == "out")
        totals = self._totals(parsed)
        keys = list(parsed)
        small = [parsed[key] for key in keys if 0 < totals[key] <= limit]
        large = [parsed[key] for key in keys if totals[key] > limit]
        raws: dict[int, list[Raw]] = {}
        for out in (True, False):
            rows = [
                ValuesRow(step.number, step.terms, step.strict, totals[keys[step.number]])
                for step in small
                if step.out == out
            ]
            self._reader.fetch(rows, partial(self._step_query, self._queries.steps, out=out), raws)
        patterns = [
            ValuesRow(
                step.number,
                (self._queries.step_pattern(*step.terms, out=step.out, bound=0 if step.out else self._bound),),
                step.strict,
                limit,
            )
            for step in large
        ]
        self._reader.sample(patterns, limit, seed, raws)
        places = [(parsed[key].number, totals[key]) if key in parsed else None for key in wanted]
        return self._neighbours(places, raws, limit)

    def _step_query(self, build: Callable[..., str], part: Sequence[ValuesRow], *, out: bool) -> str:
        return build(_values("?i ?s ?p" if out else "?i ?o ?p", part), out=out)

    def _totals(self, steps: Mapping[Key, _Step]) -> dict[Key, int]:
        """The number of triples of each step, from the cached counts or from the server."""
        edges = self._cached_edges(key[0] for key in steps)
        found: dict[Key, int] = {}
        for key, step in steps.items():
            counts, cut = edges.get(key[0], ({}, True))
            direction: Direction = "out" if step.out else "in"
            if not cut or (step.out and key[0] in edges):
                found[key] = counts.get((step.relation, direction), 0)
        asked = [key for key in steps if key not in found]
        found |= dict.fromkeys(asked, 0)
        for out in (True, False):
            keys = [key for key in asked if steps[key].out == out]
            rows = [ValuesRow(i, steps[key].terms, steps[key].strict) for i, key in enumerate(keys)]
            if out or not self._bound:
                answer = self._batched.select_all(rows, partial(self._step_query, self._queries.step_counts, out=out))
            else:
                answer = self._batched.select_all(
                    rows, partial(self._queries.step_counts_bounded, bound=self._bound), batch=_HUBS
                )
            for row in answer:
                found[item_in(row, keys)] = number_in(row, "n")
        return found

    def neighbourhood(self, ids: Sequence[str], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        """See `GraphStore.neighbourhood`. Sampled as in `neighbours`."""
        limit = max(limit, 0)
        nodes = {id_: node for id_ in dict.fromkeys(ids) if (node := self._ids.node(id_))}
        edges = self._edges_of(nodes)
        keys = list(nodes)
        loops = self._loops(nodes, edges)
        totals = {key: sum(edges[key][0].values()) - loops.get(key, 0) for key in keys}
        raws: dict[int, list[Raw]] = {}
        queries = self._queries
        small = [
            ValuesRow(i, (nodes[key].term(),), nodes[key].strict, totals[key])
            for i, key in enumerate(keys)
            if 0 < totals[key] <= limit
        ]
        self._reader.fetch(small, lambda part: queries.around(_things(part), _values("?i ?o", part)), raws)
        patterns = [
            ValuesRow(i, (queries.around_pattern(nodes[key].term(), bound=self._bound),), nodes[key].strict, limit)
            for i, key in enumerate(keys)
            if totals[key] > limit
        ]
        self._reader.sample(patterns, limit, seed, raws)
        numbers = {key: i for i, key in enumerate(keys)}
        return self._neighbours([(numbers[id_], totals[id_]) if id_ in numbers else None for id_ in ids], raws, limit)

    def _loops(self, nodes: Mapping[str, RdfTerm], edges: Mapping[str, Edges]) -> dict[str, int]:
        """The number of triples from each node to itself. Only relations in both directions can have any."""
        keys = [
            key
            for key, (counts, _) in edges.items()
            if any((relation, "in") in counts for relation, direction in counts if direction == "out")
        ]
        rows = [ValuesRow(i, (nodes[key].term(),), nodes[key].strict) for i, key in enumerate(keys)]
        found = {}
        for row in self._batched.select_all(rows, lambda part: self._queries.loops(_values("?i ?s", part))):
            found[item_in(row, keys)] = number_in(row, "n")
        return found

    def triples(self, ids: Sequence[str]) -> list[Triple | None]:
        """See `GraphStore.triples`. A triple's id is its subject, relation and object."""
        parsed = {id_: raw for id_ in dict.fromkeys(ids) if (raw := self._reader.parsed(id_))}
        keys = list(parsed)
        rows = [
            ValuesRow(i, (iri(one.subject), iri(one.relation), one.object.term()), one.strict)
            for i, one in enumerate(parsed.values())
        ]
        known = [
            item_in(row, keys)
            for row in self._batched.select_all(rows, lambda part: self._queries.exact(_values("?i ?s ?p ?o", part)))
        ]
        found = self._reader.shown(parsed[key] for key in known)
        return [_copied(found[raw]) if (raw := parsed.get(id_)) and raw in found else None for id_ in ids]

    def edges_among(self, ids: Sequence[str], *, limit: int = 10_000) -> list[Triple]:
        """See `GraphStore.edges_among`. In the order of the ids of triples."""
        nodes = list({node: None for id_ in dict.fromkeys(ids) if (node := self._ids.node(id_))})
        if limit <= 0 or not nodes:
            return []
        objects = [ValuesRow(i, (node.term(),), node.strict) for i, node in enumerate(nodes)]
        # One request has both; subjects have negative numbers.
        subjects = [row._replace(number=~i) for i, row in enumerate(objects) if not nodes[i].literal]
        raws: set[Raw] = set()
        for theirs in self._batched.batches(objects, _PAIRED):
            for own in self._batched.batches(subjects, _PAIRED):
                raws.update(
                    map(raw_of, self._batched.select_accepted([*own, *theirs], partial(self._between, limit=limit)))
                )
        chosen = sorted(raws, key=self._reader.order)[:limit]
        found = self._reader.shown(chosen)
        return [_copied(found[one]) for one in chosen]

    def _between(self, part: Sequence[ValuesRow], limit: int) -> list[Bindings]:
        subjects = " ".join(row.terms[0] for row in part if row.number < 0)
        objects = " ".join(row.terms[0] for row in part if row.number >= 0)
        if not subjects or not objects:
            return []
        return list(self._batched.pages(partial(self._queries.among, subjects, objects), most=limit, small=True))

    def _neighbours(
        self, places: Sequence[tuple[int, int] | None], raws: Mapping[int, Sequence[Raw]], limit: int
    ) -> list[Neighbours]:
        """The answers. A place is the number of a step in `raws`, and the count of its triples."""
        shown = self._reader.shown(one for rows in raws.values() for one in rows)
        out: list[Neighbours] = []
        for place in places:
            number, total = place or (-1, 0)
            rows = sorted(set(raws.get(number, ())), key=self._reader.order)
            # The graph may have changed since it was counted.
            out.append(
                {
                    "triples": [_copied(shown[one]) for one in rows[:limit]],
                    "total": total if total > limit else len(rows),
                }
            )
        return out


def _values(variables: str, part: Sequence[ValuesRow]) -> str:
    return values(variables, (row.values for row in part))


def _things(part: Sequence[ValuesRow]) -> str:
    """The VALUES block of the rows that can be subjects."""
    return _values("?i ?s", [row for row in part if row.terms[0].startswith("<")])


def _copied(triple: Triple) -> Triple:
    return {**triple, "qualifiers": [list(pair) for pair in triple["qualifiers"]]}


def _local(datatype: str) -> str:
    return datatype.rpartition("#")[2].rpartition("/")[2]
