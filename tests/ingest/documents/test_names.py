"""Which names are found in texts, and which are taken for one thing."""

from __future__ import annotations

import random

import pytest

from thinkgraph.ingest.documents.lexicon import Chunk, Lexicon, collect, read_names
from thinkgraph.ingest.documents.mentions import LinkedPassage, read_documents
from thinkgraph.ingest.documents.names import spans
from thinkgraph.ingest.documents.resolve import ResolvedNames, resolve
from thinkgraph.ingest.documents.words import analyse


def chunk(document: str, text: str, title: str = "", **more) -> Chunk:
    return Chunk(id=f"{document}#0", document=document, title=title, section=more.pop("section", ""), text=text, **more)


def read(*chunks: Chunk) -> tuple[list[LinkedPassage], ResolvedNames]:
    lexicon = Lexicon()
    collect(chunks, lexicon)
    read_names(chunks, lexicon)
    names = resolve(lexicon)
    return list(read_documents(chunks, names, lexicon, len(chunks))), names


def mentioned(*chunks: Chunk) -> list[list[str]]:
    """Labels of the entities that each passage mentions, in order, each once."""
    reads, names = read(*chunks)
    label = {entity: forms[0].label for entity, forms in names.groups().items()}
    return [list(dict.fromkeys(label[entity] for entity in one.mentions)) for one in reads]


def written(text: str) -> list[str]:
    """What is written as a name, by the text's own use of capitals."""
    lexicon = Lexicon()
    analysis = analyse(text)
    lexicon.case.add(analysis)
    found = spans(analysis, lexicon.case)
    return [text[analysis.words[s.first].start : analysis.words[s.last].end] for s in found]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("It was founded by Carl Rogers in the town of Tollow.", ["Carl Rogers", "Tollow"]),
        ("He studied at the University of Port Arden for years.", ["University of Port Arden"]),
        ("They met Ludwig van der Meer and Ana de la Cruz.", ["Ludwig van der Meer", "Ana de la Cruz"]),
        ("The Hague is a city. The river is long.", ["Hague"]),
        ("However, Tollow won. During May it rained. In March 1960 Tollow lost.", ["Tollow", "Tollow"]),
        ("On Monday, 5 May 1999, and in 2012, nothing happened.", []),
        ("See Chapter 3 and Figure 12 and Table 1.", []),
        ("They took Apollo 11 and Route 66 in World War II.", ["Apollo 11", "Route 66", "World War II"]),
        ("In Kim Il-sung's day a London-based firm grew.", ["Kim Il-sung", "London"]),
        ("She bought an iPhone from AT&T in the U.S. market.", ["iPhone", "AT&T", "U.S"]),
        ("It was J. R. R. Tolkien who wrote it. Dr. Smith came.", ["J. R. R. Tolkien", "Dr. Smith"]),
        ("THE WHOLE SENTENCE IS SHOUTED AT YOU.", []),
        ('He wrote "Hello Love" and "it was cold" there.', ["Hello Love"]),
        ("He saw «Le Monde» and “The Long Day” there.", ["Le Monde", "The Long Day"]),
        ("He sang Papa Don't Preach in Tollow.", ["Papa Don't Preach", "Tollow"]),
        ("A man from Côte d'Ivoire met Đặng Văn Bá in Łódź.", ["Côte d'Ivoire", "Đặng Văn Bá", "Łódź"]),
        ("Тогда он родился в Москве, как и Лев Толстой.", ["Тогда", "Москве", "Лев Толстой"]),
        ("彼は「千と千尋」を見た。", ["千と千尋"]),
        ("", []),
        ("...", []),
    ],
)
def test_written_as_a_name(text: str, names: list[str]) -> None:
    assert sorted(written(text)) == sorted(names)


def test_a_capital_at_a_sentences_head_counts_where_the_word_is_a_name_elsewhere() -> None:
    texts = ["Brede built it with Brede.", "Brede lived here.", "Walls stood here and walls fell.", "Walls fell."]
    found = mentioned(*(chunk(str(n), text) for n, text in enumerate(texts)))
    assert found == [["Brede"], ["Brede"], [], []]


def test_titles_are_found_in_all_documents_in_small_letters_too() -> None:
    found = mentioned(
        chunk("1", "A bird of prey.", title="Golden eagle"),
        chunk("2", "The golden eagle and the Golden Eagle.", title="Hawk"),
        chunk("3", "A hawk, but no Hawkeye and no it.", title="It"),
    )
    assert found == [[], ["Golden eagle"], ["Hawk", "Hawkeye"]]


