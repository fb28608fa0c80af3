from __future__ import annotations

import sys

import pytest

from thinkgraph.errors import UsageError
from thinkgraph.training.pairs import TextPair, make_triple
from thinkgraph.training.scores import coverage, require_packages, rouge1, score_texts

TRIPLES = (make_triple("Panama", "hasCapital", "Panama_City"), make_triple("Panama", "currency", "balboa"))
PAIR = TextPair(
    "", TRIPLES, ("Panama City is the capital of Panama.", "Panama uses the balboa; its capital is Panama City.")
)


def test_coverage_asks_for_both_ends_word_for_word() -> None:
    assert coverage("PANAMA pays in the Balboa.", TRIPLES) == 1
    assert coverage("Panamá City is the capital of Panama, the balboa its money.", TRIPLES) == 2
    assert coverage("The city lies in Panama.", TRIPLES) == 0
    assert coverage("東京は日本の首都である。", [make_triple("日本", "首都", "東京")]) == 1
    assert coverage("京都は日本にある。", [make_triple("日本", "首都", "東京")]) == 0


def test_the_best_reference_counts_and_other_alphabets_too() -> None:
    assert rouge1([(["a b c", "d e"], "d e")]) == 1.0
    assert rouge1([(["a b c d"], "a b")]) == pytest.approx(2 / 3)
    assert rouge1([(["Париж столица Франции"], "Париж столица Италии")]) == pytest.approx(2 / 3)
    assert rouge1([(["東京"], "東北")]) == pytest.approx(1 / 2)
    assert rouge1([(["a"], ""), (["a"], "a")]) == 0.5


def test_scores_of_perfect_and_of_empty_texts() -> None:
    best = score_texts([PAIR], [PAIR.texts[1]])
    assert best["rouge1"] == pytest.approx(100)
    assert best["bleu"] == pytest.approx(100)
    assert best["chrf"] == pytest.approx(100)
    assert best["coverage"] == 1.0
    # One of the two references names the balboa.
    assert best["reference_coverage"] == 0.75
    assert best["relative_coverage"] == pytest.approx(4 / 3)
    assert best["true_to_triples"] == 1.0
    nothing = score_texts([PAIR, TextPair("", TRIPLES, ("One reference only.",))], ["", ""])
    assert (nothing["rouge1"], nothing["coverage"], nothing["true_to_triples"]) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("package", ["transformers", "accelerate", "rouge_score", "sacrebleu"])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=package.replace("_", "-") + ".*thinkgraph\\[g2t\\]"):
        require_packages()
