"""Passages on capitals, office-holders, anthems, currencies, languages, rivers and lakes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from world import people
from world.prose import Passage, fits, join, listing, own, pick, spell, the
from world.prose_waters import basin, club, water
from world.source import number, proper

if TYPE_CHECKING:
    from world.graph import Builder
    from world.model import Entity
    from world.source import Country


LEAST_SHARE = 10  # a language whose largest counted share is smaller gets no passage
LONG_NAMES = 7  # words in an enumeration of authors
MANY_PEOPLE = 9_000_000  # smaller currencies get no passage


def capital_names() -> dict[tuple[str, str], str]:
    """Where capitals have their names from: sentences written by hand from the source's etymologies."""
    rows = (Path(__file__).parent / "capital_names.tsv").read_text(encoding="utf-8").splitlines()
    return {(c, city): text for c, city, text in (row.split("\t") for row in rows)}


def capital(city: Entity, here: Entity, country: Country, origin: str) -> Passage | None:
    """A capital's name, clock and position."""
    text = country.text("Capital")
    name = city.label
    parts = [origin]
    start = pick(
        name + "start",
        (
            f"{name} is the capital of {the(country.name)}",
            f"the government of {the(country.name)} has its seat in {name}",
            f"{own(country.name)} capital is {name}",
            f"{name} serves {the(country.name)} as its capital",
        ),
    )
    if name == "Amsterdam":
        start = "Amsterdam is the capital of the Netherlands"
    zone = re.search(r"UTC ?([+-]\d+(?:\.\d+)?|0)", text)
    if zone:
        shift = zone[1]
        hours = shift.lstrip("+-")
        way = "ahead of" if shift.startswith("+") else "behind"
        span = "one hour" if hours == "1" else f"{spell(int(hours))} hours" if hours.isdigit() else f"{hours} hours"
        if hours == "0":
            parts.append(
                pick(
                    name + "zone",
                    (
                        "its clocks show Coordinated Universal Time itself",
                        "local time is the same as Coordinated Universal Time",
                    ),
                )
            )
        else:
            parts.append(
                pick(
                    name + "zone",
                    (
                        f"clocks are set {span} {way} Coordinated Universal Time",
                        f"local time is UTC{shift}, that is {span} {way} Greenwich",
                        f"the time there is {span} {way} UTC",
                    ),
                )
            )
    if "daylight saving time" in text:
        saving = re.search(r"daylight saving time: \+1hr, begins ([a-z]+ \w+ in \w+); ends ([a-z]+ \w+ in \w+)", text)
        parts.append(
            pick(
                name + "saving",
                (
                    f"summer time starts on the {saving[1]} and is over on the {saving[2]}",
                    f"between the {saving[1]} and the {saving[2]} the clocks are put forward by an hour",
                ),
            )
            if saving
            else "the clocks are put forward in summer",
        )
    else:
        gap = re.search(r"\((\d+(?:\.\d+)?) hours? (ahead of|behind) Washington", text)
        if gap and country.name != "United States":
            unit = "hour" if gap[1] == "1" else "hours"
            parts.append(
                pick(
                    name + "gap",
                    (
                        f"in winter, Washington is {gap[1]} {unit} {'behind' if gap[2] != 'behind' else 'ahead'}",
                        f"a clock in Washington shows a time {gap[1]} {unit} {'earlier' if gap[2] != 'behind' else 'later'} in winter",
                        f"the gap to Washington is {gap[1]} {unit} in winter",
                    ),
                )
            )
    place = re.search(r"geographic coordinates: (\d+) (\d+) ([NS]), (\d+) (\d+) ([EW])", text)
    if place:
        where = f"{int(place[1])}°{place[2]}′ {'north' if place[3] == 'N' else 'south'} and {int(place[4])}°{place[5]}′ {'east' if place[6] == 'E' else 'west'}"  # noqa: RUF001
        parts.append(
            pick(
                name + "place",
                (f"on the map it is found near {where}", f"its coordinates are about {where}", f"it lies at {where}"),
            )
        )
    out = join(start, *parts)
    return Passage("Name and time", [city, here], out) if fits(out) else None