def test_a_title_that_is_a_common_word_is_found_with_its_capital_only() -> None:
    many = [chunk(f"x{n}", "A red wall is red.", title=f"Wall {n}") for n in range(30)]
    found = mentioned(*many, chunk("r", "An album.", title="Red"), chunk("s", "They played Red with a red drum."))
    assert found[-1] == ["Red"]
    assert found[0] == []


def test_names_inside_longer_names() -> None:
    found = mentioned(
        chunk("1", "He left West Arden High School.", title="Ann Brede"),
        chunk("2", "It lies in Varn.", title="West Arden"),
        chunk("3", "A clock.", title="Tollow town clock"),
        chunk("4", "He was born in Tollow near the University of Varn.", title="Ben Low"),
    )
    assert found[0] == ["West Arden High School", "West Arden"]
    assert found[2] == ["Tollow"]
    assert found[3] == ["Tollow", "University of Varn", "Varn"]


def same(rule: str, *chunks: Chunk) -> list[tuple[str, str, str]]:
    _, names = read(*chunks)
    return sorted((d.name, d.entity, d.document) for d in names.decisions if d.rule == rule)


PAD = "They met Amber Low and Ines Calder there."


@pytest.mark.parametrize(
    ("rule", "texts", "decided"),
    [
        ("article", ['He read the Amber Post, or "The Amber Post".'], [("The Amber Post", "Amber Post")]),
        ("points", ["It is a U.S. firm in the US market, a USA one."], [("US", "U.S.")]),
        ("title of a person", ["President Ines Calder spoke. It was Ines Calder."], [("President Ines Calder", "Ines Calder")]),
        ("title of a person", ["He lived in East Port Arden, not in Port Arden."], []),
        ("legal form", ["He led Brede Inc. for years; Brede and Brede grew."], [("Brede Inc", "Brede")]),
        (
            "acronym",
            ["The Ridge Miners Union (RMU) grew.", "A member of the RMU."],
            [("RMU", "Ridge Miners Union")],
        ),
        ("acronym", ["The Ridge Miners Union (XYZ) grew.", "A member of the XYZ."], []),
        ("acronym", ["The Ridge Miners Union (RMU) met the Red Media Union (RMU).", "The RMU."], []),
        ("initials", ["It was Tomas Brede.", "T. Brede came."], [("T. Brede", "Tomas Brede")]),
        ("initials", ["It was Tomas Brede.", "It was Tilda Brede.", "T. Brede came."], []),
        ("initials", ["It was Tomas Brede.", "X. Brede came."], []),
        (
            "spelling",
            ["It was Ostrelburg Academy. " * 6, "He went to Ostrelberg Academy."],
            [("Ostrelberg Academy", "Ostrelburg Academy")],
        ),
        ("spelling", ["It was Ostrelburg Academy. " * 6, "He went to Ostrelburg Academic and Astrelburg Academy."], []),
        ("plural", ["A stone lantern." for _ in range(3)] + ["Three stone lanterns." for _ in range(3)], [("stone lanterns", "stone lantern")]),
    ],
)  # fmt: skip
def test_rules_for_the_whole_collection(rule: str, texts: list[str], decided: list[tuple[str, str]]) -> None:
    rest = [chunk(f"x{n}", f"Nothing happened on day {n}.") for n in range(200)]
    chunks = [chunk(str(n), f"{text} {PAD}") for n, text in enumerate(texts)]
    assert same(rule, *chunks, *rest) == [(*pair, "") for pair in decided]


def test_accents_case_and_hyphens_make_no_difference() -> None:
    found = mentioned(
        chunk("1", "He went to Göteborg and Port-Arden."), chunk("2", "He went to Goteborg and Port Arden, Port Arden.")
    )
    assert found == [["Goteborg", "Port Arden"], ["Goteborg", "Port Arden"]]


@pytest.mark.timeout(60)
def test_a_wide_gap_of_a_table_is_looked_at_once() -> None:
    """It was parted in every way that there is: 350 spaces took 37 seconds, and nothing ended them."""
    text = "The Osk Valley is long. Osk" + " " * 900 + "| Varn"
    assert mentioned(chunk("a", text)) == [["Osk Valley", "Varn"]]


def test_last_names_hold_in_their_document_only() -> None:
    chunks = [
        chunk("1", "It was Tomas Brede who built it. Then Brede left.", title="Lindow Hall"),
        chunk("2", "Here Brede is nobody known."),
        chunk("3", "Brede met Tilda Brede and Tomas Brede."),
        chunk("4", "He painted. Brede also sang.", title="Tilda Brede"),
    ]
    assert same("last name", *chunks) == [("Brede", "Tilda Brede", "4"), ("Brede", "Tomas Brede", "1")]


