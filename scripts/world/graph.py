"""Builds the triples and literals of the example knowledge base."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

from world import clean, people, waters
from world.model import Entity, World
from world.source import country_name, iso_date, number, plain, split_fields

if TYPE_CHECKING:
    from world.source import Country

TERRITORIES = {
    "Antarctica", "Paracel Islands", "Spratly Islands", "Western Sahara", "West Bank", "Gaza Strip", "Guernsey", "Jersey",
    "Isle of Man",
}  # fmt: skip
CAPITALS = {  # where the source's field holds more than one name or a remark
    "Benin": ["Porto-Novo"], "Burundi": ["Gitega"], "Côte d'Ivoire": ["Yamoussoukro"], "South Africa": ["Pretoria", "Cape Town", "Bloemfontein"],
    "Bolivia": ["La Paz", "Sucre"], "Burma": ["Rangoon"], "Moldova": ["Chisinau"], "Chile": ["Santiago"], "Eswatini": ["Mbabane", "Lobamba"],
    "Malaysia": ["Kuala Lumpur"], "Sri Lanka": ["Colombo", "Sri Jayewardenepura Kotte"], "Netherlands": ["Amsterdam"], "Nauru": [],
    "Akrotiri": ["Episkopi Cantonment"], "Dhekelia": ["Episkopi Cantonment"], "Tanzania": ["Dodoma"], "Israel": ["Jerusalem"],
    "Christmas Island": ["The Settlement"], "Saint Martin": ["Marigot"], "Hong Kong": [], "Macau": [], "San Marino": ["San Marino"], "British Indian Ocean Territory": [],
}  # fmt: skip
CITY_SPELLINGS = {
    "NUR-SULTAN": "ASTANA",
    "Nur-Sultan": "Astana",
    "Mombassa": "Mombasa",
    "Southampton/Portsmouth": "Southampton",
    "Dar es Salaam": "Dar es Salaam",
}
RULERS = {
    "UK": "United Kingdom", "US": "United States", "France": "France", "Spain": "Spain", "Portugal": "Portugal", "Belgium": "Belgium",
    "Great Britain": "United Kingdom", "Netherlands": "Netherlands", "Ethiopia": "Ethiopia", "Haiti": "Haiti", "Indonesia": "Indonesia",
    "Brazil": "Brazil", "Japan": "Japan", "Serbia": "Serbia", "Pakistan": "Pakistan", "Russia": "Russia",
}  # fmt: skip
NUMBERS = {
    "area_sq_km": "area_sq_km", "coastline_km": "coastline_km", "population": "population", "median_age": "median_age",
    "gdp_per_capita_usd": "gdp_per_capita_usd",
}  # fmt: skip


def fold(text: str) -> str:
    """Lower case without accents, for comparing spellings."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if c.isalnum())


