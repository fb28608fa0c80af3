"""The blocks of the documentation's pages, and what marks say of them.

A mark stands before its block. Whoever reads the page does not see it:

    <!-- not run: REASON -->                       nothing runs it
    <!-- not run (WORDS; WORDS): REASON -->        nothing runs the lines that have any of these words
    <!-- run by tests/FILE.py -->                  that test runs it
    <!-- run (WORDS; WORDS) by tests/FILE.py -->   that test runs these lines
    <!-- read by tests/FILE.py -->                 that test holds what is no code against what there is
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *DOCS,
    *sorted((ROOT / "examples").rglob("*.md")),
]
ELSEWHERE = "docs/tutorial.md"
"""The page that tests/tools/neo4j/test_tutorial.py runs as a whole."""
CUT = " …"
"""A line of a page that ends so is the beginning of a line that is printed."""
_MARK = re.compile(r"<!-- ((?:not run|run|read)\b.*?) -->", re.DOTALL)
_NOT = re.compile(r"not run(?: \((.+?)\))?: (.+)", re.DOTALL)
_BY = re.compile(r"(?:run|read)(?: \((.+?)\))? by (\S+)", re.DOTALL)
_FENCE = re.compile(r" *(`{3,}|~{3,}) *(\w*)")


def name(page: Path) -> str:
    """A page by its path in the repository."""
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Mark:
    """What a page says of a block, or of some lines of it."""

    words: tuple[str, ...]
    """It is about lines that have any of them; about all where there are none."""
    why: str
    """Why nothing runs them; empty where a test does."""
    test: str
    """The test that has them; empty where none does."""

    def about(self, line: str) -> bool:
        """Whether it is about this line."""
        return not self.words or any(word in line for word in self.words)


def read_mark(text: str) -> Mark:
    """A mark.

    Raises:
        ValueError: it has neither a reason nor a test.
    """
    reasoned, told = _NOT.fullmatch(text), _BY.fullmatch(text)
    found = reasoned or told
    if not found:
        raise ValueError(f"neither a reason nor a test in '{text}'")
    words = tuple(part.strip() for part in (found[1] or "").split(";") if part.strip())
    return Mark(words, " ".join(found[2].split()) if reasoned else "", found[2] if told else "")


@dataclass(frozen=True)
class Block:
    """What a page sets as code, between fences or indented."""

    page: Path
    line: int
    """Of its first line, or of its opening fence."""
    language: str
    """What the fence names; empty without a name or a fence."""
    text: str
    """Without its indentation."""
    marks: tuple[Mark, ...]

    @property
    def name(self) -> str:
        """Where it stands."""
        return f"{name(self.page)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    return [*_blocks(page, page.read_text("utf-8"))]


def block_of(page: str, start: str) -> str:
    """The text of the one block of a page that begins so."""
    (found,) = [block.text for block in blocks(ROOT / page) if block.text.startswith(start)]
    return found


def _blocks(page: Path, text: str) -> Iterator[Block]:
    marks = [(text.count("\n", 0, found.end()) + 1, read_mark(found[1])) for found in _MARK.finditer(text)]
    for line, language, code in code_of(text.splitlines()):
        before = [mark for at, mark in marks if at < line]
        del marks[: len(before)]
        yield Block(page, line, language, code, tuple(before))


def code_of(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Every piece of code: its first line, from 1, its language, its text. A list's item that goes on after a blank line is taken for code."""
    at = 0
    while at < len(lines):
        first = at
        fence = _FENCE.match(lines[at])
        if fence:
            end = re.compile(rf" *{re.escape(fence[1])}[`~]* *")
            at = next((place for place in range(at + 1, len(lines)) if end.fullmatch(lines[place])), len(lines))
            yield first + 1, fence[2], _dedented(lines[first + 1 : at])
        elif lines[at].startswith("    ") and lines[at].strip() and (at == 0 or not _goes_on(lines[at - 1])):
            while at < len(lines) and (lines[at].startswith("    ") or not lines[at].strip()):
                at += 1
            yield first + 1, "", _dedented(lines[first:at])
            continue
        at += 1


def _goes_on(line: str) -> bool:
    """Whether an indented line after this one belongs to its paragraph."""
    return bool(line.strip()) and not line.startswith("#") and not line.endswith("-->") and not _FENCE.match(line)


def _dedented(lines: list[str]) -> str:
    """The text without the indentation of its first line."""
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    deep = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    return "".join(line[min(deep, len(line) - len(line.lstrip())) :] + "\n" for line in lines)


def check_printed(printed: str, shown: str) -> None:
    """Every line that a page shows was printed, in this order."""
    lines = iter(printed.splitlines())
    for line in filter(None, shown.splitlines()):
        whole, cut = line.removesuffix(CUT), line.endswith(CUT)
        found = (one.startswith(whole) if cut else one.rstrip() == whole for one in lines)
        assert any(found), (line, printed)
