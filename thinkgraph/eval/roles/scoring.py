"""What a reply is worth, by how its role is measured.

Choosing (`right`: {"choices": numbers, or pairs of clue and option}): recall is the share of the right options that the
method's cut leaves of the reply, of as many as it would leave of the right reply; precision is the share of right ones among
what it leaves. The cut is that of the default settings: scores of at least 1 and the best three of an entity, three topics,
three headers, the first community, all pairs. Where nothing fits, choosing nothing is right (`none`). The clues of a mapping
are the graph's own words, so mapping is easier here than in a run.

Judging (`right`: {"sufficient", "answers", "aliases"}, or {"right"} for a verdict): where the evidence suffices, or the answer
to be verified is right, a right reply (`can`); where not, an abstention, or the verdict "wrong" (`must`). An answer is right if
it names all gold answers and nothing else; words around a name do not matter. `wrong` counts replies that are sure of
something wrong. What a reply calls likely is not looked at. Replies have passed a run's checks before (see `checked`).

Generating (`right`: {"names", "words"} and more for sub-questions): recall is the share of the gold path's entities, and of
those words of its relations that the question uses too, which the reply has in entries of at most six words. Of sub-questions
it is the mean of three: their number is that of the hops (one more may combine them), they name the entities, and one refers
to another where the path does. It does not see whether a wording is good, or how much is beside the point.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from thinkgraph.eval.metrics import normalise
from thinkgraph.eval.questions import all_forms
from thinkgraph.eval.roles.cases import SORTS, Case
from thinkgraph.eval.roles.lines import lines_of
from thinkgraph.prompts.lines import parse_item
from thinkgraph.tools.grounding import fold
from thinkgraph.tools.linking.lexical import content_tokens

Figures = dict[str, float]
"""Scores of one reply by name, each from 0.0 to 1.0; what cannot be told is missing."""

_WIDTH = 3
"""W and R of the default settings: topics, chains and relations kept."""
_LIMITS: Mapping[str, int] = {"fasttog.community_prune": 1, "fasttog.header_choice": _WIDTH}
"""How many numbers a method takes of a list, the first ones."""
_RIGHT_SCORE = 10.0
_MOST_WORDS = 6


def figures(case: Case, kind: str, value: Any, order: Sequence[int] = ()) -> Figures:
    """The scores of one reply.

    Args:
        case: what was asked.
        kind: the role's kind of reply.
        value: the reply as its kind reads it; None where nothing could be read.
        order: the numbers of the options shown, in that order; empty: all, as recorded.
    """
    match SORTS[kind]:
        case "choosing":
            return _choosing(case, kind, choices(case, kind, value, order))
        case "judging":
            return _verdict(case, value) if kind == "verdict" else _judgement(case, value)
        case _:
            return {"recall": _parts(case, value) if kind == "subquestions" else _covered(case, _texts(kind, value))}


def choices(case: Case, kind: str, value: Any, order: Sequence[int] = ()) -> list[Any]:
    """The choices of a reply after the method's cut: numbers, or pairs of clue and option, by the numbers as recorded.

    For the arguments see `figures`.
    """
    old = dict(enumerate(order, start=1))
    if kind == "pairs":
        # A clue that stands there twice is one clue.
        texts = lines_of(case.inputs["clues"])
        return list(dict.fromkeys((texts.index(texts[clue - 1]) + 1, old.get(at, at)) for clue, at in value or ()))
    if kind == "score":
        return _best(case, [(old.get(number, number), score) for number, score in value or ()])
    chosen = list(dict.fromkeys(old.get(number, number) for number in value or ()))
    if case.role == "tog2.topic_prune":
        return sorted(chosen)[:_WIDTH]  # the options stand there by their link scores
    return chosen[: _LIMITS.get(case.role, len(chosen))]


def _best(case: Case, scored: Sequence[tuple[int, float]]) -> list[int]:
    """Of scored options at least 1, the best three of each entity; where options name none, the best three."""
    lines = lines_of(case.inputs["options"])
    best: dict[str, list[int]] = defaultdict(list)
    for number, score in sorted(scored, key=lambda pair: -pair[1]):
        step = parse_item(number, lines[number - 1]).step
        if score >= 1:
            best[step[0] if step else ""].append(number)
    return [number for numbers in best.values() for number in numbers[:_WIDTH]]


def _choosing(case: Case, kind: str, chosen: Sequence[Any]) -> Figures:
    right = [tuple(one) if isinstance(one, list) else one for one in case.right["choices"]]
    if not right:
        return {"none": float(not chosen)}
    most = choices(case, kind, [(number, _RIGHT_SCORE) for number in right] if kind == "score" else right)
    found = len(set(chosen) & set(right))
    return {"recall": min(1.0, found / len(most))} | ({"precision": found / len(chosen)} if chosen else {})


def _judgement(case: Case, value: Mapping[str, Any] | None) -> Figures:
    sure = bool(value and value["sufficient"])
    right = sure and is_right(value["answers"] if value else (), case.right["answers"], case.right["aliases"])
    wrong = {"wrong": float(sure and not right)}
    return wrong | (
        {"can": float(right)} if case.right["sufficient"] else {"must": float(value is not None and not sure)}
    )


def _verdict(case: Case, value: Mapping[str, Any] | None) -> Figures:
    said = value and value["right"]
    if case.right["right"]:
        return {"can": float(said is True), "wrong": 0.0}
    return {"must": float(said is False), "wrong": float(said is True)}


def is_right(given: Sequence[str], gold: Sequence[str], aliases: Sequence[Sequence[str]]) -> bool:
    """Whether the answers given name every gold answer and nothing else; each may have words around the name."""
    forms = [{normalise(form) for form in names} for names in all_forms(gold, aliases)]
    said = [f" {normalise(answer)} " for answer in given]
    named = [{at for at, names in enumerate(forms) if any(f" {name} " in text for name in names)} for text in said]
    return all(named) and set().union(*named) == set(range(len(forms)))


def _texts(kind: str, value: Any) -> list[str]:
    if kind == "keys":
        return [part for entry in value or () for part in entry["key"] if not part.startswith("?")]
    return list(value or ())


def _covered(case: Case, texts: Sequence[str], *, most: int = _MOST_WORDS) -> float:
    """The share of the wanted names and words that the texts have."""
    names, words = case.right["names"], case.right["words"]
    longest = max([most, *(len(fold(name).split()) for name in names)])
    short = [text for text in texts if len(fold(text).split()) <= longest]
    shown = [f" {fold(text)} " for text in short]
    said = {word for text in short for word in content_tokens(text)}
    found = sum(any(f" {fold(name)} " in text for text in shown) for name in names) + sum(
        word in said for word in words
    )
    return found / (len(names) + len(words))


def _parts(case: Case, value: Sequence[Mapping[str, Any]] | None) -> float:
    right = case.right
    if value is None:
        return 0.0
    counted: bool = right["least"] <= len(value) <= right["most"]
    # A question that is left whole names what it names.
    texts = [part["question"] for part in value] or [case.inputs["question"]]
    referred: bool = not right["refers"] or any(part["refers"] for part in value)
    return (counted + _covered(case, texts, most=len(case.inputs["question"])) + referred) / 3
