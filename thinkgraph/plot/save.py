"""Writes a file, such as a picture, whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from thinkgraph.errors import UsageError

if TYPE_CHECKING:
    from thinkgraph.state.answer import Answer

SUFFIXES = (".svg", ".html", ".htm")


def is_page(path: Path) -> bool:
    """Whether the name is a page's, not a picture's."""
    return path.suffix.lower() != ".svg"


def check_target(path: str | Path) -> Path:
    """The file a picture can be written to; asked before the work whose answer it is to show.

    Raises:
        UsageError: its name ends in none of SUFFIXES, its folder is missing or cannot be written, or it is a folder.
    """
    file = Path(path).expanduser()
    if file.suffix.lower() not in SUFFIXES:
        raise UsageError(f"a picture is written as .svg or .html, not as '{file.name}'")
    return check_place(file, "picture")


def check_place(file: Path, what: str) -> Path:
    """A file where a `what` can be written; asked before the work that it is to hold.

    Raises:
        UsageError: its folder is missing or cannot be written, or it is a folder.
    """
    folder = file.parent
    if not folder.exists():
        raise UsageError(f"there is no folder {folder} for the {what} {file.name}")
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file, not a folder for the {what} {file.name}")
    if file.is_dir():
        raise UsageError(f"{file} is a folder; name a file for the {what}")
    if _is_device(file):
        return file
    try:
        # Rights alone do not tell: a file system may be read-only or full.
        with TemporaryFile(dir=_target(file).parent):
            pass
    except OSError as error:
        raise UsageError(f"no {what} can be written to {folder}: {error.strerror or error}") from error
    return file


def _target(file: Path) -> Path:
    """What a link stands for: that is replaced, not the link."""
    # Path.resolve() raises where links go in a circle.
    return Path(os.path.realpath(file))


def _is_device(file: Path) -> bool:
    """Or a pipe: nothing in it can be lost, and nothing may take its place."""
    return file.exists() and not file.is_file()


def check_answer(given: object) -> None:
    """Refuse what is no answer, such as the whole state that a graph returns.

    Raises:
        UsageError: it is none.
    """
    if not (isinstance(given, Mapping) and {"question", "evidence"} <= given.keys()):
        raise UsageError("an answer is what a graph returns under 'answer': graph.invoke({'question': '…'})['answer']")


def plot_answer(answer: Answer, path: str | Path) -> Path:
    """Draw what led to an answer into a file; one that is there already is replaced.

    Args:
        answer: what a method's graph returned under "answer", of any method.
        path: ends in .svg.

    Returns:
        The file.

    Raises:
        UsageError: the file cannot be written (see `check_target`), or is named as a page; something else is given.
    """
    from thinkgraph.plot.picture import picture_of
    from thinkgraph.plot.svg import svg_of

    check_answer(answer)
    file = check_target(path)
    if is_page(file):
        raise UsageError(f"a picture is an .svg; thinkgraph.save_page writes the page {file.name}")
    return write_whole(file, svg_of(answer, picture_of(answer)), "picture")


def write_whole(file: Path, text: str, what: str) -> Path:
    """Write a text file so that it is there whole or not at all; one that is there already is replaced.

    Raises:
        UsageError: the file, a `what`, cannot be written.
    """
    whole = _target(file)
    part = file if _is_device(file) else whole.with_name(f".{secrets.token_hex(6)}.part")
    try:
        part.write_text(text, "utf-8")
        if part is not file:
            if whole.exists():
                shutil.copymode(whole, part)
            part.replace(whole)
    except OSError as error:
        if part is not file:
            part.unlink(missing_ok=True)
        raise UsageError(f"the {what} {file} cannot be written: {error.strerror or error}") from error
    return file
