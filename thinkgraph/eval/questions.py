"""Questions of a benchmark, and the file of one's own: one JSON object a line, read strictly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from thinkgraph.errors import UsageError
from thinkgraph.eval.files import FileRow, json_lines

T = TypeVar("T")
_TAKEN_TYPES = frozenset({"all", "untyped"})
"""What reports call the questions of every type, and those of none."""


@dataclass(frozen=True)
class Question:
    """One question of a benchmark."""

    id: str
    question: str
    answers: tuple[str, ...]
    """Gold answers; empty for a question that the knowledge cannot answer."""
    type: str = ""
    """Group under which figures are reported ("2hop"); empty where the file has none."""
    topic: tuple[str, ...] = ()
    """Names of the entities the question speaks about."""
    topic_ids: tuple[tuple[str, ...], ...] = ()
    """For each topic its ids (Wikidata's, Freebase's), where the file gives them; empty where it has names alone."""
    gold_path: tuple[tuple[str, ...], ...] = ()
    """The hops that lead to the answer; see `thinkgraph.eval.gold`."""
    gold_passages: tuple[str, ...] = ()
    """Ids of the passages that hold the answer."""
    aliases: tuple[tuple[str, ...], ...] = ()
    """For each answer its other accepted forms; empty where there are none."""
    compared: tuple[str, ...] = ()
    """What the published script compares a reply with, where that is not every answer and form."""


def spread(items: list[T], limit: int | None) -> list[T]:
    """At most `limit` questions, or other things, evenly over the list."""
    if limit is None or limit >= len(items):
        return items
    return [items[at * len(items) // limit] for at in range(limit)]


def collected(path: Path, found: Iterable[tuple[str, Question | None]]) -> list[Question]:
    """The questions of a file, from pairs of a place in it ("FILE, line N") and its question, if there is one.

    Raises:
        UsageError: there is none, an id stands twice, or a type is called as reports call those of every type or of none.
    """
    kept: dict[str, tuple[str, Question]] = {}
    for where, question in found:
        if question is None:
            continue
        if question.id in kept:
            first = kept[question.id][0].removeprefix(f"{path}, ")
            raise UsageError(f'{where}: the id "{question.id}" stands there twice, first at {first}')
        if question.type in _TAKEN_TYPES:
            raise UsageError(f'{where}: no type can be "{question.type}", which reports have a row of their own for')
        kept[question.id] = where, question
    if not kept:
        raise UsageError(f"{path}: holds no questions")
    return [question for _, question in kept.values()]


Read = Callable[[Path], list[Question]]
"""Reads a file of questions. Raises UsageError that names the file, the place in it and the field."""


def all_forms(answers: Sequence[str], aliases: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Each answer with its other accepted forms; `aliases` may be empty."""
    return [(answer, *more) for answer, more in zip(answers, aliases or [()] * len(answers), strict=True)]


def grouped(groups: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Answers and, for each, its other accepted forms, from groups of equal answers; empty groups are left out."""
    answers: dict[str, tuple[str, ...]] = {}
    for group in groups:
        forms = list(dict.fromkeys(form.strip() for form in group if form.strip()))
        if forms and forms[0] not in answers:
            answers[forms[0]] = tuple(forms[1:])
    return tuple(answers), tuple(answers.values())


def read_questions(path: Path) -> list[Question]:
    """The questions of a file of one's own."""
    return collected(path, ((row.where, _question(row)) for row in json_lines(path)))


def _question(row: FileRow) -> Question:
    return Question(
        id=row.name("id"),
        question=row.text("question"),
        answers=row.texts("answers", needed=True, strict=True),
        type=row.text("type") if row.value.get("type") else "",
        topic=row.texts("topic", strict=True),
        gold_path=_path(row),
        gold_passages=row.texts("gold_passages", strict=True),
        aliases=_aliases(row),
    )


def question_row(question: Question) -> dict[str, Any]:
    """A question as a line of such a file: what is empty is left out."""
    row = {
        "id": question.id,
        "type": question.type,
        "question": question.question,
        "answers": question.answers,
        "topic": question.topic,
        "gold_path": question.gold_path,
        "gold_passages": question.gold_passages,
        "answer_aliases": question.aliases,
    }
    return {name: value for name, value in row.items() if value or name == "answers"}


def _aliases(row: FileRow) -> tuple[tuple[str, ...], ...]:
    groups = row.value.get("answer_aliases") or []
    fits = isinstance(groups, list) and all(
        isinstance(group, list) and all(isinstance(entry, str) for entry in group) for group in groups
    )
    if not fits or (groups and len(groups) != len(row.value["answers"])):
        raise row.fail("answer_aliases", "must hold one list of texts for each answer")
    return tuple(map(tuple, groups))


def _path(row: FileRow) -> tuple[tuple[str, ...], ...]:
    hops = row.value.get("gold_path") or []
    if not isinstance(hops, list):
        raise row.fail("gold_path", "must be a list of hops")
    for number, hop in enumerate(hops, start=1):
        fits = isinstance(hop, list) and all(isinstance(part, str) and part for part in hop)
        if not fits or not (len(hop) in {2, 3} or hop == ["count"]):
            raise UsageError(
                f'{row.where}: field "gold_path", hop {number} must be [entity, relation], [entity, relation, other] '
                'or ["count"]'
            )
    return tuple(map(tuple, hops))
