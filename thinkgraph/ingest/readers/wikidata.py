"""Reads Wikidata's JSON dumps as a stream: one entity a line, plain, gzip or bzip2."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from thinkgraph.ingest.readers.facts import Facts
from thinkgraph.ingest.readers.files import TripleRow
from thinkgraph.ingest.readers.lines import read_lines, storable_text
from thinkgraph.ingest.readers.rdf import LONGEST_VALUE
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.tools.values import ENTITY, NO_UNIT, SKIPPED_TYPES, place_text, quantity_text, time_text

_ID = re.compile(r"[QPL][1-9]\d*(?:-[FS][1-9]\d*)?")
_INSTANCE_OF = "P31"


class ItemText(NamedTuple):
    """A value: an entity's id, or a text that may need the label of a unit."""

    text: str
    kind: str
    """item, or what sort of literal it is."""
    unit: str = ""


def read_wikidata(paths: Sequence[Path], facts: Facts, rejects: Rejects, folder: Path) -> Iterator[TripleRow]:
    """The best-ranked statements of all entities of some dumps; labels, aliases, descriptions and classes go to `facts`.

    What needs the label of an entity that may come later (qualifiers, units) waits in a file in `folder` and comes last.
    Values that are addresses in other catalogues are left out, and so is what is known to be unknown.

    Raises:
        KnowledgeError: a file cannot be read.
    """
    waiting = folder / "statements.waiting"
    described: set[str] = set()
    used: set[str] = set()
    try:
        with waiting.open("w+", encoding="utf-8") as later:
            for path in paths:
                for entity in _entities(path, rejects):
                    if entity["id"][0] == "P":
                        described.add(entity["id"])
                    for row in _statements(entity, facts, rejects, later):
                        used.add(row[1])
                        yield row
            later.seek(0)
            for line in later:
                row = _resolved(json.loads(line), facts)
                used.add(row[1])
                yield row
    finally:
        waiting.unlink(missing_ok=True)
    # A property that no statement has would be a thing of its own, and take questions for it.
    facts.forget(described - used)


def _entities(path: Path, rejects: Rejects) -> Iterator[dict[str, Any]]:
    """The entities of one dump: an array with an entity a line, or the same lines without the brackets."""
    opened = closed = False
    for line, text in read_lines(path, rejects):
        body = text.strip()
        if body == "[" and not opened:
            opened = True
            continue
        if body == "]":
            closed = True
            continue
        try:
            entity = json.loads(body.removesuffix(","))
        except (ValueError, RecursionError) as error:
            rejects.add(path, line, f"bad JSON: {str(error)[:100]}")
            continue
        if isinstance(entity, dict) and isinstance(entity.get("id"), str) and _ID.fullmatch(entity["id"]):
            yield entity
        else:
            rejects.add(path, line, "no entity of Wikidata")
    if opened and not closed:
        reason = "the dump ends without its closing bracket: it is cut off, and what came before was used"
        rejects.add(path, 0, reason, kind="cut off")


def _statements(entity: Mapping[str, Any], facts: Facts, rejects: Rejects, later: IO[str]) -> Iterator[TripleRow]:
    subject = entity["id"]
    _names(entity, facts)
    for prop, claims in _mapping(entity.get("claims")).items():
        for claim in _best(claims) if _ID.fullmatch(prop) and isinstance(claims, list) else ():
            value = _value(_mapping(claim.get("mainsnak")))
            if value is None:
                rejects.count("value of a kind that is left out")
            elif len(value.text) > LONGEST_VALUE:
                rejects.count("long text")
            else:
                if prop == _INSTANCE_OF and value.kind == "item":
                    facts.add(subject, "class", value.text)
                qualifiers = list(_qualifiers(claim))
                if qualifiers or value.unit:
                    later.write(json.dumps([subject, prop, value, qualifiers], ensure_ascii=False) + "\n")
                else:
                    yield subject, prop, value.text, (), None if value.kind == "item" else value.kind


