"""The check of generated texts: what people write passes, each kind of hallucination is found."""

from __future__ import annotations

import pytest
from triples import triple

from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.communities.g2t_check import check
from thinkgraph.tools.communities.g2t_words import quotations, same_word, sentences, spelt_out, words_in


def kinds(text: str, *triples: Triple) -> list[str]:
    return [fault.partition(":")[0] for fault in check(text, triples)]


CAPITAL = triple("Panama", "capital", "Panama City")
BORDER = triple("Panama", "borders", "Costa Rica", length="330 km")
LEADER = triple("Costa Rica", "head of government", "Rodrigo Chaves Robles")
FOUNDED = triple("Panama City", "founded", "1519-08-15", literal=True)
AREA = triple("Panama", "area", "75417.0", literal=True)

GOOD = [
    ("Panama City is the capital of Panama.", [CAPITAL]),
    ("Panama, whose capital is Panama City, borders Costa Rica.", [CAPITAL, BORDER]),
    ("PANAMA BORDERS COSTA RICA for 330 km.", [BORDER]),
    ("Panama borders Costa Rica, which is led by Rodrigo Chaves.", [BORDER, LEADER]),
    ("Panama borders Costa Rica. Its head of government is Mr Chaves Robles.", [BORDER, LEADER]),
    ("Panama's capital is Panama City. It was founded on 15 August 1519.", [CAPITAL, FOUNDED]),
    ("Founded on August 15th, 1519, Panama City is Panama's capital.", [CAPITAL, FOUNDED]),
    ("Panama has an area of 75,417 square kilometres.", [AREA]),
    ("Panamanians live on 75417 km2; the capital of Panama is Panama City.", [AREA, CAPITAL]),
    ("Panama City and Costa Rica: the capital of, and a country on the border of, Panama.", [CAPITAL, BORDER]),
    ("The US Army fought in the Korean War.", [triple("United States Army", "battle", "Korean War")]),
    ("Alan Bean was born in the USA.", [triple("Alan Bean", "birth place", "United States")]),
    ("Suárez plays for the club.", [triple("Suarez", "club", "Club")]),
    ("Ouroboros eats Ouroboros.", [triple("Ouroboros", "eats", "Ouroboros")]),
    ("It rose by 1.2 to 3.5.", [triple("It", "rose by", "1.23", literal=True), triple("It", "to", "3,5", literal=True)]),
    ('The song "Higher Ground" is by Stevie Wonder.', [triple("Higher Ground", "artist", "Stevie Wonder")]),
    ("Washington, D.C. is in the United States. Dr. No is a film.", [
        triple("Washington, D.C.", "country", "United States"), triple("Dr. No", "is a", "film"),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "triples"), GOOD, ids=[text[:40] for text, _ in GOOD])
def test_good_texts_pass(text: str, triples: list[Triple]) -> None:
    assert check(text, triples) == []


BAD = [
    ("Panama City is the capital of Panama in Central America.", [CAPITAL], "invented: Central America"),
    ("Panama City is the capital of Panama. Texas is big, and so is Texas.", [CAPITAL], "invented: Texas"),
    ("Panama and Juan Carlos Varela: Panama City.", [CAPITAL], "invented: Juan Carlos Varela"),
    ("Barack Obama knows Panama City, capital of Panama.", [CAPITAL], "invented: Barack Obama"),
    ("Panama City, capital of Panama, has 880691 people.", [CAPITAL], "invented: 880691"),
    ("Panama has an area of 75,418 square kilometres.", [AREA], "invented: 75,418"),
    ("Panama City, capital of Panama, was founded on 15 July 1519.", [CAPITAL, FOUNDED], "invented: July"),
    ('Panama City is the capital of Panama, "the crossroads".', [CAPITAL], "invented: the crossroads"),
    ("The United Kingdom made Panama.", [triple("United States", "made", "Panama")], "invented: United Kingdom"),
    ("Panama borders Costa Rica.", [CAPITAL, BORDER], "left out: Panama, capital, Panama City"),
    ("", [CAPITAL], "left out: Panama, capital, Panama City"),
    ("The John Hercules prize.", [triple("Elton Hercules John", "prize", "Grammy")],
     "left out: Elton Hercules John, prize, Grammy"),
    ("Panama City is led by Rodrigo Chaves Robles of Costa Rica, a neighbour of Panama.", [CAPITAL, BORDER, LEADER],
     "joined: panama city and rodrigo chaves robles"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "triples", "fault"), BAD, ids=[fault for _, _, fault in BAD])
def test_each_kind_of_hallucination_is_found(text: str, triples: list[Triple], fault: str) -> None:
    found = check(text, triples)
    if fault.startswith("joined"):
        # The pair named may be another one of the same sentence.
        assert [name.partition(":")[0] for name in found] == ["joined"] or fault in found
    else:
        assert fault in found


def test_the_papers_own_example_of_a_logical_inconsistency() -> None:
    """FastToG, table 8."""
    film = "The Gentlemen"
    triples = [
        triple(film, "cast member", "Charlie Hunnam"),
        triple(film, "genre", "action film"),
        triple(film, "distributed by", "Netflix"),
        triple("Go", "genre", "action film"),
    ]
    said = "Charlie Hunnam is a cast member of The Gentlemen."
    bad = f"{said} The Gentlemen is an action film distributed by Netflix and is also known as Go."
    assert kinds(bad, *triples) == ["joined"]
    assert kinds(f"{said} The Gentlemen, distributed by Netflix, and Go are action films.", *triples) == []


def test_a_sentence_may_lean_on_the_one_before_but_not_on_nothing() -> None:
    triples = [CAPITAL, BORDER]
    assert kinds("Panama is a country. Its capital is Panama City and its neighbour is Costa Rica.", *triples) == []
    # Panama is named inside Panama City only, so nothing is left out; but nothing joins the two that are brought together.
    assert kinds("Panama City adjoins Costa Rica.", *triples) == ["joined"]


ALPHABETS = [
    ("Пекин - столица Китая.", [triple("Китай", "столица", "Пекин")], ""),
    ("Пекин, столица Китая, больше Парижа.", [triple("Китай", "столица", "Пекин")], "invented: Парижа"),
    ("Αθήνα: πρωτεύουσα Ελλάδα.", [triple("Ελλάδα", "πρωτεύουσα", "Αθήνα")], ""),
    ("東京は日本の首都である。", [triple("日本", "首都", "東京")], ""),
    ("京都は日本の首都である。", [triple("日本", "首都", "東京")], "left out: 日本, 首都, 東京"),
    ("東京は日本の首都で、人口は1400万人。", [triple("日本", "首都", "東京")], "invented: 1400"),
    ("東京は日本の首都で、「江戸」とも呼ばれた。", [triple("日本", "首都", "東京")], "invented: 江戸"),
    ("東京は日本の首都で、バラク・オバマが訪れた。", [triple("日本", "首都", "東京")], "invented: バラク・オバマ"),
    ("東京は日本の首都で、Obama が訪れた。", [triple("日本", "首都", "東京")], "invented: Obama"),
    ("서울은 대한민국의 수도이다.", [triple("대한민국", "수도", "서울")], ""),
    ("부산은 대한민국의 수도이다.", [triple("대한민국", "수도", "서울")], "left out: 대한민국, 수도, 서울"),
    ("القاهرة عاصمة مصر، وعدد سكانها ٩٥٠٠٠٠٠.", [triple("مصر", "عاصمة", "القاهرة")], "invented: ٩٥٠٠٠٠٠"),
    ("القاهرة عاصمة مصر.", [triple("مصر", "عاصمة", "القاهرة")], ""),
    ("नई दिल्ली भारत की राजधानी है।", [triple("भारत", "राजधानी", "नई दिल्ली")], ""),
    ("กรุงเทพเป็นเมืองหลวงของไทย", [triple("ไทย", "เมืองหลวง", "กรุงเทพ")], ""),
]


@pytest.mark.parametrize(("text", "triples", "fault"), ALPHABETS, ids=[text for text, _, _ in ALPHABETS])
def test_other_alphabets(text: str, triples: list[Triple], fault: str) -> None:
    found = check(text, triples)
    assert (fault in found) if fault else (found == [])


def test_what_is_known_not_to_be_found() -> None:
    """The limits that the module states: form shows neither a wrong relation nor plain names in scripts without capitals."""
    assert kinds("Panama is the capital of Panama City.", CAPITAL) == []
    assert kinds("東京は日本の首都で、大阪より大きい。", triple("日本", "首都", "東京")) == []


def test_hostile_labels_and_texts_break_nothing() -> None:
    odd = [triple("", " ", "…"), triple("(((", "]]->", "\x1b[31m"), triple("a" * 5000, "r", "\ud800")]
    for text in ("", "\0", "a" * 20_000, '"', "((((", "\u202eabc", "1" * 400, "..." * 500, "A. " * 400):
        found = check(text, odd)
        assert all("\n" not in fault and "\x1b" not in fault and len(fault) <= 160 for fault in found)
    assert check("Anything Goes Here.", []) == ["invented: Anything Goes"]


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("Adams' 3rd O'Brien", ["adam", "3", "o", "brien"]),
        ("the U.S. and the D.C.-area", ["the", "us", "and", "the", "dc", "area"]),
        ("7/25, 14L/32R, -6.5", ["7", "25", "14", "l", "32", "r", "6.5"]),
        ("日本 ok", ["日", "本", "ok"]),
        ("two_words, 5 km2", ["two", "word", "5", "km"]),
    ],
)
def test_words(text: str, forms: list[str]) -> None:
    assert [word.form for word in words_in(text)] == forms
    assert all(text[word.start : word.end] for word in words_in(text))


