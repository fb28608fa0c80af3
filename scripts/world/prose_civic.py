"""Passages on voting, national days and flags, citizenship and service."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from world.prose import Passage, fits, join, listing, own, pick, spell, the
from world.source import MONTHS, split_fields

if TYPE_CHECKING:
    from world.model import Entity
    from world.source import Country

# irregular voting rules, worded by hand from the source's remarks
VOTING = {
    "Estonia": "Sixteen-year-olds may already take part in local elections.",
    "Germany": "Some states and towns let people of 16 vote in their own elections.",
    "Israel": "In municipal elections the limit is a year lower.",
    "Malta": "Sixteen is enough for choosing a local council.",
    "Indonesia": "Married people may vote whatever their age.",
    "Dominican Republic": "Married people may vote whatever their age.",
    "Bosnia and Herzegovina": "Those with a job may vote from 16.",
    "Serbia": "Those with a job may vote from 16.",
    "Hungary": "Someone whose marriage is registered in the country can vote at 16.",
    "Peru": "The duty to vote ends at 70.",
    "Paraguay": "The duty to vote ends at 75.",
    "Italy": "A higher limit, 25, applied to the senate.",
    "Guatemala": "Soldiers and police officers on active duty are barred from the polls.",
    "Oman": "Members of the military and security forces may not vote.",
    "Northern Mariana Islands": "Although inhabitants are citizens of the United States, they have no vote for its president.",
    "Guam": "Although Guamanians are citizens of the United States, they have no vote for its president.",
    "Puerto Rico": "Although residents are citizens of the United States, they have no vote for its president.",
    "US Virgin Islands": "Although islanders are citizens of the United States, they have no vote for its president.",
    "Saudi Arabia": "The right applies to municipal elections.",
    "Brunei": "The right applies to village elections.",
    "Hong Kong": "Only a part of the seats is filled by direct election.",
    "Macau": "Only a part of the seats is filled by direct election.",
    "Kuwait": "Voters must also have been citizens for two decades.",
    "Lebanon": "Men and women of every religion have the vote, but convicted felons are left out.",
}
MOST_NAME_WORDS = 7  # a chamber's English and local name together
SKIP_VOTING = {"Brazil", "Argentina", "Ecuador", "Italy"}


def _age(country: Country, the_name: str) -> str:
    text = country.text("Suffrage")
    match = re.match(r"(\d+) years of age", text)
    if not match or country.name in SKIP_VOTING:
        return ""
    age = match[1]
    first = pick(
        country.name + "age",
        (
            f"citizens of {the_name} may vote from the age of {age}",
            f"the voting age in {the_name} is {age}",
            f"in {the_name} a citizen has to be at least {age} to cast a ballot",
            f"{the_name} gives its people the vote when they turn {age}",
            f"a person must have reached {age} to vote in {the_name}",
            f"elections in {the_name} are for citizens aged {age} and over",
            f"nobody under {age} can vote in {the_name}"
            if country.name not in VOTING
            else f"{age} is the usual voting age in {the_name}",
        ),
    )
    duty = ""
    if "compulsory" in text:
        duty = pick(
            country.name + "duty",
            (
                "Voting is compulsory",
                "Turning out on election day is a legal duty",
                "Casting a ballot is obligatory rather than optional",
            ),
        )
    return join(first, duty, VOTING.get(country.name, ""))


def _brazil_and_others(country: Country) -> str:
    if country.name == "Brazil":
        return "Brazilians between 18 and 70 are obliged to vote. Those of 16 or 17, people over 70 and anyone who cannot read are free to stay at home."
    if country.name == "Argentina":
        return "Argentines are obliged to vote from 18 until they are 70. For those of 16 and 17 a vote in national elections is a right without a duty."
    if country.name == "Ecuador":
        return "Voting is a duty for Ecuadorians from 18 to 65. Younger people may join in from 16, and older ones may please themselves."
    return ""


def _house(fields: dict[str, str], key: str) -> tuple[str, str, str]:
    """Name, local name and seats of a chamber; empty where the source's form is unusual."""
    raw = fields.get(key, "")
    match = re.match(r"(?:The )?([^()]+?)(?: \(([^()]+)\))?$", re.split(r" [-/] |; ", raw)[0].strip())
    name = match[1].strip() if match else ""
    local = (match[2] or "") if match else ""
    seats = re.match(r"(\d[\d,]*)", fields.get("number of seats", ""))
    if len(name.split()) > 6 or "," in name or re.search(r"[^\x00-\u017f]", name):
        name = ""
    local = "" if len(re.findall(r"\w+", f"{name} {local}")) > MOST_NAME_WORDS else local
    local = "" if local.lower() == name.lower() or len(local.split()) > 4 or " or " in local else local
    return name, local, seats[1] if seats else ""


