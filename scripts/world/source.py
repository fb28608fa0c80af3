"""Reads the factbook extracts: sections of text per country, triples and numbers."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

RENAMED = {
    "The Dominican": "Dominican Republic",
    "Gaza, Gaza Strip": "Gaza Strip",
    "DRC": "Democratic Republic of the Congo",
    "Congo": "Republic of the Congo",
    "Virgin Islands": "US Virgin Islands",
}
DROPPED = {
    "Baker Island, Howland Island, Jarvis Island, Johnston Atoll, Kingman Reef, Midway Islands, Palmyra Atoll",
}
SPOKEN_OF = {
    "US": "United States",
    "UK": "United Kingdom",
    "Democratic Republic of Congo": "Democratic Republic of the Congo",
    "Republic of Congo": "Republic of the Congo",
    "the US": "United States",
    "the UK": "United Kingdom",
    "Great Britain": "United Kingdom",
    "Gambia": "The Gambia",
}
MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
TYPOGRAPHY = str.maketrans({"’": "'", "‘": "'", "\xa0": " "})  # noqa: RUF001
DATE = re.compile(rf"(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})")


def country_name(raw: str) -> str:
    """The label this package uses for a country that the source names `raw`."""
    raw = raw.strip()
    return RENAMED.get(raw) or SPOKEN_OF.get(raw) or raw


def iso_date(text: str) -> str:
    """`5 July 1962` as `1962-07-05`, or an empty string."""
    match = DATE.search(text)
    if not match:
        return ""
    return f"{int(match[3]):04d}-{MONTHS.index(match[2]) + 1:02d}-{int(match[1]):02d}"


@dataclass
class Country:
    """One country or territory of the source."""

    name: str
    sections: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[tuple[str, dict[str, str]]]] = field(default_factory=lambda: defaultdict(list))
    numbers: dict[str, tuple[float, str]] = field(default_factory=dict)
    aliases: list[str] = field(default_factory=list)
    anthems: list[dict[str, str]] = field(default_factory=list)

    def text(self, section: str) -> str:
        """The text of a section (its leaf name), or an empty string."""
        return self.sections.get(section, "")

    def fields(self, section: str) -> dict[str, str]:
        """The `key: value; key: value` pairs of a section."""
        return split_fields(self.text(section))


def split_fields(text: str) -> dict[str, str]:
    """Pairs of `key: value; key: value`; a piece without a key belongs to the one before."""
    out: dict[str, str] = {}
    last = ""
    for piece in text.split("; "):
        match = re.match(r"([a-z][A-Za-z ()/'-]{2,60}): (.*)", piece, re.DOTALL)
        if match and match[1] not in out:
            last = match[1]
            out[last] = match[2].strip()
        elif last:
            out[last] += "; " + piece
    return out


def qualifiers(text: str) -> dict[str, str]:
    """Qualifiers written `name=value; name=value`."""
    return dict(part.split("=", 1) for part in text.strip().split("; ") if "=" in part)


def load(folder: Path) -> dict[str, Country]:
    """All countries of the source, by their label here, in the order of the source."""
    countries: dict[str, Country] = {}
    with (folder / "passages.jsonl").open(encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line.translate(TYPOGRAPHY).replace("“", r"\"").replace("”", r"\""))
            raw = row["title"]
            if raw in DROPPED:
                continue
            name = country_name(raw)
            country = countries.setdefault(name, Country(name))
            leaf = row["section"].split(" / ", 1)[1]
            text = re.sub(r"^.*? - " + re.escape(leaf) + ": ", "", row["text"], count=1, flags=re.DOTALL)
            country.sections.setdefault(leaf, text)
    with (folder / "kg.tsv").open(encoding="utf-8") as stream:
        for line in stream:
            head, relation, tail, quals = line.translate(TYPOGRAPHY).rstrip("\n").split("\t")
            if country_name(head) in countries:
                countries[country_name(head)].rows[relation].append((tail.strip(), qualifiers(quals)))
    with (folder / "attributes.tsv").open(encoding="utf-8") as stream:
        for line in stream:
            head, relation, value, shown = line.rstrip("\n").split("\t")
            if country_name(head) in countries:
                countries[country_name(head)].numbers[relation] = (float(value), shown)
    for raw, names in json.loads((folder / "aliases.json").read_text(encoding="utf-8")).items():
        if country_name(raw) in countries:
            countries[country_name(raw)].aliases.extend(names)
    return countries


def number(text: str) -> str:
    """`4,880` as `4880`; decimals stay."""
    return text.replace(",", "").strip()


def plain(value: float) -> str:
    """A number without a needless decimal part."""
    return str(int(value)) if value == int(value) else str(value)


def proper(name: str) -> str:
    """A person's name with its capitalised surname in ordinary case."""
    out: list[str] = []
    for index, token in enumerate(name.split()):
        roman = re.fullmatch(r"(II|III|IV|V|VI|VII|VIII|IX|X|XIV|XVI)", token)
        if (roman and index > 0) or not re.search(r"[A-ZÀ-Þ]{2}", token):
            out.append(token)
        else:
            parts = re.split(r"([-.]|(?<=^[A-Z])'|(?<=^al)')", token)
            out.append("".join(p[:1] + p[1:].lower() if re.fullmatch(r"[A-ZÀ-Þ']+", p) else p for p in parts))
    return " ".join(out)
