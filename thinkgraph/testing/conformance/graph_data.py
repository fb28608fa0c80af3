"""The small graph that `GraphStoreConformance` expects in the store it checks."""

from __future__ import annotations

from typing import NamedTuple


class SampleStatement(NamedTuple):
    """One triple of the suite's graph."""

    subject: str
    relation: str
    object: str
    qualifiers: tuple[tuple[str, str], ...] = ()
    literal: bool = False


HUB = "Sprawl"
HUB_EDGES = 1_200
ODD_ID = 'O\'Hara "the" 100% *wild*; DROP TABLE node --'
UNICODE_ID = "Łódź 東京 \U0001f60a"

LABELS: dict[str, str] = {
    "springfield-1": "Springfield",
    "springfield-2": "Springfield",
    "ada": "Ada Lovelace",
}
"""Labels of entities whose id is not their label; every other entity is labelled with its id."""

ALIASES: dict[str, list[str]] = {
    "ada": ["Countess of Lovelace", "Springfield"],
    "Paris": ["City of Light"],
    ODD_ID: ["quote \" and ' quote"],
}

STATEMENTS: list[SampleStatement] = [
    SampleStatement("Paris", "capital_of", "France"),
    SampleStatement(
        "Paris", "population", "2,102,650", (("point in time", "2023"), ("source", "census")), literal=True
    ),
    SampleStatement("Paris", "population", "2,165,423", (("point in time", "2019"),), literal=True),
    SampleStatement("Lyon", "part_of", "France"),
    SampleStatement("Lyon", "twinned_with", "Łódź"),
    SampleStatement("springfield-1", "part_of", "Illinois"),
    SampleStatement("springfield-2", "part_of", "Oregon"),
    SampleStatement("springfield-2", "twinned_with", "Lyon"),
    SampleStatement("ada", "born", "1815-12-10", literal=True),
    SampleStatement("ada", "knows", "ada"),
    SampleStatement("ada", "knows", "Babbage"),
    SampleStatement("ring a", "next", "ring b"),
    SampleStatement("ring b", "next", "ring c"),
    SampleStatement("ring c", "next", "ring a"),
    SampleStatement(ODD_ID, "knows", UNICODE_ID),
    SampleStatement(UNICODE_ID, "né(e) 'relation' \"x\"", "Paris"),
    SampleStatement(HUB, "next", "Paris"),
    *(SampleStatement(f"leaf {i:04d}", "linked_to", HUB) for i in range(HUB_EDGES)),
]
"""Homonyms, a loop, a cycle, qualifiers, literals, quotes and other scripts, a hub, entities with incoming edges only."""

ONLY_INCOMING = "Babbage"


def statements_of(entity: str, relation: str | None = None, direction: str | None = None) -> list[SampleStatement]:
    """The statements that touch an entity (its id), perhaps along one relation and direction."""
    return [
        one
        for one in STATEMENTS
        if relation in (None, one.relation)
        and (
            (direction in (None, "out") and one.subject == entity)
            or (direction in (None, "in") and one.object == entity and not one.literal)
        )
    ]
