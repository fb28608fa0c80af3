"""Reading numbers and dates out of literal labels ("2,381,740 sq km", "1962-07-05", "4.2 million")."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"[-\u2212]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|[-\u2212]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_DATE = re.compile(r"^(-?\d{1,4})-(\d{1,2})(?:-(\d{1,2}))?(?:T.*)?$")
_SCALE = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALED = re.compile(r"\s*(thousand|million|billion|trillion)\b", re.IGNORECASE)


def number_in(text: str) -> float | None:
    """The first number of a label, scale words applied; a date as years. None where there is no number.

    >>> number_in("2,381,740 sq km"), number_in("about 4.2 million"), number_in("Panama")
    (2381740.0, 4200000.0, None)
    """
    date = _DATE.match(text.strip())
    if date:
        return int(date[1]) + (int(date[2]) - 1) / 12 + (int(date[3] or 1) - 1) / 372
    found = _NUMBER.search(text)
    if not found:
        return None
    value = float(found.group().replace(",", "").replace("\u2212", "-"))
    scaled = _SCALED.match(text, found.end())
    return value * _SCALE[scaled[1].casefold()] if scaled else value


def is_literal(text: str) -> bool:
    """Whether a label looks like a value rather than a name: a number with at most a unit behind it, or a date."""
    return bool(
        _DATE.match(text.strip()) or re.match(r"^[-\u2212$]?\d[\d,.]*(?:[eE][-+]?\d+)?\s*[^\d]{0,20}$", text.strip())
    )