def office(country: Country, here: Entity, builder: Builder) -> Passage | None:
    """Since when a country's leaders have been in office and how they come to it."""
    chief, head = people.holder(country, "chief of state"), people.holder(country, "head of government")
    if not chief or not chief.since or here.type != "country" or (head and not head.since):
        return None
    person = builder.world.get(chief.name, "person")
    if not person or len(builder.world.subjects("chief_of_state", person)) > 1:
        return None
    title = chief.title if chief.title == "Pope" else chief.title.lower()
    place = the(country.name)
    same = head is not None and head.name == chief.name
    start = pick(
        chief.name,
        (
            f"{chief.name} has been {title} of {place} since {chief.since}",
            f"since {chief.since} the {title} of {place} has been {chief.name}",
            f"{chief.name} became {title} of {place} on {chief.since}",
            f"on {chief.since} {chief.name} took office as {title} of {place}",
        ),
    )
    way, years = people.term(country)
    parts = []
    if way == "hereditary":
        parts.append(
            pick(country.name + "way", ("the crown is hereditary", "the throne passes by inheritance"))
            if "sultan" not in title and "amir" not in title
            else "the office is hereditary"
        )
    elif way:
        voters = {
            "directly": ("the people elect the president themselves", "the president is chosen by popular vote"),
            "indirectly": (
                "the people do not elect the president themselves; electors or members of parliament do",
                "the president is elected indirectly",
            ),
        }
        parts.append(pick(country.name + "way", voters[way]))
        if years:
            parts.append(
                pick(
                    country.name + "term",
                    (
                        f"a presidential term is {spell(int(years))} years long",
                        f"the mandate runs for {spell(int(years))} years",
                    ),
                )
            )
    if same:
        parts.append(
            pick(
                country.name + "same",
                (
                    "one and the same person leads the government",
                    "the government, too, is led from this office",
                    "no separate prime minister stands at the head of the government",
                ),
            )
        )
    elif head:
        post = head.title.lower()
        parts.append(
            pick(
                country.name + "head",
                (
                    f"the government is headed by {head.name}, {post} since {head.since}",
                    f"{head.name} has led the government as {post} since {head.since}",
                    f"as {post}, {head.name} has been in charge of the government since {head.since}",
                ),
            )
        )
    date = re.search(
        r"expected date of next election: (?:by |in )?((?:[A-Z][a-z]+ )?\d{4})", country.text("Executive branch")
    )
    if date:
        parts.append(
            pick(
                country.name + "next",
                (
                    f"the next election for the post was planned for {date[1]}",
                    f"{date[1]} is the date foreseen for the next election",
                ),
            )
        )
    subjects = [person, here]
    other = builder.world.get(head.name, "person") if head and not same else None
    if other:
        subjects.append(other)
    text = join(start, *parts)
    return Passage("Office", subjects, text) if len(text.split()) >= 40 else None


def _authors(raw: str) -> tuple[str, str]:
    raw = re.sub(r"\s*\(.*?\)", "", raw)
    words, _, music = raw.partition("/")
    tidy = [re.sub(r"\s+", " ", proper(part.strip())) for part in (words, music or "")]
    return tidy[0], tidy[1]


def anthem(entity: Entity, here: Entity, facts: dict[str, str]) -> Passage | None:
    """Who wrote an anthem and when it was adopted."""
    words, music = _authors(facts.get("lyrics/music", ""))
    year = re.search(r"adopted (\d{4})|in use since (\d{4})", facts.get("history", "").split(";")[0])
    plain_name = re.compile(r"^[A-ZÀ-ž][^,;:0-9]{3,70}$")
    if not plain_name.match(words) or re.search(
        r"unknown|government|collective|traditional|committee|adapted", words + music
    ):
        return None
    place = the(here.label)
    english = next((a for a in entity.aliases if a), "")
    start = pick(
        entity.label,
        (
            f'"{entity.label}" is the national anthem of {place}',
            f'the national anthem of {place} bears the title "{entity.label}"',
            f'people in {place} sing "{entity.label}" as their anthem',
        ),
    )
    parts = [f'in English the title can be given as "{english}"' if english and english != entity.label else ""]
    if music and plain_name.match(music):
        if music == words:
            parts.append(f"both the words and the tune are by {words}")
        else:
            parts.append(
                pick(
                    entity.label + "by",
                    (
                        f"{words} wrote the words and {music} the music",
                        f"the text is by {words}, the melody by {music}",
                        f"it was {words} who supplied the verses, while the tune was composed by {music}",
                    ),
                )
            )
    elif not music:
        parts.append(f"both the words and the tune are by {words}")
    else:
        return None
    if max(len(re.findall(r"\w+", part)) for part in (words, music)) > LONG_NAMES:
        return None
    if music not in {"", words} and (words in music or " or " in music):
        parts.append(
            "the share of each author is not told apart here"
            if " or " not in music
            else "about the music opinions differ"
        )
    elif music not in {"", words}:
        parts.append(
            pick(
                entity.label + "two",
                (
                    "so poet and composer were different people",
                    "words and music thus come from different hands",
                    "thus it is the work of more than one person",
                ),
            )
        )
    else:
        parts.append(
            pick(
                entity.label + "two",
                ("a single author thus stands behind the whole song", "there is no second name to remember"),
            )
        )
    if year:
        when = year[1] or year[2]
        parts.append(
            pick(
                entity.label + "year",
                (
                    f"the song was adopted in {when}",
                    f"it has been official since {when}",
                    f"it gained its rank in {when}",
                ),
            )
            if year[1]
            else f"it has been sung since {when}"
        )
    if not year:
        parts.append("the year in which it became official is not on record here")
    text = join(start, *parts)
    return Passage("Anthem", [entity, here], text) if fits(text) else None


