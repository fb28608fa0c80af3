"""How an answer is scored against gold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from typing_extensions import TypedDict

from thinkgraph.eval.gold import Gold
from thinkgraph.state.answer import Evidence
from thinkgraph.tools.grounding import fold

_NUMBER = re.compile(r"[-+]?\d[\d,\u202f\u00a0 ]*(?:\.\d+)?")
_ARTICLE = re.compile(r"^(?:the|a|an) ")


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
    """F1 of the words of all answers given against those of all gold answers (SQuAD's token F1), each gold answer in the form
    nearest to what was given.
    """
    unknown: float
    """No answer was given: "missing" in CogGRAG section 4.4."""
    wrong: float
    """Answers were given and none of them is gold: "hallucinated" in CogGRAG section 4.4."""


class EvidenceScores(TypedDict):
    """What an answer cites against what its question needs; both from 0.0 to 1.0."""

    precision: float
    """Share of the cited triples and passages that are gold; 0.0 where nothing is cited."""
    recall: float
    """Share of the gold triples and passages that are cited."""


def normalise(text: str) -> str:
    """An answer for comparison: numbers by value, everything else without case, accents, punctuation, leading article."""
    bare = text.strip()
    if _NUMBER.fullmatch(bare):
        value = float(re.sub(r"[,\s\u202f\u00a0]", "", bare))
        return f"{value:.12g}"
    # What is punctuation alone is itself, not the same as all other punctuation.
    return _ARTICLE.sub("", fold(bare)) or bare.casefold()


def score(given: Sequence[str], gold: Sequence[str], aliases: Sequence[Sequence[str]] = ()) -> Scores:
    """Score one question. Where there is no gold answer, giving none is what is right.

    Args:
        given: the answers given, the first one first.
        gold: the gold answers.
        aliases: for each gold answer its other accepted forms; empty where there are none.
    """
    forms: dict[str, str] = {}
    for place, answer in enumerate(gold):
        name = normalise(answer)
        for form in (answer, *(aliases[place] if aliases else ())):
            forms.setdefault(normalise(form), name)
    want = {normalise(answer) for answer in gold}
    # An alias counts as the answer that it is another form of.
    have = [forms.get(text, text) for text in map(normalise, given)]
    if not want:
        right = 0.0 if have else 1.0
        return Scores(hits1=right, em=right, partial=right, complete=right, f1=right, unknown=right, wrong=1.0 - right)
    return Scores(
        hits1=float(bool(have) and have[0] in want),
        em=float(set(have) == want),
        partial=float(bool(want & set(have))),
        complete=float(want <= set(have)),
        f1=_f1(have, _nearest(have, gold, aliases)),
        unknown=float(not have),
        wrong=float(bool(have) and not want & set(have)),
    )


def _nearest(have: Sequence[str], gold: Sequence[str], aliases: Sequence[Sequence[str]]) -> list[str]:
    """Each gold answer in that of its forms which shares most with the answers given: for one gold answer SQuAD's maximum."""
    forms = [[answer, *(aliases[place] if aliases else ())] for place, answer in enumerate(gold)]
    # Given answers that equal another form stand under the first one (see `score`): it wins ties.
    return [max(map(normalise, names), key=lambda name: _f1(have, [name])) for names in forms]


def _f1(have: Iterable[str], want: Iterable[str]) -> float:
    given, gold = (Counter(word for text in dict.fromkeys(texts) for word in text.split()) for texts in (have, want))
    shared = sum((given & gold).values())
    return round(2 * shared / (sum(given.values()) + sum(gold.values())), 6) if shared else 0.0


class _Words:
    """Words of any script, as rouge-score asks for them; of plain English text the same as its own."""

    def tokenize(self, text: str) -> list[str]:
        return fold(text).split()


@cache
def _rouge() -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    # Its own words are a-z and digits alone: "Bogotá" would lose a letter, and an answer in Cyrillic all.
    return RougeScorer(["rougeL"], tokenizer=_Words())


def rouge_l(given: Sequence[str], gold: Sequence[str], aliases: Sequence[Sequence[str]] = ()) -> float:
    """ROUGE-L (F-measure) of the answers as one text against the gold ones as one text; the best over single gold answers
    and their other forms counts where it is better. CogGRAG section 4.1.

    Raises:
        ImportError: rouge-score is not installed (the extra `bench`).
    """
    if not given or not gold:
        return float(not given and not gold)
    said = ", ".join(given)
    references = [", ".join(gold), *gold, *(form for group in aliases for form in group)]
    return round(max(float(_rouge().score(reference, said)["rougeL"].fmeasure) for reference in references), 6)


def evidence_scores(evidence: Evidence, gold: Gold | None) -> EvidenceScores | None:
    """Cited against gold evidence; None where the question has no gold evidence."""
    if gold is None or not gold.is_answerable:
        return None
    wanted = {tuple(map(fold, fact)) for fact in gold.facts}
    passages = set(gold.passages)
    cited = [
        tuple(map(fold, (triple["subject_label"], triple["relation_label"], triple["object_label"])))
        for triple in evidence["triples"]
    ]
    hits = sum(fact in wanted for fact in cited) + sum(passage["id"] in passages for passage in evidence["passages"])
    shown = len(cited) + len(evidence["passages"])
    found = len(wanted & set(cited)) + len(passages & {passage["id"] for passage in evidence["passages"]})
    needed = len(wanted) + len(passages)
    return EvidenceScores(
        precision=round(hits / shown, 6) if shown else 0.0, recall=round(found / needed, 6) if needed else 0.0
    )
