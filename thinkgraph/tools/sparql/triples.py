"""Reads triples, and what Wikidata says about each: qualifiers, the precision of dates, the units of quantities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from thinkgraph.errors import StoreError
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.sparql.batches import BatchedClient, ValuesRow, node_in, number_in, text_in
from thinkgraph.tools.sparql.describing import Describer
from thinkgraph.tools.sparql.http import Bindings
from thinkgraph.tools.sparql.profiles import WD, Profile
from thinkgraph.tools.sparql.queries import WIKIBASE, Queries, values
from thinkgraph.tools.sparql.terms import RdfIds, RdfTerm, iri, strict_iri, string
from thinkgraph.tools.values import NO_UNIT, quantity_text, time_text

_DIRECT, _CLAIM, _VALUE = f"{WD}prop/direct/", f"{WD}prop/", f"{WD}prop/statement/"
_QUALIFIER = f"{WD}prop/qualifier/"
_FULL, _FULL_QUALIFIER = f"{_VALUE}value/", f"{_QUALIFIER}value/"
_BATCH = 100


class Raw(NamedTuple):
    """A triple of the graph, without labels."""

    subject: str
    relation: str
    object: RdfTerm

    @property
    def strict(self) -> bool:
        """Whether every server accepts it."""
        return strict_iri(self.subject) and strict_iri(self.relation) and self.object.strict


class Precise(NamedTuple):
    """A date with its precision, or an amount with its unit."""

    value: str
    kind: str
    """t for a date, n for an amount."""
    more: str
    """The precision, or the unit's IRI."""

    def text(self, labels: Mapping[str, str]) -> str:
        """As people write it."""
        if self.kind == "t":
            precision = int(self.more) if self.more.isdecimal() else 11
            return time_text(self.value, precision, years="astronomical")
        return quantity_text(self.value, "" if self.more in NO_UNIT else labels.get(self.more, ""))


@dataclass
class Details:
    """Qualifiers and precise value of one triple."""

    value: Precise | None = None
    qualifiers: list[tuple[str, RdfTerm | Precise]] = field(default_factory=list)
    """Property's IRI and value, by statement, property and value."""

    def iris(self) -> set[str]:
        """All IRIs whose labels are needed to render it."""
        found = {prop for prop, _ in self.qualifiers}
        for one in (self.value, *(value for _, value in self.qualifiers)):
            if isinstance(one, Precise):
                found |= {one.more} if one.kind == "n" and one.more not in NO_UNIT else set()
            elif one is not None and not one.literal:
                found.add(one.value)
        return found


def details(batched: BatchedClient, triples: Iterable[Raw]) -> dict[Raw, Details]:
    """The details of each triple that has any, from best-ranked statements only."""
    asked = list(dict.fromkeys(one for one in triples if one.relation.startswith(_DIRECT)))
    rows = []
    for i, one in enumerate(asked):
        number = one.relation[len(_DIRECT) :]
        terms = (iri(one.subject), iri(_CLAIM + number), iri(_VALUE + number), one.object.term())
        rows.append(ValuesRow(i, terms, one.strict))
    simple: dict[int, set[tuple[str, str, RdfTerm]]] = {}
    precise: dict[tuple[int, str, str], dict[str, Precise]] = {}
    for row in batched.select_all(rows, _query, batch=_BATCH):
        i, statement, predicate = number_in(row, "i"), text_in(row, "st"), text_in(row, "r")
        kind, value = text_in(row, "k"), node_in(row, "v")
        if value is None:
            continue
        if kind == "q":
            simple.setdefault(i, set()).add((statement, predicate, value))
        else:
            exact = Precise(value.value, kind, text_in(row, "x"))
            precise.setdefault((i, statement, predicate), {})[value.value] = exact
    return {one: found for i, one in enumerate(asked) if (found := _joined(i, one, simple, precise))}


def _joined(
    number: int,
    triple: Raw,
    simple: Mapping[int, set[tuple[str, str, RdfTerm]]],
    precise: Mapping[tuple[int, str, str], Mapping[str, Precise]],
) -> Details | None:
    found = Details()
    own = _FULL + triple.relation[len(_DIRECT) :]
    for (i, _, predicate), by_value in sorted(precise.items()):
        if i == number and predicate == own:
            found.value = by_value.get(triple.object.value, found.value)
    for statement, predicate, value in sorted(simple.get(number, ()), key=_order):
        name = predicate[len(_QUALIFIER) :]
        exact = precise.get((number, statement, _FULL_QUALIFIER + name), {}).get(value.value)
        pair: tuple[str, RdfTerm | Precise] = (f"{WD}entity/{name}", exact or value)
        if pair not in found.qualifiers:
            found.qualifiers.append(pair)
    return found if found.value or found.qualifiers else None


def _order(one: tuple[str, str, RdfTerm]) -> tuple[str, int, str, RdfTerm]:
    statement, predicate, value = one
    return statement, len(predicate), predicate, value


