"""A small graph of our own in Wikidata's shapes (RDF as its query service has it, JSON as its dumps have it) and as
plain RDF, for tests and for trying things by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from thinkgraph.testing.conformance.graph_data import ALIASES, LABELS, STATEMENTS, SampleStatement

WD = "http://www.wikidata.org/"
WIKIBASE = "http://wikiba.se/ontology#"
XSD = "http://www.w3.org/2001/XMLSchema#"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
ALT_LABEL = "http://www.w3.org/2004/02/skos/core#altLabel"
DESCRIPTION = "http://schema.org/description"
RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
EXAMPLE = "http://example.org/"
_SAFE = "-._~()'!*,;"


@dataclass(frozen=True)
class SampleValue:
    """A value of Wikidata's kinds: item, string, external-id, time, quantity, monolingualtext, globe-coordinate; or
    `somevalue`, where it is known that there is one but not which.
    """

    kind: str
    text: str
    more: str = ""
    """The precision of a time, the unit of a quantity, the language of a text, the longitude of a place."""


@dataclass(frozen=True)
class Claim:
    """One statement."""

    prop: str
    value: SampleValue
    qualifiers: tuple[tuple[str, SampleValue], ...] = ()
    rank: str = "normal"


@dataclass(frozen=True)
class Thing:
    """An item or a property."""

    id: str
    labels: Mapping[str, str]
    descriptions: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    claims: Sequence[Claim] = ()
    datatype: str = ""
    """Of a property."""


def item(id_: str) -> SampleValue:
    """A value that is a thing."""
    return SampleValue("item", id_)


def day(text: str, precision: int = 11) -> SampleValue:
    """A point in time."""
    return SampleValue("time", text, str(precision))


def amount(number: str, unit: str = "1") -> SampleValue:
    """A quantity; the unit is an item or "1"."""
    return SampleValue("quantity", number, unit)


def _prop(id_: str, label: str, german: str, datatype: str = "wikibase-item") -> Thing:
    return Thing(id_, {"en": label, "de": german}, datatype=datatype)


SAMPLE: tuple[Thing, ...] = (
    _prop("P31", "instance of", "ist ein(e)"),
    _prop("P17", "country", "Staat"),
    _prop("P36", "capital", "Hauptstadt"),
    _prop("P47", "shares border with", "gemeinsame Grenze mit"),
    _prop("P206", "located in or next to body of water", "liegt am oder im Gewässer"),
    _prop("P569", "date of birth", "Geburtsdatum", "time"),
    _prop("P570", "date of death", "Sterbedatum", "time"),
    _prop("P571", "inception", "Gründung", "time"),
    _prop("P19", "place of birth", "Geburtsort"),
    _prop("P3373", "sibling", "Geschwister"),
    _prop("P2044", "elevation above sea level", "Höhe über dem Meeresspiegel", "quantity"),
    _prop("P1082", "population", "Einwohnerzahl", "quantity"),
    _prop("P2046", "area", "Fläche", "quantity"),
    _prop("P625", "coordinate location", "Koordinaten", "globe-coordinate"),
    _prop("P1451", "motto text", "Motto", "monolingualtext"),
    _prop("P585", "point in time", "Zeitpunkt", "time"),
    _prop("P580", "start time", "Startzeitpunkt", "time"),
    _prop("P1013", "criterion used", "Kriterium"),
    _prop("P214", "VIAF ID", "VIAF-Kennung", "external-id"),
    Thing("Q5", {"en": "human", "de": "Mensch"}),
    Thing("Q515", {"en": "city", "de": "Stadt"}),
    Thing("Q6256", {"en": "country", "de": "Staat"}),
    Thing("Q8502", {"en": "mountain", "de": "Berg"}),
    Thing("Q11573", {"en": "metre", "de": "Meter"}),
    Thing("Q712226", {"en": "square kilometre", "de": "Quadratkilometer"}),
    Thing("Q39825", {"en": "census", "de": "Volkszählung"}),
    Thing(
        "Q40",
        {"en": "Austria", "de": "Österreich", "fr": "Autriche"},
        {"en": "country in Central Europe", "de": "Staat in Mitteleuropa"},
        {"en": ["Republic of Austria"], "de": ["Republik Österreich"]},
        (
            Claim("P31", item("Q6256")),
            Claim("P36", item("Q1741")),
            Claim("P47", item("Q28")),
            Claim("P2046", amount("+83871", "Q712226")),
            Claim("P571", day("+0976-00-00T00:00:00Z", 9)),
        ),
    ),
    Thing(
        "Q28",
        {"en": "Hungary", "de": "Ungarn"},
        {"en": "country in Central Europe"},
        {},
        (Claim("P31", item("Q6256")), Claim("P36", item("Q1781")), Claim("P47", item("Q40"))),
    ),
    Thing(
        "Q1741",
        {"en": "Vienna", "de": "Wien"},
        {"en": "capital of Austria"},
        {"en": ["Wien"]},
        (
            Claim("P31", item("Q515")),
            Claim("P17", item("Q40"), (("P580", day("+1918-00-00T00:00:00Z", 9)),)),
            Claim("P206", item("Q1653")),
            Claim("P1082", amount("+1600000"), (("P585", day("+1910-12-31T00:00:00Z")),), "normal"),
            Claim(
                "P1082",
                amount("+1982097"),
                (("P585", day("+2023-01-01T00:00:00Z")), ("P1013", item("Q39825"))),
                "preferred",
            ),
            Claim("P1082", amount("+99"), (), "deprecated"),
            Claim("P625", SampleValue("globe-coordinate", "48.2083", "16.3731")),
            Claim("P214", SampleValue("external-id", "132441531")),
        ),
    ),
    Thing("Q1781", {"en": "Budapest"}, {"en": "capital of Hungary"}, {}, (Claim("P17", item("Q28")), Claim("P206", item("Q1653")))),
    Thing("Q1653", {"en": "Danube", "de": "Donau"}, {"en": "river in Europe"}, {"en": ["Ister"]}),
    Thing("Q1034", {"en": "Vienna"}, {"en": "town in Virginia"}, {}, (Claim("P31", item("Q515")),)),
    Thing(
        "Q7259",
        {"en": "Ada Lovelace", "de": "Ada Lovelace"},
        {"en": "English mathematician"},
        {"en": ["Countess of Lovelace", "Augusta Ada King"]},
        (
            Claim("P31", item("Q5")),
            Claim("P569", day("+1815-12-10T00:00:00Z")),
            Claim("P19", item("Q84")),
            Claim("P3373", SampleValue("somevalue", "")),
        ),
    ),
    Thing("Q84", {"en": "London"}, {"en": "capital of the United Kingdom"}, {}, (Claim("P571", day("+0047-00-00T00:00:00Z", 8)),)),
    Thing(
        "Q1048",
        {"en": "Julius Caesar"},
        {"en": "Roman general"},
        {},
        (Claim("P31", item("Q5")), Claim("P570", day("-0044-03-15T00:00:00Z"))),
    ),
    Thing(
        "Q513",
        {"en": "Mount Everest", "ne": "सगरमाथा"},
        {"en": "highest mountain on Earth"},
        {"en": ["Sagarmatha", "Chomolungma"]},
        (Claim("P31", item("Q8502")), Claim("P2044", amount("+8848.86", "Q11573"))),
    ),
    Thing("Q300", {"de": "Nur auf Deutsch"}, {"de": "hat keinen englischen Namen"}, {}, (Claim("P17", item("Q40")), Claim("P1451", SampleValue("monolingualtext", "Immer voran", "de")))),
)  # fmt: skip
"""Facts about the world in a few entities: labels in several languages, ranks, qualifiers, precisions, units, a value
that is not known, an external id, namesakes, an entity without an English name.
"""


# ---- RDF as the query service has it --------------------------------------------------------------------------------


def _iri(text: str) -> str:
    return f"<{text}>"


def _string(text: str, datatype: str = "", language: str = "") -> str:
    escaped = re.sub(r'[\x00-\x1f"\\]', lambda c: f"\\u{ord(c[0]):04X}", text)
    return f'"{escaped}"' + (f"@{language}" if language else f"^^<{datatype}>" if datatype else "")


_PROPERTY_TYPES = {
    "wikibase-item": "WikibaseItem", "external-id": "ExternalId", "time": "Time", "quantity": "Quantity",
    "monolingualtext": "Monolingualtext", "globe-coordinate": "GlobeCoordinate", "string": "String",
}  # fmt: skip


def wikidata_rdf(things: Iterable[Thing]) -> str:
    """N-Triples in the shape of Wikidata's query service."""
    return "".join(f"{' '.join(row)} .\n" for thing in things for row in _rdf_of(thing))


