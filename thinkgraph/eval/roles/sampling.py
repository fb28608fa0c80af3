"""Which questions cases are made of, and the making of them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from typing import Literal, TypeVar

from langchain_core.language_models import BaseChatModel

from thinkgraph.errors import UsageError
from thinkgraph.eval.bench_setup import known_golds
from thinkgraph.eval.questions import Question
from thinkgraph.eval.roles.cases import Case
from thinkgraph.eval.roles.making import Maker
from thinkgraph.eval.roles.recording import Oracle, methods_of, recorded
from thinkgraph.prompts.kinds import JUDGE
from thinkgraph.prompts.library import Prompt
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.progress import Progress, no_progress

T = TypeVar("T")
Half = Literal["all", "choose", "hold-out"]

_QUESTIONS = 3
"""Questions run for each case wanted of a role: a role that has not enough by then hardly finds any."""


def of_half(items: Sequence[T], half: Half) -> Sequence[T]:
    """Every other item, from the first (`choose`) or the second (`hold-out`) on; or all."""
    return items if half == "all" else items[half == "hold-out" :: 2]


def in_turn(questions: Sequence[Question], *, half: Half = "all", seed: int = 0) -> list[Question]:
    """Questions, or half of them, in a drawn order in which the types take turns.

    The halves share no question, whatever the seed.
    """
    by_type: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        by_type[question.type].append(question)
    rng = random.Random(seed)  # noqa: S311 - reproducible, not secret
    groups = []
    for group in by_type.values():
        kept = of_half(group, half)
        groups.append(rng.sample(kept, len(kept)))
    return [question for row in zip_longest(*groups) for question in row if question]


def can_have_cases(prompt: Prompt) -> bool:
    """Whether the runs of `make_cases` can give cases of a measured role: one of them calls it, and a judge is shown evidence."""
    return bool(methods_of([prompt.role])) and (prompt.kind is not JUDGE or "evidence" in prompt.places)


def make_cases(
    questions: Sequence[Question],
    roles: Sequence[str],
    *,
    knowledge: Knowledge,
    chooser: BaseChatModel,
    cases: int,
    seed: int = 0,
    progress: Progress = no_progress,
) -> list[Case]:
    """Cases of some roles, made of the runs of no more questions than they need.

    Args:
        questions: with gold paths, in the order in which they are used (`in_turn`).
        roles: the roles.
        knowledge: what the gold paths lie in.
        chooser: the perfect chooser of these questions.
        cases: how many a role gets, at most.
        seed: of what is drawn.
        progress: told after every question.

    Raises:
        UsageError: no case could be made.
    """
    questions = questions[: _QUESTIONS * cases]
    golds = known_golds(questions, knowledge)
    maker = Maker(roles, golds, Oracle(chooser), cases=cases, seed=seed)
    for done, (question, calls) in enumerate(recorded(questions, roles, knowledge=knowledge, chooser=chooser), start=1):
        maker.add(question, calls)
        progress("questions run for cases", done, len(questions))
        if maker.enough:
            break
    made = maker.cases()
    if not made:
        raise UsageError(f"no question here gives a case of {', '.join(roles)}: they need gold paths")
    return made
