"""Scores of an answer against the gold answers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import MAX_PREC, Context, Decimal

import regex
from rapidfuzz.distance import LCSseq
from typing_extensions import TypedDict

from thinkgraph.eval.gold import Gold
from thinkgraph.eval.questions import all_forms
from thinkgraph.state.answer import Evidence
from thinkgraph.tools.grounding import fold

_NUMBER = re.compile(r"[-+]?(?:(?:\d{1,3}(?:[,\s]\d{2,3})*[,\s]\d{3}|\d+)(?:\.\d+)?|\.\d+)")
"""Also with digits in groups, as thousands (1,234,567) or lakhs (12,34,567)."""
_SIGN = regex.compile(r"((?<!\w)-(?=\d)|(?<=[^\W\d_])[+#]+(?![\w+#]))")
"""What tells answers apart though it is no letter: a minus sign, and what ends "C++" and "C#". To `regex` vowel signs are
letters too."""
_MINUS = re.compile(r"[\u2212\u2013\uff0d](?=[\d.])")
"""Other signs that are written for a minus: the mathematical one, an en dash, the full-width hyphen."""
_GROUPS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_EXACT = Context(prec=MAX_PREC)
_ARTICLE = re.compile(r"^\W*(?:the|a|an)\s+(?=\S)", re.IGNORECASE)
"""A leading article. That of "A-1", "A.I." and "An-225" is none: no space follows it."""


class Scores(TypedDict):
    """Each from 0.0 to 1.0; all but `f1`, `rouge_l` and the evidence's are 0.0 or 1.0."""

    hits1: float
    """The first answer given is a gold answer. For statements (FEVER, CREAK) this is label accuracy."""
    em: float
    """The answers given are exactly the gold answers: none missing, none beside."""
    partial: float
    """At least one gold answer is among those given (FiSKE section 4.1, partial match)."""
    complete: float
    """Every gold answer is among those given (FiSKE section 4.1, complete match)."""
    f1: float
    """SQuAD's token F1: the words of all answers given against those of all gold answers, each in its form that fits best."""
    unknown: float
    """No answer was given: "missing" in CogGRAG section 5.6."""
    wrong: float
    """Answers were given and none of them is gold: "hallucinated" in CogGRAG section 5.6."""


class EvidenceScores(TypedDict):
    """What an answer cites against what its question needs; both from 0.0 to 1.0."""

    precision: float
    """Share of the cited triples and passages that are gold; 0.0 where nothing is cited."""
    recall: float
    """Share of the gold triples and passages that are cited."""


def normalise(text: str) -> str:
    """An answer for comparison: numbers by value, everything else without case, accents, leading article and punctuation, but
    with the sign of a number and what tells "C++" and "C#" from "C".
    """
    bare = _MINUS.sub("-", text.strip())
    if _NUMBER.fullmatch(bare):
        digits = re.sub(r"[,\s]", "", bare)
        # Plus makes 0 of -0.
        return f"{_EXACT.plus(Decimal(digits)).normalize(_EXACT):f}"
    # Each second part is a sign, of the number behind it or of the letter before it.
    parts = [
        fold(part) if not at % 2 else " -" if part == "-" else f"{part} "
        for at, part in enumerate(_SIGN.split(_GROUPS.sub("", _ARTICLE.sub("", bare))))
    ]
    # Punctuation alone folds to nothing: it is compared as it stands.
    return " ".join("".join(parts).split()) or bare.casefold()