def _rdf_of(thing: Thing) -> Iterator[tuple[str, str, str]]:
    subject = _iri(f"{WD}entity/{thing.id}")
    for language, text in thing.labels.items():
        yield subject, _iri(RDFS_LABEL), _string(text, language=language)
    for language, text in thing.descriptions.items():
        yield subject, _iri(DESCRIPTION), _string(text, language=language)
    for language, texts in thing.aliases.items():
        yield from ((subject, _iri(ALT_LABEL), _string(text, language=language)) for text in texts)
    if thing.id[0] == "P":
        yield subject, _iri(f"{WIKIBASE}directClaim"), _iri(f"{WD}prop/direct/{thing.id}")
        kind = _PROPERTY_TYPES[thing.datatype or "string"]
        yield subject, _iri(f"{WIKIBASE}propertyType"), _iri(WIKIBASE + kind)
    yield subject, _iri(f"{WIKIBASE}statements"), _string(str(len(thing.claims)), f"{XSD}integer")
    preferred = {claim.prop for claim in thing.claims if claim.rank == "preferred"}
    for number, claim in enumerate(thing.claims):
        best = claim.rank == "preferred" or (claim.rank == "normal" and claim.prop not in preferred)
        statement = f"{WD}entity/statement/{thing.id}-{number:08x}"
        yield subject, _iri(f"{WD}prop/{claim.prop}"), _iri(statement)
        value = _rdf_value(claim.value)
        yield _iri(statement), _iri(f"{WD}prop/statement/{claim.prop}"), value
        if best:
            yield subject, _iri(f"{WD}prop/direct/{claim.prop}"), value
            yield _iri(statement), _iri(RDF_TYPE), _iri(f"{WIKIBASE}BestRank")
        yield from _full(statement, f"{WD}prop/statement/value/{claim.prop}", claim.value, f"v{number}-{thing.id}")
        for place, (prop, qualifier) in enumerate(claim.qualifiers):
            yield _iri(statement), _iri(f"{WD}prop/qualifier/{prop}"), _rdf_value(qualifier)
            node = f"q{number}-{place}-{thing.id}"
            yield from _full(statement, f"{WD}prop/qualifier/value/{prop}", qualifier, node)


