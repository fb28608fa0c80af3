"""Property values as people read them."""

from __future__ import annotations

import hashlib
from typing import Any

from thinkgraph.tools.linking.names import well_formed
from thinkgraph.tools.neo4j.cypher import VALUE_CUT

_HASH_BYTES = 4


def render(value: Any) -> str:  # noqa: PLR0911 - one return for each kind
    """A value as text; "" for what has none (nothing, bytes, lists).

    Numbers without a needless fraction, booleans as Cypher writes them, dates and times in ISO 8601, points by their
    coordinates, long strings cut.
    """
    if isinstance(value, str):
        return value if len(value) < VALUE_CUT else value[: VALUE_CUT - 1].rstrip() + "…"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)  # noqa: PLR2004 - then exact
    if value is None or isinstance(value, list | bytes | bytearray):
        return ""
    if hasattr(value, "srid"):
        return _point(value)
    iso = getattr(value, "iso_format", None)
    return str(iso()) if callable(iso) else well_formed(str(value))


def _point(value: Any) -> str:
    names = ("longitude", "latitude", "height") if hasattr(value, "longitude") else ("x", "y", "z")
    pairs = [(name, number) for name, number in zip(names, value, strict=False)]
    if hasattr(value, "longitude"):
        # As people say it, not as the coordinates are stored.
        pairs[0], pairs[1] = pairs[1], pairs[0]
    return ", ".join(f"{name} {render(float(number))}" for name, number in pairs)


def elements(value: Any) -> list[str]:
    """The texts of a value: several for a list, none for what has no text."""
    parts = value if isinstance(value, list) else [value]
    return [text for part in parts if (text := render(part))]


def digest(*parts: str) -> str:
    """A short hash by which a changed statement is told from the one that was cited."""
    joined = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=_HASH_BYTES).hexdigest()