def _query(part: Sequence[ValuesRow]) -> str:
    rows = values("?i ?s ?c ?q ?o", (row.values for row in part))
    statement = f"{rows} ?s ?c ?st . ?st ?q ?o ; a {iri(WIKIBASE + 'BestRank')} ."
    full = " || ".join(f"STRSTARTS(STR(?r), {string(start + 'P')})" for start in (_FULL, _FULL_QUALIFIER))
    parts = [
        f'{statement} ?st ?r ?v . FILTER(STRSTARTS(STR(?r), {string(_QUALIFIER + "P")})) BIND("q" AS ?k)',
        (
            f"{statement} ?st ?r ?w . ?w {iri(WIKIBASE + 'timeValue')} ?v ; {iri(WIKIBASE + 'timePrecision')} ?x . "
            f'FILTER({full}) BIND("t" AS ?k)'
        ),
        (
            f"{statement} ?st ?r ?w . ?w {iri(WIKIBASE + 'quantityAmount')} ?v ; {iri(WIKIBASE + 'quantityUnit')} ?x . "
            f'FILTER({full}) BIND("n" AS ?k)'
        ),
    ]
    return f"SELECT ?i ?st ?r ?v ?k ?x {{ {' UNION '.join('{ ' + one + ' }' for one in parts)} }}"


_SAMPLES = 20
"""Steps of hubs drawn in one request."""


class TripleReader:
    """Fetches the triples of numbered patterns, and renders them."""

    def __init__(
        self,
        batched: BatchedClient,
        queries: Queries,
        describer: Describer,
        ids: RdfIds,
        profile: Profile,
        *,
        statements: bool,
    ) -> None:
        self._batched = batched
        self._queries = queries
        self._describer = describer
        self._ids = ids
        self._profile = profile
        self._with_details = statements

    def fetch(
        self, rows: Sequence[ValuesRow], build: Callable[[Sequence[ValuesRow]], str], raws: dict[int, list[Raw]]
    ) -> None:
        """All triples of each row, whose weight is their number."""
        for part in self._batched.batches(rows):
            if sum(row.weight for row in part) <= self._batched.page:
                found = self._batched.select_accepted(part, lambda kept: self._batched.select(build(kept)))
            else:
                found = self._paged(build(part))
            self._take(found, raws)

    def sample(self, patterns: Sequence[ValuesRow], limit: int, seed: int, raws: dict[int, list[Raw]]) -> None:
        """A sample of each pattern's triples, drawn by the server."""
        for part in self._batched.batches(patterns if limit else (), _SAMPLES):

            def query(kept: Sequence[ValuesRow]) -> str:
                blocks = (self._queries.sampled(row.terms[0], row.values[0], limit, seed) for row in kept)
                return f"SELECT ?i ?s ?p ?o {{ {' UNION '.join(blocks)} }}"

            if limit <= self._batched.page:
                found = self._batched.select_accepted(part, lambda kept: self._batched.select(query(kept)))
            else:
                found = self._paged(query(part))
            self._take(found, raws)

    def _paged(self, query: str) -> list[Bindings]:
        order = "ORDER BY ?i STR(?s) STR(?p) STR(?o) LANG(?o) STR(DATATYPE(?o))"
        return list(self._batched.pages(lambda limit, offset: f"{query} {order} LIMIT {limit} OFFSET {offset}"))

    @staticmethod
    def _take(rows: Iterable[Bindings], raws: dict[int, list[Raw]]) -> None:
        for row in rows:
            raws.setdefault(number_in(row, "i"), []).append(raw_of(row))

    def shown(self, raws: Iterable[Raw]) -> dict[Raw, Triple]:
        """The triples with their labels and qualifiers."""
        asked = list(dict.fromkeys(raws))
        more: dict[Raw, Details] = details(self._batched, asked) if self._with_details else {}
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
        def text(value: RdfTerm | Precise) -> str:
            if isinstance(value, Precise):
                return value.text(labels)
            return self._describer.literal_label(value) if value.literal else labels[value.value]

        return {
            "id": " ".join(self.order(raw)),
            "subject": self._ids.node_id(RdfTerm(raw.subject)),
            "relation": names[raw.relation],
            "object": self._ids.node_id(raw.object),
            "subject_label": labels[raw.subject],
            "relation_label": relations[raw.relation],
            "object_label": text(more.value or raw.object),
            "literal": raw.object.literal,
            "qualifiers": [[labels[prop], text(value)] for prop, value in more.qualifiers],
        }

    def order(self, raw: Raw) -> tuple[str, str, str]:
        """Subject, relation and object as ids, by which triples are ordered."""
        return (
            self._ids.node_id(RdfTerm(raw.subject)),
            self._ids.relation_name(raw.relation),
            self._ids.node_id(raw.object),
        )

    def parsed(self, id_: str) -> Raw | None:
        """The triple of an id; None for a text that is not one."""
        parts = id_.split(" ", 2)
        if len(parts) < 3:  # noqa: PLR2004 - subject, relation, object
            return None
        subject, relation, end = self._ids.node(parts[0]), self._ids.relation(parts[1]), self._ids.node(parts[2])
        if not (subject and relation and end) or subject.literal or not self._profile.is_relation(relation):
            return None
        return Raw(subject.value, relation, end)


def raw_of(row: Bindings) -> Raw:
    """The triple in a solution.

    Raises:
        StoreError: subject, predicate or object is missing.
    """
    subject, relation, end = (node_in(row, name) for name in "spo")
    if subject is None or relation is None or end is None or subject.literal:
        raise StoreError("the SPARQL endpoint sent a triple without subject, predicate or object")
    return Raw(subject.value, relation.value, end)
