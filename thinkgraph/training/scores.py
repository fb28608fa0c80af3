"""How good generated texts are: ROUGE-1, BLEU and chrF against references, and how many triples they put into words."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from itertools import zip_longest
from types import SimpleNamespace
from typing import Any

from typing_extensions import TypedDict

from thinkgraph.errors import UsageError
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.communities.g2t_check import check
from thinkgraph.tools.linking.lexical import UNSPACED
from thinkgraph.tools.linking.names import words
from thinkgraph.training.pairs import TextPair


class TextScores(TypedDict):
    """Figures over one set of texts; ROUGE, BLEU and chrF from 0 to 100, the others shares."""

    texts: int
    rouge1: float
    """F-measure of single words; the best reference counts. A checkpoint is chosen by it."""
    bleu: float
    chrf: float
    coverage: float
    """Share of the triples both of whose ends the text names, word for word."""
    reference_coverage: float
    relative_coverage: float
    """The one divided by the other: 1 means that the model leaves out no more than people do."""
    true_to_triples: float
    """Share of the texts in which `check` finds no fault."""


def require_packages() -> None:
    """Refuse to start where a package is missing that only a later part of the work would need.

    Raises:
        UsageError: naming the package and how to install it.
    """
    for package in ("torch", "transformers", "accelerate", "rouge-score", "sacrebleu"):
        if find_spec(package.replace("-", "_")) is None:
            raise UsageError(f"training graph-to-text needs {package}: run `pip install 'thinkgraph[g2t]'`")


def _folded_words(text: str) -> list[str]:
    """Folded words, those of scripts without spaces letter by letter; rouge-score's own drop all but a to z."""
    return [part for word in words(text) for part in (word if UNSPACED.search(word) else [word])]


def rouge1(pairs: Sequence[tuple[Sequence[str], str]]) -> float:
    """The mean of ROUGE-1's F-measure over (references, text), 0 to 1; the best reference of a text counts."""
    from rouge_score.rouge_scorer import RougeScorer

    scorer: Any = RougeScorer(["rouge1"], tokenizer=SimpleNamespace(tokenize=_folded_words))
    return sum(float(scorer.score_multi(*pair)["rouge1"].fmeasure) for pair in pairs) / len(pairs)


def coverage(text: str, triples: Sequence[Triple]) -> int:
    """How many triples have both of their ends in the text, word for word; case and accents do not count."""
    said = f" {' '.join(_folded_words(text))} "
    ends = ((triple["subject_label"], triple["object_label"]) for triple in triples)
    return sum(all(f" {' '.join(_folded_words(label))} " in said for label in pair) for pair in ends)


def score_texts(pairs: Sequence[TextPair], texts: Sequence[str]) -> TextScores:
    """Compare one text per pair with the pair's references and triples; see `require_packages`."""
    import sacrebleu

    made = list(zip(pairs, texts, strict=True))
    triples = sum(len(pair.triples) for pair in pairs)
    covered = sum(coverage(text, pair.triples) for pair, text in made)
    people = sum(sum(coverage(text, pair.triples) for text in pair.texts) / len(pair.texts) for pair in pairs)
    # None stands where a pair has fewer references than another.
    references: Any = [*zip_longest(*(pair.texts for pair in pairs))]
    return TextScores(
        texts=len(pairs),
        rouge1=100 * rouge1([(pair.texts, text) for pair, text in made]),
        bleu=float(sacrebleu.corpus_bleu(texts, references).score),
        chrf=float(sacrebleu.corpus_chrf(texts, references).score),
        coverage=covered / triples,
        reference_coverage=people / triples,
        relative_coverage=covered / people if people else 0.0,
        true_to_triples=sum(not check(text, pair.triples) for pair, text in made) / len(pairs),
    )
