"""Doubt: an answer that does not fit the question is judged again, and a search without an answer goes back to what it pruned.

A departure from the papers, whose searches go one way and judge once (`backtracks`; `preset="paper"` sets it to 0).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, TypeVar

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.common.evidence_lines import PromptContext, Texts
from thinkgraph.nodes.doubt.counted import miscount, recount
from thinkgraph.nodes.doubt.misfit import fits_better, is_named, misfit
from thinkgraph.nodes.doubt.settled import is_settled
from thinkgraph.nodes.doubt.superlative import Superlative
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.prompts.kinds import Judgement
from thinkgraph.prompts.lines import numbered, one_line
from thinkgraph.state.answer import Draft
from thinkgraph.state.base import BacktrackState
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.settings import DoubtSettings
from thinkgraph.tools.grounding import fold

T = TypeVar("T")

_LAST = "at last"


class Asks(Protocol):
    """Makes the call that judges."""

    def __call__(self, context: PromptContext, /, *, key: str, doubted: str) -> Flow[Judgement]:
        """The judgement.

        Args:
            context: the evidence to show.
            key: tells the calls of one node apart.
            doubted: numbered lines of what speaks against the answers given before; empty where there are none.
        """


Drafts = Callable[[Judgement, PromptContext], Draft | None]
"""Says which answer a judgement of some evidence leads to, or None to go on."""
MOST_LOOKS = 5
"""Most calls of one judgement: three of all the evidence, two of the lines cited alone."""


@dataclass(frozen=True)
class Held:
    """Answers, to be held against their question."""

    question: str
    answers: Sequence[str]
    cited: Sequence[str]
    """Ids of the items that they stand on."""
    items: Sequence[EvidenceItem]
    texts: Texts
    settings: DoubtSettings

    @property
    def is_doubtable(self) -> bool:
        """Whether something is cited, and answers are doubted at all."""
        return bool(self.cited) and _doubts(self.settings)

    @cached_property
    def walk(self) -> Walk:
        """The question beside what is cited."""
        return Walk(self.question, self.only(self.cited), self.texts)

    def only(self, ids: Sequence[str]) -> list[EvidenceItem]:
        """These items."""
        return [item for item in self.items if item["id"] in ids]


class Judged(NamedTuple):
    """A judgement whose answer has been held against the question."""

    judgement: Judgement
    draft: Draft | None
    """The answer that it leads to, or None to go on."""
    fault: str
    """Why its answer cannot be what the question asks for; empty where nothing says so."""
    doubted: list[str]
    """What spoke against the answers given so far in the run, each once."""


def judged(
    asks: Asks,
    draft_of: Drafts,
    context: PromptContext,
    state: BacktrackState,
    settings: DoubtSettings,
    *,
    mapped: bool = False,
) -> Flow[Judged]:
    """A judgement of evidence. Where the answer that it leads to does not fit the question, is another number than the lines cited list, or
    stands elsewhere than the model says, it is told why and asked again; so it is where it repeats a doubted answer, once. Where the question
    ranks things, a doubted answer is asked for again without the lines of those behind another one. A number given again is counted anew.

    Where the question names no relation that leads to the answer, the model judges the lines cited for it a second time, alone. If it does
    not find it there, a third judgement of all the evidence settles it. With `backtracks=0`, and of a claim, nothing is doubted.

    Args:
        asks: makes the call.
        draft_of: the answer that a judgement leads to.
        context: the evidence that the model is shown.
        state: the run's.
        settings: the run's.
        mapped: whether each relation of the evidence was matched with the question's words before. Then no lines are judged alone.

    Returns:
        The last judgement made. Where its answer does not fit either, `fault` says why.

    Raises:
        BudgetSpentError: a ceiling leaves no room.
        ModelError: the model cannot be reached or refuses.
    """
    doubted = state["doubted"]
    for key in ("", "again", _LAST):
        judgement = yield from asks(context, key=key, doubted=numbered(doubted))
        if against := miscounted(judgement, context.lines, state["question"], settings):
            if against not in doubted and key != _LAST:
                doubted = [*doubted, against]
                continue
            judgement = recounted(judgement, context.lines, state["question"])
        if (draft := draft_of(judgement, context)) is None:
            return Judged(judgement, None, "", doubted)
        held = Held(state["question"], draft["answers"], draft["cited"], context.items, context.texts, settings)
        fault = against = yield from unfit(held)
        against = against or (yield from miscited(draft.get("instead_of", ()), held))
        looks_closer = held.is_doubtable and not (against or mapped or key == _LAST)
        if looks_closer and (yield from is_named(held.answers, held.walk)) is False:
            against = f"{_listed(draft['answers'])} does not follow from the lines cited for it alone"
            if against not in doubted:
                alone = context.only({*draft["cited"], *context.ids(judgement["evidence"])})
                second = yield from asks(alone, key=f"{key} alone", doubted=numbered(doubted))
                against = "" if _agree(draft, draft_of(second, alone)) else against
        again = f"{fault}; it was given again all the same"
        # An equal prompt would get an equal reply.
        against = again if fault in doubted or again in doubted else against
        if not against or against in doubted:
            # An answer that is given again after its lines were judged stands.
            break
        doubted = [*(told for told in doubted if told != fault), against]
        context = context.only(Superlative(held.walk, held.items).without_those_behind())
    return Judged(judgement, draft, fault, doubted)


def _agree(draft: Draft, second: Draft | None) -> bool:
    return second is not None and not {*map(fold, draft["answers"])}.isdisjoint(map(fold, second["answers"]))


def unfit(held: Held) -> Flow[str]:
    """Why answers cannot be what the question asks for; empty where nothing says so, and where nothing is doubted."""
    if not held.is_doubtable:
        return ""
    return (yield from misfit(held.answers, held.walk, shown=held.items))


def _doubts(settings: DoubtSettings) -> bool:
    """Whether the settings doubt, and a question was asked, not a claim."""
    return settings.backtracks > 0 and settings.task == "question"


def miscounted(judgement: Judgement, lines: Sequence[str], question: str, settings: DoubtSettings) -> str:
    """How many things the lines list that a judgement cites, in words, where its answer is another number, see `miscount`; empty where it
    finds the evidence insufficient, and where nothing is doubted. The answer need not stand in the evidence.

    Args: the judgement; all lines that it was made of; the question; the run's settings.
    """
    if not (judgement["sufficient"] and _doubts(settings)):
        return ""
    return miscount(question, judgement["answers"], [lines[number - 1] for number in judgement["evidence"]])


def recounted(judgement: Judgement, lines: Sequence[str], question: str) -> Judgement:
    """A judgement that was doubted as `miscounted`, with the number that the lines list, see `recount`: a small model stays at its own.

    Args: the judgement; all lines that it was made of; the question.
    """
    number = recount(question, judgement["answers"], [lines[number - 1] for number in judgement["evidence"]])
    return {**judgement, "answers": [number]} if number else judgement


def miscited(instead_of: Sequence[str], held: Held) -> Flow[str]:
    """A message that answers do not stand where the model says, if what it cites fits the question as well as what holds them; else empty.

    Args:
        instead_of: ids of what the model cited, if that does not hold the answers.
        held: the answers. Where nothing is doubted, the message is empty.
    """
    others = held.only(instead_of)
    if not others or not held.is_doubtable:
        return ""
    better = yield from fits_better(held.answers, held.walk, others)
    return "" if better else f"{_listed(held.answers)} does not stand in the lines cited for it"


def settled(held: Held) -> Flow[bool]:
    """Whether nothing is left for a model to verify of answers that fit, see `is_settled`; False where nothing is doubted."""
    return held.is_doubtable and (yield from is_settled(held.answers, held.walk))


def _listed(answers: Sequence[str]) -> str:
    return "; ".join(map(one_line, answers))


def rounds_since(state: BacktrackState) -> int:
    """Rounds since the search began or last went back."""
    return state["round"] - state["since"]


def may_backtrack(state: BacktrackState, settings: DoubtSettings) -> bool:
    """Whether the search may go back once more."""
    return state["backtracked"] < settings.backtracks and not state["stopped"]


def going_back(state: BacktrackState) -> Update:
    """What every way back begins with in the state; the method adds where it leads."""
    return {"backtracked": state["backtracked"] + 1, "since": state["round"]}


def turned(options: Sequence[T], times: int) -> Sequence[T]:
    """All the options, in another order than before the search last went back: a model's choice may hang on it.

    Args:
        options: to choose from. One or two soon run out of orders.
        times: how often the search has gone back.
    """
    if not times:
        return options
    # Backwards; then from the middle, and backwards from there; then from two thirds on …
    at = len(options) * (times // 2) // (times // 2 + 1)
    around = [*options[at:], *options[:at]]
    return around[::-1] if times % 2 else around
