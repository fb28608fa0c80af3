"""One-line descriptions of entities."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from world import clean
from world.prose import grouped, listing, spell, the

if TYPE_CHECKING:
    from world.graph import Builder
    from world.model import Entity, World

REGIONS = {
    "Africa": "Africa", "Europe": "Europe", "South America": "South America", "North America": "North America", "Middle East": "the Middle East",
    "South Asia": "South Asia", "Central Asia": "Central Asia", "Antarctica": "the Antarctic", "Australia and Oceania": "Australia and Oceania",
    "East and Southeast Asia": "East and Southeast Asia", "Central America and the Caribbean": "Central America and the Caribbean",
}  # fmt: skip
NOUNS = {
    "language": "language spoken in", "religion": "religion with followers in", "currency": "currency in use in", "people": "people or ethnic group of",
    "symbol": "national symbol of", "anthem": "national anthem of", "government form": "form of government of", "mountain": "highest point of",
    "place": "lowest-lying place of", "commodity": "good produced or exported by", "former state": "former state left by",
}  # fmt: skip


def _some(places: list[Entity]) -> str:
    names = [the(p.label) for p in places]
    short = len(names) <= 2 and sum(len(n.split()) for n in names) <= 7
    return (
        listing(names)
        if short
        else f"{the(min((p.label for p in places), key=lambda n: (len(n.split()), places[0].label != n)))} and {spell(len(places) - 1)} other {'place' if len(places) == 2 else 'places'}"
    )


class Describer:
    """Writes the description of every entity from its facts."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.world: World = builder.world
        self.into: dict[Entity, dict[str, list[Entity]]] = defaultdict(lambda: defaultdict(list))
        self.out: dict[Entity, dict[str, list[Entity]]] = defaultdict(lambda: defaultdict(list))
        for subject, relation, obj in self.world.triples:
            self.into[obj][relation].append(subject)
            self.out[subject][relation].append(obj)
        self.value: dict[tuple[Entity, str], str] = {(s, r): v for s, r, v in self.world.literals}
        self.blurb = dict(clean.ORGANIZATIONS.values())

    def run(self) -> None:
        """Describes all entities."""
        for entity in self.world.entities.values():
            entity.description = getattr(self, "_" + entity.type.replace(" ", "_"), self._other)(entity)

    def _other(self, entity: Entity) -> str:
        users = list(dict.fromkeys(s for group in self.into[entity].values() for s in group))
        text = f"{NOUNS[entity.type]} {_some(users)}"
        if entity.type == "mountain":
            text += f", {grouped(self.value[entity, 'elevation_m'])} m high"
        return text

    def _country(self, entity: Entity) -> str:
        region = self.out[entity]["located_in_region"]
        return f"sovereign country in {REGIONS[region[0].label]}" if region else "sovereign country of the world"

    def _territory(self, entity: Entity) -> str:
        region = self.out[entity]["located_in_region"]
        owner = self.out[entity]["dependency_of"]
        where = f" in {REGIONS[region[0].label]}" if region else ""
        if entity.label == "Antarctica":
            return "frozen continent around the South Pole"
        return (
            f"territory of {the(owner[0].label)}{where}" if owner else f"territory of special or disputed status{where}"
        )

    def _city(self, entity: Entity) -> str:
        seats = self.into[entity]["capital"]
        if seats:
            return f"capital city of {listing([the(s.label) for s in seats])}"
        return f"large city or urban area in {the(self.into[entity]['major_city'][0].label)}"

    def _river(self, entity: Entity) -> str:
        places = self.out[entity]["flows_through"]
        if not places:
            return f"river at the lowest point of {_some(self.into[entity]['lowest_point'])}"
        length = self.value.get((entity, "length_km"), "")
        where = (
            f"river flowing through {the(places[0].label)}"
            if len(places) == 1
            else f"river flowing through {spell(len(places))} countries, among them {the(places[0].label)}"
        )
        if length and len(where.split()) > 11:
            where = f"river flowing through {spell(len(places))} countries"
        return f"{where}, {grouped(length)} km long" if length else where

    def _lake(self, entity: Entity) -> str:
        places = self.out[entity]["lies_in"]
        if not places:
            return f"lake at the lowest point of {_some(self.into[entity]['lowest_point'])}"
        return f"lake on the territory of {_some(places)}"

    def _sea(self, entity: Entity) -> str:
        return f"body of water at the lowest level of {_some(self.into[entity]['lowest_point'])}"

    def _region(self, entity: Entity) -> str:
        return f"region of the world holding {len(self.into[entity]['located_in_region'])} countries and territories"

    def _organization(self, entity: Entity) -> str:
        return self.blurb[entity.label]

    def _person(self, entity: Entity) -> str:
        roles: dict[str, list[Entity]] = defaultdict(list)
        for relation in ("chief_of_state", "head_of_government"):
            for place in self.into[entity][relation]:
                title = self.world.triples[place, relation, entity].get("title", "leader")
                if place not in roles[title]:
                    roles[title].append(place)
        title, places = next(iter(roles.items()))
        return f"{title.replace('lord of mann ', '')} and leader of {_some(sorted(places, key=lambda p: p.type))}"

    def _former_state(self, entity: Entity) -> str:
        return clean.FORMER_STATES[entity.label]
