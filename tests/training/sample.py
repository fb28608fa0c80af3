"""Pairs of triples and texts to train on, and a small checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

PLACES = [
    ("Panama", "Panama City", "balboa"),
    ("Colombia", "Bogotá", "peso"),
    ("Costa Rica", "San José", "colón"),
    ("Ecuador", "Quito", "dollar"),
    ("Peru", "Lima", "sol"),
    ("Chile", "Santiago", "peso"),
    ("Bolivia", "Sucre", "boliviano"),
    ("Uruguay", "Montevideo", "peso"),
]


def rows() -> list[dict[str, object]]:
    """One set of triples for each country, with one or two texts."""
    found: list[dict[str, object]] = []
    for country, capital, money in PLACES:
        triples = [[country.replace(" ", "_"), "hasCapital", capital], [country.replace(" ", "_"), "currency", money]]
        first = f"The capital of {country} is {capital}, and its currency is the {money}."
        found.append({"triples": triples, "texts": [first]})
        found.append({"triples": triples[:1], "text": f"{capital} is the capital of {country}."})
    return found


def write_rows(file: Path, lines: list[dict[str, object]] | None = None) -> Path:
    """A JSON Lines file of these pairs, or of `lines`."""
    file.write_text("".join(json.dumps(row) + "\n" for row in (rows() if lines is None else lines)), "utf-8")
    return file
