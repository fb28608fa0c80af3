"""The parts of a bench: questions, settings by method, the model, the gold paths."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from thinkgraph.errors import UsageError
from thinkgraph.eval.datasets import read_dataset
from thinkgraph.eval.gold import Gold, resolve_golds
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.perfect.errors import Slip, by_words, parse_slips
from thinkgraph.eval.questions import Question, spread
from thinkgraph.eval.topics import TopicLinker
from thinkgraph.graphs.registry import find_method
from thinkgraph.models.client import client_for
from thinkgraph.models.roles import OFFLINE
from thinkgraph.prompts.lines import one_line
from thinkgraph.prompts.tasks import Task
from thinkgraph.tools.encoders.rankers import DenseRanker
from thinkgraph.tools.knowledge import Knowledge

PERFECT = "perfect"


def is_perfect(model: str) -> bool:
    """Whether a model's name is that of a perfect chooser, with errors or without."""
    return model.partition(":")[0] == PERFECT


def load_questions(data: str, limit: int | None = None) -> list[Question]:
    """The questions of "world", of a JSON Lines file or of `NAME:FILE`; at most `limit`, spread evenly over the file."""
    return spread(read_dataset(data)[1], limit)


def data_name(data: str) -> str:
    """The name of the data in a report, without the path on this machine."""
    name, colon, file = data.partition(":")
    return f"{name}:{Path(file).name}" if colon else Path(data).name


def settings_by_method(
    methods: Sequence[str], settings: Mapping[str, Any], *, style: Task = "question"
) -> dict[str, dict[str, Any]]:
    """Share settings out: `name` goes to every method that has it, `method.name` to one.

    Args:
        methods: the methods of the bench.
        settings: the settings given.
        style: what the data asks for, for the methods that have the setting `task`.

    Raises:
        UsageError: no method has the setting.
    """
    shared: dict[str, dict[str, Any]] = {
        method: {"task": style} if style != "question" and "task" in find_method(method).settings.model_fields else {}
        for method in methods
    }
    for name, value in settings.items():
        target, dot, own = name.partition(".")
        chosen = [target] if dot else list(methods)
        setting = own if dot else name
        takers = [
            method for method in chosen if method in shared and setting in find_method(method).settings.model_fields
        ]
        if not takers:
            raise UsageError(f"none of the methods {', '.join(methods)} has a setting '{name}'")
        for method in takers:
            shared[method][setting] = value
    return shared


def gold_knowledge(knowledge: Knowledge, questions: Sequence[Question]) -> Knowledge:
    """The same knowledge with the questions' given topics in the place of entity linking.

    Raises:
        UsageError: no question names its topics.
    """
    if not any(question.topic for question in questions):
        raise UsageError("--gold-entities yes: no question of this file names its topic entities")
    return knowledge.with_linker(lambda: TopicLinker(questions, knowledge.graph, knowledge.linker))


def bench_model(
    name: str, questions: Sequence[Question], knowledge: Knowledge, *, seed: int = 0
) -> str | BaseChatModel:
    """The model of a bench: "perfect", "perfect:ERRORS" (see `parse_slips`), or any model name.

    Args:
        name: the name.
        questions: what the perfect chooser must know.
        knowledge: where their gold paths lie.
        seed: of the wrong choices.

    Raises:
        UsageError: the name or its errors have no known form, no question has a gold path, or a gold path does not fit the
            knowledge.
    """
    if not is_perfect(name):
        if name != OFFLINE:
            # A malformed name is refused now, not after files were opened.
            client_for(name)
        return name
    slips = parse_slips(name.partition(":")[2], name)
    return perfect_chooser(name, questions, knowledge)(slips, seed)


def perfect_chooser(
    name: str, questions: Sequence[Question], knowledge: Knowledge
) -> Callable[[Sequence[Slip], int], PerfectChooser]:
    """What makes choosers that know the questions' gold paths, given their errors and the seed of these.

    Args:
        name: of the model, for messages.
        questions: what a chooser must know.
        knowledge: where their gold paths lie.

    Raises:
        UsageError: no question has a gold path, a gold path does not fit the knowledge, or one text has two paths.
    """
    answerable = [question for question in questions if question.answers]
    if answerable and not any(question.gold_path or question.gold_passages for question in answerable):
        raise UsageError(
            f"model '{name}' picks what lies on the gold path, and no question here has a gold path or gold passages: take "
            "another model, or the file that holds them beside"
        )
    golds = resolve_golds(questions, knowledge.graph, knowledge.text)
    known = _by_text(questions, golds)

    def made(slips: Sequence[Slip], seed: int) -> PerfectChooser:
        near = DenseRanker(knowledge.embedder).score if any(slip.way == "confusable" for slip in slips) else by_words
        return PerfectChooser(known, slips=slips, seed=seed, near=near)

    return made


def _by_text(questions: Sequence[Question], golds: Sequence[Gold]) -> dict[str, Gold]:
    """Golds by what a chooser is shown of a question: its text. Of equal texts one may do without a path."""
    known: dict[str, Question] = {}
    found: dict[str, Gold] = {}
    for question, gold in zip(questions, golds, strict=True):
        text = one_line(question.question)
        if text not in found or not found[text].is_answerable:
            known[text], found[text] = question, gold
        elif gold.is_answerable and (gold.answers, gold.hops) != (found[text].answers, found[text].hops):
            raise UsageError(
                f'the questions "{known[text].id}" and "{question.id}" have one text and two gold paths or answers: '
                "a perfect chooser cannot tell them apart"
            )
    return found


def known_golds(questions: Sequence[Question], knowledge: Knowledge) -> dict[str, Gold]:
    """Gold evidence by question id; a question whose path does not fit the knowledge has none."""
    try:
        golds = resolve_golds(questions, knowledge.graph, knowledge.text)
    except UsageError:
        # A wrong path must not lose all the others: it is looked for by halves.
        half = len(questions) // 2
        return known_golds(questions[:half], knowledge) | known_golds(questions[half:], knowledge) if half else {}
    return {question.id: gold for question, gold in zip(questions, golds, strict=True)}
