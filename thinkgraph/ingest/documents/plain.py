"""Reads text and Markdown files as streams, so that a file of any size is never in memory as a whole."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import IO

from thinkgraph.ingest.documents.pieces import Piece, Reading, UnreadableError, pieces_of

_BLOCK = 1 << 20
_LONGEST_LINE = 1 << 20
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LONGEST_TITLE = 100
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_FRONT_TITLE = re.compile(r"title\s*:\s*(.+?)\s*$", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\]\n]*)\](?:\([^()\s]*(?:\s+\"[^\"]*\")?\)|\[[^\]\n]*\])")
_EMPHASIS = re.compile(r"(?<![\w*_])(\*{1,3}|_{1,3})(?=\S)(.+?)(?<=\S)\1(?![\w*_])")
_CODE = re.compile(r"`+([^`\n]+)`+")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>|<!--.*?-->", re.DOTALL)
_FRONT_LINES = 200


def lines_of(path: Path, encoding: str | None) -> Iterator[str]:
    """The lines of a text file as they stand, line breaks included; a very long line comes in parts.

    Args:
        path: the file.
        encoding: how files are written that are neither UTF-8 nor marked as UTF-16 or UTF-32; None: they are refused.

    Raises:
        UnreadableError: the file cannot be read, is no text, or is written in another encoding.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(4)
            bom, marked = next(((bom, name) for bom, name in _BOMS if head.startswith(bom)), (b"", ""))
            stream.seek(len(bom))
            yield from _decoded(stream, marked or _encoding_of(path, encoding))
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from None


def decode(raw: bytes, encoding: str | None, declared: str | None = None) -> str:
    """A whole file's text: as its mark says, else UTF-8, else as it declares itself, else in `encoding`.

    Raises:
        UnreadableError: none of them fits.
    """
    for bom, marked in _BOMS:
        if raw.startswith(bom):
            return raw[len(bom) :].decode(marked, "replace")
    for name in ("utf-8", declared, encoding):
        try:
            if name and "\0" not in (text := raw.decode(name)):
                return text
        except (UnicodeDecodeError, LookupError):
            continue
    raise UnreadableError("is not UTF-8 text and declares no other encoding that fits; name it with --encoding")


def _encoding_of(path: Path, encoding: str | None) -> str:
    if encoding is None:
        return "utf-8"
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as stream:
        try:
            while block := stream.read(_BLOCK):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return encoding
    return "utf-8"


def _decoded(stream: IO[bytes], encoding: str) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder(encoding)()
    rest, done = "", False
    while not done:
        block = stream.read(_BLOCK)
        done = not block
        try:
            text = rest + decoder.decode(block, final=done)
        except UnicodeDecodeError as error:
            advice = "convert it (iconv -t UTF-8) or name its encoding with --encoding"
            raise UnreadableError(f"is not {encoding.upper()} text ({error.reason}); {advice}") from None
        if "\0" in text:
            raise UnreadableError("is no text: it holds NUL characters")
        lines = text.splitlines(keepends=True) if "\n" in text else [text]
        lines = _joined(lines)
        rest = lines.pop() if lines and not done else ""
        if len(rest) > _LONGEST_LINE:
            lines.append(rest)
            rest = ""
        yield from lines


def _joined(lines: list[str]) -> list[str]:
    """Lines that end with a line feed only: Python also splits at form feeds and the like."""
    out: list[str] = []
    for line in lines:
        if out and not out[-1].endswith("\n"):
            out[-1] += line
        else:
            out.append(line)
    return out


def read_text(path: Path, encoding: str | None) -> Reading:
    """A plain text: one section; its title is a first line that stands alone and is no sentence, else the file's name."""
    lines = lines_of(path, encoding)
    head = list(islice(lines, 2))
    title = _first_line(head)
    start = sum(map(len, head)) if title else 0
    return Reading(title or name_title(path), pieces=pieces_of(chain([] if title else head, lines), start=start))


def _first_line(head: list[str]) -> str:
    if len(head) < 2 or head[1].strip():  # noqa: PLR2004 - a line, and a blank one after it
        return ""
    line = head[0].strip()
    return line if 0 < len(line) <= _LONGEST_TITLE and line[-1] not in ".!?,;:。" else ""


def name_title(path: Path) -> str:
    """A file's name as a title: "q3_report.txt" is "q3 report"."""
    return " ".join(re.sub(r"[_]+|(?<=\w)-(?=\w)", " ", path.stem).split()) or path.name


def read_markdown(path: Path, encoding: str | None) -> Reading:
    """A Markdown file: headings part it into sections; fenced code is left out, markup stays out of the text."""
    reading = Reading(clean=plain)
    reading.pieces = _Markdown(lines_of(path, encoding), reading, name_title(path)).pieces()
    return reading


class _Markdown:
    def __init__(self, lines: Iterator[str], reading: Reading, name: str) -> None:
        self._lines = lines
        self._reading = reading
        self._name = name
        self._headings: list[tuple[int, str]] = []
        self._held: list[str] = []
        self._start = self._at = 0

    def pieces(self) -> Iterator[Piece]:
        fence = ""
        for line in self._without_front_matter():
            found = _FENCE.match(line)
            if found and (not fence or (found[1][0] == fence[0] and len(found[1]) >= len(fence))):
                if not fence:
                    yield from self._flush()
                fence = "" if fence else found[1]
                self._skip(line)
            elif fence:
                self._skip(line)
            elif (heading := self._heading(line)) is not None:
                yield from self._flush()
                self._enter(*heading)
                self._skip(line)
            else:
                self._held.append(line)
                self._at += len(line)
        yield from self._flush()
        self._reading.title = self._reading.title or self._name

    def _without_front_matter(self) -> Iterator[str]:
        """The lines after a YAML header, whose title is taken."""
        head = list(islice(self._lines, _FRONT_LINES))
        end = next((n for n, line in enumerate(head[1:], 1) if line.strip() in {"---", "..."}), 0)
        if head and head[0].strip() == "---" and end:
            for line in head[: end + 1]:
                if found := _FRONT_TITLE.match(line):
                    self._reading.title = found[1].strip("\"'")
                self._skip(line)
            head = head[end + 1 :]
        yield from chain(head, self._lines)

    def _skip(self, line: str) -> None:
        self._at += len(line)
        self._start = self._at

    def _heading(self, line: str) -> tuple[int, str] | None:
        if found := _ATX.match(line.rstrip("\r\n")):
            return len(found[1]), plain(found[2] or "")
        if self._held and (found := _SETEXT.match(line.rstrip("\r\n"))):
            above = self._held[-1].strip()
            alone = len(self._held) == 1 or not self._held[-2].strip()
            if above and alone and len(above) <= _LONGEST_TITLE and not above.startswith(("-", "*", "|", ">")):
                self._held.pop()
                return 1 if found[1][0] == "=" else 2, plain(above)
        return None

    def _enter(self, level: int, heading: str) -> None:
        self._headings = [(depth, text) for depth, text in self._headings if depth < level]
        if not heading:
            return
        if level == 1 and not self._reading.title:
            self._reading.title = heading
        if heading != self._reading.title:
            self._headings.append((level, heading))

    def _flush(self) -> Iterator[Piece]:
        section = " / ".join(text for _, text in self._headings)
        yield from pieces_of(self._held, section, self._start)
        self._held = []
        self._start = self._at


def plain(text: str) -> str:
    """Markdown without its marks: links by their words, emphasis and code by what they hold."""
    text = _LINK.sub(r"\1", _TAG.sub("", text))
    text = _CODE.sub(r"\1", text)
    return _EMPHASIS.sub(r"\2", text).strip()
