"""Recognises values (numbers, dates, booleans, quantities), which are literals rather than things."""

from __future__ import annotations

import re
from typing import Literal

ValueKind = Literal["number", "date", "boolean", "quantity"]

_LONGEST = 80

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
_NUMBER_TEXT = r"[-+\u2212]?(?:(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_NUMBER = re.compile(_NUMBER_TEXT)
# A unit starts in lower case or is short, so that titles ("3 Idiots", "10 Downing Street") are no quantities.
_UNIT = r"(?:%|°[A-Z]?|[a-zµμ][\w²³/^·.-]{0,15}|[A-Z][\w²³/^·.-]{0,2})"
_QUANTITY = re.compile(
    rf"(?:[$€£¥]|[A-Z]{{3}}\s)?\s?{_NUMBER_TEXT}\s?(?:hundred|thousand|million|billion|trillion)?"
    rf"(?:\s?{_UNIT})?(?:\s{_UNIT}){{0,2}}(?:\s?\([^()]{{1,40}}\))?"
)
_BOOLEANS = frozenset({"true", "false", "yes", "no"})


def value_kind(text: str) -> ValueKind | None:
    """What sort of value the text is, or None where it may name a thing."""
    if len(text) > _LONGEST:
        return None
    if text.casefold() in _BOOLEANS:
        return "boolean"
    # The cheap way out for nearly all names: every value but a boolean has a digit.
    if not any(c.isdigit() for c in text):
        return None
    if _DATE.fullmatch(text):
        return "date"
    if _NUMBER.fullmatch(text):
        return "number"
    return "quantity" if _QUANTITY.fullmatch(text) else None
