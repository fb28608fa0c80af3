"""Do the cited statements bear out what an answer to a comparison says?"""

from __future__ import annotations

import pytest
from nodes.doubt.doubt_kit import against
from nodes.flows import deps_of, outcome, triple

from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.nodes.doubt.misfit import misfit
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.state.evidence import chunk_item
from thinkgraph.state.knowledge import Passage
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore

BOTH = [triple("k", "Kenya", "population", "53", literal=True), triple("u", "Uganda", "population", "48", literal=True)]
SMALLER = "Which is smaller, Kenya or Uganda?"
ALONE = "the question compares, and the lines cited do not have two values"


def test_a_comparison_needs_two_values_and_one_answer() -> None:
    assert against(SMALLER, "Uganda", cited=BOTH) == ""
    assert against(SMALLER, "Uganda", cited=BOTH[1:]) == ALONE
    fewer = "Which has the smallest population, Kenya or Uganda?"
    assert against(fewer, "Uganda", cited=BOTH[1:], communities=True) == ALONE
    assert against(fewer, "Uganda", cited=BOTH, communities=True) == ""
    leading = [triple("c", "Uganda", "capital", "Kampala")]
    assert against("What is the capital of the smallest neighbour?", "Kampala", cited=leading, communities=True) == ""
    assert against(SMALLER, "Uganda", "Kenya", cited=BOTH).endswith(
        "only one of the things that it names is the answer, and Uganda has 48 where Kenya has 53"
    )
    # What stands before a relation to things tells which of them it is.
    buyer = [triple("b", "Kenya", "export partner", "Uganda"), triple("c", "Uganda", "capital", "Kampala")]
    asked = "What is the capital of the country that is the largest export partner of Kenya?"
    assert against(asked, "Kampala", cited=buyer) == ""
    # A relation may say itself which is the smallest.
    town = [triple("t", "Kenya", "smallest town", "Osk")]
    assert against("What is the smallest town of Kenya?", "Osk", cited=town) == ""


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What is the capital of Lower Arden?", "Lower Arden"),
        ('Where is "Greater Lind"?', "Greater Lind"),
        ("what is the capital of the longest isle", "The Longest Isle"),
    ],
)
def test_a_word_within_a_name_compares_nothing(question: str, named: str) -> None:
    assert against(question, "Osk", cited=[triple("c", named, "capital", "Osk")]) == ""


def test_a_word_within_a_name_does_not_say_which_of_two_is_meant() -> None:
    areas = [triple("l", "Lower Arden", "area", "47", literal=True), triple("b", "Lind", "area", "70", literal=True)]
    question = "Which is larger, Lower Arden or Lind?"
    assert against(question, "Lind", cited=areas) == ""
    assert (
        against(question, "Lower Arden", cited=areas)
        == "the question compares, and Lind has 70 where Lower Arden has 47"
    )


@pytest.mark.parametrize(
    ("cited", "told"),
    [
        (["Osk has 250,000 people: 130,000 men and 120,000 women."], ALONE),
        (["Osk has 250,000 people, Tarr 240,000."], ""),
        (["Osk has 250,000 people.", "Tarr has 240,000 people."], ""),
    ],
)
def test_numbers_of_one_thing_are_no_two_values(cited: list[str], told: str) -> None:
    passages = {text: Passage(id=text, title="", section="", text=text, entities=[]) for text in cited}
    chunks = [chunk_item(text, 0, len(text), entity="Osk") for text in cited]
    walk = Walk("Which has the larger population, Osk or Tarr?", chunks, Texts({}, passages))
    assert outcome(misfit(["Osk"], walk), deps_of(MemoryGraphStore([]), HashEmbedder())) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [("The Osk is its longest river.", ""), ("The Osk is a river there.", ALONE), ("The Osk has 9, the Tarr 5.", "")],
)
def test_a_text_may_compare_things_itself(text: str, told: str) -> None:
    passages = {"p": Passage(id="p", title="Arden", section="", text=text, entities=["Arden"])}
    walk = Walk(
        "Which is the longest river in Arden?", [chunk_item("p", 0, len(text), entity="Arden")], Texts({}, passages)
    )
    assert outcome(misfit(["Osk"], walk), deps_of(MemoryGraphStore([]), HashEmbedder())) == told


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("Which is the tallest: Tarr or Varn?", "Varn", "Tarr"),
        ("Which is the coldest: Tarr or Varn?", "Tarr", "Varn"),
        ("Which is the poorest: Tarr or Varn?", "Tarr", "Varn"),
    ],
)
def test_a_superlative_compares_as_its_comparative_does(question: str, right: str, wrong: str) -> None:
    """The word "taller" compared and "tallest" did not, nor did "deepest" where "longest" did."""
    values = [triple(key, key, "level", value, literal=True) for key, value in (("Tarr", "4"), ("Varn", "9"))]
    assert against(question, right, cited=values) == ""
    assert against(question, wrong, cited=values).startswith(f"the question compares, and {right} has ")
    peak = [triple("p", "Osk", "highest point", "Tarr")]
    assert against("What is the tallest mountain of Osk?", "Tarr", cited=peak) == "", "the relation says so"
    lake = [triple("v", "Osk", "lake", "Varn")]
    assert against("Which lake in Osk is the deepest?", "Varn", cited=lake) == ALONE