def _rdf_value(value: SampleValue) -> str:
    if value.kind in ("item", "somevalue"):
        return _iri(WD + (f"entity/{value.text}" if value.text else ".well-known/genid/0123456789abcdef"))
    match value.kind:
        case "time":
            return _string(_astronomical(value.text), f"{XSD}dateTime")
        case "quantity":
            return _string(value.text, f"{XSD}decimal")
        case "monolingualtext":
            return _string(value.text, language=value.more)
        case "globe-coordinate":
            return _string(f"Point({value.more} {value.text})", "http://www.opengis.net/ont/geosparql#wktLiteral")
    return _string(value.text)


def _astronomical(time: str) -> str:
    """A time of the dumps as RDF has it: a year 0, and months and days that are not known as the first."""
    sign, rest = time[0], time[1:]
    year, month, tail = rest.split("-", 2)
    number = -(int(year) - 1) if sign == "-" else int(year)
    shown = f"{'-' if number < 0 else ''}{abs(number):04d}"
    return f"{shown}-{month.replace('00', '01')}-{tail.replace('00T', '01T', 1)}"


def _full(statement: str, predicate: str, value: SampleValue, node: str) -> Iterator[tuple[str, str, str]]:
    target = _iri(f"{WD}value/{node}")
    if value.kind == "time":
        yield _iri(statement), _iri(predicate), target
        yield target, _iri(f"{WIKIBASE}timeValue"), _rdf_value(value)
        yield target, _iri(f"{WIKIBASE}timePrecision"), _string(value.more, f"{XSD}integer")
    if value.kind == "quantity":
        yield _iri(statement), _iri(predicate), target
        unit = value.more if value.more != "1" else "Q199"
        yield target, _iri(f"{WIKIBASE}quantityAmount"), _rdf_value(value)
        yield target, _iri(f"{WIKIBASE}quantityUnit"), _iri(f"{WD}entity/{unit}")


