"""Passages on rivers, lakes and the growth of organizations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from world.prose import Passage, fits, grouped, join, listing, own, pick, spell, the

if TYPE_CHECKING:
    from world.graph import Builder
    from world.model import Entity


def basin(key: str, builder: Builder) -> Passage | None:
    """A river's catchment, the sea it drains to and its names on the way."""
    river, entity = builder.rivers[key], builder.river_entities[key]
    if not river.basin and len(river.local) < 2:
        return None
    name = river.name
    parts = []
    if river.basin:
        area = grouped(river.basin)
        parts.append(
            pick(
                name,
                (
                    f"the {name} gathers its water from a basin of {area} square kilometers",
                    f"some {area} square kilometers of land drain into the {name}",
                    f"the catchment of the {name} covers {area} square kilometers",
                ),
            )
        )
        others = sorted((int(r.basin), r.name) for r in builder.rivers.values() if r.basin)
        rank = len(others) - [n for _, n in others].index(name)
        bigger = others[[n for _, n in others].index(name) + 1] if rank > 1 else None
        parts.append(
            f"that makes it number {rank} of the {len(others)} basins compared here, just after {own('the ' + bigger[1])}"
            if bigger
            else f"no other basin among the {len(others)} compared here is as large"
        )
        if river.ocean == "Internal":
            parts.append(
                f"it never reaches the ocean{': its water ends in the ' + river.sea if river.sea else ', because its basin has no outlet'}"
            )
        elif river.sea:
            parts.append(f"the water belongs to the system of the {river.ocean} and gets there through the {river.sea}")
        else:
            parts.append(f"its water is bound for the {river.ocean}")
    if river.local:
        names: dict[str, list[str]] = {}
        for country, local in river.local.items():
            names.setdefault(local, []).append(the(country))
        parts.append(
            "local maps call it " + listing([f"{local} in {listing(where)}" for local, where in names.items()])
        )
    parts.append(
        f"it touches {spell(len(river.countries))} countries on its course"
        if len(river.countries) > 1
        else f"from beginning to end it is counted as a river of {the(river.countries[0])}"
    )
    text = join(*parts)
    if not fits(text):
        text = join(
            *parts,
            pick(
                name + "pad",
                (
                    "a basin, in this sense, is all the land whose rain and snow feed the river",
                    "every brook and tributary inside that area adds to the stream",
                    "rain that falls outside this area feeds other rivers",
                ),
            ),
        )
    return Passage("Basin", [entity, *[builder.place[c] for c in river.countries[:1]]], text) if fits(text) else None


def water(name: str, builder: Builder) -> Passage | None:
    """Whether a lake is salt or fresh and how it ranks."""
    lake = builder.lakes[name]
    entity = builder.world.get(name, "lake")
    size = min(lake.areas)
    if not entity or len(lake.areas) != 1 or not size.isdigit() or int(size) < 2000:
        return None
    peers = sorted(
        (int(min(x.areas)), x.name)
        for x in builder.lakes.values()
        if len(x.areas) == 1 and min(x.areas).isdigit() and x.salt == lake.salt
    )
    place = len(peers) - [n for _, n in peers].index(name)
    kind = "salt" if lake.salt else "fresh"
    start = pick(
        name + "w",
        (
            f"the water of {name} is {kind}",
            f"{name} holds {kind} water",
            f"whoever tastes the water of {name} finds it {kind}",
        ),
    )
    if name.endswith("Sea"):
        start = f"the water of the {name} is salt" if lake.salt else f"the water of the {name} is fresh"
    label = f"the {name}" if name.endswith("Sea") else name
    parts = [
        f"among the {len(peers)} {kind}-water lakes with a known area it is number {place} by size"
        if place > 1
        else f"no other of the {len(peers)} {kind}-water lakes with a known area is so large"
    ]
    smaller = peers[[n for _, n in peers].index(name) - 1] if place < len(peers) else None
    if smaller:
        ratio = int(size) / smaller[0]
        than = f"the {smaller[1]}" if smaller[1].endswith("Sea") else smaller[1]
        parts.append(
            f"the next smaller one on the list is {than}"
            if ratio < 1.5
            else f"the next one on the list, {than}, has not even {'half' if ratio > 2 else 'two thirds'} its area"
        )
    parts.append(
        f"{spell(len(lake.countries))} countries meet on the shores of {label}: {listing([the(c) for c in lake.countries])}"
        if len(lake.countries) > 1
        else f"all of {label} belongs to {the(lake.countries[0])}"
    )
    text = join(start, *parts)
    return Passage("Water", [entity, *[builder.place[c] for c in lake.countries[:1]]], text) if fits(text) else None


def club(entity: Entity, builder: Builder) -> Passage | None:
    """When members joined an organization, as far as the source tells."""
    code = next((a for a in entity.aliases if a), entity.label)
    joined: list[tuple[str, str]] = []
    for name, country in builder.countries.items():
        match = re.search(
            rf"(?:joined|member of|became a member of)(?: both)?(?: the)? (?:EU and |NATO and the )?{re.escape(code)}(?: since| in)? (\d{{4}})",
            country.text("Military - note"),
        )
        if match and builder.world.triples.get((builder.place[name], "member_of", entity)) is not None:
            joined.append((match[1], name))
    joined.sort()
    if len(joined) < 3:
        return None
    shown = joined[:6]
    steps = listing([f"{the(n)} ({y})" for y, n in shown])
    last = (
        f"the latest entry with a known year is that of {the(joined[-1][1])} in {joined[-1][0]}"
        if len(joined) > 6
        else ""
    )
    text = join(
        f"the {entity.label}, {code} for short, did not get all its members at once",
        f"of those whose year of entry is told, the earliest are {steps}",
        last,
        "for the other members no year is given here",
    )
    return Passage("Membership", [entity, builder.place[shown[0][1]]], text) if fits(text) else None
