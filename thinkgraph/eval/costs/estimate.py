"""What questions are expected to cost before a model is asked: a stand-in walks the real knowledge.

It reads the method's own prompts, so their sizes are real, and takes what looks right for the answer. What models do otherwise
is a factor for each method, which `benchmarks/estimate.py` fits on every second question of a bench and shows on the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from langchain_core.language_models import BaseChatModel

from thinkgraph.errors import UsageError
from thinkgraph.eval.batch import local_asker
from thinkgraph.eval.bench_setup import PERFECT, bench_model
from thinkgraph.eval.costs.bill import Bill, bill_of
from thinkgraph.eval.questions import Question, spread
from thinkgraph.graphs.registry import find_method
from thinkgraph.models.offline.judge import Conclusion
from thinkgraph.models.offline.model import OfflineChatModel
from thinkgraph.models.offline.rule_based import Call
from thinkgraph.models.offline.words import Embed
from thinkgraph.models.prices import Prices
from thinkgraph.models.roles import Models
from thinkgraph.state.settings import resolve_settings
from thinkgraph.tools.encoders.words import WORDS
from thinkgraph.tools.knowledge import Knowledge

SAMPLE: Final = 20
"""Most questions that are walked; of more, so many are spread over them and the bill is scaled."""


@dataclass(frozen=True)
class Expected:
    """What a run uses in proportion to the stand-in's walk; 1 where nothing was fitted."""

    calls: float = 1.0
    tokens: float = 1.0
    between: tuple[float, float] | None = None
    """What nine of ten questions use in proportion to what is expected; None where it was not measured."""


FACTORS: Final[Mapping[str, Expected]] = {
    "tog2": Expected(1.25, 0.99, (0.3, 2.7)),
    "fiske": Expected(1.04, 1.07, (0.2, 5.7)),
    "coggrag": Expected(1.61, 1.71, (0.3, 3.2)),
    "fasttog": Expected(1.01, 0.64, (0.3, 9.2)),
    "tog": Expected(0.95, 0.78, (0.2, 1.8)),
    "paths": Expected(1.09, 0.95, (0.2, 2.1)),
    "search_agent": Expected(0.55, 0.32, (0.2, 6.2)),
}
"""By method: perfect choosers without errors and with 20 % of them over `world`."""
_ENOUGH = 0.45
"""Score of a path at which the stand-in takes it for the answer."""


@dataclass(frozen=True)
class Estimate:
    """What questions are expected to cost with a method."""

    method: str
    bill: Bill
    questions: int
    hidden: bool
    """Whether a model reasons out of sight, which comes on top."""
    ceiling: int | None = None
    """Most calls of a question."""

    @property
    def between(self) -> tuple[float, float] | None:
        """What nine of ten questions use in proportion to what is expected; None for several, and where it was not measured."""
        spread = FACTORS[self.method].between if self.questions == 1 and self.method in FACTORS else None
        if spread is None or not self.ceiling:
            return spread
        most = round(self.ceiling / max(1.0, self.bill.calls), 1)
        return min(spread[0], most), min(spread[1], most)

    def line(self, prices: Prices | None) -> str:
        """It in words; for `prices` see `Bill.unpriced`."""
        sample = f", from {SAMPLE} of {self.questions:,} questions" if self.questions > SAMPLE else ""
        spread = "; nine of ten questions use {:g} to {:g} times that".format(*self.between) if self.between else ""
        hidden = "; hidden reasoning comes on top" if self.hidden else ""
        return f"{self.method}: expected {self.bill.words(prices)}{sample}{spread}{hidden}"

    def row(self, prices: Prices | None) -> dict[str, Any]:
        """It as JSON. The cost is None where a model has no price."""
        bill = self.bill
        return {
            "method": self.method,
            "questions": self.questions,
            "calls": bill.calls,
            "input_tokens": bill.input_tokens,
            "output_tokens": bill.output_tokens,
            "cost": None if bill.unpriced(prices) else bill.cost,
            "between": self.between,
        }


