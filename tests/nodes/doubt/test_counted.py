"""How many things a list has is told where the answer is another number."""

from __future__ import annotations

import pytest

from thinkgraph.nodes.doubt.counted import bare_count, is_another_count, lengths_said, miscount, recount
from thinkgraph.prompts.lines import answer_line, parse_item

HOW_MANY = "How many countries border Arden?"
BORDERS = "(Arden) -[borders]-> (Lind), (Merrow), (Osk)"
FILMS = ["(Osk) -[directed by]-> (Ilse Varn)", "(Tarr) -[directed by]-> (Ilse Varn)"]
BACK = "(Arden) <-[borders]- (Lind), (Tarr)"


@pytest.mark.parametrize(
    ("answer", "lines", "told"),
    [
        ("5", [BORDERS], "the lines cited list 3, not 5"),
        ("2 countries", [BORDERS], "the lines cited list 3, not 2"),
        ("5", [BORDERS, BACK], "the lines cited list 2 or 3 or 4, not 5"),
        ("5", ["(Arden) -[borders]-> (Lind), (Merrow), ... and 7 more"], "the lines cited list 9, not 5"),
        ("3", [BORDERS], ""),
        ("4", [BORDERS, BACK], ""),
        # Words are left to the model.
        ("three", [BORDERS], ""),
        # A relation that the question does not say may list anything.
        ("5", ["(Arden) -[export]-> (tin), (wool)"], ""),
        # Which of two lists is counted is not known.
        ("5", [BORDERS, "(Lind) -[borders]-> (Merrow), (Tarr)"], ""),
        # One thing may only be described.
        ("5", ["(Arden) -[borders]-> (Lind)"], ""),
        # The number stands in a line, or may.
        ("5", [BORDERS, "(Arden) -[neighbours]-> (5)"], ""),
        ("5", [BORDERS, "text | Arden | Land | Arden has several neighbours."], ""),
        ("5", [], ""),
    ],
)
def test_another_number_than_the_list_has_is_a_miscount(answer: str, lines: list[str], told: str) -> None:
    assert miscount(HOW_MANY, [answer], lines) == told


@pytest.mark.parametrize(
    ("question", "lines", "number"),
    [
        (HOW_MANY, [BORDERS], "3"),
        (
            "How many countries does the land of Mount Osk border?",
            ["(Mount Osk) -[land]-> (Arden) -[borders]-> (Lind), (Tarr)"],
            "2",
        ),
        ("How many African countries border Arden?", [BORDERS], ""),
        ("How many countries in Africa border Arden?", [BORDERS], ""),
        (HOW_MANY, [BORDERS, BACK], ""),
        (HOW_MANY, ["(Arden) -[borders]-> (Lind), (Merrow), (Osk), (Tarr), (Vell)"], ""),
    ],
)
def test_what_a_question_counts_is_counted_for_it(question: str, lines: list[str], number: str) -> None:
    assert recount(question, ["5"], lines) == number


@pytest.mark.parametrize(
    "question",
    [
        "Tell me how many countries border Arden.",
        "What's the number of countries that border Arden?",
        "What number of countries border Arden?",
    ],
)
def test_a_count_may_be_asked_for_in_other_words(question: str) -> None:
    assert miscount(question, ["5"], [BORDERS]) == "the lines cited list 3, not 5"
    assert is_another_count(question, ["5"], [BORDERS], [BORDERS])


@pytest.mark.parametrize(
    "question",
    [
        "Which countries border Arden?",
        "Which country that borders Arden has the number of moons?",
        "How many more countries border Arden than Lind?",
        "Wie viele Länder grenzen an?",
    ],
)
def test_only_a_plain_english_count_is_held_against_a_list(question: str) -> None:
    assert miscount(question, ["5"], [BORDERS]) == ""


@pytest.mark.parametrize(
    "question",
    [
        "How many other countries border Arden?",
        "How many countries besides Lind border Arden?",
        "How many of the countries that border Arden are large?",
        "How many countries that border Arden are large?",
        "How many countries bordered Arden in 1950?",
    ],
)
def test_only_some_of_a_list_may_be_counted(question: str) -> None:
    assert miscount(question, ["2"], [BORDERS]) == ""
    assert miscount(question, ["5"], [BORDERS]) == "the lines cited list 3, not 5"


