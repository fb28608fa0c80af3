"""Who heads each country, since when, and how the office is filled."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from world.source import DATE, proper

if TYPE_CHECKING:
    from world.source import Country

TITLES = (
    "Caretaker Prime Minister", "Chairman of the Cabinet of Ministers", "Crown Prince and Prime Minister", "Prime Minister and Co-Vice President",
    "Sultan and Prime Minister", "Prime Minister and Foreign Minister", "Interim Prime Minister", "Acting Prime Minister",
    "Transition Prime Minister", "Transitional President", "Transition President", "Interim President", "Acting President",
    "Transitional Prime Minister", "Supreme Leader", "State Affairs Commission President", "Grand Duke", "Lord of Mann King",
    "Prime Minister", "President", "King", "Queen", "Emperor", "Amir", "Sultan", "Pope", "Prince", "Chancellor", "Premier",
    "Taoiseach", "Minister of State", "Chief Minister", "First Minister", "Governor", "Chief Executive", "Federal Chancellor",
    "State Councilor", "Administrator",
)  # fmt: skip
HONOURS = re.compile(
    r"^(?:Air Vice-Marshal|Crown Prince|Sr\. Gen\.|Gen\.|Capt\.|Col\.|Dr\.|Sir|Ratu|Dame|Maj\. Gen\.|Lt\. Gen\.)\s+"
)


@dataclass
class Holder:
    """A person in an office."""

    title: str
    name: str
    since: str


def _clean_name(text: str) -> str:
    text = re.sub(r"\s*\(.*?\)", "", text).strip(" ,")
    text = re.sub(
        r"^(?:of the Swiss Confederation|of China|of the Government of Spain|of the Government|of Territorial Council|of French Polynesia) ",
        "",
        text,
    )
    text = re.sub(r" of (?:the Netherlands|Denmark|Norway)$", "", text)
    while HONOURS.match(text):
        text = HONOURS.sub("", text)
    name = proper(text.replace("XI Jinping", "Xi Jinping").replace(", Jr.", " Jr."))
    return re.sub(r'\s*"[^"]+"', "", name).strip(" ,")


def holder(country: Country, office: str) -> Holder | None:
    """The chief of state or head of government, where the source names one plainly."""
    text = country.fields("Executive branch").get(office, "")
    match = re.match(r"(.+?) \(since ([^();,]+)", text.replace(" Oct ", " October "))
    if not match:
        return None
    head, day = match[1], DATE.match(match[2])
    since = day[0] if day else ""
    head = re.sub(r"^President of the Government of Spain \(prime minister-equivalent\)", "Prime Minister", head)
    if country.name == "France" and office.startswith("head"):
        head = f"Prime Minister {head}"
    for title in TITLES:
        if head.startswith(title + " "):
            name = _clean_name(head[len(title) + 1 :])
            tidy = (
                1 < len(name) < 48
                and ";" not in name
                and not re.search(r"\b(represented|and|Council|Minister|vacant)\b", name)
            )
            return Holder("King" if title.startswith("Lord") else title, name, since) if tidy else None
    return None


def term(country: Country) -> tuple[str, str]:
    """How the first-named office is filled (`directly`, `indirectly`, `hereditary`) and the years of its term."""
    text = country.fields("Executive branch").get("election/appointment process", "")
    first = text.split(";")[0]
    years = re.search(r"(\d+|single \d+)-year", first)
    if "hereditary" in first:
        return "hereditary", ""
    if not first.startswith("president"):
        return "", ""
    way = "indirectly" if "indirectly elected" in first else "directly" if "directly elected" in first else ""
    return way, years[1].replace("single ", "") if years else ""
