"""Rivers, lakes and high and low points as the source describes them, parsed and cleaned."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from world.source import country_name, number

if TYPE_CHECKING:
    from world.source import Country

# the source lists these countries for waters that only touch their drainage basin
DOUBTFUL = {("Euphrates", "Iran"), ("Tigris", "Iran"), ("Zambezi", "Malawi"), ("Zambezi", "Tanzania"),
            ("Vistula", "Belarus"), ("Vistula", "Ukraine"), ("Tagus", ""), ("Congo", "Tanzania")}  # fmt: skip
RIVER_NAMES = {
    "Río de la Plata/Paraná": "Parana", "Rio de la Plata/Parana": "Parana", "River Murray": "Murray",
    "Darling River": "Darling", "Murrumbidgee River": "Murrumbidgee", "Lachlan River": "Lachlan",
    "Flinders River": "Flinders", "Limpoporivier": "Limpopo", "Rio Limpopo": "Limpopo", "Helmand": "Helmand",
    "Dnyapro": "Dnieper", "Yenisey-Angara": "Yenisey", "Ob-Irtysh": "Ob", "Oubangui": "Ubangi", "Labe": "Elbe",
    "Oubangui River": "Ubangi", "Rio Paraguay": "Paraguay", "Lancang Jiang": "Mekong", "Zaïre": "Congo",
}  # fmt: skip
BASIN_ONLY_LENGTH = {"Yenisey", "Ob", "Parana"}  # the source measures a chain of rivers under one name
LAKE_NAMES = {
    "Erie": "Lake Erie", "Huron": "Lake Huron", "Ontario": "Lake Ontario", "Superior": "Lake Superior",
    "Michigan": "Lake Michigan", "Champlain": "Lake Champlain", "Great Salt": "Great Salt Lake", "Red": "Red Lake",
    "Iliamna": "Lake Iliamna", "Okeechobee": "Lake Okeechobee", "Pontchartrain": "Lake Pontchartrain",
    "Saint Clair": "Lake Saint Clair", "Selawik": "Selawik Lake", "Belcharof": "", "Quinghai Hu": "Qinghai Hu",
    "Abhe Bid Hayk/Abhe Bad": "Abhe Bad", "Abhe Bad/Abhe Bid Hayk": "Abhe Bad", "Lago Titicaca": "Lake Titicaca",
    "Zalew Szczecinski/Stettiner Haff": "Stettiner Haff", "Stettiner Haff/Zalew Szczecinski": "Stettiner Haff",
    "Lago General Carrera": "Lago Buenos Aires", "Lago O'Higgins": "Lago San Martín", "Lago de Nicaragua": "Lake Nicaragua",
    "Lago de Managua": "Lake Managua", "Lago de Maracaibo": "Lake Maracaibo", "Ozero Balkhash": "Lake Balkhash",
    "Ozero Issyk-Kul": "Lake Issyk-Kul", "Lago de Enriquillo": "Lago Enriquillo", "Lagoa Mirim": "Lagoa Mirim",
    "Laguna Merin": "Lagoa Mirim",
}  # fmt: skip


@dataclass
class River:
    """A river: where it runs, rises and ends, how long it is and what it is called on the way."""

    name: str
    countries: list[str] = field(default_factory=list)
    source: str = ""
    mouth: str = ""
    lengths: set[str] = field(default_factory=set)
    local: dict[str, str] = field(default_factory=dict)
    basin: str = ""
    ocean: str = ""
    sea: str = ""

    def add(self, country: str) -> None:
        """Notes a country the river runs through."""
        if country and country not in self.countries and (self.name, country) not in DOUBTFUL:
            self.countries.append(country)


@dataclass
class Lake:
    """A lake: the countries on its shore, its area and whether its water is salt."""

    name: str
    countries: list[str] = field(default_factory=list)
    areas: set[str] = field(default_factory=set)
    salt: bool = False
    other: set[str] = field(default_factory=set)


def _neighbours(text: str) -> list[tuple[str, str]]:
    """`Germany [s], Hungary, and Romania [m]` as pairs of country and mark."""
    text = re.sub(r"\)", "", text)
    out = []
    for part in re.split(r",\s*and\s+|,\s*|\s+and\s+(?!Herzegovina)", text):
        match = re.match(r"\s*(?:and )?(.+?)\s*(?:\[([sm](?:/m)?)\])?\s*$", part.strip())
        if match and match[1]:
            out.append((country_name(match[1]), match[2] or ""))
    return out


def _river_item(country: str, item: str, rivers: dict[str, River]) -> None:
    match = re.match(r"(.+?)\s*-\s*([\d,]+)\s*km", item.strip())
    if not match:
        return
    head, length = match[1], number(match[2])
    shared = re.search(r"\(shared with (.+)\)", head) or re.search(r"\(mouth shared with (.+)\)", head)
    head_name = head[: head.find("(shared")] if "(shared" in head else head.split("(mouth")[0]
    role = re.search(r"\s+(?:river\s+)?(source and mouth|source|mouth|and mouth|\[s\])\s*$", head_name.strip())
    name = re.sub(r"\s+river$", "", head_name.strip()[: role.start()] if role else head_name.strip())
    name = re.sub(r"\s+river$", "", name).strip()
    both = re.match(r"(.+?)\s*\((.+?)\)$", name)
    local, english = (both[1], both[2]) if both else ("", name)
    english = RIVER_NAMES.get(english, english)
    key = english
    if english.lower() in {"red", "red river"}:
        english = "Red River"
        key = "Red River|United States" if country == "United States" else "Red River|Vietnam"
    river = rivers.setdefault(key, River(english))
    river.add(country)
    if local and local != english:
        river.local[country] = local
    river.lengths.add(length)
    others = _neighbours(shared[1]) if shared else []
    for other, mark in others:
        river.add(other)
        if mark.startswith("s") and not river.source:
            river.source = other
        if mark.endswith("m") and mark != "s" and not river.mouth:
            river.mouth = other
    where = role[1] if role else ""
    if "source" in where or where == "[s]":
        river.source = country
    if "mouth" in where:
        river.mouth = country
    if not shared and not where:
        river.mouth = river.mouth or country


def _basins(countries: dict[str, Country], rivers: dict[str, River]) -> None:
    for country in countries.values():
        text = country.text("Major watersheds (area sq km)")
        ocean = ""
        for part in re.split(r"[;]\s*|,\s*(?=[A-Z(])", text):
            match = re.match(r"(?:(Arctic Ocean|Atlantic Ocean|Pacific Ocean|Indian Ocean|Internal)[^:]*: )?(.*)", part)
            if not match:
                continue
            ocean = match[1] or ocean
            item = re.match(r"(?:\(([^)]+)\) )?([^(*]+?)\*? (?:\(([A-Z][^)\d]+)\) )?\(([\d,]+) sq km", match[2])
            if not item:
                continue
            name = {"Paraná": "Parana", "Yenisei": "Yenisey", "São Francisco": "São Francisco"}.get(item[2], item[2])
            if name in rivers:
                rivers[name].basin, rivers[name].ocean = number(item[4]), ocean
                sea = (item[1] or item[3] or "").replace(" basin", "").replace(" Basin", "")
                rivers[name].sea = sea or rivers[name].sea


def rivers_of(countries: dict[str, Country]) -> dict[str, River]:
    """All rivers of the source's lists of major rivers."""
    rivers: dict[str, River] = {}
    for country in countries.values():
        text = re.sub(r"\s+note\b.*", "", country.text("Major rivers (by length in km)"))
        for item in text.split(";"):
            _river_item(country.name, item, rivers)
    known = set(countries)
    for river in rivers.values():
        river.countries = [c for c in river.countries if c in known]
        river.source, river.mouth = (c if c in known else "" for c in (river.source, river.mouth))
    _basins(countries, rivers)
    return rivers