@pytest.mark.parametrize(
    ("question", "answer", "bare"),
    [
        (HOW_MANY, "3 countries", "3"),
        (HOW_MANY, "1 country.", "1"),
        (HOW_MANY, "Three", "3"),
        (HOW_MANY, "three countries", "3"),
        (HOW_MANY, "Arden borders 3 countries.", "3"),
        (HOW_MANY, "There are three countries.", "3"),
        (HOW_MANY, "Arden does not border 3 countries", "Arden does not border 3 countries"),
        (HOW_MANY, "Lind borders 3 countries", "Lind borders 3 countries"),
        (HOW_MANY, "At least 3 countries", "At least 3 countries"),
        (HOW_MANY, "3 countries (Lind and Peru)", "3 countries (Lind and Peru)"),
        (HOW_MANY, "three or four", "three or four"),
        (HOW_MANY, "3 lakes", "3 lakes"),
        (HOW_MANY, "several countries", "several countries"),
        (HOW_MANY, "", ""),
        ("How many days did it last?", "3 days", "3 days"),
        ("Which countries border Arden?", "3 countries", "3 countries"),
    ],
)
def test_what_is_counted_is_not_said_again(question: str, answer: str, bare: str) -> None:
    assert bare_count(question, answer) == bare


def test_several_answers_are_no_count() -> None:
    assert miscount(HOW_MANY, ["5", "6"], [BORDERS]) == ""


def test_lists_of_what_the_question_names_come_before_others() -> None:
    items = [parse_item(0, line) for line in (BORDERS, "(Lind) -[borders]-> (Merrow), (Tarr)")]
    assert lengths_said(HOW_MANY, items) == {3}
    assert lengths_said("How many border?", items) == {2, 3, 4}
    assert lengths_said("How many exports does Arden have?", items) == set()


@pytest.mark.parametrize(
    ("question", "answer", "lines", "other"),
    [
        (HOW_MANY, "1", ["(Arden) -[borders]-> (Lind) -[instance of]-> (country)"], True),
        (HOW_MANY, "1", ["(Arden) -[export]-> (tin)", "(Arden) -[instance of]-> (country)"], True),
        ("How many moons has Arden?", "1", ["(Arden) -[satellite]-> (Osk)"], False),
        ("How many capitals has Arden?", "1", ["(Arden) -[capital]-> (Port Arden)"], False),
        (HOW_MANY, "2", [BORDERS, "(Arden) -[export]-> (tin), (wool)"], True),
        (HOW_MANY, "3", [BORDERS, "(Arden) -[export]-> (tin), (wool)"], False),
        # The relation may have another word for it.
        ("How many films did Ilse Varn make?", "2", ["(Ilse Varn) <-[directed by]- (Osk), (Tarr)"], False),
        # Each of them may have a line, or a list, of its own.
        ("How many films did Ilse Varn direct?", "2", FILMS, False),
        ("How many films did Ilse Varn direct?", "1", FILMS, True),
        ("How many films did Ilse Varn direct?", "2", [" | ".join(FILMS)], False),
        ("How many films did Ilse Varn direct?", "2", [FILMS[0], f"{FILMS[1]}, (Bo Hall)"], False),
        ("How many films did both Ilse Varn and Bo Hall direct?", "1", [FILMS[0], f"{FILMS[1]}, (Bo Hall)"], False),
        # A text may tell it in words.
        (HOW_MANY, "2", ["text | Arden | Land | It borders two countries."], False),
        (HOW_MANY, "3", ["text | Arden | Land | It borders two countries."], True),
        # The answers to a question below may be counted.
        (HOW_MANY, "2", [BORDERS, answer_line("Which neighbours are large?", ["Lind", "Osk"])], False),
        # What borders a neighbour.
        (HOW_MANY, "2", ["(Arden) -[borders]-> (Lind) -[borders]-> (Osk), (Tarr)"], True),
        (
            "How many countries border one that borders Arden?",
            "2",
            ["(Arden) -[borders]-> (Lind) -[borders]-> (Osk), (Tarr)"],
            False,
        ),
        ("How many towns has the capital?", "2", ["(Arden) -[capital]-> (Port) -[town]-> (Osk), (Tarr)"], False),
        # The number itself stands in a line.
        ("How many towers has Arden?", "1", ["(Arden) -[tower count]-> (1)"], False),
        ("How many workers has Arden?", "9", ["(Arden) -[mine]-> (Osk) {workers=9}"], False),
        ("How many towns share a border?", "9", ["(Arden) -[partner]-> (Lind) {share=9}"], True),
        ("How many towers has Arden?", "9", ["text | Arden | Towers | Its 9 towers are high."], False),
        ("Which number has the road?", "1", ["(Arden) -[road]-> (Lind)"], False),
    ],
)
def test_a_list_that_the_question_does_not_count_supports_no_count(
    question: str, answer: str, lines: list[str], *, other: bool
) -> None:
    assert is_another_count(question, [answer], lines, lines) is other