class _StandIn(OfflineChatModel):
    """The offline model, less careful: a model with weights settles sooner."""

    def __init__(self, embed: Embed | None = None, **kwargs: Any) -> None:
        super().__init__(embed=embed, **kwargs)

    def reply_to(self, call: Call) -> dict[str, Any] | str:
        return {"right": True} if call.prompt.kind == "verdict" else super().reply_to(call)

    def _decide(self, call: Call, question: str) -> Conclusion:
        found = super()._decide(call, question)
        reached = found.clues.rpartition(": ")[2].rstrip(".")
        if found.answers or found.score < _ENOUGH or not reached:
            return found
        return replace(found, answers=found.likely or [reached])


def estimates(
    models: Models,
    knowledge: Knowledge,
    settings: Mapping[str, Mapping[str, Any]],
    questions: Sequence[str],
    *,
    prompts: str | None = None,
    chooser: BaseChatModel | None = None,
) -> list[Estimate]:
    """What questions are expected to cost with each method; at most SAMPLE of them are walked.

    Args:
        models: which would answer.
        knowledge: what is walked.
        settings: of each method, by its name.
        questions: what would be asked.
        prompts: folder with prompts of one's own.
        chooser: walks in place of the stand-in without weights, because it knows the questions.

    Raises:
        ThinkGraphError: as a run of the methods.
    """
    hidden = any(client.profile.reasoning for client in models.clients())
    sample = spread(list(questions), SAMPLE)
    share = len(questions) / len(sample)
    found = []
    for method, own in settings.items():
        expected = FACTORS.get(method, Expected()) if chooser is None else Expected()
        bills = walked(models, knowledge, method, own, sample, prompts=prompts, chooser=chooser)
        bill = sum(bills, Bill()).times(share * expected.calls, share * expected.tokens)
        ceiling = resolve_settings(find_method(method).settings, own).max_calls
        if ceiling is not None:
            bill = replace(bill, calls=min(bill.calls, float(ceiling * len(questions))))
        found.append(Estimate(method, bill, len(questions), hidden, ceiling))
    return found


def walked(
    models: Models,
    knowledge: Knowledge,
    method: str,
    settings: Mapping[str, Any],
    questions: Sequence[str],
    *,
    prompts: str | None = None,
    chooser: BaseChatModel | None = None,
) -> list[Bill]:
    """The bill of each question walked, all of them, without factors. No model is asked. For the arguments see `estimates`.

    The stand-in takes the place of each model, under its name, price and profile: they are of no other use then.
    """
    embedder = knowledge.embedder
    for client in models.clients():
        client.make = lambda: chooser or _StandIn(None if embedder.name == WORDS else embedder.embed)
        client.recording = client.limiter = None
    # Nobody is there to reply.
    own = {**settings, "ask_user": "never"}
    if chooser is None and "backtracks" in find_method(method).settings.model_fields:
        # The stand-in errs more than a model does, and would go back more often.
        own["backtracks"] = 0

    async def walk() -> list[Bill]:
        async with local_asker(models, knowledge, {method: own}, prompts=prompts) as ask:
            return [bill_of(await ask(method, question)) for question in questions]

    return asyncio.run(walk())


def chooser_for(questions: Sequence[Question], knowledge: Knowledge) -> BaseChatModel | None:
    """A chooser of middle quality for questions whose gold paths are all known: it errs in a tenth of its choices.

    Args:
        questions: what it must know.
        knowledge: where their gold paths lie.

    Returns:
        None where a path is not known, or does not fit the knowledge.
    """
    if not all(question.gold_path or question.gold_passages for question in questions if question.answers):
        return None
    try:
        return cast("BaseChatModel", bench_model(f"{PERFECT}:0.1", questions, knowledge))
    except UsageError:
        return None