class Builder:
    """Turns the countries of the source into a `World`."""

    def __init__(self, countries: dict[str, Country]) -> None:
        self.countries = countries
        self.world = World()
        self.rivers = waters.rivers_of(countries)
        self.lakes = waters.lakes_of(countries)
        self.place: dict[str, Entity] = {}
        self.capitals: dict[str, list[Entity]] = {}
        self.river_entities: dict[str, Entity] = {}
        self.anthems: dict[str, dict[str, str]] = {}
        self.plurals: dict[str, str] = {}

    def build(self) -> World:
        """Builds everything."""
        for name, country in self.countries.items():
            dependent = country.text("Dependency status") or name in TERRITORIES
            self.place[name] = self.world.entity(name, "territory" if dependent else "country")
        for name, country in self.countries.items():
            here = self.place[name]
            self._cities(here, country)
            self._status(here, country)
            self._tables(here, country)
            self._people(here, country)
            self._society(here, country)
            self._anthem(here, country)
            for source, relation in NUMBERS.items():
                if source in country.numbers:
                    value, shown = country.numbers[source]
                    year = re.search(r"\((\d{4})", shown)
                    self.world.literal(here, relation, plain(value), year=year[1] if year else "")
        self._rivers()
        self._lakes()
        for name, country in self.countries.items():
            self._points(self.place[name], country)
        self._commodities()
        self.world.prune()
        return self.world

    def _cities(self, here: Entity, country: Country) -> None:
        raw = split_fields(country.text("Capital")).get("name", "")
        names = CAPITALS.get(country.name, [re.sub(r"\s*\(.*|\s*;.*| in .*", "", raw).strip()] if raw else [])
        found: dict[str, Entity] = {}
        for name in names:
            if not name or name.startswith("none"):
                continue
            city = self.world.entity(name, "city", "" if name == "Episkopi Cantonment" else country.name)
            found[fold(name)] = city
            self.world.triple(here, "capital", city)
            other = re.search(r"\(([A-Z][^,;()]+?)\)", raw)
            if other and " " not in other[1].strip("() ") and "capital" not in other[1]:
                city.aliases.append(other[1])
        self.capitals[country.name] = list(found.values())
        year = re.search(r"\((\d{4})\)", country.text("Major urban areas - population"))
        for size, raw_name in re.findall(
            r"([\d.]+ million|[\d,]{4,}) ([^\d(]+?)(?= \(capital\)|, |\s*\(|;|$)",
            country.text("Major urban areas - population"),
        ):
            name = re.sub(r"^million ", "", raw_name.strip(" ,"))
            name = CITY_SPELLINGS.get(name, name)
            if not name[0].isupper() or not name:
                continue
            if name != "Dar es Salaam" and re.search(r"[A-Z]{3}", name):
                name = name.title().replace("'S", "'s").replace("'A", "'a")
            match = next((e for k, e in found.items() if k == fold(name) or fold(name) in k), None)
            city = match or self.world.entity(name, "city", country.name)
            self.world.triple(here, "major_city", city)
            value = plain(round(float(size.split()[0]) * 1e6)) if "million" in size else number(size)
            self.world.literal(city, "population", value, year=year[1] if year else "")

    def _status(self, here: Entity, country: Country) -> None:
        status = country.text("Dependency status")
        for pattern, ruler in (
            ("UK", "United Kingdom"), ("France", "France"), ("US|Department of the Interior", "United States"), ("Australia", "Australia"),
            ("New Zealand", "New Zealand"), ("Netherlands", "Netherlands"), ("Denmark", "Denmark"), ("Norway", "Norway"), ("China", "China"),
        ):  # fmt: skip
            if re.search(rf"\b(?:{pattern})\b", status.split(";")[0]):
                self.world.triple(here, "dependency_of", self.place[ruler])
                break
        text = country.text("Independence")
        first = re.match(
            r"\d{1,2} \w+ \d{4} \((?:declared |declared independence |independence declared )?from (?:the |a )?([^)]*)\)?",
            text,
        )
        if first and not re.search(r"\); .*\(from ", text):
            self.world.literal(here, "independence_date", iso_date(text))
            ruler = re.sub(r"[;,].*| protectorate status", "", first[1]).strip()
            if ruler in RULERS:
                self.world.triple(here, "gained_independence_from", self.place[RULERS[ruler]])
            elif ruler in clean.FORMER_STATES:
                self.world.triple(here, "gained_independence_from", self.world.entity(ruler, "former state"))
        for region, _ in country.rows["located_in_region"][:1]:
            self.world.triple(here, "located_in_region", self.world.entity(region, "region"))
        form = re.sub(r"\s*\([^)]*\)|\s*[;,].*", "", country.text("Government type")).strip()
        form = form or (country.rows["government_type"] or [("", {})])[0][0].split(";")[0].strip()
        if clean.GOVERNMENT.fullmatch(form):
            self.world.triple(here, "government_type", self.world.entity(form, "government form"))

    def _tables(self, here: Entity, country: Country) -> None:
        for other, quals in country.rows["shares_border_with"]:
            there = self.place.get(country_name(other))
            if there and there is not here:
                length = number(quals.get("length_km", ""))
                self.world.triple(here, "shares_border_with", there, length_km=length)
                self.world.triple(there, "shares_border_with", here, length_km=length)
        for other, quals in country.rows["export_partner"][:3]:
            there = self.place.get(country_name(other))
            if there and there is not here:
                self.world.triple(here, "export_partner", there, share_pct=quals.get("share_pct", ""))
        listed = re.sub(r"\([^)]*note.*", "", country.text("International organization participation"))
        for item in re.split(r",\s*(?![^()]*\))", listed):
            code, _, remark = item.strip().partition(" (")
            if (
                code in clean.ORGANIZATIONS
                and (country.name, code) not in clean.ENDED
                and not clean.NOT_A_MEMBER.search(remark)
            ):
                org = self.world.entity(clean.ORGANIZATIONS[code][0], "organization")
                if code not in org.aliases and code != org.label and code not in {"CAN", "LAS", "NC", "ECO", "CE"}:
                    org.aliases.append(code)
                self.world.triple(here, "member_of", org)
        self._money(here, country)
        for raw, _ in country.rows["national_symbol"]:
            if len(raw.split()) <= 3 and not re.search(r"\b(on|of|with|each|official|two|from)\b", raw):
                self.world.triple(here, "national_symbol", self.world.entity(re.sub(r" flower$", "", raw), "symbol"))

    def _money(self, here: Entity, country: Country) -> None:
        text = country.text("Exchange rates")
        money = re.match(r"Currency: (.+?)(?: \(([A-Z/]+)\))? per US dollar", text)
        if country.name == "United States" or re.search(r"\bUS dollar (is used|is legal|became|circulates)", text):
            plural, code, label = "US dollars", "USD", "US dollar"
        elif money and " or " not in money[1]:
            code = money[2] if money[2] and len(money[2]) == 3 else ""
            plural, label = money[1], clean.currency(money[1], code)
        elif money and "AUD" in (money[2] or ""):
            plural, code, label = "Australian dollars", "AUD", "Australian dollar"
        else:
            return
        unit = self.world.entity(label, "currency")
        self.world.triple(here, "currency", unit)
        self.world.literal(unit, "currency_code", code)
        if code in {"EUR", "USD", "GBP", "JPY"}:
            unit.aliases.append(code)
        renamed = label if "yuan" in label else label + "s"
        self.plurals.setdefault(label, renamed if code in clean.CURRENCY_BY_CODE else plural)

    def _people(self, here: Entity, country: Country) -> None:
        for office, relation in (("chief of state", "chief_of_state"), ("head of government", "head_of_government")):
            holder = people.holder(country, office)
            if holder:
                self.world.triple(here, relation, self.world.entity(holder.name, "person"), title=holder.title.lower())

    def _society(self, here: Entity, country: Country) -> None:
        official = {name for raw, _ in country.rows["official_language"] for name in clean.languages(raw)}
        spoken = [name for raw, _ in country.rows["language_spoken"] for name in clean.languages(raw)]
        for name in [*sorted(official, key=lambda n: (spoken.index(n) if n in spoken else -1, n)), *spoken]:
            relation = "official_language" if name in official else "language_spoken"
            self.world.triple(here, relation, self.world.entity(name, "language"))
        for raw, _ in country.rows["religion"][:4]:
            if raw in clean.RELIGIONS:
                share = re.search(re.escape(raw) + r" (?:\([^)]*\) )?([\d.]+)%", country.text("Religions"))
                label = clean.RELIGIONS[raw]
                self.world.triple(
                    here, "religion", self.world.entity(label, "religion"), share_pct=share[1] if share else ""
                )
        text = re.sub(r"\([^)]*\)", "", country.text("Ethnic groups")).split("note")[0]
        for name, share in re.findall(r"(?:^|, |; )([A-Z][A-Za-zÀ-ž' -]{2,28}?) ([\d.]+)%", text)[:3]:
            if (
                not re.search(
                    r"\b(other|and|or|mixed|Other|Black|White|descent|born|EU|non|South America|Islands|Saint)\b", name
                )
                and country_name(name) not in self.place
            ):
                self.world.triple(here, "ethnic_group", self.world.entity(name.strip(), "people"), share_pct=share)

    def _anthem(self, here: Entity, country: Country) -> None:
        text = country.text("National anthem(s)")
        titles = list(re.finditer(r"title: [\"“]([^\"”]+)[\"”]\s*(?:\(([^)]+)\))?", text))
        if not titles:
            return
        facts = split_fields(text)
        if (
            re.search(
                r"royal anthem\b(?!s)(?<!national and royal anthem)|official anthem, as",
                facts.get("history", "").split("it also serves")[0],
            )
            and here.type == "country"
        ):
            return
        title = titles[0][1].strip()
        generic = re.match(r"(Himno Nacional|National Anthem|Inno Nazionale|Bundeshymne|Hymne)$", title)
        anthem = self.world.entity(title, "anthem", country.name if generic else "")
        if titles[0][2] and len(titles[0][2]) < 60:
            anthem.aliases.append(titles[0][2])
        self.world.triple(here, "national_anthem", anthem)
        known = self.anthems.get(title)
        owner = {"God Save the King": "United Kingdom", "Yiyongjun Jinxingqu": "China"}.get(title, country.name)
        if known is None or (here.type == "country" and self.place[known["country"]].type == "territory"):
            self.anthems[title] = facts | {"country": owner}

    def _rivers(self) -> None:
        for key, river in self.rivers.items():
            tag = key.partition("|")[2]
            entity = self.world.entity(river.name, "river", tag)
            self.river_entities[key] = entity
            for name in river.countries:
                self.world.triple(entity, "flows_through", self.place[name])
            if river.source:
                self.world.triple(entity, "rises_in", self.place[river.source])
            if river.mouth:
                self.world.triple(entity, "ends_in", self.place[river.mouth])
            if len(river.lengths) == 1 and river.name not in waters.BASIN_ONLY_LENGTH:
                self.world.literal(entity, "length_km", min(river.lengths))
            entity.aliases += sorted(set(river.local.values())) + (
                [f"{river.name} River"] if "River" not in river.name else []
            )

    def _lakes(self) -> None:
        for lake in self.lakes.values():
            entity = self.world.entity(lake.name, "lake")
            for name in lake.countries:
                self.world.triple(entity, "lies_in", self.place[name])
            if len(lake.areas) == 1 and "range" not in lake.areas:
                self.world.literal(entity, "area_sq_km", min(lake.areas))
            entity.aliases += sorted(lake.other - {lake.name, "Red"})

    def _points(self, here: Entity, country: Country) -> None:
        for raw, quals in country.rows["highest_point"][:1]:
            name, ground = waters.peak(raw)
            if name:
                same = {"Mount Olympus": country.name}
                summit = self.world.entity(name, "mountain", same.get(name, ""))
                if ground:
                    summit.aliases.append(f"{name} on {ground}")
                self.world.triple(here, "highest_point", summit)
                self.world.literal(summit, "elevation_m", number(quals["elevation_m"]))
        for raw, quals in country.rows["lowest_point"][:1]:
            for name, kind in waters.low_points(raw, self.rivers, self.lakes):
                self.world.triple(
                    here, "lowest_point", self.world.entity(name, kind), elevation_m=number(quals["elevation_m"])
                )

    def _commodities(self) -> None:
        wanted = (("agricultural_product", 2), ("natural_resource", 3), ("exports_commodity", 3))
        counts = Counter(
            clean.product(raw) for c in self.countries.values() for relation, _ in wanted for raw, _ in c.rows[relation]
        )
        for name, country in self.countries.items():
            for relation, most in wanted:
                kept = [p for raw, _ in country.rows[relation] if (p := clean.product(raw)) and counts[p] > 1]
                for product in list(dict.fromkeys(kept))[:most]:
                    target = "exports" if relation == "exports_commodity" else relation
                    self.world.triple(self.place[name], target, self.world.entity(product, "commodity"))