SYSTEMS = {
    "proportional representation": (
        "members are chosen by proportional representation",
        "seats are shared out by proportional representation",
    ),
    "plurality/majority": (
        "members win their seats by a plurality or majority of the votes",
        "a plurality or majority of votes decides each seat",
    ),
    "mixed system": ("the voting system is a mixed one", "a mixed electoral system decides who sits there"),
}


def _system(country: Country, fields: dict[str, str]) -> str:
    kind = fields.get("electoral system", "").strip()
    return pick(country.name + "system", SYSTEMS[kind]) if kind in SYSTEMS else ""


def _women(country: Country, fields: dict[str, str], where: str) -> str:
    share = re.match(r"(\d+(?:\.\d+)?)%", fields.get("percentage of women in chamber", ""))
    if not share or float(share[1]) <= 0:
        return ""
    return pick(
        country.name + "women",
        (
            f"women hold {share[1]}% of the seats{where}",
            f"at the last count {share[1]}% of the members{where} were women",
            f"women make up {share[1]}% of the membership{where}",
        ),
    )


def _next(country: Country, fields: dict[str, str]) -> str:
    date = re.match(r"(?:by |in )?((?:[A-Z][a-z]+ )?20\d\d)$", fields.get("expected date of next election", "").strip())
    if not date:
        return ""
    return pick(
        country.name + "next",
        (
            f"the next election was planned for {date[1]}",
            f"the date foreseen for the next vote is {date[1]}",
            f"the following election was set for {date[1]}",
        ),
    )


def _parliament(country: Country) -> list[str]:
    fields = country.fields("Legislative branch")
    name, local, seats = _house(fields, "legislature name")
    term = re.match(r"(\d+) years?", fields.get("term in office", ""))
    also = f" ({local})" if local else ""
    if fields.get("legislative structure", "").startswith("unicameral") and name and seats:
        years = f", and a term lasts {spell(int(term[1]))} years" if term else ""
        return [
            pick(
                country.name + "house",
                (
                    f"laws are passed by the {name}{also}, a single chamber of {seats} seats{years}",
                    f"the {name}{also} is the whole of the legislature, one chamber with {seats} seats{years}",
                    f"there is one legislative chamber, the {name}{also}, in which {seats} members sit{years}",
                    f"{own(country.name)} only legislative body, the {name}{also}, counts {seats} seats{years}",
                ),
            ),
            _system(country, fields),
            _women(country, fields, ""),
            _next(country, fields),
        ]
    low, high = (
        country.fields("Legislative branch - lower chamber"),
        country.fields("Legislative branch - upper chamber"),
    )
    low_name, low_local, low_seats = _house(low, "chamber name")
    high_name, high_local, high_seats = _house(high, "chamber name")
    if not (low_name and high_name and low_seats and high_seats):
        return []
    low_also = f" ({low_local})" if low_local else ""
    high_also = f" ({high_local})" if high_local and high_local != low_local else ""
    term = re.match(r"(\d+) years?", low.get("term in office", ""))
    return [
        pick(
            country.name + "houses",
            (
                f"parliament has two houses, the {low_name}{low_also} with {low_seats} seats and the {high_name}{high_also} with {high_seats}",
                f"the legislature is divided into a lower house of {low_seats}, the {low_name}{low_also}, and an upper house of {high_seats}, the {high_name}{high_also}",
                f"of the two chambers the {low_name}{low_also} is the lower, with {low_seats} seats, and the {high_name}{high_also}, with {high_seats}, the upper",
                f"two chambers share the work of legislation: the {high_name}{high_also}, which has {high_seats} seats, and the {low_name}{low_also}, which has {low_seats}",
            ),
        ),
        f"members of the lower house serve for {spell(int(term[1]))} years" if term else "",
        _women(country, low, " in the lower house"),
        _next(country, low),
    ]


