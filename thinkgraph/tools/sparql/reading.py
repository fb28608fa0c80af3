"""Reads triples: all of a step, a sample of a hub's, and what is needed to write them down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from thinkgraph.errors import StoreError
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.sparql.asking import Asked, Asker, node_in, number_in
from thinkgraph.tools.sparql.describing import Describer
from thinkgraph.tools.sparql.http import Row
from thinkgraph.tools.sparql.profiles import Profile
from thinkgraph.tools.sparql.queries import Queries
from thinkgraph.tools.sparql.statements import Details, Precise, Raw, details
from thinkgraph.tools.sparql.terms import Ids, Node

_SAMPLES = 20
"""Steps of hubs drawn in one request."""


class TripleReader:
    """Fetches the triples of numbered patterns, and shows them."""

    def __init__(
        self, asker: Asker, queries: Queries, describer: Describer, ids: Ids, profile: Profile, *, statements: bool
    ) -> None:
        self._asker = asker
        self._queries = queries
        self._describer = describer
        self._ids = ids
        self._profile = profile
        self._with_details = statements

    def fetch(self, rows: Sequence[Asked], build: Callable[[Sequence[Asked]], str], raws: dict[int, list[Raw]]) -> None:
        """All triples of each row; its weight says how many there are."""
        for part in self._asker.parts(rows):
            if sum(row.weight for row in part) <= self._asker.page:
                found = self._asker.careful(part, lambda kept: self._asker.select(build(kept)))
            else:
                found = self._paged(build(part))
            self._take(found, raws)

    def sample(self, patterns: Sequence[Asked], limit: int, seed: int, raws: dict[int, list[Raw]]) -> None:
        """A sample of each pattern's triples, drawn by the server."""
        for part in self._asker.parts(patterns if limit else (), _SAMPLES):

            def query(kept: Sequence[Asked]) -> str:
                blocks = (self._queries.sampled(row.terms[0], row.values[0], limit, seed) for row in kept)
                return f"SELECT ?i ?s ?p ?o {{ {' UNION '.join(blocks)} }}"

            if limit <= self._asker.page:
                found = self._asker.careful(part, lambda kept: self._asker.select(query(kept)))
            else:
                found = self._paged(query(part))
            self._take(found, raws)

    def _paged(self, query: str) -> list[Row]:
        order = "ORDER BY ?i STR(?s) STR(?p) STR(?o) LANG(?o) STR(DATATYPE(?o))"
        return list(self._asker.pages(lambda limit, offset: f"{query} {order} LIMIT {limit} OFFSET {offset}"))

    @staticmethod
    def _take(rows: Iterable[Row], raws: dict[int, list[Raw]]) -> None:
        for row in rows:
            raws.setdefault(number_in(row, "i"), []).append(raw_of(row))

    def shown(self, raws: Iterable[Raw]) -> dict[Raw, Triple]:
        """The triples with the labels and qualifiers that are needed to read them."""
        asked = list(dict.fromkeys(raws))
        more: dict[Raw, Details] = details(self._asker, asked) if self._with_details else {}
        iris = {one.subject for one in asked} | {one.object.value for one in asked if not one.object.literal}
        labels = self._describer.labels(iris.union(*(found.iris() for found in more.values())))
        names = {one.relation: self._ids.relation_name(one.relation) for one in asked}
        relations = self._describer.relation_labels(names, names)
        return {one: self._triple(one, more.get(one, Details()), names, relations, labels) for one in asked}

    def _triple(
        self,
        raw: Raw,
        more: Details,
        names: Mapping[str, str],
        relations: Mapping[str, str],
        labels: Mapping[str, str],
    ) -> Triple:
        def text(value: Node | Precise) -> str:
            if isinstance(value, Precise):
                return value.text(labels)
            return self._describer.literal_label(value) if value.literal else labels[value.value]

        return {
            "id": " ".join(self.order(raw)),
            "subject": self._ids.node_id(Node(raw.subject)),
            "relation": names[raw.relation],
            "object": self._ids.node_id(raw.object),
            "subject_label": labels[raw.subject],
            "relation_label": relations[raw.relation],
            "object_label": text(more.value or raw.object),
            "literal": raw.object.literal,
            "qualifiers": [[labels[prop], text(value)] for prop, value in more.qualifiers],
        }

    def order(self, raw: Raw) -> tuple[str, str, str]:
        """Subject, relation and object as ids: a triple's place among others."""
        return (
            self._ids.node_id(Node(raw.subject)),
            self._ids.relation_name(raw.relation),
            self._ids.node_id(raw.object),
        )

    def parsed(self, id_: str) -> Raw | None:
        """The triple of an id; None for what is none."""
        parts = id_.split(" ", 2)
        if len(parts) < 3:  # noqa: PLR2004 - subject, relation, object
            return None
        subject, relation, end = self._ids.node(parts[0]), self._ids.relation(parts[1]), self._ids.node(parts[2])
        if not (subject and relation and end) or subject.literal or not self._profile.is_relation(relation):
            return None
        return Raw(subject.value, relation, end)


def raw_of(row: Row) -> Raw:
    """The triple of a solution.

    Raises:
        StoreError: it has none.
    """
    subject, relation, end = (node_in(row, name) for name in "spo")
    if subject is None or relation is None or end is None or subject.literal:
        raise StoreError("the SPARQL endpoint sent a triple without subject, predicate or object")
    return Raw(subject.value, relation.value, end)
