"""Passages on the land, the climate and the dangers of nature in a country."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from world.prose import Passage, fits, join, listing, own, pick, the
from world.source import MONTHS, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from world.model import Entity
    from world.source import Country

CLIMATES = (
    (r"\bequatorial\b", "equatorial"), (r"\bsubtropical\b", "subtropical"), (r"(?<!sub)\btropical\b", "tropical"),
    (r"\b[Mm]editerranean\b", "Mediterranean"), (r"\btemperate\b", "temperate"), (r"\bcontinental\b", "continental"),
    (r"\bmaritime\b|\bmarine\b", "maritime"), (r"\bsemiarid\b", "semiarid"), (r"(?<!semi)\barid\b", "arid"),
    (r"\bdesert\b", "desert"), (r"\bsubarctic\b", "subarctic"), (r"(?<!sub)\barctic\b", "arctic"), (r"\balpine\b", "alpine"),
)  # fmt: skip
TERRAIN = (
    (r"\bmountain|\bmontane|\bAlps\b|\bAndes\b|\bCarpathian|\bHimalaya|\bUral", "mountains"), (r"\bplateau", "plateaus"), (r"\bhill", "hills"), (r"\bplain", "plains"),
    (r"\bdesert", "desert"), (r"\blowland", "lowlands"), (r"\bhighland|\bupland", "highlands"), (r"\bvolcan", "volcanic ground"),
    (r"\bcoral|\batoll", "coral islands"), (r"\bvalley", "valleys"), (r"\bswamp|\bmarsh|\bwetland", "wetlands"), (r"\bsavanna", "savanna"),
    (r"\bforest|\bjungle", "forest"), (r"\bdelta", "river deltas"), (r"\bglacier|\bice\b", "ice"),
)  # fmt: skip
HAZARDS = (
    (r"earthquake|seismic", "earthquakes"), (r"volcan", "volcanic eruptions"), (r"hurricane", "hurricanes"), (r"typhoon", "typhoons"),
    (r"cyclon", "cyclones"), (r"flood", "floods"), (r"drought", "droughts"), (r"landslide|mudslide", "landslides"), (r"avalanche", "avalanches"),
    (r"tsunami", "tsunamis"), (r"sandstorm|dust storm|duststorm|sand storm", "sand and dust storms"), (r"harmattan", "the dusty harmattan wind"),
    (r"(forest|brush|wild)\s?fire", "wildfires"), (r"locust", "locust swarms"), (r"tornado", "tornadoes"), (r"blizzard|snowstorm", "snowstorms"),
)  # fmt: skip
ISSUES = (
    (r"deforestation", "deforestation"), (r"soil erosion|erosion", "erosion"), (r"desertification", "the spread of deserts"), (r"overgraz", "overgrazing"),
    (r"overfish", "overfishing"), (r"poach", "poaching"), (r"air pollution|air and water pollution", "polluted air"),
    (r"water pollution|pollution of (rivers|coastal|surface)|polluted (rivers|water)", "polluted water"), (r"acid rain", "acid rain"),
    (r"coral reef", "damage to coral reefs"), (r"drinking water|potable water|freshwater", "a shortage of clean fresh water"), (r"waste", "the disposal of waste"),
    (r"biodiversity", "the loss of species"), (r"sea level", "the rising sea"), (r"salin", "salt in the soil"),
)  # fmt: skip


def _found(table: Sequence[tuple[str, str]], text: str, most: int) -> list[str]:
    return [word for pattern, word in table if re.search(pattern, text)][:most]


def _seasons(text: str) -> str:
    if "equator" in text or len(re.findall(r"season", text)) > 2:
        return ""
    month = "|".join(MONTHS)
    wet = re.search(rf"(?:rainy|wet) season \(({month}) to ({month})\)", text)
    if wet:
        return pick(
            text,
            (
                f"rain falls mainly between {wet[1]} and {wet[2]}",
                f"the wet months run from {wet[1]} to {wet[2]}",
                f"expect the rains from {wet[1]} until {wet[2]}",
            ),
        )
    dry = re.search(rf"dry (?:season|winter)s? \(({month}) to ({month})\)", text)
    return f"it is driest from {dry[1]} to {dry[2]}" if dry else ""


def _height(country: Country) -> str:
    match = re.search(r"mean elevation: (-?[\d,]+) m", country.text("Elevation"))
    if not match:
        return ""
    metres = f"{int(number(match[1])):,}"
    return pick(
        country.name + "mean",
        (
            f"on average the land of {the(country.name)} lies {metres} meters above the sea",
            f"the mean elevation of {the(country.name)} is {metres} meters",
            f"{own(country.name)} surface has a mean height of {metres} meters",
            f"if the relief of {the(country.name)} were levelled out, it would stand {metres} meters high",
        ),
    )


def _kinds(seed: str, kinds: list[str]) -> str:
    if len(kinds) == 1:
        return pick(seed + "climate", (f"the climate is {kinds[0]}", f"it has a climate of the {kinds[0]} type"))
    if len(kinds) == 2:
        return pick(
            seed + "climate",
            (
                f"the climate is described as {kinds[0]} and {kinds[1]}",
                f"geographers speak of a climate both {kinds[0]} and {kinds[1]}",
            ),
        )
    return pick(
        seed + "climate",
        (
            f"{listing(kinds)} conditions are all to be found",
            f"descriptions of the climate use the words {listing(kinds)}",
        ),
    )


def _sea(country: Country) -> str:
    text = country.text("Maritime claims")
    near = re.search(r"territorial sea: (\d+) nm", text)
    zone = re.search(r"exclusive economic zone: (\d+) nm", text)
    if near and zone:
        return pick(
            country.name + "sea",
            (
                f"at sea it claims territorial waters of {near[1]} nautical miles and an economic zone of {zone[1]}",
                f"its territorial waters reach out {near[1]} nautical miles, its economic zone {zone[1]}",
                f"the state claims the first {near[1]} nautical miles of sea as its own and an economic zone out to {zone[1]}",
            ),
        )
    return ""


def land(here: Entity, country: Country) -> Passage | None:
    """Height, terrain, climate, hazards and environment of a country."""
    start = _height(country)
    climate = country.text("Climate")
    kinds = _found(CLIMATES, climate, 3)
    ground = _found(TERRAIN, country.text("Terrain"), 3)
    hazards = _found(HAZARDS, country.text("Natural hazards"), 3)
    issues = _found(ISSUES, country.text("Environmental issues"), 3)
    if not start or not kinds or not ground:
        return None
    parts = [
        pick(
            country.name + "ground",
            (
                f"its landscape is made up of {listing(ground)}",
                f"{listing(ground)} shape the landscape",
                f"the traveller meets {listing(ground)}",
            ),
        )
        if len(ground) > 1
        else f"{ground[0]} {'shapes' if ground[0] in {'desert', 'forest', 'volcanic ground', 'ice', 'savanna'} else 'shape'} the landscape",
        _kinds(country.name, kinds),
        _seasons(climate),
    ]
    if hazards:
        parts.append(
            pick(
                country.name + "hazard",
                (
                    f"nature threatens the inhabitants with {listing(hazards)}",
                    f"{listing(hazards)} are the hazards to reckon with"
                    if len(hazards) > 1
                    else f"{hazards[0]} are a hazard to reckon with",
                    f"among the dangers of nature are {listing(hazards)}",
                ),
            )
            if not hazards[0].startswith("the ")
            else f"nature threatens the inhabitants with {listing(hazards)}"
        )
    if issues:
        parts.append(
            pick(
                country.name + "issue",
                (
                    f"the environment suffers from {listing(issues)}",
                    f"environmental worries include {listing(issues)}",
                    f"on the list of environmental problems stand {listing(issues)}"
                    if len(issues) > 1
                    else f"an environmental problem is {issues[0]}",
                ),
            )
        )
    parts.append(_sea(country))
    text = join(start, *parts)
    return Passage("Land and climate", [here], text) if fits(text) else None