@pytest.mark.parametrize(
    ("held", "said", "same"),
    [
        ("1,234,567", "1234567", True), ("25.0", "25", True), ("25.04", "25", True), ("25.4", "26", False),
        ("1932-03-15", "March", False), ("Mexico", "Mexican", True), ("Texas", "Texan", True), ("Italy", "Italian", True),
        ("Austria", "Austin", False), ("Slovakia", "Slovenia", False), ("서울", "서울은", True), ("مصر", "ومصر", True),
        (".5", "0.5", True), ("2E7", "20000000", True), ("III", "II", False), ("٣", "3", True),
    ],
)  # fmt: skip
def test_the_same_word(held: str, said: str, *, same: bool) -> None:
    assert same_word(words_in(held)[0], words_in(said)[0]) is same


def test_the_month_of_a_date_has_a_name() -> None:
    _, month, _ = words_in("1932-03-15")
    assert same_word(month, words_in("March")[0])
    assert not same_word(month, words_in("May")[0])
    assert not same_word(month, words_in("march")[0])


def test_acronyms() -> None:
    name = words_in("United States Army")
    assert spelt_out(words_in("US")[0], name) == (0, 2)
    assert spelt_out(words_in("USA")[0], name) == (0, 3)
    assert spelt_out(words_in("USA")[0], name[:2]) == (0, 2)
    assert spelt_out(words_in("us")[0], name) is None
    assert spelt_out(words_in("UK")[0], name) is None


def test_sentences_and_quotations() -> None:
    text = "He left Washington, D.C. in May. Mr. Bean J. Smith came! 東京。日本？ The end"
    found = [text[start:end].strip() for start, end in sentences(text)]
    assert found == ["He left Washington, D.C. in May.", "Mr. Bean J. Smith came!", "東京。", "日本？", "The end"]
    text = '“one” "two" «three» „four“ 「五」 it\'s'
    assert [text[start:end] for start, end in quotations(text)] == ["one", "two", "three", "four", "五"]
