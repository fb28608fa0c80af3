"""How sure is an answer? A number from 0 to 1, made of what the run has seen: no model is asked for it and nothing is fetched.

A logistic formula over a few signals. Its weights are fitted by `benchmarks/calibration.py`; `docs/doubt.md` has the figures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from thinkgraph.nodes.common.evidence_lines import Texts, reached_by, sentences_of, triples_of
from thinkgraph.nodes.common.judging import unknown
from thinkgraph.nodes.common.memory import vote
from thinkgraph.nodes.doubt.asked_kind import asked_for
from thinkgraph.state.answer import Draft
from thinkgraph.state.base import RunState, Sample
from thinkgraph.state.coggrag import Outcome
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.knowledge import Triple, both_ends, ends_of
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.grounding import compares, fold, naming, stands_in
from thinkgraph.tools.linking.lexical import content_tokens

BASE = -4.21
"""Log odds of being right where every signal is 0."""
WEIGHTS: Mapping[str, float] = {
    "grounded": 2.31,  # the status is `grounded`
    "verified": 1.21,  # a verifier judged it right (CogGRAG)
    "doubted": -0.12,  # answers given before it that did not fit the question, 3 at most
    "went_back": 0.0,  # how often the search went back, 3 at most
    "readable": 1.86,  # the question's words tell what kind of thing it asks for
    "of_kind": 1.69,  # the cited statements call it what is asked for; -1: it is a number where none is asked for
    "covered": 4.07,  # share of the question's words that the way to it uses
    "at_end": 1.13,  # cited paths end at it, or it is in a cited community
    "concluded": 2.47,  # it stands neither in cited statements nor in passages: a count, yes or no
    "asked_about": -3.59,  # it stands in the question, which compares nothing
}
"""What one unit of each signal adds to the log odds. Signs were not free: what speaks for an answer never counts against it."""
_MOST = 3
_LEAST, _MOST_SURE = 0.01, 0.99


class _Kept(RunState, total=False):
    """What some methods keep."""

    doubted: list[str]
    backtracked: int
    samples: dict[str, Sample]
    solved: dict[str, Outcome]
    """CogGRAG's questions; the whole one is "0"."""


def confidence(
    signals: Mapping[str, float], *, base: float = BASE, weights: Mapping[str, float] = WEIGHTS
) -> float | None:
    """How likely an answer is right.

    Args:
        signals: the answer's; see `signals_of`.
        base: log odds where every signal is 0.
        weights: by signal.

    Returns:
        0.01 to 0.99, with two digits; None where there are no signals.
    """
    if not signals:
        return None
    odds = base + sum(weights.get(name, 0.0) * value for name, value in signals.items())
    sure = signals.get("agreed", 1 / (1 + math.exp(-odds)))
    return round(min(max(sure, _LEAST), _MOST_SURE), 2)


def signals_of(draft: Draft, state: RunState, items: Sequence[EvidenceItem], texts: Texts) -> dict[str, float]:
    """What speaks for an answer to a question, or against it.

    Args:
        draft: the answer.
        state: the run's.
        items: the evidence that it stands on.
        texts: what these items refer to.

    Returns:
        Of an answer that stands on evidence a value for each name in `WEIGHTS`. Of one from the model's memory `agreed`, the share
        of samples that gave it, where there are several. Else nothing.
    """
    kept = cast("_Kept", state)
    if draft["status"] == "memory":
        samples = kept.get("samples") or {}
        return {"agreed": vote(samples)[1] / len(samples)} if len(samples) > 1 else {}
    if draft["status"] == "unknown" or not draft["answers"]:
        return {}
    basis = _Basis(state["question"], draft["answers"], items, texts)
    root = (kept.get("solved") or {}).get("0")
    return {
        "grounded": float(draft["status"] == "grounded"),
        "verified": float(bool(root and root["verified"])),
        "doubted": float(min(len(kept.get("doubted") or ()), _MOST)),
        "went_back": float(min(kept.get("backtracked") or 0, _MOST)),
        "readable": float(basis.asked is not None),
        "of_kind": basis.of_kind(),
        "covered": round(basis.covered(), 4),
        "at_end": float(basis.answers <= basis.ends),
        "concluded": float(not basis.stands),
        "asked_about": float(not basis.compares and any(map(basis.named, basis.answers))),
    }