# ---- JSON as the dumps have it --------------------------------------------------------------------------------------


def wikidata_dump(things: Iterable[Thing]) -> str:
    """A dump: an array with one entity a line."""
    return "[\n" + ",\n".join(json.dumps(_entity(thing), ensure_ascii=False) for thing in things) + "\n]\n"


def _entity(thing: Thing) -> dict[str, Any]:
    claims: dict[str, list[dict[str, Any]]] = {}
    for number, claim in enumerate(thing.claims):
        qualifiers: dict[str, list[dict[str, Any]]] = {}
        for prop, value in claim.qualifiers:
            qualifiers.setdefault(prop, []).append(_snak(prop, value))
        claims.setdefault(claim.prop, []).append(
            {
                "mainsnak": _snak(claim.prop, claim.value),
                "type": "statement",
                "id": f"{thing.id}$0000-{number}",
                "rank": claim.rank,
                **({"qualifiers": qualifiers, "qualifiers-order": list(qualifiers)} if qualifiers else {}),
            }
        )
    texts = {
        "labels": {language: {"language": language, "value": text} for language, text in thing.labels.items()},
        "descriptions": {
            language: {"language": language, "value": text} for language, text in thing.descriptions.items()
        },
        "aliases": {
            language: [{"language": language, "value": text} for text in several]
            for language, several in thing.aliases.items()
        },
    }
    kind = {"type": "property", "datatype": thing.datatype} if thing.id[0] == "P" else {"type": "item"}
    # An empty mapping is written as an empty list, as in the real dumps.
    more: dict[str, Any] = {"claims": claims or [], "sitelinks": {"enwiki": {"site": "enwiki", "title": thing.id}}}
    return {**kind, "id": thing.id, **{name: found or [] for name, found in texts.items()}, **more, "lastrevid": 1}


def _snak(prop: str, value: SampleValue) -> dict[str, Any]:
    kinds = {"item": "wikibase-item"}
    snak: dict[str, Any] = {"snaktype": "value", "property": prop, "datatype": kinds.get(value.kind, value.kind)}
    match value.kind:
        case "somevalue":
            return {**snak, "snaktype": "somevalue", "datatype": "wikibase-item"}
        case "item":
            found: Any = {"entity-type": "item", "numeric-id": int(value.text[1:]), "id": value.text}
            data = {"value": found, "type": "wikibase-entityid"}
        case "time":
            found = {"time": value.text, "timezone": 0, "before": 0, "after": 0, "precision": int(value.more)}
            data = {"value": {**found, "calendarmodel": f"{WD}entity/Q1985727"}, "type": "time"}
        case "quantity":
            unit = value.more if value.more == "1" else f"{WD}entity/{value.more}"
            data = {"value": {"amount": value.text, "unit": unit}, "type": "quantity"}
        case "monolingualtext":
            data = {"value": {"text": value.text, "language": value.more}, "type": "monolingualtext"}
        case "globe-coordinate":
            place = {"latitude": float(value.text), "longitude": float(value.more), "altitude": None, "precision": 1e-4}
            data = {"value": {**place, "globe": f"{WD}entity/Q2"}, "type": "globecoordinate"}
        case _:
            data = {"value": value.text, "type": "string"}
    return {**snak, "datavalue": data}


# ---- plain RDF ------------------------------------------------------------------------------------------------------


def example_iri(kind: str, name: str) -> str:
    """An IRI below example.org for any name."""
    return f"{EXAMPLE}{kind}/{quote(name, safe=_SAFE)}"