def voting(here: Entity, country: Country) -> Passage | None:
    """Who may vote and for what kind of parliament."""
    start = _age(country, the(country.name)) or _brazil_and_others(country)
    rest = _parliament(country)
    text = join(*([start] if start else []), *rest)
    return Passage("Voting", [here], text) if start and fits(text) else None


COLOURS = "white|blue|red|green|yellow|black|orange|gold|maroon|saffron|grey|purple|brown|turquoise|aquamarine|carmine"
SHADE = rf"(?:(?:light|dark|sky|bright|deep|royal|navy|cobalt|ultramarine|medium)[ -])?(?:{COLOURS})"


def _bands(text: str) -> str:
    match = re.match(
        rf"(two|three|four|five) equal (horizontal|vertical) (?:bands|stripes) of ({SHADE})(?: \([^)]*\))?,? (?:and )?((?:(?:, |,? and )?{SHADE}(?: \([^)]*\))?)+)",
        text,
    )
    if not match:
        return ""
    colours = [match[3], *re.findall(SHADE, re.sub(r"\([^)]*\)", "", match[4]))]
    if len(colours) != {"two": 2, "three": 3, "four": 4, "five": 5}[match[1]]:
        return ""
    if match[2] == "horizontal":
        if len(colours) == 3:
            return f"three level stripes of the same height make up the flag: {colours[0]} above, {colours[1]} in the middle and {colours[2]} below"
        return (
            f"the flag is cut into {match[1]} level stripes of the same height, from top to bottom {listing(colours)}"
        )
    return f"the flag has {match[1]} upright stripes of the same width, {listing(colours)} as seen from the pole"


FEATURES = (
    (r"UK flag", "the Union Jack in its corner"), (r"crescent", "a crescent"), (r"five-pointed [a-z]+ stars|stars\b", "several stars"),
    (r"\bsun\b", "a sun"), (r"coat of arms", "the coat of arms"), (r"\bcross\b", "a cross"), (r"triangle", "a triangle"),
    (r"\beagle\b", "an eagle"), (r"\bdisk\b", "a disk"), (r"\blion", "a lion"), (r"parrot|bird of paradise|frigate bird", "a bird"),
    (r"shield", "a shield"), (r"dragon", "a dragon"), (r"cedar|palm tree|silk-cotton", "a tree"), (r"map|silhouette", "the outline of the country"),
)  # fmt: skip


def _flag(country: Country) -> list[str]:
    text = country.text("Flag").replace("description: ", "")
    drawing = re.split(r" meaning:| history:| ?; note| note:", text)[0]
    bands = _bands(drawing)
    base = re.match(rf"({SHADE})\b(?! horizontal| vertical| and)", drawing)
    found = [word for pattern, word in FEATURES if re.search(pattern, drawing)]
    if "star" in drawing and "several stars" not in found and re.search(r"\bstar\b", drawing):
        found.append("a star")
    found = found[:3]
    out = []
    if bands:
        out.append(bands)
        if found:
            out.append(
                f"added to the stripes {'is' if len(found) == 1 and not found[0].startswith('several') else 'are'} {listing(found)}"
            )
    elif base and found:
        out.append(f"the flag has a {base[1]} ground and shows {listing(found)}")
    meaning = text.partition("meaning:")[2].split(" history:")[0].split("note")[0]
    senses: list[tuple[str, str]] = []
    for colour, sense in re.findall(
        rf"\b({COLOURS})(?: bands?| stripes?)? (?:stands for|represents|symbolizes|for) ((?:the )?[a-z'-]+(?: [a-z'-]+){{0,3}})(?=[,;.]|$| and (?:{COLOURS}))",
        meaning,
    ):
        if (
            not re.search(r"\b(stands?|represents?|symbolizes?|its|their|is|are|shed)\b", sense)
            and colour not in [c for c, _ in senses]
            and len(re.findall(r"\w+", sense)) < 5
        ):
            senses.append((colour, sense))
    if senses:
        verb = pick(country.name + "sense", ("is taken to mean", "is explained as a sign of", "is said to signify"))
        first = f"the {senses[0][0]} {verb} {senses[0][1]}"
        more = [f"the {c} {'of ' if 'sign of' in verb else ''}{s}" for c, s in senses[1:3]]
        out.append(
            pick(
                country.name + "read",
                ("in the colors of the flag, ", "as for the colors on the flag, ", "on the flag, "),
            )
            + listing([first, *more])
        )
    return out


