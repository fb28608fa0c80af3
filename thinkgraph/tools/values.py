"""Values: which texts are numbers, dates, booleans or quantities; how Wikidata's and Neo4j's times, quantities and places read."""

from __future__ import annotations

import re
from datetime import date
from typing import Any, Literal

ValueKind = Literal["number", "date", "boolean", "quantity"]

DESCRIPTION_LENGTH = 160
"""Characters of the longest description of an entity."""

_LONGEST = 80
_EPOCH = date(1970, 1, 1).toordinal()
_ERA_YEARS, _ERA_DAYS = 400, 146_097
"""Years and days after which the calendar repeats."""
_DAY_SECONDS = 86_400
_LAST_YEAR = 9_999

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?:[1-9]|0[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?"
_ERA = r"(?:\s?(?:BC|BCE|AD|CE|B\.C\.|A\.D\.))?"
_YEAR = rf"\d{{1,4}}{_ERA}"
_DATE = re.compile(
    r"(?:"
    r"[-+]?\d{4,6}-\d{2}(?:-\d{2})?(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[-+]\d{2}:?\d{2})?)?"  # ISO 8601
    r"|\d{4}/\d{1,2}/\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{4}"
    rf"|(?:1\d{{3}}|20\d{{2}}){_ERA}|\d{{1,4}}\s?(?:BC|BCE|AD|CE)"  # a bare number is a year from 1000 to 2099
    r"|\d{3,4}s"
    rf"|{_DAY}\s+{_MONTH}(?:,?\s+{_YEAR})?|{_MONTH}\s+{_DAY}(?:,?\s+{_YEAR})?|{_MONTH},?\s+\d{{4}}"
    r")",
    re.IGNORECASE,
)
_NAMED_DAY = re.compile(
    rf"\b(?:(?P<iso>\d{{4}}-\d\d-\d\d)(?!\d)|"
    rf"(?:(?P<day>{_DAY})\s+(?P<month>{_MONTH})|(?P<month_first>{_MONTH})\s+(?P<day_after>{_DAY})),?\s+(?P<year>\d{{4}})\b)",
    re.IGNORECASE,
)
_DIGITS_DAY = re.compile(
    r"(?<![A-Za-z\d./-])(?:(?P<year>\d{4})(?:(?P<sign>[/.])|\s?年\s?)(?P<month>0?[1-9]|1[0-2])(?(sign)(?P=sign)|\s?月\s?)"
    r"(?P<day>[12]\d|3[01]|0?[1-9])(?(sign)(?![\d./-])|\s?日)"
    r"|(?P<day_first>[12]\d|3[01]|0?[1-9])\.(?P<month_second>0?[1-9]|1[0-2])\.(?P<year_last>\d{4})(?!\d|[./-]\d))"
)
"""A day in digits: "1999/1/31", "31.1.1999". With slashes and the year at the end the day may stand first or second: it is left out."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NUMBER_TEXT = r"[-+\u2212]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(_NUMBER_TEXT)
# A unit starts in lower case or is short, so that titles ("3 Idiots", "10 Downing Street") are no quantities.
_UNIT = r"(?:%|°[A-Z]?|[a-zµμ][\w²³/^·.-]{0,15}|[A-Z][\w²³/^·.-]{0,2})"
_QUANTITY = re.compile(
    rf"(?:[$€£¥]|[A-Z]{{3}}\s)?\s?{_NUMBER_TEXT}\s?(?:hundred|thousand|million|billion|trillion)?"
    rf"(?:\s?{_UNIT})?(?:\s{_UNIT}){{0,2}}(?:\s?\([^()]{{1,40}}\))?"
)
_DIGIT = re.compile(r"\d")
_BOOLEANS = frozenset({"true", "false", "yes", "no"})


def value_kind(text: str) -> ValueKind | None:
    """What sort of value the text is, or None where it may name a thing."""
    if len(text) > _LONGEST:
        return None
    if text.casefold() in _BOOLEANS:
        return "boolean"
    # The cheap way out for nearly all names: every value but a boolean has a digit.
    if not _DIGIT.search(text):
        return None
    if _DATE.fullmatch(text):
        return "date"
    if _NUMBER.fullmatch(text):
        return "number"
    return "quantity" if _QUANTITY.fullmatch(text) else None


def days_in(text: str) -> set[str]:
    """The days that a text names by year, month and day, in digits or in English, as ISO 8601 dates."""
    found = set()
    for named in _NAMED_DAY.finditer(text):
        if not (iso := named["iso"]):
            place = _MONTHS.index((named["month"] or named["month_first"])[:3].casefold()) + 1
            number = int(re.sub(r"\D", "", named["day"] or named["day_after"]))
            iso = f"{named['year']}-{place:02}-{number:02}"
        found.add(iso)
    for named in _DIGITS_DAY.finditer(text):
        year, month, day = named.group("year", "month", "day")
        if not year:
            day, month, year = named.group("day_first", "month_second", "year_last")
        found.add(f"{year}-{month:0>2}-{day:0>2}")
    return found


def is_day(text: str) -> bool:
    """Whether a text is nothing but a day, see `days_in`."""
    bare = text.strip(" .")
    return bool(_DIGITS_DAY.fullmatch(bare)) or (value_kind(bare) == "date" and bool(days_in(bare)))


def shortened(text: str) -> str:
    """A description of at most `DESCRIPTION_LENGTH` characters."""
    return text if len(text) <= DESCRIPTION_LENGTH else text[: DESCRIPTION_LENGTH - 1].rstrip() + "…"


ENTITY = "http://www.wikidata.org/entity/"
NO_UNIT = ("1", f"{ENTITY}Q199")
"""What stands for "no unit"."""

SKIPPED_TYPES = frozenset({"external-id", "commonsMedia", "geo-shape", "tabular-data", "entity-schema"})
"""Datatypes of the JSON dump whose values are addresses in other catalogues, not facts."""

_TIME = re.compile(r"([+-]?)(\d+)-(\d\d)-(\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.\d+)?Z?)?")
_POINT = re.compile(r"(?:<[^>]*>\s*)?Point\(\s*(-?[\d.eE+-]+)\s+(-?[\d.eE+-]+)\s*\)", re.IGNORECASE)
_TO_SECOND, _TO_DAY, _TO_MONTH, _TO_YEAR, _TO_DECADE, _TO_CENTURY, _TO_MILLENNIUM = 14, 11, 10, 9, 8, 7, 6
_TENS = 10


def time_text(
    time: str, precision: int = _TO_DAY, *, years: Literal["historical", "astronomical"] = "historical"
) -> str:
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
    if precision == _TO_DECADE:
        return f"{year // 10 * 10}s{era}"
    if precision in (_TO_CENTURY, _TO_MILLENNIUM):
        size = 100 if precision == _TO_CENTURY else 1000
        return f"{_ordinal(-(-year // size))} {'century' if precision == _TO_CENTURY else 'millennium'}{era}"
    if precision <= _TO_YEAR or not int(month):
        return f"{year}{era}"
    # Four digits are the standard's, and what dates are known by; before Christ nobody writes so.
    shown = f"{year}-{month}" if era else f"{year:04d}-{month}"
    if precision > _TO_MONTH and int(day):
        shown += f"-{day}"
    if precision >= _TO_SECOND and clock:
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


def foreign_time(value: Any) -> str:
    """A date or time for which Neo4j's driver has no Python value, in ISO 8601, that of a named zone in UTC; "" for any other value.

    It lies before the year 1 or after 9999, or in a time zone that Python does not know.
    """
    # In its place the driver gives an object that keeps what the server sent.
    raw = getattr(value, "raw_data", None)
    match getattr(raw, "tag", None), getattr(raw, "fields", None):
        case b"D", [int(days)]:
            return _day(days)
        case b"d", [int(seconds), int(nanoseconds)]:
            return _moment(seconds, nanoseconds)
        case b"I", [int(seconds), int(nanoseconds), int(offset)]:
            return _moment(seconds + offset, nanoseconds) + _offset(offset)
        case b"i", [int(seconds), int(nanoseconds), _]:
            return _moment(seconds, nanoseconds) + "Z"
    return ""


def _day(days: int) -> str:
    """The date so many days after the first of January 1970."""
    eras, rest = divmod(days + _EPOCH - 1, _ERA_DAYS)
    near = date.fromordinal(rest + 1)
    year = near.year + eras * _ERA_YEARS
    return f"{year:{'04' if 0 <= year <= _LAST_YEAR else '+05'}}-{near:%m-%d}"


def _moment(seconds: int, nanoseconds: int) -> str:
    """The date and time so many seconds after that day began, with as much of a fraction as there is."""
    days, rest = divmod(seconds, _DAY_SECONDS)
    fraction = f".{nanoseconds:09}".rstrip("0").rstrip(".")
    return f"{_day(days)}T{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}{fraction}"


def _offset(seconds: int) -> str:
    """The distance from UTC, to the minute."""
    minutes = abs(seconds) // 60
    return f"{'-' if seconds < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}" if seconds else "Z"
