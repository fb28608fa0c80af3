"""Files of questions, read strictly: packed or not, with or without a byte order mark. A fault names file, place and field."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from thinkgraph.errors import UsageError

DAMAGED_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
"""What reading a damaged .gz file raises."""
_LISTS = ("Questions", "questions")


def damaged(path: Path, error: BaseException) -> UsageError:
    """The error for a damaged .gz file."""
    return UsageError(f"{path}: a damaged gzip file ({error}); fetch it again")


def read_text(path: Path) -> str:
    """A file's text, unpacked where its name ends in .gz.

    Raises:
        UsageError: it cannot be read, is damaged or is not UTF-8.
    """
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}, line {line}: not UTF-8 text (byte {error.start})") from None
    except DAMAGED_GZIP as error:
        raise damaged(path, error) from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from None


def write_text(path: Path, text: str) -> None:
    """Write a file.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        # JSON may hold half a surrogate pair, a file may not.
        path.write_bytes(text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror or error})") from None


def make_folder(folder: Path) -> None:
    """Make a folder of results, unless it is there.

    Raises:
        UsageError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made ({error.strerror or error})") from None


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each line that is not blank.

    Raises:
        UsageError: as `read_text`.
    """
    # Not splitlines(): a text may hold U+2028 and the like.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield number, line.rstrip("\r")


def parsed(text: str) -> Any:
    """JSON as Python.

    Raises:
        ValueError: it is no JSON, or nested too deep.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    except ValueError:
        # JSON has none, not even within a text.
        if "\0" in text:
            raise ValueError("it holds NUL characters, as UTF-16 does: convert it with iconv -t UTF-8") from None
        raise


class FileRow:
    """A JSON object of a file. What it lacks is a UsageError that names file, place and field."""

    def __init__(self, value: Any, where: str) -> None:
        if not isinstance(value, dict):
            raise UsageError(f"{where}: not a JSON object")
        self.value: Mapping[str, Any] = value
        self.where = where

    def fail(self, field: str, fault: str) -> UsageError:
        """The error for a field."""
        return UsageError(f'{self.where}: field "{field}" {fault}')

    def text(self, *names: str) -> str:
        """A text that is not empty, under the first of `names` that the row has."""
        for name in names:
            if name in self.value:
                if found := self.note(name):
                    return found
                raise self.fail(name, "must be a text that is not empty")
        raise self.fail(names[0], "is missing")

    def note(self, name: str) -> str:
        """A text; empty where there is none, or something else."""
        found = self.value.get(name)
        return found.strip() if isinstance(found, str) else ""

    def name(self, *names: str) -> str:
        """A text or a number, as text."""
        for name in names:
            found = self.value.get(name)
            if isinstance(found, int | float) and not isinstance(found, bool):
                return str(found)
            if name in self.value:
                return self.text(name)
        raise self.fail(names[0], "is missing")

    def rows(self, name: str) -> list[FileRow]:
        """A list of objects."""
        found = self.value.get(name)
        if found is None:
            raise self.fail(name, "is missing")
        if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
            raise self.fail(name, "must be a list of objects")
        return [FileRow(entry, f"{self.where}, {name} {number}") for number, entry in enumerate(found, start=1)]

    def row(self, name: str) -> FileRow:
        """An object."""
        found = self.value.get(name)
        if not isinstance(found, dict):
            raise self.fail(name, "is missing" if found is None else "must be an object")
        return FileRow(found, f"{self.where}, {name}")

    def mapping(self, name: str) -> Mapping[str, str]:
        """An object whose values are texts; empty where there is none."""
        found = self.value.get(name) or {}
        if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
            raise self.fail(name, "must be an object of texts")
        return found

    def texts(self, name: str, *, needed: bool = False, strict: bool = False) -> tuple[str, ...]:
        """A list of texts. Numbers become texts, and empty texts and nulls are left out; with `strict` they are errors."""
        found = self.value.get(name)
        if found is None:
            if needed:
                raise self.fail(name, "is missing")
            return ()
        kinds = (str,) if strict else (str, int, float, type(None))
        if not isinstance(found, list) or not all(isinstance(entry, kinds) for entry in found):
            raise self.fail(name, "must be a list of texts")
        texts = [str(entry).strip() for entry in found if entry is not None]
        if strict and not all(texts):
            raise self.fail(name, "must be a list of texts that are not empty")
        return tuple(filter(None, texts))


def json_lines(path: Path) -> Iterator[FileRow]:
    """The objects of a JSON Lines file."""
    form = "the file must be JSON Lines, one object a line"
    for number, line in lines_of(path):
        where = f"{path}, line {number}"
        try:
            value = parsed(line)
        except ValueError as error:
            hint = (
                "JSON Lines has a whole object in each line; is the file cut off?" if line.lstrip()[0] == "{" else form
            )
            raise UsageError(f"{where}: not a whole JSON object ({error}); {hint}") from None
        if not isinstance(value, dict):
            raise UsageError(f"{where}: not a JSON object; {form}")
        yield FileRow(value, where)


def objects(path: Path) -> Iterator[FileRow]:
    """The objects of a file: JSON Lines, one JSON list, or the list under "questions" of one JSON object."""
    listed = _listed(path)
    if listed is None:
        yield from json_lines(path)
    else:
        yield from (FileRow(entry, f"{path}, item {number}") for number, entry in enumerate(listed, start=1))


def _listed(path: Path) -> list[Any] | None:
    """The list that a file holds as a whole; None where it is JSON Lines."""
    text = read_text(path).lstrip()
    if text[:1] not in {"[", "{"}:
        return None
    try:
        value = parsed(text)
    except ValueError as error:
        if text[0] == "[":
            raise UsageError(f"{path}: not whole JSON ({error}); is the file cut off?") from None
        # What follows a first object is the next line.
        return None
    if isinstance(value, dict):
        return next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
    return list(value)