def _holiday(country: Country) -> str:
    text = re.sub(r"^previous: ", "", country.text("National holiday"))
    if country.name == "Afghanistan":
        return ""
    match = re.match(rf"(.+?), (\d{{1,2}} (?:{'|'.join(MONTHS)}))(?: \((\d{{3,4}})\))?", text)
    if not match:
        return ""
    name = re.sub(r"\s*\([^)]*\)", "", match[1]).strip()
    if len(name.split()) > 6 or re.search(r"[a-z], | or |[A-Z]{4}", name) or "(" in name:
        return ""
    day, year, place = match[2], match[3], the(country.name)
    back = ""
    if year and "irthday" not in name:
        back = pick(
            country.name + "back",
            (
                f", in memory of events in {year}",
                f"; the year it looks back to is {year}",
                f", a date that goes back to {year}",
            ),
        )
    if name == "National Day":
        return pick(
            country.name + "day",
            (f"the national day of {place} falls on {day}{back}", f"{day} is the national day of {place}{back}"),
        )
    return pick(
        country.name + "day",
        (
            f"{place} celebrates {name} on {day}{back}",
            f"every year {name} is celebrated in {place} on {day}{back}",
            f"on {day} people in {place} mark {name}, the chief national holiday{back}",
            f"the main public holiday of {place} is {name}, kept on {day}{back}",
            f"{name}, {own(country.name)} national holiday, comes round on {day}{back}",
        ),
    )


def symbols(here: Entity, country: Country) -> Passage | None:
    """The national holiday, the flag and the colors."""
    start = _holiday(country)
    colours = [c for c, _ in country.rows["national_color"]]
    tail = ""
    if 1 < len(colours) < 5:
        tail = pick(
            country.name + "colours",
            (
                f"the national colors are {listing(colours)}",
                f"officially the country's colors are {listing(colours)}",
                f"{listing(colours)} count as the national colors",
            ),
        )
    heritage = re.match(r"total World Heritage Sites: (\d+)", country.text("National heritage"))
    sites = ""
    if heritage:
        count = int(heritage[1])
        number = spell(count)
        noun = "World Heritage Site" if count == 1 else "World Heritage Sites"
        sites = pick(
            country.name + "sites",
            (
                f"the country has {number} {noun}",
                f"UNESCO lists {number} {noun} here",
                f"among its treasures {'is' if count == 1 else 'are'} {number} {noun}"
                if count < 10
                else f"it can boast of {number} {noun}",
            ),
        )
    text = join(start, *_flag(country), tail, sites)
    return Passage("National day and flag", [here], text) if start and fits(text) else None


