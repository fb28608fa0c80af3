"""Reads HTML files: the words of the page without its menus, headings as sections. Python's own parser, nothing else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from thinkgraph.ingest.documents.pieces import Piece, Reading, UnreadableError
from thinkgraph.ingest.documents.plain import decode, name_title
from thinkgraph.ingest.documents.words import listed

MOST_BYTES = 64 * 1024 * 1024
"""Larger files are data, not pages."""

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{2,40})", re.IGNORECASE)
_HEAD_BYTES = 4096
_VOID = listed("area base br col embed hr img input link meta param source track wbr")
_SILENT = listed(
    "script style noscript template svg math nav aside footer form button select option iframe object canvas dialog menu "
    "audio video map"
)
"""Elements that hold no words of the page itself."""
_BLOCKS = listed(
    "address article blockquote body center dd details div dl dt fieldset figcaption figure footer header hr html li main ol "
    "p pre section summary table tbody td tfoot th thead tr ul br title"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_ROLES = listed("navigation banner contentinfo search complementary dialog alert menu menubar toolbar")
_NAMES = listed(
    "nav navbar navigation menu sidebar footer cookie cookies breadcrumb breadcrumbs advert advertisement ads share sharing "
    "social newsletter popup modal skip pagination pager noprint navbox toc mw-editsection metadata"
)
"""Words in `class` and `id` that mark what surrounds a page."""
_LINKED, _SHORT = 0.7, 150
"""A short block of which so much is links is a menu."""
_SENTENCE = re.compile(r"[.!?。！？](?:\s|$)")


def read_html(path: Path, encoding: str | None) -> Reading:
    """A page: `<main>` or its only `<article>` where it has one, else all of it but what looks like its surroundings.

    Raises:
        UnreadableError: the file cannot be read, is too large, or is written in an unknown encoding.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise UnreadableError(f"is larger than {MOST_BYTES >> 20} MiB: no page is")
        raw = path.read_bytes()
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from None
    declared = _CHARSET.search(raw[:_HEAD_BYTES])
    text = decode(raw, encoding, declared[1].decode("ascii") if declared else None)
    page = _Page(text)
    page.feed(text)
    page.close()
    reading = Reading(title=page.title() or name_title(path))
    reading.pieces = page.pieces(reading.title)
    return reading


@dataclass
class _Open:
    tag: str
    silent: bool


@dataclass
class _Block:
    """Words between two block elements."""

    level: int = 0
    """1 to 6: a heading."""
    place: str = ""
    """`main`, `article` or nothing."""
    text: list[str] = field(default_factory=list)
    marks: list[tuple[int, int]] = field(default_factory=list)
    size: int = 0
    linked: int = 0

    @property
    def words(self) -> str:
        return "".join(self.text).strip()


class _Page(HTMLParser):
    def __init__(self, text: str) -> None:
        # References are turned into characters here, so that what follows one is still found in the file.
        super().__init__(convert_charrefs=False)
        self._lines = [0]
        for found in re.finditer("\n", text):
            self._lines.append(found.end())
        self._open: list[_Open] = []
        self._within: Counter[str] = Counter()
        """How many elements of each tag are open."""
        self._silent = 0
        self._blocks = [_Block()]
        self._title: list[str] = []
        self._articles = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS or tag in _HEADINGS:
            self._part(_HEADINGS.get(tag, 0))
        if tag in _VOID:
            return
        silent = tag in _SILENT or _surrounds(tag, dict(attrs)) or (tag == "header" and not self._inside())
        self._open.append(_Open(tag, silent))
        self._within[tag] += 1
        self._silent += silent
        if not silent and tag in {"main", "article"}:
            self._articles += tag == "article"
            self._part(0)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # "<div/>" opens an element in HTML; only void ones close themselves.
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if not self._within[tag]:
            return
        while self._open:
            entry = self._open.pop()
            self._within[entry.tag] -= 1
            self._silent -= entry.silent
            if entry.tag == tag:
                break
        if tag in _BLOCKS or tag in _HEADINGS:
            self._part(0)

    def handle_data(self, data: str) -> None:
        if self._within["title"]:
            if not self._silent:
                self._title.append(data)
        elif not self._silent and not self._within["head"]:
            block = self._blocks[-1]
            line, column = self.getpos()
            block.marks.append((block.size, self._lines[line - 1] + column))
            block.text.append(data)
            block.size += len(data)
            if self._within["a"]:
                block.linked += len(data.strip())

    def handle_entityref(self, name: str) -> None:
        self.handle_data(unescape(f"&{name};"))

    def handle_charref(self, name: str) -> None:
        self.handle_data(unescape(f"&#{name};"))

    def _inside(self) -> bool:
        return bool(self._within["main"] or self._within["article"])

    def _part(self, level: int) -> None:
        """Begin a new block."""
        place = next((tag for tag in ("main", "article") if self._within[tag]), "")
        if self._blocks[-1].words:
            self._blocks.append(_Block(level, place))
        else:
            self._blocks[-1] = _Block(level, place)

    def title(self) -> str:
        """The first top heading, else the page's title."""
        kept = self._kept()
        heading = next((_flat(block.words) for block in kept if block.level == 1), "")
        return heading or _flat("".join(self._title))

    def _kept(self) -> list[_Block]:
        blocks = [block for block in self._blocks if block.words]
        if any(block.place == "main" for block in blocks):
            return [block for block in blocks if block.place == "main"]
        if self._articles == 1 and any(block.place == "article" for block in blocks):
            return [block for block in blocks if block.place == "article"]
        return blocks

    def pieces(self, title: str) -> Iterator[Piece]:
        """The blocks of each section together."""
        headings: list[tuple[int, str]] = []
        held: list[_Block] = []
        for block in self._kept():
            if block.level:
                yield from _piece(held, headings)
                held = []
                headings = [(level, text) for level, text in headings if level < block.level]
                if (words := _flat(block.words)) != title:
                    headings.append((block.level, words))
            elif not _is_menu(block):
                held.append(block)
        yield from _piece(held, headings)


def _surrounds(tag: str, attributes: dict[str, str | None]) -> bool:
    """Whether an element's attributes say that it is no part of the page's own words."""
    if tag in {"body", "html", "main", "article"}:
        return False
    if (attributes.get("role") or "").lower() in _ROLES or "hidden" in attributes:
        return True
    if (attributes.get("aria-hidden") or "").lower() == "true":
        return True
    names = f"{attributes.get('class') or ''} {attributes.get('id') or ''}".lower()
    return bool(_NAMES & {*names.split(), *re.split(r"[\s_-]+", names)}) and tag not in {"a", "span", "p"}


def _is_menu(block: _Block) -> bool:
    words = block.words
    return block.linked > _LINKED * len(words) and len(words) < _SHORT and not _SENTENCE.search(words)


def _piece(blocks: list[_Block], headings: list[tuple[int, str]]) -> Iterator[Piece]:
    if not blocks:
        return
    parts: list[str] = []
    marks: list[tuple[int, int]] = []
    size = 0
    for block in blocks:
        marks += [(size + text, file) for text, file in block.marks]
        text = re.sub(r"\s", " ", "".join(block.text))
        parts += [text, "\n"]
        size += len(text) + 1
    yield Piece(" / ".join(text for _, text in headings), "".join(parts), marks[0][1], tuple(marks))


def _flat(text: str) -> str:
    return " ".join(text.split())
