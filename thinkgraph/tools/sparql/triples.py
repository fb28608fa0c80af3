"""Reads triples, and what Wikidata says about each: qualifiers, the precision of dates, the units of quantities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from thinkgraph.errors import StoreError
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.sparql.describing import Describer
from thinkgraph.tools.sparql.endpoint import Endpoint, Row, node_in, number_in, text_in
from thinkgraph.tools.sparql.http import Bindings
from thinkgraph.tools.sparql.profiles import WD
from thinkgraph.tools.sparql.queries import SAMPLES, TRIPLES, WIKIBASE
from thinkgraph.tools.sparql.terms import RdfTerm, string
from thinkgraph.tools.values import NO_UNIT, quantity_text, time_text

_DIRECT, _CLAIM, _VALUE = f"{WD}prop/direct/", f"{WD}prop/", f"{WD}prop/statement/"
_QUALIFIER = f"{WD}prop/qualifier/"
_FULL, _FULL_QUALIFIER = f"{_VALUE}value/", f"{_QUALIFIER}value/"
_BATCH = 100
_STATEMENT = f"VALUES (?i ?s ?c ?q ?o) {{ $rows }} ?s ?c ?st . ?st ?q ?o ; a <{WIKIBASE}BestRank> ; ?r "
_IS_FULL = " || ".join(f"STRSTARTS(STR(?r), {string(start + 'P')})" for start in (_FULL, _FULL_QUALIFIER))
_DETAILS = (
    "SELECT ?i ?st ?r ?v ?k ?x { "
    f'{{ {_STATEMENT} ?v . FILTER(STRSTARTS(STR(?r), {string(_QUALIFIER + "P")})) BIND("q" AS ?k) }} UNION '
    f"{{ {_STATEMENT} ?w . ?w <{WIKIBASE}timeValue> ?v ; <{WIKIBASE}timePrecision> ?x . "
    f'FILTER({_IS_FULL}) BIND("t" AS ?k) }} UNION '
    f"{{ {_STATEMENT} ?w . ?w <{WIKIBASE}quantityAmount> ?v ; <{WIKIBASE}quantityUnit> ?x . "
    f'FILTER({_IS_FULL}) BIND("n" AS ?k) }} }}'
)
"""Qualifiers (q), times with their precision (t) and amounts with their unit (n) of the best-ranked statements."""


class Raw(NamedTuple):
    """A triple of the graph, without labels."""

    subject: RdfTerm
    relation: RdfTerm
    object: RdfTerm


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


class Details(NamedTuple):
    """Precise value and qualifiers of one triple."""

    value: Precise | None = None
    qualifiers: Sequence[tuple[str, RdfTerm | Precise]] = ()
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


class TripleReader:
    """Fetches triples, and renders them."""

    def __init__(self, endpoint: Endpoint, describer: Describer) -> None:
        self._endpoint = endpoint
        self._describer = describer
        self._ids = endpoint.ids
        self._with_details = endpoint.profile.statements and endpoint.profile.qualifiers

    def read(self, kind: str, rows: Sequence[Row], limit: int, seed: int) -> dict[int, list[Raw]]:
        """The triples of each row by its number: all, or a sample drawn by the server. A row's weight is their count."""
        small = [row for row in rows if 0 < row.weight <= limit]
        large = [row._replace(weight=limit) for row in rows if row.weight > limit > 0]
        drawn = self._endpoint.select_triples(SAMPLES[kind], large, seed=string(f"{seed} "), limit=limit)
        raws: dict[int, list[Raw]] = {}
        for row in chain(self._endpoint.select_triples(TRIPLES[kind], small), drawn):
            if raw := raw_of(row):
                raws.setdefault(number_in(row, "i"), []).append(raw)
        return raws

    def shown(self, raws: Iterable[Raw]) -> dict[Raw, Triple]:
        """The triples with their labels and qualifiers."""
        asked = list(dict.fromkeys(raws))
        more = self._details(asked) if self._with_details else {}
        iris = {node.value for one in asked for node in (one.subject, one.object) if not node.literal}
        labels = self._describer.labels(iris.union(*(found.iris() for found in more.values())))
        relations = self._describer.relation_labels(
            {one.relation.value: self._ids.relation_name(one.relation.value) for one in asked}
        )

        def text(value: RdfTerm | Precise) -> str:
            if isinstance(value, Precise):
                return value.text(labels)
            return self._describer.literal_label(value) if value.literal else labels[value.value]

        shown: dict[Raw, Triple] = {}
        for raw in asked:
            subject, relation, end = self.order(raw)
            details = more.get(raw, Details())
            shown[raw] = {
                "id": f"{subject} {relation} {end}",
                "subject": subject,
                "relation": relation,
                "object": end,
                "subject_label": text(raw.subject),
                "relation_label": relations[raw.relation.value],
                "object_label": text(details.value or raw.object),
                "literal": raw.object.literal,
                "qualifiers": [[labels[prop], text(value)] for prop, value in details.qualifiers],
            }
        return shown

    def _details(self, triples: Iterable[Raw]) -> dict[Raw, Details]:
        """The details of each triple that has any, from best-ranked statements only."""
        asked = [one for one in triples if one.relation.value.startswith(_DIRECT)]
        rows = []
        for i, one in enumerate(asked):
            number = one.relation.value[len(_DIRECT) :]
            rows.append(Row.of(i, one.subject, RdfTerm(_CLAIM + number), RdfTerm(_VALUE + number), one.object))
        simple: dict[int, set[tuple[str, str, RdfTerm]]] = {}
        precise: dict[int, dict[tuple[str, str, str], Precise]] = {}
        for row in self._endpoint.select_all(_DETAILS, rows, batch=_BATCH):
            i, statement, predicate = number_in(row, "i"), text_in(row, "st"), text_in(row, "r")
            kind, value = text_in(row, "k"), node_in(row, "v")
            if value is not None and kind == "q":
                simple.setdefault(i, set()).add((statement, predicate, value))
            elif value is not None:
                exact = Precise(value.value, kind, text_in(row, "x"))
                precise.setdefault(i, {})[statement, predicate, value.value] = exact
        return {
            one: _joined(one, simple.get(i, set()), precise.get(i, {}))
            for i, one in enumerate(asked)
            if i in simple or i in precise
        }

    def order(self, raw: Raw) -> tuple[str, str, str]:
        """Subject, relation and object as ids, by which triples are ordered."""
        return (
            self._ids.node_id(raw.subject),
            self._ids.relation_name(raw.relation.value),
            self._ids.node_id(raw.object),
        )

    def parsed(self, id_: str) -> Raw | None:
        """The triple of an id; None for a text that is not one."""
        parts = id_.split(" ", 2)
        if len(parts) < 3:  # noqa: PLR2004 - subject, relation, object
            return None
        subject, relation, end = self._ids.node(parts[0]), self._ids.relation(parts[1]), self._ids.node(parts[2])
        if not (subject and relation and end) or subject.literal or not self._endpoint.profile.is_relation(relation):
            return None
        return Raw(subject, RdfTerm(relation), end)


