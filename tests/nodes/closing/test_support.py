"""How and where an answer stands in its evidence: by structure, not by words that it shares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from thinkgraph.nodes.closing.cited import spelt
from thinkgraph.nodes.closing.support import support_of
from thinkgraph.state.answer import CitedPassage, CitedPath, Evidence, Support
from thinkgraph.state.knowledge import Triple

ANDES = "(Quito) <-[capital]- (Ecuador) -[highest point]-> (Chimborazo) -[elevation m]-> (6267)"
FOUNDED = "(Total) -[founded]-> (1924-03-28)"
STAFF = "(Total) -[employees]-> (102000)"
TALL = "(Total) -[height in meters]-> (187)"
BORDERS = "(Gabon) -[shares border with]-> (Cameroon) {length km=349}, (Equatorial Guinea) {length km=345}"
TOWN = (
    "It lies on the Seine. Its coordinates are 48 51 N, 2 21 E. The city council has 140 seats. The tower was finished in "
    "1889. It has been lit since 1925."
)


def evidence(*paths: str, text: str = "", values: Sequence[str] = ()) -> Evidence:
    """Evidence of these lines and one passage; `values` are literals among the ends."""
    made: list[Any] = [{"object_label": value, "literal": True} for value in values]
    triples: list[Triple] = made
    passage = CitedPassage(id="d1", title="Paris", section="", start=0, end=len(text), text=text, score=1.0)
    cited = [CitedPath(text=path, triples=[], score=1.0) for path in paths]
    return Evidence(triples=triples, paths=cited, passages=[passage] if text else [])


def one(question: str, answer: str, given: Evidence) -> Support:
    (found,) = support_of(question, [answer], given)
    return found


@pytest.mark.parametrize(
    ("question", "answer", "line", "kind"),
    [
        ("How high is the highest mountain of the country governed from Quito?", "6267", ANDES, "value"),
        ("How high is the highest mountain of the country governed from Quito?", "6,267 m", ANDES, "value"),
        ("How high is the highest mountain of the country governed from Quito?", "267", ANDES, "none"),
        ("Where is Ecuador's highest point?", "Chimborazo", ANDES, "words"),
        ("Which is higher, Chimborazo or Cotopaxi?", "Chimborazo", ANDES, "path"),
        ("Whose highest point has an elevation of 6267 metres?", "Ecuador", ANDES, "path"),
        ("What is the deepest lake in Osk?", "Tarr", "(Osk) -[lake]-> (Tarr) -[depth m]-> (400)", "path"),
        ("Which countries border Gabon?", "Cameroon", BORDERS, "path"),
        ("Which countries border Gabon?", "Cameroon, which shares a border with Gabon", BORDERS, "path"),
        ("How many countries border Gabon?", "2", BORDERS, "count"),
        ("Tell me how many countries border Gabon.", "2", BORDERS, "count"),
        ("What is the number of countries that border Gabon?", "2", BORDERS, "count"),
        # Five digits are no count.
        ("How many towns border Gabon?", "12345", "(Gabon) -[borders]-> (Oyem), ... and 12344 more", "none"),
        ("How many people live in Gabon?", "349", BORDERS, "words"),
        ("Which countries border Gabon?", "2", BORDERS, "words"),
        ("What is the length of the border of Gabon and Cameroon?", "349", BORDERS, "path"),
        ("How long is the border of Gabon and Cameroon?", "349", BORDERS, "path"),
        ("How deep is the river between Gabon and Cameroon?", "349", BORDERS, "words"),
        ("Is Gabon a neighbour of Cameroon?", "yes", BORDERS, "conclusion"),
        # A date tells the year, and no other part of it is one.
        ("In which year was Total founded?", "1924", FOUNDED, "path"),
        ("In which year was Total founded?", "28", FOUNDED, "words"),
        ("How old is Total?", "1924", FOUNDED, "words"),
        ("When was Total founded?", "28 March 1924", FOUNDED, "path"),
        ("When was Total founded?", "March 28th, 1924", FOUNDED, "path"),
        ("When was Total founded?", "28 May 1924", FOUNDED, "none"),
        # A plural says what is counted, unless it is a unit.
        ("How many people work for Total?", "102000", STAFF, "path"),
        ("How many people work for Total?", "102 thousand", STAFF, "path"),
        ("How many people work for Total?", "about 0.1 million", STAFF, "path"),
        ("How many people work for Total?", "103 thousand", STAFF, "none"),
        ("How long is Total?", "102000", STAFF, "words"),
        ("How many people work for Total?", "187", TALL, "words"),
        ("How many people work for Total?", "187", TALL.replace("height in ", "tower "), "words"),
        ("Which countries border Gabon?", "Chad", BORDERS, "none"),
    ],
)
def test_lines(question: str, answer: str, line: str, kind: str) -> None:
    found = one(question, answer, evidence(line, values=["6267"]))
    assert found["kind"] == kind
    if kind in {"path", "value"}:
        assert line[found["start"] : found["end"]] in {answer, answer.partition(",")[0], "6267", "102000", "1924-03-28"}
        assert (found["within"], found["line"]) == ("paths", 0)
    else:
        assert (found["within"], found["line"]) == ("", -1)


@pytest.mark.parametrize(
    ("question", "answer", "kind"),
    [
        ("On which river does Paris lie?", "Seine", "sentence"),
        ("How many seats has the council of Paris?", "140", "sentence"),
        ("How many people live in Paris?", "140", "words"),
        ("How many people live in Paris?", "48", "words"),
        ("When was the tower finished?", "1889", "sentence"),
        ("When was the tower lit?", "1925", "sentence"),
        ("When was the tower finished?", "48", "words"),
        ("Who governs Paris?", "the council of the city", "words"),
        ("Which river does the Seine of Paris flow into?", "Seine", "words"),
    ],
)
def test_sentences(question: str, answer: str, kind: str) -> None:
    found = one(question, answer, evidence(text=TOWN))
    assert found["kind"] == kind
    if kind == "sentence":
        assert TOWN[found["start"] : found["end"]] == answer
        assert (found["within"], found["line"]) == ("passages", 0)


def test_a_quality_is_said_by_its_noun() -> None:
    told = evidence(text="Arden - Independence: 21 March 1990 (from Osk)")
    assert one("In what year did Arden become independent?", "1990", told)["kind"] == "sentence"
    assert one("In what year did Arden become a member?", "1990", told)["kind"] == "words"


def test_other_alphabets() -> None:
    found = one("Столица Болгарии?", "София", evidence("(Болгария) -[столица]-> (София)"))
    assert found["kind"] == "path"
    born = evidence(text="Население столицы составляет 1248452 человека.")
    assert one("Сколько людей живёт в Софии?", "1248452", born)["kind"] == "sentence"
    rounded = evidence(text="Its population was 1,248,452 in 2020. It has 1200000 trees.")
    assert one("What is the population of Sofia?", "1.25 million", rounded)["kind"] == "sentence"
    assert one("What is the population of Sofia?", "1.2 million", rounded)["kind"] == "sentence"
    assert one("What is the population of Sofia?", "1.3 million", rounded)["kind"] == "none"
    assert one("How many lakes are near Sofia?", "1.25 million", rounded)["kind"] == "words"
    long = evidence(text="İstanbul Straße. The capital is Ankara.")
    assert one("What is the capital?", "ankara", long)["kind"] == "sentence"


def test_what_a_question_without_spaces_names_is_no_answer_to_it() -> None:
    assert one("北京市长是谁？", "北京", evidence(text="北京市长是殷勇。"))["kind"] == "words"


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        ("北京市长是谁？", "殷勇", "北京是中国的首都。北京市长是殷勇。"),
        ("日本の首都はどこですか", "東京", "東京は日本の首都である。人口は多い。"),
        ("서울의 시장은 누구인가?", "오세훈", "서울은 수도이다. 서울의 시장은 오세훈이다."),
        ("ใครเป็นผู้ว่ากรุงเทพ", "ชัชชาติ", "ผู้ว่ากรุงเทพคือชัชชาติ"),
    ],
)
def test_scripts_without_spaces(question: str, answer: str, text: str) -> None:
    found = one(question, answer, evidence(text=text))
    assert (found["kind"], text[found["start"] : found["end"]]) == ("sentence", answer)


@pytest.mark.parametrize(
    ("question", "answer", "line", "kind"),
    [
        ("When was Total founded?", "28/3/1924", FOUNDED, "path"),
        ("When was Total founded?", "1924年3月29日", FOUNDED, "none"),
    ],
)
def test_days_in_digits(question: str, answer: str, line: str, kind: str) -> None:
    assert one(question, answer, evidence(line))["kind"] == kind


def test_communities() -> None:
    line = "(Panama) -[capital]-> (Panama City); -[borders]-> (Colombia) | (Baru) -[elevation m]-> (3475)"
    assert one("Which country borders Colombia?", "Panama", evidence(line))["kind"] == "path"
    assert one("Which country borders Colombia?", "Peru", evidence(line))["kind"] == "none"


def test_answers_are_spelt_as_in_what_is_cited() -> None:
    labels: list[Any] = [
        {"subject_label": "Panama", "object_label": "Panama City"},
        {"subject_label": "Córdoba", "object_label": "Cordoba"},
    ]
    given = Evidence(triples=labels, paths=[], passages=[])
    answers = ["panama\u202e city", "Cordoba", "Córdoba", "CORDOBA", "Bogota", "?"]
    assert list(spelt(answers, given)) == ["Panama City", "Cordoba", "Córdoba", "Cordoba", "Bogota", "?"]
