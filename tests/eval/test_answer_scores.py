"""Metrics, intervals and comparisons on values worked out by hand."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from thinkgraph.eval.gold import Gold, GoldHop
from thinkgraph.eval.metrics import em_contains, evidence_scores, rouge_l, score
from thinkgraph.eval.reports.published import paper_tables
from thinkgraph.eval.reports.results import ReportRow
from thinkgraph.eval.reports.stats import interval, paired, sign_test
from thinkgraph.state.answer import CitedPassage, Evidence
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.grounding import fold


def test_one_of_two_answers() -> None:
    found = score(["The Bogotá"], ["Bogota", "Panama City"])
    assert (found["hits1"], found["em"], found["partial"], found["complete"]) == (1.0, 0.0, 1.0, 0.0)
    # One word given of three wanted, all of it right: precision 1, recall 1/3.
    assert found["f1"] == pytest.approx(0.5)


def test_an_alias_is_the_answer() -> None:
    found = score(["USA", "Burma"], ["United States", "Myanmar"], [["USA", "US"], ["Burma"]])
    assert found == score(["United States", "Myanmar"], ["United States", "Myanmar"])
    assert score(["USA"], ["United States"])["hits1"] == 0.0


def test_a_name_of_one_answer_may_be_an_alias_of_another() -> None:
    gold, aliases = ["New York", "New York City"], [["New York City", "NYC"], []]
    assert (score(gold, gold, aliases)["em"], score(gold, gold, aliases)["f1"]) == (1.0, 1.0)
    assert score(["New York City"], gold, aliases)["complete"] == 0.0
    assert score(["NYC"], gold, aliases)["hits1"] == 1.0


def test_words_in_common_count_against_the_nearest_form() -> None:
    # Two of three words given, both of the form's two: 2 * 2 / (3 + 2). Against the name itself 2 * 1 / (3 + 3).
    found = score(["the SF Giants team"], ["San Francisco Giants"], [["SF Giants"]])
    assert found["f1"] == pytest.approx(0.8)
    assert found["hits1"] == 0.0
    assert score(["SF Giants"], ["San Francisco Giants"], [["SF Giants"]])["f1"] == 1.0
    assert score(["the SF Giants team"], ["San Francisco Giants"])["f1"] == pytest.approx(1 / 3, abs=1e-6)


def test_punctuation_alone_is_no_other_punctuation() -> None:
    assert score(["?"], ["!!!"])["wrong"] == 1.0
    assert score(["!!!"], ["!!!"])["em"] == 1.0
    assert score(["?"], ["x"])["f1"] == 0.0


def test_nothing_given_and_nothing_to_give() -> None:
    assert score([], ["x"])["unknown"] == 1.0
    assert score([], ["x"])["f1"] == 0.0
    assert score([], [])["hits1"] == 1.0
    assert score(["x"], [])["wrong"] == 1.0


def test_numbers_are_compared_by_value() -> None:
    assert score(["4,500,000"], ["4500000"])["em"] == 1.0
    assert score(["4500001"], ["4500000"])["wrong"] == 1.0

    assert score(["12,34,567", "1 000", "3.50", "+7"], ["1234567", "1,000.0", "3.5", "7"])["em"] == 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("दिन", "दीन"), ("ปี", "ปู"), ("বালি", "বেলা"), ("バス", "ハス"), ("서울", "서을")),
        *(("-154 m", "154 m"), ("-3.5 °C", "3.5 °C"), ("\u22125", "5"), ("the -5", "5"), ("3,5", "35"), (".5", "5")),
        *(("\u20135", "5"), ("\uff0d5 °C", "5 °C"), ("1,2500 km", "12500 km"), ("12,50 km", "1250 km")),
        *(("9780306406157", "9780306406158"), ("1" * 5000, "1" * 4999 + "2"), ("3 5", "35")),
        *(("C++", "C"), ("C#", "C"), ("C++", "C#"), ("Disney+", "Disney")),
        *(("A-ha", "Ha"), ("A-1", "1"), ("An-225", "225"), ("A.I.", "I"), ("The-1975", "1975")),
    ],
)
def test_other_words_and_numbers_are_other_answers(one: str, other: str) -> None:
    assert score([one], [other])["wrong"] == score([other], [one])["wrong"] == 1.0
    assert score([one], [one])["em"] == 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        *(("\u20135", "-5"), ("\u2013.5", "-0.5"), ("1914\u20131918", "1914-1918"), ("-0", "0"), ("-0.0", "0")),
        *(("1,250 km", "1250 km"), ("$1,234,567.5", "$1234567.5"), ("about 1,000", "about 1000")),
        *(("\u22125", "-5"), ("\u22125 °C", "-5 °C"), ("ガス", "ｶﾞｽ"), ("Đà Nẵng", "đa nang"), ("Ἀθῆναι", "αθηναι")),
        *(
            ("1990-95", "1990 95"),
            ("COVID-19", "covid 19"),
            ("C++11", "c 11"),
            ("\u201cThe  Hobbit\u201d", "hobbit"),
            ("की-5", "की 5"),
            ("(C#).", "c#"),
        ),
        *(("شَمْس", "شمس"), ("שָׁלוֹם", "שלום")),
    ],
)
def test_one_word_written_in_two_ways_is_one_answer(one: str, other: str) -> None:
    assert score([one], [other])["em"] == 1.0


def test_rouge_l() -> None:
    assert rouge_l(["the quick fox"], ["the slow fox"]) == pytest.approx(2 / 3)
    assert rouge_l(["b"], ["a"], [["b"]]) == 1.0
    assert rouge_l([], ["a"]) == 0.0
    assert rouge_l([], []) == 1.0


@settings(max_examples=200)
@drawn(
    st.lists(st.sampled_from(["a", "b", "c", "d", "Bogotá"]), max_size=8),
    st.lists(st.sampled_from(["a", "b", "c", "d"]), min_size=1),
)
def test_rouge_l_is_what_rouge_score_makes_of_the_same_words(said: list[str], reference: list[str]) -> None:
    scorer = pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(
        ["rougeL"], tokenizer=SimpleNamespace(tokenize=lambda text: fold(text).split())
    )
    theirs = scorer.score(" ".join(reference), " ".join(said))["rougeL"].fmeasure
    assert rouge_l([" ".join(said)], [" ".join(reference)]) == pytest.approx(theirs, abs=1e-6)


def test_rouge_l_needs_no_rouge_score() -> None:
    # An abstention scored 0.0 and an answer nothing where it was not installed.
    code = (
        "import sys; sys.modules['rouge_score'] = None\n"
        "from thinkgraph.eval.metrics import rouge_l\n"
        "print(rouge_l([], ['a']), rouge_l(['a b'], ['a']), rouge_l([], []))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["0.0", "0.666667", "1.0"]


@pytest.mark.parametrize(
    ("given", "forms", "value"),
    [
        (["Bogotá"], ["Bogotá"], 1.0),
        (["the city of Bogotá, Colombia"], ["Bogotá"], 1.0),
        (["Bogotá"], ["Bogotá, D. C."], 1.0),
        (["BOGO TÁ"], ["bogotá"], 1.0),
        (["Bogota"], ["Bogotá"], 0.0),
        (["Panama", "Bogotá"], ["Bogotá"], 1.0),
        (["Panama", "Bogotá"], ["Lima", "Bogotá"], 1.0),
        # One reply: two answers do not stand in a gold answer that holds the second.
        (["Panama", "Bogotá"], ["Bogotá, D. C."], 0.0),
        (["Lima"], ["", "Bogotá"], 0.0),
        ([], ["Bogotá"], 0.0),
        ([], [], 1.0),
        (["Bogotá"], [], 0.0),
    ],
)
def test_exact_match_as_the_published_scripts_count_it(given: list[str], forms: list[str], value: float) -> None:
    assert em_contains(given, forms) == value


def test_every_published_figure_has_a_column_of_ours_that_is_made_the_same_way() -> None:
    figures = [
        (table.source.partition(",")[0], one)
        for table in paper_tables().values()
        if table.bench
        for one in table.figures
    ]
    columns = {(paper, one.metric): one.measure for paper, one in figures}
    assert columns == {
        ("ToG-2", "EM"): "em_contains",
        ("ToG-2", "accuracy"): "em_contains",
        ("FastToG", "hits@1"): "em_contains",
        ("FiSKE", "partial match"): "partial",
        ("FiSKE", "complete match"): "complete",
        ("CogGRAG", "EM"): "em",
        ("CogGRAG", "Rouge-L"): "rouge_l",
        ("Search-on-Graph", "hits@1"): "hits1",
    }
    assert len({(paper, one.metric, one.measure) for paper, one in figures}) == len(columns)
    assert set(columns.values()) <= set(ReportRow.__annotations__) | set(score([], []))


def test_rouge_l_reads_every_script() -> None:
    assert rouge_l(["Москва"], ["Москва"]) == 1.0
    assert rouge_l(["Bogotá"], ["Bogota"]) == 1.0
    assert rouge_l(["Minas"], ["Tirith"]) == 0.0


def _triple(subject: str, relation: str, obj: str) -> Triple:
    return Triple(
        id=f"{subject}{obj}", subject=subject, relation=relation, object=obj, subject_label=subject,
        relation_label=relation, object_label=obj, literal=False, qualifiers=[],
    )  # fmt: skip


def test_evidence_against_gold() -> None:
    hop = GoldHop((("A", "r", "B"), ("A", "r", "C")), "r", outgoing=True, sources=("A",), ends=("B", "C"))
    gold = Gold("q", ("B",), "chain", hops=(hop,), passages=("p1",))
    passage = CitedPassage(id="p1", title="", section="", start=0, end=1, text="x", score=1.0)
    cited = Evidence(triples=[_triple("a", "R", "b"), _triple("A", "r", "Z")], passages=[passage], paths=[])
    found = evidence_scores(cited, gold)
    assert found == {"precision": pytest.approx(2 / 3, abs=1e-6), "recall": pytest.approx(2 / 3, abs=1e-6)}
    assert evidence_scores(Evidence(triples=[], passages=[], paths=[]), gold) == {"precision": 0.0, "recall": 0.0}
    assert evidence_scores(cited, None) is None


def test_intervals_hold_the_mean_and_narrow_with_more_questions() -> None:
    few, many = interval([1.0, 0.0] * 10, seed=3), interval([1.0, 0.0] * 500, seed=3)
    assert few[0] < many[0] < 0.5 < many[1] < few[1]
    assert few == interval([1.0, 0.0] * 10, seed=3)
    assert few != interval([1.0, 0.0] * 10, seed=4)
    with pytest.raises(ValueError, match="at least one"):
        interval([])


def test_paired_comparison() -> None:
    found = paired([1.0] * 9 + [0.0], [0.0] * 9 + [1.0])
    assert (found["wins"], found["losses"], found["difference"]) == (9, 1, 0.8)
    # Two-sided: 2 * (1 + 10) / 2 ** 10.
    assert found["p"] == pytest.approx(22 / 1024, abs=1e-6)
    assert paired([1.0, 0.0], [1.0, 0.0])["p"] == 1.0
    with pytest.raises(ValueError, match="the same questions"):
        paired([1.0], [1.0, 0.0])


@pytest.mark.parametrize(
    ("wins", "losses"), [(0, 0), (1, 0), (0, 9), (5, 5), (3, 17), (61, 40), (900, 1000), (2600, 2400)]
)
def test_the_sign_test_is_scipys(wins: int, losses: int) -> None:
    library = pytest.importorskip("scipy.stats")
    expected = library.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert sign_test(wins, losses) == pytest.approx(expected, rel=1e-9)