def _joined(
    triple: Raw, simple: set[tuple[str, str, RdfTerm]], precise: Mapping[tuple[str, str, str], Precise]
) -> Details:
    own = _FULL + triple.relation.value[len(_DIRECT) :]
    values = [
        exact
        for (_, predicate, value), exact in sorted(precise.items())
        if (predicate, value) == (own, triple.object.value)
    ]
    qualifiers: dict[tuple[str, RdfTerm | Precise], None] = {}
    for statement, predicate, value in sorted(simple, key=lambda one: (one[0], len(one[1]), one[1], one[2])):
        name = predicate[len(_QUALIFIER) :]
        exact = precise.get((statement, _FULL_QUALIFIER + name, value.value))
        qualifiers[f"{WD}entity/{name}", exact or value] = None
    return Details(values[-1] if values else None, list(qualifiers))


def raw_of(row: Bindings) -> Raw | None:
    """The triple in a solution; None if one of its terms cannot stand in a query, as an IRI with a space cannot.

    Raises:
        StoreError: subject, predicate or object is missing.
    """
    subject, relation, end = (node_in(row, name) for name in "spo")
    if not all(row.get(name) for name in "spo") or (subject and subject.literal):
        raise StoreError("the SPARQL endpoint sent a triple without subject, predicate or object")
    return Raw(subject, relation, end) if subject and relation and end else None
