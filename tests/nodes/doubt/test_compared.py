"""Do the cited statements bear out what an answer to a comparison says?"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from nodes.flows import deps_of, outcome, triple

from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.nodes.doubt.misfit import misfit
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.state.evidence import EvidenceItem, Path, path_item
from thinkgraph.state.knowledge import Triple
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore

DEPS = deps_of(MemoryGraphStore([]), HashEmbedder())


def compared(
    question: str,
    *answers: str,
    triples: Sequence[Triple] = (),
    communities: bool = False,
    beside: Sequence[Triple] = (),
) -> str:
    """What `misfit` says of answers that stand on these statements, each a line of its own, with others shown beside them."""
    known = {one["id"]: one for one in [*triples, *beside]}
    shown = [path_item(key, Path(start=one["subject"], triples=[]), [key], total=1) for key, one in known.items()]
    items = shown[: len(triples)]
    if communities:
        items = [EvidenceItem(id="c", kind="community", score=1.0, round=1, triples=[*known], totals=[])]
    return str(outcome(misfit(answers, Walk(question, items, Texts(known, {})), shown=shown), DEPS))


BOTH = [triple("k", "Kenya", "population", "53", literal=True), triple("u", "Uganda", "population", "48", literal=True)]
SMALLER = "Which is smaller, Kenya or Uganda?"
ALONE = "the question compares, and the lines cited do not have two values"


def test_a_comparison_needs_two_values_and_one_answer() -> None:
    assert compared(SMALLER, "Uganda", triples=BOTH) == ""
    assert compared(SMALLER, "Uganda", triples=BOTH[1:]) == ALONE
    fewer = "Which has the smallest population, Kenya or Uganda?"
    assert compared(fewer, "Uganda", triples=BOTH[1:], communities=True) == ALONE
    assert compared(fewer, "Uganda", triples=BOTH, communities=True) == ""
    leading = [triple("c", "Uganda", "capital", "Kampala")]
    assert (
        compared("What is the capital of the smallest neighbour?", "Kampala", triples=leading, communities=True) == ""
    )
    assert compared(SMALLER, "Uganda", "Kenya", triples=BOTH).endswith(
        "only one of the things that it names is the answer, and Uganda has 48 where Kenya has 53"
    )
    # A relation may say itself which is the smallest.
    town = [triple("t", "Kenya", "smallest town", "Osk")]
    assert compared("What is the smallest town of Kenya?", "Osk", triples=town) == ""


def test_the_value_decides_between_two_things() -> None:
    assert compared(SMALLER, "Kenya", triples=BOTH) == "the question compares, and Uganda has 48 where Kenya has 53"
    assert compared("Which has more people, Kenya or Uganda?", "Kenya", triples=BOTH) == ""
    capitals = [triple("c", "Kenya", "capital", "Nairobi"), triple("d", "Uganda", "capital", "Kampala")]
    described = "Which has more people, the country ruled from Nairobi or the one ruled from Kampala?"
    fault = "the question compares, and Kenya has 53 where Uganda has 48"
    assert compared(described, "Uganda", triples=[*BOTH, *capitals]) == fault
    assert (
        compared("What is the capital of the larger one, Kenya or Uganda?", "Kampala", triples=[*BOTH, *capitals])
        == fault
    )


def test_values_that_may_not_be_meant_decide_nothing() -> None:
    # Another relation may be meant.
    areas = [triple("a", "Kenya", "area", "580", literal=True), triple("b", "Uganda", "area", "241", literal=True)]
    assert compared(SMALLER, "Kenya", triples=[*BOTH, *areas]) == ""
    assert compared("Which has the smaller area, Kenya or Uganda?", "Kenya", triples=[*BOTH, *areas]) != ""
    # Who was born later is younger; an age is an age.
    born = [triple("a", "Ann", "born", "1900", literal=True), triple("b", "Bea", "born", "1950", literal=True)]
    assert compared("Who is older, Ann or Bea?", "Ann", triples=born) == ""
    ages = [triple("a", "Ann", "age", "50", literal=True), triple("b", "Bea", "age", "40", literal=True)]
    assert compared("Who is younger, Ann or Bea?", "Bea", triples=ages) == ""
    assert (
        compared("Who is younger, Ann or Bea?", "Ann", triples=ages)
        == "the question compares, and Bea has 40 where Ann has 50"
    )
    # A value is missing, or both are equal.
    assert compared(SMALLER, "Kenya", triples=[*BOTH[:1], triple("x", "Chad", "population", "9", literal=True)]) == ""
    equal = [BOTH[0], triple("u", "Uganda", "population", "53", literal=True)]
    assert compared(SMALLER, "Kenya", triples=equal) == ""


def test_what_tells_the_things_compared_is_not_compared_itself() -> None:
    question = "Which has more people, the country ruled from Nairobi or the one ruled from Kampala?"
    triples = [*BOTH, triple("c", "Kenya", "capital", "Nairobi")]
    assert compared(question, "Nairobi", triples=triples).endswith("Nairobi only tells which things it compares")
    assert compared(question, "Kenya", triples=triples) == ""


@pytest.mark.parametrize(
    ("question", "one"),
    [
        ("Which has more people, the country ruled from Nairobi or the one ruled from Kampala?", True),
        ("Which is larger: the neighbour of Gabon or that of Chad?", True),
        ("Which countries have more than five rivers or lakes?", False),
        ("Which are the largest cities of this lake or that river?", False),
    ],
)
def test_of_things_that_are_described_one_is_the_answer_too(question: str, *, one: bool) -> None:
    both = "only one of the things that it names is the answer"
    triples = [*BOTH, triple("c", "Kenya", "capital", "Nairobi"), triple("d", "Uganda", "capital", "Kampala")]
    assert (both in compared(question, "Kenya", "Uganda", triples=triples)) is one


BORDERS = [
    triple("m", "Mexico", "borders", "Belize"),
    triple("g", "Guatemala", "borders", "Belize"),
    triple("u", "Mexico", "borders", "United States"),
    triple("e", "Belize", "official language", "English"),
    triple("f", "United States", "official language", "English"),
]
SHARED = "Which country borders both Mexico and Guatemala and has English as an official language?"


def test_what_both_have_is_joined_to_both() -> None:
    assert compared(SHARED, "Belize", triples=BORDERS) == ""
    fault = "the question compares, and only some of the things that it names have United States"
    assert compared(SHARED, "United States", triples=BORDERS) == fault
    aside = [
        triple("s", "Mexico", "language spoken", "Spanish"),
        triple("t", "Guatemala", "language spoken", "Spanish"),
    ]
    fault = "the question compares, and the lines cited do not lead from Guatemala to Belize"
    assert compared(SHARED, "Belize", triples=[*aside, BORDERS[3]]) == fault


def test_what_both_is_asked_of_is_no_answer() -> None:
    assert (
        compared(SHARED, "Mexico", triples=BORDERS) == "the question asks for country, and Mexico is what it asks about"
    )
    assert compared(SHARED, "Mexico", "Guatemala", triples=BORDERS).endswith("and Mexico is what it asks about")
    assert compared("Which of both, Mexico or Belize, borders Guatemala?", "Belize", triples=BORDERS) == ""
    assert compared("Which one of Mexico and Belize borders Guatemala?", "Belize", triples=BORDERS) == ""