def _names(entity: Mapping[str, Any], facts: Facts) -> None:
    """Note the best label and description, and the aliases in languages that are wanted."""
    for name, kind in (("labels", "label"), ("descriptions", "description")):
        texts = [
            (facts.languages.rank(language), language, storable_text(_mapping(found).get("value")))
            for language, found in _mapping(entity.get(name)).items()
        ]
        texts = [one for one in texts if one[2] and (kind == "label" or facts.languages.wanted(one[1]))]
        if texts:
            _, language, text = min(texts)
            facts.add(entity["id"], cast("Any", kind), text, language=language)
    for language, found in _mapping(entity.get("aliases")).items():
        for alias in found if isinstance(found, list) else ():
            facts.add(entity["id"], "alias", storable_text(_mapping(alias).get("value")), language=language)


def _best(claims: Iterable[Any]) -> Sequence[Mapping[str, Any]]:
    """The preferred statements, else the normal ones; never the deprecated."""
    found = [claim for claim in claims if isinstance(claim, dict)]
    preferred = [claim for claim in found if claim.get("rank") == "preferred"]
    return preferred or [claim for claim in found if claim.get("rank", "normal") == "normal"]


def _qualifiers(claim: Mapping[str, Any]) -> Iterator[tuple[str, ItemText]]:
    found = _mapping(claim.get("qualifiers"))
    order = claim.get("qualifiers-order")
    for prop in order if isinstance(order, list) else found:
        snaks = found.get(prop) if isinstance(prop, str) and _ID.fullmatch(prop) else None
        for snak in snaks if isinstance(snaks, list) else ():
            value = _value(_mapping(snak))
            if value is not None and len(value.text) <= LONGEST_VALUE:
                yield prop, value


def _value(snak: Mapping[str, Any]) -> ItemText | None:
    """The value of a snak; None for what is unknown, of a kind that is left out, or malformed."""
    try:
        known = snak.get("snaktype") == "value" and snak.get("datatype") not in SKIPPED_TYPES
        found = _read_value(snak["datavalue"], "url" if snak.get("datatype") == "url" else "") if known else None
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return None
    return found if found and all(storable_text(part) == part for part in found) else None


def _read_value(data: Mapping[str, Any], sort: str) -> ItemText | None:  # noqa: PLR0911 - a table
    """As `_value`, but that what is malformed may raise an error, or be nothing that can be stored."""
    match data["type"], data["value"]:
        case "string", str(text):
            return _shown(text, sort)
        case "wikibase-entityid", dict(value):
            # Dumps before 2014 have the number only.
            id_ = value.get("id") or f"{'P' if value['entity-type'] == 'property' else 'Q'}{int(value['numeric-id'])}"
            return ItemText(id_, "item") if _ID.fullmatch(id_) else None
        case "time", dict(value):
            return _shown(time_text(value["time"], int(value["precision"])), "time")
        case "quantity", dict(value):
            unit = str(value.get("unit", "1"))
            unit = "" if unit in NO_UNIT else unit.removeprefix(ENTITY)
            return ItemText(quantity_text(value["amount"]), "quantity", unit)
        case "monolingualtext", dict(value):
            return _shown(value["text"], str(value["language"]))
        case "globecoordinate", dict(value):
            return ItemText(place_text(value["latitude"], value["longitude"]), "place")
    return None


def _shown(text: str, kind: str) -> ItemText | None:
    one_line = " ".join(storable_text(text).split())
    return ItemText(one_line, kind) if one_line else None


def _resolved(row: Any, facts: Facts) -> TripleRow:
    """A triple of what waited, with the labels of units and qualifiers."""
    subject, prop, value, qualifiers = row
    shown = ItemText(*value)
    pairs = []
    for name, one in qualifiers:
        item = ItemText(*one)
        pairs.append((facts.label(name), facts.label(item.text) if item.kind == "item" else _literal(item, facts)))
    return subject, prop, _literal(shown, facts), tuple(pairs), None if shown.kind == "item" else shown.kind


def _literal(value: ItemText, facts: Facts) -> str:
    return quantity_text(value.text, facts.label(value.unit)) if value.unit else value.text


def _mapping(value: object) -> Mapping[str, Any]:
    """A JSON object; anything else (an empty mapping is written as a list) is an empty one."""
    return value if isinstance(value, dict) else {}