def test_last_words_that_are_names_of_their_own_are_no_last_names() -> None:
    elsewhere = [chunk(f"x{n}", "They love Varn in summer.") for n in range(9)]
    assert same("last name", *elsewhere, chunk("1", "From Southern Varn he went on to see Varn.")) == []


def test_letters_hold_where_one_name_of_the_document_fits() -> None:
    chunks = [
        chunk("1", "It was the Ridge Miners Union. Then RMU struck and they left RMU."),
        chunk("2", "Here RMU is nobody known."),
    ]
    assert same("letters", *chunks) == [("RMU", "Ridge Miners Union", "1")]


def test_namesakes_are_told_apart_by_their_document_and_by_its_words() -> None:
    chunks = [
        chunk("1", "Brother is a song.", title="Brother (Amber song)"),
        chunk("2", "Brother is a film.", title="Brother (film)"),
        chunk("3", "They say Amber played Brother, their song."),
        chunk("4", "He has Brother at home."),
        chunk("5", "He grew up in Tollow.", title="Tollow, Varn"),
    ]
    found = mentioned(*chunks)
    assert found == [["Brother (Amber song)", "Amber"], ["Brother (film)"], ["Amber", "Brother (Amber song)"], ["Brother"], ["Tollow, Varn"]]  # fmt: skip
    assert [entry[2] for entry in same("namesake", *chunks)] == ["1", "3", "2", "5"]


def test_entities_that_came_with_a_document_are_its_own() -> None:
    found = mentioned(
        chunk("1", "The old woman sings.", given=("Ines Calder", "old woman")), chunk("2", "Ines Calder.")
    )
    assert found == [["old woman", "Ines Calder"], ["Ines Calder"]]


def test_generic_titles_name_nothing() -> None:
    reads, _ = read(chunk("1", "It was Ines Calder.", title="README"), chunk("2", "It was Ines Calder.", title="Osk"))
    assert [one.about for one in reads] == ["", "osk"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["東京タワーは赤い。", "彼は東京タワーを見た。", "東京タワーが好き。", "雨。"], "タワ"),
        (["在北京大学学习。", "他去北京大学。", "我喜欢北京大学。", "雨。"], "北京大学"),
        (["서울타워는 높다.", "그는 서울타워를 보았다.", "서울타워가 좋다.", "비가 온다."], None),
        (["قلعة حلب قديمة", "زار قلعة حلب", "في قلعة حلب", "مطر"], "قلعة حلب"),
        (["दिल्ली मेट्रो तेज़ है", "वह दिल्ली मेट्रो में था", "दिल्ली मेट्रो नई है", "बारिश"], "दिल्ली मेट्रो"),
    ],
)
def test_scripts_without_capitals_have_phrases_that_come_back(texts: list[str], expected: str | None) -> None:
    filler = [
        chunk(f"f{n}", word * 3) for n, word in enumerate(["ほか。", "其他。", "다른 것.", "شيء آخر", "कुछ और"] * 20)
    ]
    found = mentioned(*(chunk(str(n), text) for n, text in enumerate(texts)), *filler)
    if expected is not None:
        assert all(any(expected in name for name in names) for names in found[:3]), found[:4]
    assert not set(found[3]) & set(found[0])


def test_korean_titles_are_found_before_their_particles() -> None:
    found = mentioned(chunk("1", "높은 탑이다.", title="서울타워"), chunk("2", "그는 서울타워에서 서울타워를 보았다."))
    assert found[1] == ["서울타워"]


def test_the_order_of_documents_changes_nothing() -> None:
    texts = [
        "It was Tomas Brede of the Ridge Miners Union (RMU). Brede left the RMU.",
        "President Ines Calder met T. Brede in The Amber Post. The Amber Post!",
        "He saw Brother in Göteborg. In Goteborg!",
        "stone lantern here", "stone lantern there", "stone lanterns", "a stone lantern",
    ]  # fmt: skip
    chunks = [chunk(str(n), text, title=f"T{n}") for n, text in enumerate(texts)]
    _, names = read(*chunks)
    expected = {entity: [form.label for form in forms] for entity, forms in names.groups().items()}
    for seed in range(5):
        shuffled = chunks[:]
        random.Random(seed).shuffle(shuffled)
        _, other = read(*shuffled)
        assert {e: [form.label for form in forms] for e, forms in other.groups().items()} == expected
