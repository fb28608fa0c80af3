"""Questions for yes or no are answered by one, and yes stands on lines that join what the question names."""

from __future__ import annotations

from functools import partial

import pytest
from nodes.doubt.doubt_kit import against, of_texts
from nodes.flows import triple

from thinkgraph.testing.memory import MemoryGraphStore

BORDERS = [
    triple("m", "Mexico", "borders", "Belize"),
    triple("g", "Guatemala", "borders", "Belize"),
    triple("u", "Mexico", "borders", "United States"),
]
GRAPH = MemoryGraphStore(
    [(one["subject"], one["relation"], one["object"]) for one in BORDERS], aliases={"United States": ["USA"]}
)
APART = "the lines cited do not join Belize and {}"


apart = partial(against, graph=GRAPH)


def test_a_question_for_yes_or_no_is_answered_by_one() -> None:
    question = "Do Mexico and Belize share a border?"
    assert apart(question, "Mexico", "Belize", cited=BORDERS).startswith("the question asks for yes or no, and ")
    for answer in ("Yes", "No", "yes, they do"):
        assert apart(question, answer, cited=BORDERS[:1]) == ""
    # These ask for things.
    for asks in ("Can you name a country that borders Mexico?", "Is it Mexico or Belize that borders Guatemala?"):
        assert apart(asks, "Belize", cited=BORDERS) == ""


@pytest.mark.parametrize("name", ["United States", "USA"])
def test_yes_stands_on_lines_that_join_what_the_question_names(name: str) -> None:
    question = f"Do Belize and the {name} share a border?"
    assert apart(question, "Yes", cited=BORDERS[1:]) == APART.format(name)
    assert apart(question, "Yes", cited=BORDERS[1:2]) == APART.format(name), "the evidence does not speak of it"
    assert apart(question, "No", cited=BORDERS[1:]) == ""
    assert apart(question, "Yes", cited=BORDERS[1:], communities=True) == ""
    assert apart(question, "Yes", cited=BORDERS) == "", "over Mexico"
    assert apart("Do Belize and Narnia share a border?", "Yes", cited=BORDERS[:1]) == "", "a name that the graph lacks"


def test_a_text_joins_what_it_names_and_what_it_is_about() -> None:
    question = "Do Belize and the USA share a border?"
    texts = {"m": "Belize lies beside it.", "u": "It ends at Mexico.", "b": "The United States are far."}
    about = {"m": "Mexico", "u": "United States", "b": "Belize"}

    def told(*cited: str) -> str:
        return of_texts(question, "Yes", texts={key: (about[key], texts[key]) for key in cited}, graph=GRAPH)

    assert told("m") == told("u") == told("m", "u") == APART.format("USA")
    assert told("b") == ""


def test_texts_name_what_a_relation_in_the_question_leads_to() -> None:
    graph = MemoryGraphStore(
        [
            ("Lesotho", "borders", "South Africa"),
            ("Lesotho", "capital", "Maseru"),
            ("Lesotho", "king", "Letsie III"),
            ("South Africa", "capital", "Pretoria"),
            ("Peru", "borders", "Chile"),
        ]
    )
    question = "Who is the king of the country that Lesotho borders?"
    alone = "The king is Letsie, whose heir is Lerotholi."

    def told(question: str, text: str, about: str = "Lesotho") -> str:
        return of_texts(question, "Letsie", texts={"p": (about, text)}, graph=graph)

    assert told(question, alone) == "the lines cited do not name what the question describes, such as South Africa"
    assert told(question, f"Around it lies South Africa. {alone}") == ""
    assert told(question, f"{alone} Around it lies South Africa.") == told(question, alone)
    beside = {"p": ("Lesotho", alone), "q": ("Lesotho", "Around it lies South Africa.")}
    assert of_texts(question, "Letsie", texts=beside, graph=graph) == told(question, alone), "another text names it"
    assert told("Who is the king of Lesotho, whose capital is Maseru?", alone) == "", "nothing is described"
    assert told("Who is the king of the country that borders South Africa?", alone) == "", "it is the text's own thing"
    assert told(question, alone, "Peru") == "", "what Peru borders is not asked for"


def test_a_name_in_a_question_may_lack_its_article() -> None:
    graph = MemoryGraphStore([("The Gambia", "borders", "Senegal"), ("The Gambia", "independence", "1965")])
    text = {"p": ("The Gambia", "It has been independent since 1965.")}

    def told(question: str) -> str:
        return of_texts(question, "1965", texts=text, graph=graph)

    assert told("When did the country that borders Gambia become independent?").endswith("describes, such as Senegal")
    assert told("When did the country that borders the gambia become independent?").endswith("such as Senegal")
    assert told("When did the country that borders on gambia become independent?") == "", "it is not written as a name"

    stated = [triple("i", "The Gambia", "independence", "1965", literal=True)]
    for name in ("Gambia", "the Gambia", "The Gambia"):
        assert against(f"Which river flows through {name}?", "The Gambia", cited=stated).endswith(
            "is what it asks about"
        )