RIVERS = [
    *(triple(f"r{name}", "Arden", "river", name) for name in ("Osk", "Tarr")),
    *(triple(f"k{name}", name, "instance of", "river") for name in ("Osk", "Tarr", "Varn")),
    *(
        triple(f"l{name}", name, "length", value, literal=True)
        for name, value in (("Osk", "90"), ("Tarr", "300"), ("Varn", "900"))
    ),
]


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("Which is the longest river in Arden?", "Tarr", "Osk"),
        ("What is the shortest river of Arden?", "Osk", "Tarr"),
    ],
)
def test_a_superlative_is_held_against_the_values_of_one_list(question: str, right: str, wrong: str) -> None:
    """With two lengths cited the shorter river passed. Those of other lists are not compared: the Varn is not in Arden."""
    assert against(question, right, cited=RIVERS) == ""
    assert against(question, wrong, cited=RIVERS).startswith(f"the question compares, and {right} has ")


@pytest.mark.parametrize(
    "question",
    [
        "Which is the second longest river in Arden?",
        "Which is the widest river in Arden?",
        "Which is the oldest river in Arden?",
        "Which river in Arden is longer than the Uhl?",
        "Which are the two longest rivers in Arden?",
    ],
)
def test_what_is_not_first_or_not_measured_so_may_have_less(question: str) -> None:
    assert "has 300" not in against(question, "Osk", cited=RIVERS)


@pytest.mark.parametrize(
    ("values", "less"), [(("0.925", "0.93"), "0.925"), (("9.5", "12"), "9.5"), (("3.125", "4"), "")]
)
def test_a_point_before_three_digits_makes_no_thousands_of_a_fraction(values: tuple[str, str], less: str) -> None:
    """0.925 was read as 925, so that the lower index won. 3.125 may be a fraction or three thousand: nothing is said."""
    indices = [
        triple(key, key, "index", value, literal=True) for key, value in zip(("Chad", "Mali"), values, strict=True)
    ]
    question = "Which has the higher index, Chad or Mali?"
    assert against(question, "Mali", cited=indices) == ""
    told = f"the question compares, and Mali has {values[1]} where Chad has {less}" if less else ""
    assert against(question, "Chad", cited=indices) == told


def test_the_value_decides_between_two_things() -> None:
    assert against(SMALLER, "Kenya", cited=BOTH) == "the question compares, and Uganda has 48 where Kenya has 53"
    assert against("Which has more people, Kenya or Uganda?", "Kenya", cited=BOTH) == ""
    fewest = "Which country has the fewest people, Kenya or Uganda?"
    assert against(fewest, "Uganda", cited=BOTH) == ""
    assert against(fewest, "Kenya", cited=BOTH) == "the question compares, and Uganda has 48 where Kenya has 53"
    assert against("Which has the largest population: Kenya or Uganda?", "Uganda", cited=BOTH) != ""
    capitals = [triple("c", "Kenya", "capital", "Nairobi"), triple("d", "Uganda", "capital", "Kampala")]
    described = "Which has more people, the country ruled from Nairobi or the one ruled from Kampala?"
    fault = "the question compares, and Kenya has 53 where Uganda has 48"
    assert against(described, "Uganda", cited=[*BOTH, *capitals]) == fault
    assert (
        against("What is the capital of the larger one, Kenya or Uganda?", "Kampala", cited=[*BOTH, *capitals]) == fault
    )