def exchange(unit: Entity, users: list[Entity], country: Country, units: str) -> Passage | None:
    """What a dollar cost in a currency in recent years."""
    rates = {int(y): v for y, v in re.findall(r"Exchange rates (\d{4}): ([\d,.]+) \(", country.text("Exchange rates"))}
    if len(rates) < 3 or unit.label == "US dollar":
        return None
    years = sorted(rates)
    last, first, middle = years[-1], years[0], years[-2]
    new, old = (float(number(rates[y])) for y in (last, first))
    percent = abs(new / old - 1) * 100
    if new == old:
        trend = f"in {first}, too, the same amount was asked for, a sign of a fixed rate"
    else:
        word = "dearer" if new > old else "cheaper"
        size = f"by about {percent:.0f} percent" if percent >= 1 else "by less than one percent"
        trend = pick(
            unit.label + "trend",
            (
                f"in {first} it had been {rates[first]}, so that the dollar has since grown {word} {size}",
                f"back in {first} the figure was {rates[first]}; over these years the dollar became {word} {size}",
                f"compared with {first}, when {rates[first]} were paid, the dollar was {word} {size}",
            ),
        )
    start = pick(
        unit.label + "start",
        (
            f"in {last} one US dollar bought {rates[last]} {units} on average",
            f"the average price of one US dollar in {last} was {rates[last]} {units}",
            f"for one US dollar {rates[last]} {units} had to be paid on average in {last}",
        ),
    )
    parts = [f"the year before, in {middle}, the rate stood at {rates[middle]}", trend]
    if len(users) == 1:
        parts.insert(
            0,
            pick(
                unit.label + "use",
                (
                    f"the {unit.label} is the money of {the(users[0].label)}",
                    f"people in {the(users[0].label)} pay with the {unit.label}",
                ),
            ),
        )
    else:
        parts.insert(
            0, f"the {unit.label} is the money of {spell(len(users))} of the countries and territories described here"
        )
    text = join(start, *parts)
    return Passage("Exchange rate", [unit, *users[:1]], text) if fits(text) else None


def speakers(entity: Entity, countries: dict[str, Country], builder: Builder) -> Passage | None:
    """The share of people who speak a language, country by country."""
    shares: list[tuple[float, str]] = []
    for relation in ("official_language", "language_spoken"):
        for place in builder.world.subjects(relation, entity):
            text = countries[place.label].text("Languages").split("major-language sample")[0]
            match = re.search(rf"(?:^|: |, |; ){re.escape(entity.label)} (?:\([^)]*\) )?(\d+(?:\.\d+)?)%", text)
            if match:
                shares.append((float(match[1]), place.label))
    shares.sort(reverse=True)
    if len(shares) < 3 or shares[0][0] < LEAST_SHARE:
        return None
    top = shares[:4]
    name = entity.label
    lead = pick(
        name + "lead",
        (
            f"how common is {name}? Where shares have been counted, {the(top[0][1])} comes first: {top[0][0]:g}% of the people there speak it",
            f"in {the(top[0][1])} {top[0][0]:g}% of the people speak {name}, the largest share among the countries with a figure",
            f"of the countries with figures, {the(top[0][1])} has the largest share of {name} speakers, {top[0][0]:g}%",
        ),
    )
    rest = listing([f"{share:g}% in {the(place)}" for share, place in top[1:]])
    parts = [
        pick(
            name + "rest",
            (f"the figures elsewhere include {rest}", f"then come {rest}", f"lower down the list one finds {rest}"),
        )
    ]
    if len(shares) > 4:
        parts.append(f"at the other end stands {the(shares[-1][1])} with {shares[-1][0]:g}%")
    parts.append(
        pick(
            name + "end",
            (
                "censuses and surveys of different years lie behind these shares, so they can only be compared roughly",
                "the counts were taken in different years and do not all ask the same question",
                "since the sources differ in age and method, small gaps mean little",
            ),
        )
    )
    text_out = join(lead, *parts)
    return Passage("Speakers", [entity, *[builder.place[p] for _, p in top[:2]]], text_out) if fits(text_out) else None


def everything(builder: Builder) -> list[Passage]:
    """All passages of this module."""
    world, out = builder.world, []
    origins = capital_names()
    for name, country in builder.countries.items():
        out += [
            capital(city, builder.place[name], country, origins[name, city.label])
            for city in builder.capitals[name]
            if (name, city.label) in origins
        ]
        out.append(office(country, builder.place[name], builder))
        for song in world.objects(builder.place[name], "national_anthem"):
            facts = builder.anthems.get(song.label, {})
            if facts.get("country") == name:
                out.append(anthem(song, builder.place[name], facts))
    for entity in list(world.entities.values()):
        if entity.type == "currency":
            users = world.subjects("currency", entity)
            people_count = sum(builder.countries[u.label].numbers.get("population", (0.0, ""))[0] for u in users)
            if people_count >= MANY_PEOPLE:
                out.append(exchange(entity, users, builder.countries[users[0].label], builder.plurals[entity.label]))
        elif entity.type == "language":
            out.append(speakers(entity, builder.countries, builder))
        elif entity.type == "organization":
            out.append(club(entity, builder))
    out += [basin(key, builder) for key in builder.rivers]
    out += [water(name, builder) for name in builder.lakes]
    return [p for p in out if p]