def score(given: Sequence[str], gold: Sequence[str], aliases: Sequence[Sequence[str]] = ()) -> Scores:
    """Score one question. Where there is no gold answer, giving none is what is right.

    Args:
        given: the answers given, the first one first.
        gold: the gold answers.
        aliases: for each gold answer its other accepted forms; empty where there are none.
    """
    want = {normalise(answer) for answer in gold}
    # An alias counts as the answer that it is another form of, unless it is the name of a second one.
    forms = {answer: answer for answer in want}
    for name, *others in all_forms(gold, aliases):
        for form in others:
            forms.setdefault(normalise(form), normalise(name))
    have = [forms.get(text, text) for text in map(normalise, given)]
    if not want:
        right = 0.0 if have else 1.0
        return Scores(hits1=right, em=right, partial=right, complete=right, f1=right, unknown=right, wrong=1.0 - right)
    return Scores(
        hits1=float(bool(have) and have[0] in want),
        em=float(set(have) == want),
        partial=float(bool(want & set(have))),
        complete=float(want <= set(have)),
        f1=_f1(have, _nearest(have, forms)),
        unknown=float(not have),
        wrong=float(bool(have) and not want & set(have)),
    )


def _nearest(have: Sequence[str], forms: Mapping[str, str]) -> list[str]:
    """Each gold answer in the form that shares most words with the answers given (for one gold answer, SQuAD's maximum).

    `forms` has the answer of every form. `score` has put aliases under the name of their answer, which comes first: it wins ties.
    """
    groups: dict[str, list[str]] = {}
    for form, answer in forms.items():
        groups.setdefault(answer, []).append(form)
    return [max(group, key=lambda name: _f1(have, [name])) for group in groups.values()]


def _f1(have: Iterable[str], want: Iterable[str]) -> float:
    given, gold = (Counter(word for text in dict.fromkeys(texts) for word in text.split()) for texts in (have, want))
    shared = sum((given & gold).values())
    return round(2 * shared / (sum(given.values()) + sum(gold.values())), 6) if shared else 0.0


def em_contains(given: Sequence[str], forms: Sequence[str]) -> float:
    """What the evaluation scripts of ToG and ToG-2 count as exact match.

    The reply is a gold form, holds one, or stands in one; spaces and case do not count. Where nothing is given the scripts
    count a hit, as nothing stands in everything; here that is right only where there is no gold answer.

    Args:
        given: the answers given; they are compared as one text, as the scripts compare a whole reply.
        forms: every gold answer in every form that the script compares.

    Returns:
        1.0 for a match, else 0.0.
    """
    reply, wanted = _run_together(", ".join(given)), [*filter(None, map(_run_together, forms))]
    if not reply or not wanted:
        return float(not reply and not wanted)
    return float(any(form in reply or reply in form for form in wanted))


def _run_together(text: str) -> str:
    return text.strip().replace(" ", "").lower()


def rouge_l(given: Sequence[str], gold: Sequence[str], aliases: Sequence[Sequence[str]] = ()) -> float:
    """ROUGE-L (F-measure) of all answers as one text: the best over the gold answers as one text, each of them, and each of
    their other forms. CogGRAG section 5.1. Words are those of every script, without case and accents.
    """
    if not given or not gold:
        return float(not given and not gold)
    said = fold(", ".join(given)).split()
    references = [", ".join(gold), *gold, *(form for group in aliases for form in group)]
    return round(max(_rouge_l(said, fold(reference).split()) for reference in references), 6)


def _rouge_l(said: Sequence[str], reference: Sequence[str]) -> float:
    """Twice the longest common subsequence of words, by the words of both."""
    if not said or not reference:
        return 0.0
    return 2 * LCSseq.similarity(said, reference) / (len(said) + len(reference))


def evidence_scores(evidence: Evidence, gold: Gold | None) -> EvidenceScores | None:
    """Cited against gold evidence; None where the question has no gold evidence."""
    if gold is None or not gold.is_answerable:
        return None
    wanted: set[object] = {*(tuple(map(fold, fact)) for fact in gold.facts), *gold.passages}
    cited: list[object] = [
        tuple(map(fold, (triple["subject_label"], triple["relation_label"], triple["object_label"])))
        for triple in evidence["triples"]
    ]
    cited += [passage["id"] for passage in evidence["passages"]]
    hits, found = sum(one in wanted for one in cited), len(wanted & set(cited))
    return EvidenceScores(
        precision=round(hits / len(cited), 6) if cited else 0.0, recall=round(found / len(wanted), 6) if wanted else 0.0
    )