def test_values_that_may_not_be_meant_decide_nothing() -> None:
    # Another relation may be meant.
    areas = [triple("a", "Kenya", "area", "580", literal=True), triple("b", "Uganda", "area", "241", literal=True)]
    assert against(SMALLER, "Kenya", cited=[*BOTH, *areas]) == ""
    assert against("Which has the smaller area, Kenya or Uganda?", "Kenya", cited=[*BOTH, *areas]) != ""
    # Who was born later is younger; an age is an age.
    born = [triple("a", "Ann", "born", "1900", literal=True), triple("b", "Bea", "born", "1950", literal=True)]
    assert against("Who is older, Ann or Bea?", "Ann", cited=born) == ""
    ages = [triple("a", "Ann", "age", "50", literal=True), triple("b", "Bea", "age", "40", literal=True)]
    assert against("Who is younger, Ann or Bea?", "Bea", cited=ages) == ""
    assert (
        against("Who is younger, Ann or Bea?", "Ann", cited=ages)
        == "the question compares, and Bea has 40 where Ann has 50"
    )
    # The first rank is the highest one.
    ranks = [
        triple("k", "Kenya", "FIFA ranking", "1", literal=True),
        triple("u", "Uganda", "FIFA ranking", "2", literal=True),
    ]
    assert against("Which team is ranked higher, Kenya or Uganda?", "Kenya", cited=ranks) == ""
    # A value is missing, or both are equal.
    assert against(SMALLER, "Kenya", cited=[*BOTH[:1], triple("x", "Chad", "population", "9", literal=True)]) == ""
    equal = [BOTH[0], triple("u", "Uganda", "population", "53", literal=True)]
    assert against(SMALLER, "Kenya", cited=equal) == ""


def test_what_tells_the_things_compared_is_not_compared_itself() -> None:
    question = "Which has more people, the country ruled from Nairobi or the one ruled from Kampala?"
    triples = [*BOTH, triple("c", "Kenya", "capital", "Nairobi")]
    assert against(question, "Nairobi", cited=triples).endswith("Nairobi only tells which things it compares")
    assert against(question, "Kenya", cited=triples) == ""


@pytest.mark.parametrize(
    ("question", "one"),
    [
        ("Which has more people, the country ruled from Nairobi or the one ruled from Kampala?", True),
        ("Which is larger: the neighbour of Gabon or that of Chad?", True),
        ("Which countries have more than five rivers or lakes?", False),
        ("Which are the largest cities of this lake or that river?", False),
        ("In Arden, which are the largest cities by a lake or river?", False),
    ],
)
def test_of_things_that_are_described_one_is_the_answer_too(question: str, *, one: bool) -> None:
    both = "only one of the things that it names is the answer"
    triples = [*BOTH, triple("c", "Kenya", "capital", "Nairobi"), triple("d", "Uganda", "capital", "Kampala")]
    assert (both in against(question, "Kenya", "Uganda", cited=triples)) is one


BORDERS = [
    triple("m", "Mexico", "borders", "Belize"),
    triple("g", "Guatemala", "borders", "Belize"),
    triple("u", "Mexico", "borders", "United States"),
    triple("e", "Belize", "official language", "English"),
    triple("f", "United States", "official language", "English"),
]
SHARED = "Which country borders both Mexico and Guatemala and has English as an official language?"


def test_what_both_have_is_joined_to_both() -> None:
    assert against(SHARED, "Belize", cited=BORDERS) == ""
    fault = "the question compares, and only some of the things that it names have United States"
    assert against(SHARED, "United States", cited=BORDERS) == fault
    aside = [
        triple("s", "Mexico", "language spoken", "Spanish"),
        triple("t", "Guatemala", "language spoken", "Spanish"),
    ]
    fault = "the question compares, and the lines cited do not lead from Guatemala to Belize"
    assert against(SHARED, "Belize", cited=[*aside, BORDERS[3]]) == fault


def test_what_both_is_asked_of_is_no_answer() -> None:
    assert against(SHARED, "Mexico", cited=BORDERS) == "the question asks for country, and Mexico is what it asks about"
    assert against(SHARED, "Mexico", "Guatemala", cited=BORDERS).endswith("and Mexico is what it asks about")
    assert against(SHARED, "Belize", "Mexico", cited=BORDERS).endswith("and Mexico is what it asks about")
    assert against("Which of both, Mexico or Belize, borders Guatemala?", "Belize", cited=BORDERS) == ""
    assert against("Which one of Mexico and Belize borders Guatemala?", "Belize", cited=BORDERS) == ""
