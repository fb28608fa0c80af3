"""What a dataset reader is, and strict reading of the files that datasets are published in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, Literal, ParamSpec

from thinkgraph.errors import UsageError
from thinkgraph.eval.files import json_rows, parsed, read_text
from thinkgraph.eval.questions import Question

P = ParamSpec("P")
Style = Literal["question", "fact", "truth"]
"""What is asked for: an answer, one of FEVER's three labels, or true / false (the setting `task` of the methods)."""


@dataclass(frozen=True)
class Dataset:
    """A benchmark in its published file format."""

    name: str
    title: str
    read: Callable[[Path], list[Question]]
    """Reads one of its files. Raises UsageError that names the file, the place in it and the field."""
    where: str
    """One line: where to get it, which file to give, under which licence."""
    style: Style = "question"
    graph: str = ""
    """The knowledge its questions are asked over, for people."""


class DatasetRow:
    """One JSON object of a dataset file; whatever it lacks is an error that names file, place and field."""

    def __init__(self, value: Mapping[str, Any], where: str) -> None:
        self.value = value
        self.where = where

    def fail(self, field: str, fault: str) -> UsageError:
        """The error for a field."""
        return UsageError(f'{self.where}: field "{field}" {fault}')

    def text(self, *names: str) -> str:
        """A text that is not empty, under the first of `names` that the row has."""
        for name in names:
            if name in self.value:
                found = self.value[name]
                if isinstance(found, str) and found.strip():
                    return found.strip()
                raise self.fail(name, "must be a text that is not empty")
        raise self.fail(names[0], "is missing")

    def name(self, *names: str) -> str:
        """A text or a number, as text."""
        for name in names:
            found = self.value.get(name)
            if isinstance(found, int | float) and not isinstance(found, bool):
                return str(found)
            if name in self.value:
                return self.text(name)
        raise self.fail(names[0], "is missing")

    def rows(self, name: str, *, needed: bool = True) -> list[DatasetRow]:
        """A list of objects."""
        found = self.value.get(name)
        if found is None and not needed:
            return []
        if found is None:
            raise self.fail(name, "is missing")
        if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
            raise self.fail(name, "must be a list of objects")
        return [DatasetRow(entry, f"{self.where}, {name} {number}") for number, entry in enumerate(found, start=1)]

    def row(self, name: str) -> DatasetRow:
        """An object."""
        found = self.value.get(name)
        if not isinstance(found, dict):
            raise self.fail(name, "is missing" if found is None else "must be an object")
        return DatasetRow(found, f"{self.where}, {name}")

    def texts(self, name: str, *, needed: bool = False) -> list[str]:
        """A list of texts; empty ones and nulls are left out."""
        found = self.value.get(name)
        if found is None and not needed:
            return []
        if found is None:
            raise self.fail(name, "is missing")
        if not isinstance(found, list) or not all(
            entry is None or isinstance(entry, str | int | float) for entry in found
        ):
            raise self.fail(name, "must be a list of texts")
        return [text for entry in found if entry is not None and (text := str(entry).strip())]


def json_lines(path: Path) -> Iterator[DatasetRow]:
    """The objects of a JSON Lines file."""
    for where, value in json_rows(path):
        yield DatasetRow(value, where)


def json_file(path: Path, key: str = "") -> list[DatasetRow]:
    """The objects of one JSON list, or of the list under `key` of one JSON object."""
    try:
        value = parsed(read_text(path))
    except ValueError as error:
        raise UsageError(f"{path}: not whole JSON ({error}); is the file cut off?") from None
    found = value if not key else value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, list):
        wanted = f'an object with a list "{key}"' if key else "a list of objects"
        raise UsageError(f"{path}: this dataset's file is {wanted}")
    rows = []
    for number, entry in enumerate(found, start=1):
        if not isinstance(entry, dict):
            raise UsageError(f"{path}, item {number}: not a JSON object")
        rows.append(DatasetRow(entry, f"{path}, item {number}"))
    return rows


def objects(path: Path) -> Iterable[DatasetRow]:
    """The objects of a file that is published as JSON Lines by some and as one JSON list by others."""
    first = read_text(path).lstrip()[:1]
    return json_file(path) if first == "[" else json_lines(path)


Found = Iterator[tuple[str, Question]]
"""The questions of a file, each with its place in it ("FILE, line N")."""


def reader(read: Callable[Concatenate[Path, P], Found]) -> Callable[Concatenate[Path, P], list[Question]]:
    """A function that reads a whole file, of one that yields its questions.

    It raises UsageError where there is none, or an id stands twice.
    """

    @wraps(read)
    def whole(path: Path, /, *args: P.args, **kwargs: P.kwargs) -> list[Question]:
        questions: list[Question] = []
        seen: dict[str, str] = {}
        for where, question in read(path, *args, **kwargs):
            if question.id in seen:
                first = seen[question.id].removeprefix(f"{path}, ")
                raise UsageError(f'{where}: its id "{question.id}" stands there twice, first at {first}')
            seen[question.id] = where
            questions.append(question)
        if not questions:
            raise UsageError(f"{path}: holds no questions")
        return questions

    return whole


def grouped(groups: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Answers and, for each, its other accepted forms, from groups of equal answers; empty groups are left out."""
    answers: dict[str, tuple[str, ...]] = {}
    for group in groups:
        forms = list(dict.fromkeys(form.strip() for form in group if form.strip()))
        if forms and forms[0] not in answers:
            answers[forms[0]] = tuple(forms[1:])
    return tuple(answers), tuple(answers.values())