def sure_enough(draft: Draft, sure: float | None, settings: RunSettings) -> bool:
    """Whether an answer may be given: it has the confidence asked for, or is none."""
    return draft["status"] == "unknown" or (sure or 0.0) >= settings.min_confidence


def withheld(sure: float | None, settings: RunSettings) -> Draft:
    """The draft in the place of an answer that is not sure enough."""
    known = (
        "nothing says how sure the answer found is" if sure is None else f"the answer found has confidence {sure:.2f}"
    )
    return unknown(f"{known}, and min_confidence is {settings.min_confidence:g}", settings)


class _Basis:
    """A question, its answers and the evidence that these stand on."""

    def __init__(self, question: str, answers: Iterable[str], items: Sequence[EvidenceItem], texts: Texts) -> None:
        self.answers = set(map(fold, answers))
        self.items = items
        self.asked = asked_for(question)
        self.compares = compares(question)
        self.triples = triples_of(items, texts)
        self.labels = {key: fold(label) for triple in self.triples.values() for key, label, _ in ends_of(triple)}
        self.ends = {self.labels[key] for key in reached_by(items, texts) if key in self.labels}
        """Labels of the things that cited paths end at, and of all in cited communities."""
        sentences = [sentence for item in items if item["kind"] == "chunk" for sentence in sentences_of(item, texts)]
        holding = naming(sentences, self.answers)
        self.stands = bool(holding) or not self.answers.isdisjoint(self.labels.values())
        self.sentences = holding or sentences
        """Of the cited passages: those in which an answer stands, all where none does."""
        self._question = fold(question)

    def named(self, label: str) -> bool:
        """Whether the question names a thing."""
        return stands_in(label, self._question)

    def of_kind(self) -> float:
        """1 where the answers are known to be what is asked for, -1 where one is a number that is not asked for, else 0."""
        kind = self.asked.kind if self.asked else "thing"
        bare = [bool(re.fullmatch(r"[\d ]+", answer)) for answer in self.answers]
        if kind == "number":
            return float(all(bare))
        if kind == "time":
            return float(all(re.search(r"\d", answer) for answer in self.answers))
        if any(bare):
            return -1.0
        about = [one for one in self.triples.values() if self.answers & {fold(label) for _, label, _ in ends_of(one)}]
        return float(self.asked is not None and any(self.asked.named_by(one["relation_label"]) for one in about))

    def covered(self) -> float:
        """The share of the question's words, beside names of cited things, that stand in relations on the way, or in a passage's
        sentence beside the answer.
        """
        left = f" {self._question} "
        for label in sorted(set(self.labels.values()), key=len, reverse=True):
            left = left.replace(f" {label} ", " ") if label else left
        words = set(content_tokens(left))
        used = [triple["relation_label"].replace("_", " ") for triple in self._way()]
        return len(words & set(content_tokens(" ".join([*used, *self.sentences])))) / len(words) if words else 1.0

    def _way(self) -> list[Triple]:
        """The statements on shortest ways from what the question names, else from where paths start, to the answers.

        All that are cited where none leads there, and of a question that compares.
        """
        named = {key for key, label in self.labels.items() if self.named(label) and label not in self.answers}
        new = named or {item["path"]["start"] for item in self.items if item["kind"] == "path"}
        ways: dict[str, list[Triple]] = {key: [] for key in new}
        while new:
            steps = [
                (there, [*ways[here], triple])
                for triple in self.triples.values()
                for here, there in (both_ends(triple), both_ends(triple)[::-1])
                if here in new and there not in ways
            ]
            ways = {**dict(reversed(steps)), **ways}
            new = {there for there, _ in steps}
        way = [triple for key, steps in ways.items() if self.labels.get(key) in self.answers for triple in steps]
        return list(self.triples.values()) if self.compares or not way else way