def _naturalization(country: Country, fields: dict[str, str]) -> list[str]:
    place = the(country.name)
    birth, descent = fields.get("citizenship by birth", ""), fields.get("citizenship by descent only", "")
    out = []
    if birth.startswith("no") and descent.startswith("at least one parent"):
        out.append(
            pick(
                country.name + "birth",
                (
                    f"being born in {place} is not enough to become a citizen; one parent at least has to be one already",
                    f"{place} hands citizenship down from parent to child: one parent who has it is enough, while the place of birth does not count",
                    f"the child of at least one citizen of {place} is a citizen too, whereas birth inside the country alone gives no such right",
                ),
            )
        )
    elif birth.startswith("no") and descent.startswith("the father"):
        out.append(
            f"citizenship of {place} normally passes from the father, and birth on the country's soil does not confer it"
        )
    elif birth.startswith("no") and descent.startswith("both parents"):
        out.append(f"a child is a citizen of {place} by descent only when both parents are")
    elif birth.startswith("yes"):
        out.append(
            pick(
                country.name + "birth",
                (
                    f"children born in {place} are citizens by birth",
                    f"birth on the soil of {place} confers citizenship",
                ),
            )
        )
    dual = fields.get("dual citizenship recognized", "")
    if re.match(r"(yes|no)$", dual):
        out.append(
            pick(country.name + "dual", ("a second nationality is allowed", "dual citizenship is recognized"))
            if dual == "yes"
            else pick(
                country.name + "dual",
                ("a second nationality is not recognized", "the law does not accept dual citizenship"),
            )
        )
    years = re.match(r"(\d+) years?$", fields.get("residency requirement for naturalization", ""))
    if years:
        number = spell(int(years[1]))
        unit = "year" if years[1] == "1" else "years"
        out.append(
            pick(
                country.name + "years",
                (
                    f"foreigners can apply for naturalization after {number} {unit} of residence",
                    f"an immigrant has to live there for {number} {unit} before seeking naturalization",
                    f"naturalization calls for {number} {unit} of residence",
                ),
            )
        )
    return out


def _law(country: Country) -> str:
    text = country.text("Legal system")
    for pattern, phrase in (
        (r"civil law system", "the courts work in the civil-law tradition"), (r"(English )?common law", "the legal system is one of common law"),
        (r"mixed (legal )?system", "the legal system is a mixed one"), (r"Islamic", "the legal system rests on Islamic law"),
    ):  # fmt: skip
        if re.match(pattern, text):
            parts = [
                n
                for p, n in (
                    (r"common law", "common law"),
                    (r"civil law|civil code", "civil law"),
                    (r"Islamic|sharia|Muslim", "Islamic law"),
                    (r"customary|tribal", "customary law"),
                )
                if re.search(p, text)
            ]
            return (
                f"{phrase}, drawing on {listing(parts)}" if pattern.startswith("mixed") and len(parts) > 1 else phrase
            )
    return ""


def _army(country: Country) -> list[str]:
    text = country.text("Military service age and obligation").split("note")[0]
    out = []
    free = re.match(
        r"(?:generally |typically )?(\d\d)(?:-(\d\d))?(?: years of age)?(?: or older)? (?:and older )?for voluntary (?:military )?service",
        text,
    )
    if free and free[2]:
        out.append(
            pick(
                country.name + "army",
                (
                    f"volunteers for the armed forces are taken between the ages of {free[1]} and {free[2]}",
                    f"people from {free[1]} to {free[2]} may volunteer for military service",
                ),
            )
        )
    elif free:
        out.append(
            pick(
                country.name + "army",
                (
                    f"one can volunteer for the armed forces from {free[1]}",
                    f"the minimum age for joining the armed forces as a volunteer is {free[1]}",
                ),
            )
        )
    ended = re.search(
        r"(?:conscription|compulsory service) (?:was )?(?:abolished|ended|suspended)(?: in)? (?:\w+ )?(\d{4})|abolished (\d{4})",
        text,
    )
    if ended:
        out.append(f"conscription came to an end in {ended[1] or ended[2]}")
    elif "no conscription" in text:
        out.append(pick(country.name + "draft", ("there is no conscription", "nobody is drafted")))
    months = re.search(
        r"(\d+)-month (?:compulsory )?(?:service obligation|compulsory|mandatory)|service obligation (\d+) months", text
    )
    if months and "compulsory" in text and not ended:
        out.append(f"compulsory service lasts {months[1] or months[2]} months")
    return out


def citizenship(here: Entity, country: Country) -> Passage | None:
    """How one becomes a citizen, what law applies and who serves in the forces."""
    fields = split_fields(country.text("Citizenship"))
    parts = _naturalization(country, fields)
    if not parts:
        return None
    text = join(*parts, _law(country), *_army(country))
    return Passage("Citizenship and service", [here], text) if fits(text) else None
