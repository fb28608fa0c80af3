"""MOOC Q&A (FiSKE section 4.1): lines with tabs, as FiSKE's published code reads them.

    王大亮是否开了病理学这门课？<TAB>[T_王大亮]是否开了[C_…]这门课？<TAB>老师_课程<TAB>是<TAB>None<TAB>B

A question, the same with the ids of its entities in brackets, the kinds of entities on the path, the answer, and a letter. We know
the true/false sets by the row in that code; of the query sets only that they have the same columns.
"""

from __future__ import annotations

import re
from pathlib import Path

from thinkgraph.errors import UsageError
from thinkgraph.eval.files import lines_of
from thinkgraph.eval.questions import Question, collected

_ID = re.compile(r"\[([^\[\]]+)\]")
_COLUMNS = 4
_NOTHING = frozenset({"", "None"})
_VERDICTS = {"是": ("yes", "true"), "否": ("no", "false")}
"""A verdict by a question's words, and by `task=truth`."""


def mooc(path: Path) -> list[Question]:
    """The questions of one file. Yes and no are accepted in English, as true and false (`task=truth`) and as they stand; the letter is the type.

    Args:
        path: the file, plain or gzip.

    Returns:
        The questions, with their entities by name and by id.

    Raises:
        UsageError: the file cannot be read, or a line is no such row.
    """
    return collected(
        path, ((f"{path}, line {number}", _question(path, number, line)) for number, line in lines_of(path))
    )


def _question(path: Path, number: int, line: str) -> Question:
    cells = [cell.strip() for cell in line.split("\t")]
    if len(cells) < _COLUMNS or not cells[0] or not _ID.search(cells[1]):
        raise UsageError(
            f"{path}, line {number}: must be a question, the same with [ids], the kinds of entities and the answer, parted by tabs"
        )
    answer = next((cell for cell in cells[3:5] if cell not in _NOTHING), "")
    if not answer:
        raise UsageError(f"{path}, line {number}: there is no answer in the fourth or fifth column")
    verdict = _VERDICTS.get(answer, ())
    ids = _ID.findall(cells[1])
    return Question(
        id=f"{path.stem}-{number}",
        question=cells[0],
        answers=verdict[:1] or (answer,),
        aliases=((answer, *verdict[1:]),) if verdict else (),
        type=cells[5] if len(cells) > _COLUMNS + 1 else "",
        topic=_names(cells[0], cells[1], ids),
        topic_ids=tuple((one,) for one in ids),
    )


def _names(question: str, marked: str, ids: list[str]) -> tuple[str, ...]:
    """What the question has where the ids stand; the ids without their letter where the two do not fit."""
    words = map(re.escape, _ID.split(marked)[::2])
    found = re.fullmatch("(.+?)".join(words), question)
    return found.groups() if found else tuple(one.partition("_")[2] or one for one in ids)
