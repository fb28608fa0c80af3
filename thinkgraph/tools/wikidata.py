"""How Wikidata's values read: dates by their precision, quantities with their unit, coordinates."""

from __future__ import annotations

import re
from typing import Literal

ENTITY = "http://www.wikidata.org/entity/"
NO_UNIT = ("1", f"{ENTITY}Q199")
"""What stands for "no unit"."""

SKIPPED_TYPES = frozenset({"external-id", "commonsMedia", "geo-shape", "tabular-data", "entity-schema"})
"""Datatypes of the JSON dump whose values are addresses in other catalogues, not facts."""

_TIME = re.compile(r"([+-]?)(\d+)-(\d\d)-(\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.\d+)?Z?)?")
_POINT = re.compile(r"(?:<[^>]*>\s*)?Point\(\s*(-?[\d.eE+-]+)\s+(-?[\d.eE+-]+)\s*\)", re.IGNORECASE)
_SECOND, _DAY, _MONTH, _YEAR, _DECADE, _CENTURY, _MILLENNIUM = 14, 11, 10, 9, 8, 7, 6
_TENS = 10


def time_text(time: str, precision: int = _DAY, *, years: Literal["historical", "astronomical"] = "historical") -> str:
    """A point in time, no more exactly than it is known ("1815-12-10", "1815", "44 BC", "19th century").

    Args:
        time: "+1815-12-10T00:00:00Z", with or without the sign.
        precision: Wikidata's: 11 a day, 10 a month, 9 a year, 8 a decade, 7 a century, 6 a thousand years, less for
            coarser ones; 14 a second.
        years: how years before Christ are counted: "-0044" is 44 BC in the JSON dumps (historical) and 45 BC in RDF.
    """
    found = _TIME.fullmatch(time.strip())
    if found is None:
        return time
    sign, digits, month, day, clock = found.groups()
    year = int(digits)
    era = ""
    if sign == "-" or (years == "astronomical" and not year):
        year += years == "astronomical"
        era = " BC"
    if precision == _DECADE:
        return f"{year // 10 * 10}s{era}"
    if precision in (_CENTURY, _MILLENNIUM):
        size = 100 if precision == _CENTURY else 1000
        return f"{_ordinal(-(-year // size))} {'century' if precision == _CENTURY else 'millennium'}{era}"
    if precision <= _YEAR or not int(month):
        return f"{year}{era}"
    # Four digits are the standard's, and what dates are known by; before Christ nobody writes so.
    shown = f"{year}-{month}" if era else f"{year:04d}-{month}"
    if precision > _MONTH and int(day):
        shown += f"-{day}"
    if precision >= _SECOND and clock:
        shown += f" {clock}"
    return shown + era


def _ordinal(number: int) -> str:
    last = number % _TENS
    teen = number // _TENS % _TENS == 1
    return f"{number}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th')}"


def quantity_text(amount: str, unit: str = "") -> str:
    """A quantity with the label of its unit, if it has one ("8848.86 metre")."""
    number = amount.strip().removeprefix("+")
    return f"{number} {unit}" if unit else number


def place_text(latitude: float | str, longitude: float | str) -> str:
    """A place on a globe."""
    return f"{float(latitude):.6g}, {float(longitude):.6g}"


def point_text(text: str) -> str:
    """A well-known text `Point(longitude latitude)` as latitude and longitude; other text as it is."""
    found = _POINT.fullmatch(text.strip())
    try:
        return place_text(found[2], found[1]) if found else text
    except ValueError:
        return text