def lakes_of(countries: dict[str, Country]) -> dict[str, Lake]:
    """All lakes of the source's lists of major lakes."""
    lakes: dict[str, Lake] = {}
    for country in countries.values():
        text = country.text("Major lakes (area sq km)")
        salt = False
        for raw in re.split(r"\s*;\s*", text):
            item = re.sub(r"\s*note\b.*", "", raw)
            kind = re.match(r"(fresh|salt) water lake\(s\): ", item)
            if kind:
                salt = kind[1] == "salt"
                item = item[kind.end() :]
            match = re.match(
                r"(.+?)\s*(?:\((?:[^)]*?)shared with ([^)]+)\)|\([^)]*\))?\s*(?:[-–]\s*)?([\d,]+(?:-[\d,]+)?)(?: sq km|$)",
                item.strip(),
            )
            if not match:
                continue
            name = match[1].strip(" -–*")
            name = re.sub(r"\s*\(.*", "", name).strip(" *")
            clean = LAKE_NAMES.get(name, name)
            if not clean:
                continue
            lake = lakes.setdefault(clean, Lake(clean, salt=salt))
            if name != clean:
                lake.other.update(n.strip() for n in name.split("/"))
            lake.areas.add(number(match[3]) if "-" not in match[3] else "range")
            if "*" in match[1]:
                lake.areas.add("share")
            for other in [country.name, *(o for o, _ in _neighbours(match[2] or ""))]:
                if other in countries and other not in lake.countries:
                    lake.countries.append(other)
    return lakes


