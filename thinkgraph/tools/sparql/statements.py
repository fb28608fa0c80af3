"""What Wikidata says about a statement beside its value: qualifiers, the precision of dates, the units of quantities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from thinkgraph.tools.sparql.asking import Asked, Asker, node_in, number_in, text_in
from thinkgraph.tools.sparql.profiles import WD
from thinkgraph.tools.sparql.queries import WIKIBASE, values
from thinkgraph.tools.sparql.terms import Node, iri, strict_iri, string
from thinkgraph.tools.wikidata import NO_UNIT, quantity_text, time_text

_DIRECT, _CLAIM, _VALUE = f"{WD}prop/direct/", f"{WD}prop/", f"{WD}prop/statement/"
_QUALIFIER = f"{WD}prop/qualifier/"
_FULL, _FULL_QUALIFIER = f"{_VALUE}value/", f"{_QUALIFIER}value/"
_BATCH = 100


class Raw(NamedTuple):
    """A triple as it is in the graph."""

    subject: str
    relation: str
    object: Node

    @property
    def strict(self) -> bool:
        """Whether every server takes it."""
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
    """What is said about one triple."""

    value: Precise | None = None
    qualifiers: list[tuple[str, Node | Precise]] = field(default_factory=list)
    """Property's IRI and value, by statement, property and value."""

    def iris(self) -> set[str]:
        """All IRIs whose labels are needed to write it down."""
        found = {prop for prop, _ in self.qualifiers}
        for one in (self.value, *(value for _, value in self.qualifiers)):
            if isinstance(one, Precise):
                found |= {one.more} if one.kind == "n" and one.more not in NO_UNIT else set()
            elif one is not None and not one.literal:
                found.add(one.value)
        return found


def details(asker: Asker, triples: Iterable[Raw]) -> dict[Raw, Details]:
    """What is said about each triple, where anything is; best-ranked statements only."""
    asked = list(dict.fromkeys(one for one in triples if one.relation.startswith(_DIRECT)))
    rows = []
    for i, one in enumerate(asked):
        number = one.relation[len(_DIRECT) :]
        terms = (iri(one.subject), iri(_CLAIM + number), iri(_VALUE + number), one.object.term())
        rows.append(Asked(i, terms, one.strict))
    simple: dict[int, set[tuple[str, str, Node]]] = {}
    precise: dict[tuple[int, str, str], dict[str, Precise]] = {}
    for row in asker.ask(rows, _query, batch=_BATCH):
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
    simple: Mapping[int, set[tuple[str, str, Node]]],
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
        pair: tuple[str, Node | Precise] = (f"{WD}entity/{name}", exact or value)
        if pair not in found.qualifiers:
            found.qualifiers.append(pair)
    return found if found.value or found.qualifiers else None


def _order(one: tuple[str, str, Node]) -> tuple[str, int, str, Node]:
    statement, predicate, value = one
    return statement, len(predicate), predicate, value


def _query(part: Sequence[Asked]) -> str:
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
