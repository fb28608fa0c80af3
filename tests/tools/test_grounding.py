"""Does the evidence hold the answer?"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thinkgraph.tools.grounding import (
    all_hold,
    beside_the_point,
    compares,
    fold,
    holds,
    needed,
    numbers,
    rounds,
    value_of,
)

LINES = [
    "(Panama) -[capital]-> (Panama City)",
    "text | Île-de-France | Population | In 1999 it had 10,952,011 inhabitants, 3.5 for each house.",
    "text | Москва | | Лондон и Донецк",
    "text | 東京 | | 日本の首都は東京である。",
]


HELD = ["Panama City", "panama  city", "PANAMA", "ile de france", "Ile-de-France", "Panama City (capital)"]
HELD += [
    "the Panama City",
    "3.5",
    "3,5",
    "1999",
    "10952011",
    "10,952,011",
    "10 952 011",
    "10.952.011",
    "Лондон",
    "首都",
]
HELD += ["日本の首都", "3.5 for each house"]
UNHELD = ["Bogotá", "", "  ", "?!", "the", "of the", "anam", "City of Bogotá in Colombia", "Дон", "Moscow", "大阪"]
UNHELD += ["52,011", "952011", "10.9", "109520", "0,952,011", "12345.6", "5.3"]


@pytest.mark.parametrize("answer", HELD)
def test_an_answer_that_stands_there_is_held(answer: str) -> None:
    assert holds(answer, LINES)


@pytest.mark.parametrize("answer", UNHELD)
def test_an_answer_that_does_not_stand_there_is_not(answer: str) -> None:
    assert not holds(answer, LINES)


def test_a_decimal_is_not_its_digits() -> None:
    assert not holds("3.5", ["It has 35 rooms."])
    assert not holds("12,345", ["No. 312345 of 12 and 345."])
    assert holds("12,345", ["12345 of them", "and more"])
    assert not holds("12,345", ["12", "345"]), "a number does not reach over lines"


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("\u0661\u0660\u0660", "100"),
        ("100", "\u0661\u0660\u0660"),
        ("\u09e9 \u099f\u09bf", "3 \u099f\u09bf"),
        ("\u0663\u066b\u0665", "3.5"),
        ("\u0661\u066c\u0662\u0660\u0660", "1200"),
    ],
)
def test_a_number_is_the_same_in_the_digits_of_any_script(answer: str, value: str) -> None:
    """An answer in Arabic digits did not stand in a graph that has the common ones, nor the other way round."""
    assert holds(answer, [f"(Osk) -[size]-> ({value})"])
    assert not holds(answer, ["(Osk) -[size]-> (77)"])
    assert fold(answer) == fold(value) or numbers(answer) == numbers(value)


@pytest.mark.parametrize("answer", ["yes", "No", "TRUE", "supports", "NOT ENOUGH INFO"])
def test_a_conclusion_stands_on_its_citation(answer: str) -> None:
    assert holds(answer, [])


def test_a_number_must_stand_in_the_evidence_or_count_it() -> None:
    borders = "(Panama) -[borders]-> (Colombia), (Costa Rica)"
    assert holds("2", [borders])
    assert holds("7", ["(Hub) -[member]-> (A), (B), ... and 5 more"])
    assert holds("3", [borders, "(Peru) -[borders]-> (Chile), (Colombia)"]), "what all lines list together"
    assert not holds("4", [borders])
    assert holds("3", ["asked | Who borders Panama? | Colombia; Costa Rica; Peru"]), "what a question was answered with"
    assert holds("3", ["asked | | Chile", borders])
    assert not holds("21", ["text | Panama | Voting | Citizens vote from the age of 18."])


@pytest.mark.parametrize(
    "line",
    ["(Osk) -[founded]-> (1976-04-01)", "text | Osk | | It opened on April 1, 1976.", "(Osk) -[on]-> (1 Apr. 1976)"],
)
def test_a_day_is_held_in_whatever_form(line: str) -> None:
    for answer in (
        "1 April 1976",
        "April 1st, 1976",
        "1976-04-01",
        "1 Apr. 1976.",
        "On 1 April 1976",
        "since April 1, 1976",
    ):
        assert holds(answer, [line])
    for answer in ("2 April 1976", "1 June 1976", "1 May 1976", "1 April 1967", "1976-01-04", "on 2 April 1976"):
        assert not holds(answer, [line])


def test_most_of_the_words_are_enough() -> None:
    assert holds("Panama City district", LINES)
    assert not holds("Panama canal district", LINES)


def test_a_word_with_another_vowel_sign_is_another_word() -> None:
    lines = ["(गंगा) -[अर्थ]-> (दिन)", "(নদী) -[পার]-> (বালি)", "(駅) -[前]-> (バス)"]
    assert all(all_hold([answer], lines) for answer in ("दिन", "বালি", "バス"))
    assert not any(all_hold([answer], lines) for answer in ("दीन", "বেলা", "ハス"))
    assert fold("Sa\u0303o  ZÜRICH, Αθήνα") == "sao zurich αθηνα"


def test_a_letter_with_a_stroke_is_the_one_without() -> None:
    lines = ["(Jernanger) -[starred_actors]-> (Bjørn Sundquist)", "(ŁÓDŹ) -[twin]-> (Þingeyri)"]
    assert all(all_hold([answer], lines) for answer in ("Bjorn Sundquist", "Lodz", "Thingeyri", "BJØRN"))


def test_marks_that_nobody_sees_are_no_part_of_a_word() -> None:
    assert fold("\u200f\u05d7\u05d9\u05e4\u05d4\u200e") == "\u05d7\u05d9\u05e4\u05d4"
    assert fold("Repu\u00adblik Kon\u200bgo") == fold("Republik Kongo")
    assert fold("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647") != fold("\u0645\u06cc\u062e\u0648\u0627\u0647"), (
        "Persian has this one"
    )


def test_every_answer_must_be_held() -> None:
    assert all_hold(["Panama", "Лондон"], LINES)
    assert not all_hold(["Panama", "Bogotá"], LINES)
    assert not all_hold([], LINES)


@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_can_be_compared(answer: str, lines: list[str]) -> None:
    assert holds(answer, lines) in {True, False}
    assert fold(fold(answer)) == fold(answer)


@given(st.text(min_size=1))
def test_a_line_holds_itself(text: str) -> None:
    assert holds(f"x{text}", [f"x{text}"])


SPOKEN = [
    "(Gabon) -[capital]-> (Libreville)",
    "text | Gabon | Government | Its anthem is by Georges Damas, and men vote at 21.",
]


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "The capital of Gabon is Libreville",
            "The capital is Libreville.",
            "Georges Aleka Damas",
            "Both Libreville and Gabon",
        ),
        *("men at 21 years", "Anthem by Georges Damas", "Libreville (the capital)", "Capital: Libreville"),
    ],
)
def test_a_sentence_is_held_by_the_names_in_it(answer: str) -> None:
    assert holds(answer, SPOKEN)


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "The capital of Gabon is Rome",
            "Libreville, capital of Gabon, and Rome",
            "Its anthem is by Georges Damas; capital Rome",
        ),
        *("Gabon government anthem 98765", "The capital of Gabon is Port Rome", "Men vote in Gabon at 22"),
    ],
)
def test_a_false_name_is_not_held_by_the_words_around_it(answer: str) -> None:
    assert not holds(answer, SPOKEN)


@pytest.mark.parametrize(
    ("answer", "question", "beside"),
    [
        ("Yes", "In which country does the Senegal rise?", True),
        ("no", "What is the capital of Gabon?", True),
        ("True.", "How many meters high is Chimborazo?", True),
        ("Yes", "Is it Gabon in which the Senegal rises?", False),
        ("No", "Gabon is a country in which men vote.", False),
        ("yes", "Take the peaks of Poland and of Slovakia: which of the two is lower?", True),
        ("yes", "Of the countries which border Gabon, is one an island?", False),
        ("yes", "Gabon has a capital. Does it lie where the river ends?", False),
        ("Who borders both Gabon and Congo", "Who borders both Gabon and Congo?", True),
        ("Norway", "Which country is it?", False),
        ("ja", "Ist Gabun ein Land?", False),
    ],
)
def test_yes_is_no_answer_to_what(answer: str, question: str, beside: bool) -> None:  # noqa: FBT001
    assert beside_the_point(answer, question) is beside


RIVER = [
    "(Volga) -[ends in]-> (Russia)",
    "(Russia) -[currency]-> (ruble)",
    "(Volga) -[tributary]-> (Oka)",
    "(Poland) -[borders]-> (Russia)",
    "text | Russia | Money | People pay with the ruble.",
    "(Volga) -[ends in]-> (Russia) -[currency]-> (ruble)",
]


def test_of_the_cited_lines_those_stay_that_hold_the_answer_or_lead_there() -> None:
    asked = "Which currency is used where the Volga ends?"
    assert needed(["ruble"], [1, 2, 3, 4], RIVER, asked) == [1, 2], (
        "the line that starts from what is asked about leads"
    )
    assert needed(["ruble"], [2, 3], RIVER, asked) == [2]
    assert needed(["ruble"], [1, 2, 4], RIVER) == [1, 2, 4], "without a question any line about Russia may lead"
    assert needed(["ruble"], [1, 3, 5], RIVER, asked) == [1, 5], "to a passage by its title"
    assert needed(["ruble"], [6, 3, 4], RIVER, asked) == [6], "a path brings its own way"
    assert needed(["ruble", "Oka"], [1, 2, 3, 4], RIVER, asked) == [1, 2, 3]


def test_lines_that_hold_an_answer_only_together_all_stay() -> None:
    lines = ["(Panama) -[borders]-> (Colombia)", "(Peru) -[borders]-> (Chile)", "(Peru) -[capital]-> (Lima)"]
    assert needed(["2"], [1, 2, 3], lines) == [1, 2, 3]
    assert needed(["yes"], [1, 3], lines) == [1, 3], "a conclusion stands on all that it names"


def test_a_small_number_may_stand_there_in_words() -> None:
    assert holds("2", ["text | Mars | | Mars has two moons."])
    assert numbers("two of the 12 towns, three times the twenty-four") == {"2", "12", "3"}
    assert numbers("The Magnificent Seven, two hundred of them, two-thirds gone, and the one of old") == set()


@pytest.mark.parametrize(
    ("answer", "held"),
    [
        ("53.8 million", True),
        ("about 54 Million people", True),
        ("53,771 thousand", True),
        ("53.77 mn", True),
        ("50 million", False),
        ("53.7 million", False),
        ("53.8 billion", False),
        ("53.8", False),
        ("54 million people who fled from the war", False),
    ],
)
def test_a_number_may_be_rounded_to_millions(answer: str, *, held: bool) -> None:
    assert holds(answer, ["(Varn) -[capital]-> (Osk); -[population]-> (53771296)"]) is held


@pytest.mark.parametrize(
    ("answer", "held"),
    [
        ("386 km", "(Osk) -[length]-> (386)"),
        ("386 km", "(Osk) -[length_km]-> (386)"),
        ("386 kilometers", "text | Osk | | It is 386 km long and 3 m deep."),
        ("386 km\u00b2", "(Osk) -[area sq km]-> (386)"),
        ("4,027 metres", "(Osk) -[elevation]-> (4027)"),
        ("5,800,000 people", "(Osk) -[population]-> (5800000)"),
        ("349 km", "(Osk) -[border]-> (Varn {length=349})"),
        ("23 percent", "text | Osk | | It has 23% of the 386 km."),
    ],
)
def test_a_number_may_have_the_unit_that_its_line_leaves_out(answer: str, held: str) -> None:
    """Models add it: the right length was unknown."""
    assert holds(answer, [held])


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("386 km", "(Osk) -[length mi]-> (386)"),
        ("386 km", "(Osk) -[area km2]-> (386)"),
        ("386 km", "(Osk) -[length]-> (387)"),
        ("386 m", "text | Osk | | It is 386 km long and 3 m deep."),
        ("386 sheep", "(Osk) -[length]-> (386)"),
        ("386 m", "text | Osk | | Of the 386 lakes it is the third."),
    ],
)
def test_a_number_in_another_unit_is_another(answer: str, line: str) -> None:
    assert not holds(answer, [line])


def test_a_rounded_number_tells_no_digits() -> None:
    told = ["text | Varn | | It has 53.8 million people."]
    assert holds("53.8 million", told)
    assert holds("53,800,000", told)
    assert not holds("53,771,296", told)
    assert not holds("2 million", ["(Osk) -[population]-> (1600000)"])
    assert not rounds("1964 Games", "In 1964 the Games were elsewhere.")


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("301,340.5", "301340.5"),
        ("301340.5", "301,340.5"),
        ("301.340,5 km2", "301340.5"),
        ("1 234 567,8", "1234567.8"),
        ("1,234.567", "1234.567"),
        ("3475", "3475.0"),
        ("3,475 m", "3475.00"),
        ("4,500,000", "4.5E6"),
        ("4.5 million", "4.5E6"),
        ("1,234,000", "1.234E6"),
        ("0.00025", "2.5e-04"),
    ],
)
def test_a_number_has_groups_and_decimals(answer: str, value: str) -> None:
    assert holds(answer, [f"(Osk) -[size]-> ({value})"])


@pytest.mark.parametrize(
    "answer",
    [
        "about 3475",
        "~3,475 m",
        "\u2248 3,475 metres.",
        "3475 m above sea level",
        "approximately 3,475 metres above mean sea level",
    ],
)
def test_a_number_may_be_told_in_a_few_words(answer: str) -> None:
    assert holds(answer, ["(Osk) -[height m]-> (3475)"])
    assert not holds(answer, ["(Osk) -[height m]-> (3457)"])


@pytest.mark.parametrize(
    ("answer", "relation"), [("3475米", "height m"), ("3,475 公里", "length km"), ("3475キロメートル", "length km")]
)
def test_a_number_has_its_unit_in_other_scripts(answer: str, relation: str) -> None:
    assert holds(answer, [f"(Osk) -[{relation}]-> (3475)"])
    assert not holds(answer, [f"(Osk) -[{relation}]-> (3457)"])
    assert not holds(answer, ["(Osk) -[height ft]-> (3475)"])


def test_a_number_in_a_sentence_is_one_word() -> None:
    assert holds("The height of Osk is 3,475 metres.", ["(Osk) -[height m]-> (3475)"])
    assert holds("The height of Osk is 3475.5 metres.", ["(Osk) -[height m]-> (3,475.5)"])
    assert not holds("The height of Osk is 3,475 metres.", ["(Osk) -[height m]-> (3457)"])
    assert not holds("~3,475 m", ["(Osk) -[height ft]-> (3475)"])


@pytest.mark.parametrize(
    ("answer", "line", "held"),
    [
        ("$5,000", "(Osk) -[cost]-> (5000)", True),
        ("about US$ 5,000", "(Osk) -[cost usd]-> (5000)", True),
        ("$5,000", "(Osk) -[cost eur]-> (5000)", False),
        ("\u20ac5.000", "(Osk) -[cost eur]-> (5000)", True),
        ("the year 1999", "(Osk) -[founded]-> (1999)", True),
        ("the year 1998", "(Osk) -[founded]-> (1999)", False),
    ],
)
def test_a_number_may_be_an_amount_or_a_year(answer: str, line: str, *, held: bool) -> None:
    assert holds(answer, [line]) is held


@pytest.mark.parametrize(
    ("answer", "value"),
    [("5", "301,340.5"), ("1234567", "1234.567"), ("1234567", "1,234.567"), ("34750", "3475.0"), ("6", "4.5E6")],
)
def test_decimals_are_no_number_of_their_own_and_no_group(answer: str, value: str) -> None:
    assert not holds(answer, [f"(Osk) -[size]-> ({value})"])


def test_the_value_of_a_number_with_three_decimals_is_not_a_thousand_times_as_much() -> None:
    assert [value_of(text) for text in ("1234.567", "1,234.567", "-12345.678", "0.125")] == [
        1234.567,
        1234.567,
        -12345.678,
        0.125,
    ]
    assert value_of("3.125") is None, "with decimals, or in groups"
    assert numbers("8.123,9.456") == {"8123", "9456"}, "two numbers"


def test_a_number_below_zero_stands_there_with_its_sign() -> None:
    assert holds("-43", ["(Osk) -[lowest point m]-> (-43)"])
    assert holds("\u221243", ["It lies at -43 metres."])
    for line in ("(Osk) -[lowest point m]-> (43)", "1990-43", "-430", "-43.5", "(Osk) -[crosses]-> (Upper Varn)"):
        assert not holds("-43", [line])
    assert not holds("-1", ["(Osk) -[crosses]-> (Upper Varn)"]), "one is a count, minus one is none"
    for answer in ("-10,994", "\u221210 994 m", "-10994.0 metres"):
        assert holds(answer, ["(Osk) -[lowest point m]-> (-10994)"])
        assert not holds(answer, ["(Osk) -[lowest point m]-> (10994)"])


def test_a_comparison_keeps_what_is_said_of_the_others() -> None:
    lines = ["(Kenya) -[population]-> (58)", "(Uganda) -[population]-> (49)", "(Uganda) -[capital]-> (Kampala)"]
    assert needed(["Kenya"], [1, 2, 3], lines, "Which has more inhabitants, Kenya or Uganda?") == [1, 2]
    told = [
        "(Kenya) -[population]-> (53); -[capital]-> (Nairobi)",
        "(Uganda) -[capital]-> (Kampala); -[population]-> (48)",
        "(Uganda) -[capital]-> (Kampala); -[area]-> (241)",
    ]
    assert needed(["Kenya"], [1, 2, 3], told, "Which has more inhabitants, Kenya or Uganda?") == [1, 2], (
        "communities too"
    )
    assert needed(["58"], [1, 2, 3], lines, "How many people live in Kenya?") == [1]


def test_the_highest_mountain_is_no_comparison() -> None:
    assert compares("Which neighbor has the smallest population?")
    assert not compares("What is the capital of the country whose highest peak is K2?")
    assert not compares("Who was Thomas More in Lower Saxony?")


NEIGHBOURS = "(Osk) -[borders]-> (Panama City), (Costa Rica)"


@pytest.mark.parametrize(
    ("answer", "held"),
    [
        ("They are Panama City and Costa Rica.", True),
        ("According to the evidence, it is Panama City.", True),
        ("Based on the evidence lines, it is Costa Rica.", True),
        ("They are Panama City and Peru.", False),
        ("According to the evidence, it is Peru.", False),
        ("According to the Peru evidence, it is Panama City.", False),
        ("According to the Times, it is Panama City.", False),
        ("Panama City, the largest city of America", False),
        ("They are 3 cities of Costa Rica.", False),
    ],
)
def test_the_first_word_of_a_sentence_is_no_name(answer: str, *, held: bool) -> None:
    assert holds(answer, [NEIGHBOURS]) is held


@pytest.mark.parametrize("answer", ["It is not Panama City.", "They aren't Panama City and Costa Rica."])
def test_what_denies_a_line_is_not_held_by_it(answer: str) -> None:
    assert not holds(answer, [NEIGHBOURS])
    assert holds("Osk does not border Panama City.", ["text | Osk | | Osk does not border Panama City or Rome."])


@pytest.mark.parametrize(
    ("answer", "held"),
    [
        *((day, True) for day in ("31.1.1999", "31.01.1999", "1999年1月31日", "1999/1/31", "31/1/1999", "1/31/1999")),
        *(
            (day, False)
            for day in ("30.1.1999", "1999年1月30日", "1999/3/1", "31.3.1999", "31.1.1998", "31/3/1999", "12/31/1999")
        ),
    ],
)
def test_a_day_is_held_in_digits(answer: str, *, held: bool) -> None:
    assert holds(answer, ["(Osk) -[founded]-> (1999-01-31)"]) is held
    assert not holds("1.2.1999", ["(Osk) -[founded]-> (1999-01-02)"]), "points put the day first"