PEAK_NAMES = {
    "Monts Nimba": "Mont Nimba", "Pic Marguerite on Mont Ngaliema": "Margherita Peak", "Mt. Fogo": "Mount Fogo",
    "Margherita Peak on Mount Stanley": "Margherita Peak", "Mt. Christoffel": "Mount Christoffel",
    "Gjeravica/Deravica": "Gjeravica", "Aoraki/Mount Cook": "Aoraki/Mount Cook", "Volcan Pico de Orizaba": "Pico de Orizaba",
    "Rock of Gibraltar": "Rock of Gibraltar", "Golem Korab": "Mount Korab", "Maja e Korabit": "Mount Korab",
    "Mont Piton": "Mont Piton",
}  # fmt: skip
PEAK_JUNK = re.compile(
    r"unnamed|^\d|\d km|\brange\b|height was|Blue Hill|^Cartier|^Baker|tee,|Airik|South Point|dunes|Vatican|Valley Point|Laberintos|,"
)


def peak(raw: str) -> tuple[str, str]:
    """A highest point's name and what it stands on; an empty name where the source has none."""
    if PEAK_JUNK.search(raw):
        return "", ""
    if raw in PEAK_NAMES:
        return PEAK_NAMES[raw], ""
    match = re.match(r"(.+?) on (.+)", raw)
    return (match[1], match[2]) if match else (raw, "")


SEA_PARTS = {
    "Atlantic/Pacific/Arctic Oceans": ["Atlantic Ocean", "Pacific Ocean", "Arctic Ocean"],
    "Indian/Pacific Oceans": ["Indian Ocean", "Pacific Ocean"],
    "Atlantic/Indian Oceans": ["Atlantic Ocean", "Indian Ocean"],
    "Andaman Sea/Bay of Bengal": ["Andaman Sea", "Bay of Bengal"],
    "Norwegian/Greenland Seas": ["Norwegian Sea", "Greenland Sea"],
    "Timor Sea, Savu Sea, and Banda Sea": ["Timor Sea", "Savu Sea", "Banda Sea"],
    "South Atlantic Ocean": ["Atlantic Ocean"],
}
SEA = re.compile(r"(Ocean|Sea|Gulf|Bay of|Strait|Channel)")
LOW_JUNK = re.compile(r"junction|unnamed|near |reclaimed|more than|Rivers$|delta|within")


def low_points(raw: str, rivers: dict[str, River], lakes: dict[str, Lake]) -> list[tuple[str, str]]:  # noqa: PLR0911
    """The names and types of a country's lowest point."""
    if LOW_JUNK.search(raw):
        return []
    if raw in SEA_PARTS:
        return [(name, "sea") for name in SEA_PARTS[raw]]
    name = LAKE_NAMES.get(raw, raw)
    if name in lakes:
        return [(name, "lake")]
    if SEA.search(raw):
        return [(raw, "sea")]
    bare = re.sub(r"(?i)\s+river$", "", raw)
    bare = RIVER_NAMES.get(raw, RIVER_NAMES.get(bare, bare))
    if bare in rivers:
        return [(bare, "river")]
    if re.search(r"(?i)river|nile", raw):
        return [(bare, "river")]
    if re.match(r"(Lake|Lac|Lago) |.* See$|.*Nuur$", raw):
        return [(raw, "lake")]
    return [(raw, "place")]


def group_by(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    """Second members by first member, in order, without repeats."""
    out: dict[str, list[str]] = defaultdict(list)
    for key, value in pairs:
        if value not in out[key]:
            out[key].append(value)
    return out
