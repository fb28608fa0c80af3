"""Question files: one JSON object a line, read strictly, so that a wrong or half file never becomes a wrong figure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thinkgraph.errors import UsageError
from thinkgraph.eval.files import json_rows


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
    gold_path: tuple[tuple[str, ...], ...] = ()
    """The hops that lead to the answer; see `thinkgraph.eval.gold`."""
    gold_passages: tuple[str, ...] = ()
    """Ids of the passages that hold the answer."""
    paraphrases: tuple[str, ...] = ()
    """Other wordings with the same answers."""
    aliases: tuple[tuple[str, ...], ...] = ()
    """For each answer its other accepted forms; empty where there are none."""


def read_questions(path: str | Path) -> list[Question]:
    """Read a question file.

    Raises:
        UsageError: the file cannot be read, is cut off, or a line lacks a field or has a wrong one; the message names
            file, line and field.
    """
    file = Path(path)
    questions: list[Question] = []
    seen: dict[str, str] = {}
    for where, row in json_rows(file):
        question = _question(row, where)
        if question.id in seen:
            raise UsageError(f'{where}: field "id" repeats "{question.id}" of {seen[question.id]}')
        seen[question.id] = where.removeprefix(f"{file}, ")
        questions.append(question)
    if not questions:
        raise UsageError(f"{file}: holds no questions")
    return questions


def _question(row: Mapping[str, Any], where: str) -> Question:
    return Question(
        id=_string(row, "id", where),
        question=_string(row, "question", where),
        answers=_strings(row, "answers", where, needed=True),
        type=_string(row, "type", where, needed=False),
        topic=_strings(row, "topic", where),
        gold_path=_path(row, where),
        gold_passages=_strings(row, "gold_passages", where),
        paraphrases=_strings(row, "paraphrases", where),
        aliases=_aliases(row, where),
    )


def _string(row: Mapping[str, Any], name: str, where: str, *, needed: bool = True) -> str:
    value = row.get(name)
    if value is None and not needed:
        return ""
    if value is None:
        raise UsageError(f'{where}: field "{name}" is missing')
    if not isinstance(value, str) or (needed and not value.strip()):
        raise UsageError(f'{where}: field "{name}" must be a text that is not empty')
    return value


def _strings(row: Mapping[str, Any], name: str, where: str, *, needed: bool = False) -> tuple[str, ...]:
    value = row.get(name)
    if value is None and not needed:
        return ()
    if value is None:
        raise UsageError(f'{where}: field "{name}" is missing')
    if not isinstance(value, list) or not all(isinstance(entry, str) and entry.strip() for entry in value):
        raise UsageError(f'{where}: field "{name}" must be a list of texts')
    return tuple(value)


def _aliases(row: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], ...]:
    value = row.get("answer_aliases")
    if value is None:
        return ()
    fits = isinstance(value, list) and all(
        isinstance(group, list) and all(isinstance(entry, str) for entry in group) for group in value
    )
    if not fits or len(value) != len(row["answers"]):
        raise UsageError(f'{where}: field "answer_aliases" must hold one list of texts for each answer')
    return tuple(tuple(group) for group in value)


def _path(row: Mapping[str, Any], where: str) -> tuple[tuple[str, ...], ...]:
    value = row.get("gold_path")
    if value is None:
        return ()
    if not isinstance(value, list):
        raise UsageError(f'{where}: field "gold_path" must be a list of hops')
    for number, hop in enumerate(value, start=1):
        fits = isinstance(hop, list) and all(isinstance(part, str) and part for part in hop)
        if not fits or not (len(hop) in {2, 3} or hop == ["count"]):
            raise UsageError(
                f'{where}: field "gold_path", hop {number} must be [entity, relation], [entity, relation, other] '
                'or ["count"]'
            )
    return tuple(tuple(hop) for hop in value)
