"""Questions parted into training and test by what they are about, so that nothing of the test can be learnt by heart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from thinkgraph.eval.gold import Gold
from thinkgraph.eval.perfect.chooser import names
from thinkgraph.eval.questions import Question
from thinkgraph.eval.roles.sampling import in_turn
from thinkgraph.tools.grounding import DERIVED, fold


@dataclass(frozen=True)
class Parted:
    """The questions of both parts, and those that neither can have."""

    train: Sequence[Question]
    test: Sequence[Question]
    dropped: Sequence[Question]
    """They share a topic or an answer with a question of the test."""


def about(question: Question, gold: Gold | None) -> frozenset[str]:
    """The entities that a question starts from and ends at, folded: counts, yes and no are none."""
    answers = () if gold and gold.operation in {"count", "yesno"} else question.answers
    every = [*question.topic, *(names(gold) if gold else ()), *answers]
    return frozenset(fold(name) for name in every) - DERIVED - {""}


def parted(questions: Sequence[Question], golds: Mapping[str, Gold], *, test: float, seed: int) -> Parted:
    """Draw a test of each type; what shares a topic or an answer with it is in neither part.

    Of a type's questions those are drawn first that share with few others, so that few are lost: where many questions
    have the same answer, a test of drawn ones would leave nothing to learn from.

    Args:
        questions: all of them.
        golds: by question id.
        test: the share of each type that is for the test.
        seed: of the draw.
    """
    own = {question.id: about(question, golds.get(question.id)) for question in questions}
    sharing: dict[str, set[str]] = defaultdict(set)
    for key, entities in own.items():
        for entity in entities:
            sharing[entity].add(key)
    by_type: dict[str, list[Question]] = defaultdict(list)
    for question in in_turn(questions, seed=seed):
        by_type[question.type].append(question)
    ranked: list[tuple[float, Question]] = []
    for group in by_type.values():
        rare = sorted(group, key=lambda question: len({key for one in own[question.id] for key in sharing[one]}))
        ranked += [((place + 0.5) / len(group), question) for place, question in enumerate(rare)]
    ranked.sort(key=lambda pair: pair[0])
    tested = {question.id for _, question in ranked[: round(test * len(questions))]}
    taken = frozenset().union(*(own[key] for key in tested))
    rest = [question for question in questions if question.id not in tested]
    return Parted(
        train=[question for question in rest if not own[question.id] & taken],
        test=[question for question in questions if question.id in tested],
        dropped=[question for question in rest if own[question.id] & taken],
    )