def plain_rdf(things: Iterable[Thing]) -> str:
    """The same facts as plain RDF: ids after the labels, relations after those of the properties; best ranks only."""
    known = {thing.id: thing for thing in things}

    def node(id_: str) -> str:
        return example_iri("id", known[id_].labels.get("en", id_) + ("" if id_ != "Q1034" else ", Virginia"))

    rows: list[tuple[str, str, str]] = []
    for thing in known.values():
        if thing.id[0] == "P":
            continue
        subject = _iri(node(thing.id))
        rows += [
            (subject, _iri(RDFS_LABEL), _string(text, language=language)) for language, text in thing.labels.items()
        ]
        rows += [(subject, _iri(DESCRIPTION), _string(text, language=one)) for one, text in thing.descriptions.items()]
        rows += [
            (subject, _iri(ALT_LABEL), _string(text, language=language))
            for language, texts in thing.aliases.items()
            for text in texts
        ]
        preferred = {claim.prop for claim in thing.claims if claim.rank == "preferred"}
        for claim in thing.claims:
            if claim.rank == "deprecated" or (claim.rank == "normal" and claim.prop in preferred):
                continue
            if claim.value.kind == "item":
                end = _iri(node(claim.value.text))
            else:
                end = "_:unknown" if claim.value.kind == "somevalue" else _rdf_value(claim.value).replace('"+', '"', 1)
            relation = RDF_TYPE if claim.prop == "P31" else example_iri("rel", known[claim.prop].labels["en"])
            rows.append((subject, _iri(relation), end))
    return "".join(f"{' '.join(row)} .\n" for row in rows)


# ---- the graph of the conformance suite -----------------------------------------------------------------------------


def suite_ids() -> tuple[dict[str, str], dict[str, str]]:
    """Item by entity and property by relation (or qualifier) of the suite's graph."""
    items: dict[str, str] = {}
    props: dict[str, str] = {}
    for one in STATEMENTS:
        for entity in (one.subject, *(() if one.literal else (one.object,))):
            items.setdefault(entity, f"Q{100 + len(items)}")
        for name in (one.relation, *(name for name, _ in one.qualifiers)):
            props.setdefault(name, f"P{10 + len(props)}")
    return items, props


def suite_things() -> list[Thing]:
    """The suite's graph in Wikidata's shape."""
    items, props = suite_ids()
    claims: dict[str, list[Claim]] = {}
    for one in STATEMENTS:
        qualifiers = tuple((props[name], SampleValue("string", text)) for name, text in one.qualifiers)
        value = _suite_literal(one) if one.literal else item(items[one.object])
        claims.setdefault(one.subject, []).append(Claim(props[one.relation], value, qualifiers))
    found = [Thing(id_, {"en": name}, datatype="string") for name, id_ in props.items()]
    for name, id_ in items.items():
        found.append(
            Thing(id_, {"en": LABELS.get(name, name)}, {}, {"en": ALIASES.get(name, [])}, claims.get(name, []))
        )
    return found


def _suite_literal(one: SampleStatement) -> SampleValue:
    return day(f"+{one.object}T00:00:00Z") if one.relation == "born" else SampleValue("string", one.object)


def suite_rdf() -> str:
    """The suite's graph as plain RDF, which has no qualifiers."""
    rows: list[tuple[str, str, str]] = []
    names = {s.subject for s in STATEMENTS} | {s.object for s in STATEMENTS if not s.literal}
    for name in sorted(names):
        rows.append((_iri(example_iri("id", name)), _iri(RDFS_LABEL), _string(LABELS.get(name, name))))
        rows += [(_iri(example_iri("id", name)), _iri(ALT_LABEL), _string(alias)) for alias in ALIASES.get(name, ())]
    for one in STATEMENTS:
        end = _string(one.object) if one.literal else _iri(example_iri("id", one.object))
        rows.append((_iri(example_iri("id", one.subject)), _iri(example_iri("rel", one.relation)), end))
    return "".join(f"{' '.join(row)} .\n" for row in rows)
