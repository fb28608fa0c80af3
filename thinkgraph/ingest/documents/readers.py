"""Reads text, Markdown, HTML and PDF files. Text and Markdown need no other package and are read as streams."""

from __future__ import annotations

import codecs
import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thinkgraph.ingest.documents.pieces import Headings, Piece, Reading, UnreadableError, pieces_of
from thinkgraph.tools.linking.names import word_set

if TYPE_CHECKING:
    from pypdf import PdfReader

MOST_BYTES = 256 << 20
"""Of a text, Markdown or PDF file; larger ones are data, not documents."""
MOST_HTML = 16 << 20
"""Bytes of an HTML file at most: it is in memory as a whole."""
MOST_MARKS = 1_000_000
"""Tags and entities of an HTML file at most: each takes some hundred bytes of memory."""

_BLOCK = 1 << 20
_LONGEST_LINE = 1 << 20
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LONGEST_TITLE = 100


def name_title(path: Path) -> str:
    """A file's name as a title: "q3_report.txt" is "q3 report"."""
    return " ".join(re.sub(r"[_]+|(?<=\w)-(?=\w)", " ", path.stem).split()) or path.name


def _marked_encoding(head: bytes) -> str:
    """The encoding that a byte order mark names; empty where there is none."""
    return next((name for mark, name in _BOMS if head.startswith(mark)), "")


# ---- text ---------------------------------------------------------------------------------------------------------


def lines_of(path: Path, encoding: str | None) -> Iterator[str]:
    """The lines of a text file as they stand, line breaks included. A very long line comes in parts.

    Args:
        path: the file.
        encoding: of files that are neither UTF-8 nor marked as UTF-16 or UTF-32; None: such files are refused.

    Raises:
        UnreadableError: the file cannot be read, is no text, or is written in another encoding.
    """
    try:
        _check_size(path, MOST_BYTES)
        with path.open(encoding=_encoding_of(path, encoding), newline="\n") as stream:
            while line := stream.readline(_LONGEST_LINE):
                if "\0" in line:
                    hint = "" if encoding else "; if it is UTF-16, name it with --encoding utf-16-le or utf-16-be"
                    raise UnreadableError(f"is no text: it holds NUL characters{hint}")
                yield line
    except UnicodeError as error:
        name, reason = getattr(error, "encoding", encoding or ""), getattr(error, "reason", str(error))
        unmarked = " (utf-16-le or utf-16-be, where no byte order mark tells which)" if "BOM" in reason else ""
        advice = f"convert it (iconv -t UTF-8) or name its encoding with --encoding{unmarked}"
        raise UnreadableError(f"is not {name.upper()} text ({reason}); {advice}") from None
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from None


def _check_size(path: Path, most: int) -> None:
    if path.stat().st_size > most:
        raise UnreadableError(f"is larger than {most >> 20} MiB: no document is; part it")


def _encoding_of(path: Path, encoding: str | None) -> str:
    """The encoding of a byte order mark; else UTF-8, if no other is given or the whole file is UTF-8; else the given one."""
    with path.open("rb") as stream:
        marked = _marked_encoding(stream.read(4))
    if marked or encoding is None:
        return marked or "utf-8"
    with suppress(UnicodeDecodeError), path.open(encoding="utf-8") as text:
        while block := text.read(_BLOCK):
            if "\0" in block:  # UTF-16 of plain letters would pass for UTF-8
                return encoding
        return "utf-8"
    return encoding


def read_text(path: Path, encoding: str | None) -> Reading:
    """A plain text: one section. Its title is a first line that stands alone and is no sentence, else the file's name."""
    lines = lines_of(path, encoding)
    head = list(islice(lines, 2))
    title = head[0].strip() if len(head) == 2 and not head[1].strip() else ""  # noqa: PLR2004 - a blank line after it
    if len(title) > _LONGEST_TITLE or title.endswith(tuple(".!?,;:。")):
        title = ""
    start = sum(map(len, head)) if title else 0
    return Reading(title or name_title(path), pieces=pieces_of(chain([] if title else head, lines), start=start))


# ---- Markdown -----------------------------------------------------------------------------------------------------

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_FRONT_TITLE = re.compile(r"title\s*:(.+)", re.IGNORECASE)
# No mark is looked for beyond the next one of its kind: a file of nothing but opening marks would take the square of its size.
_LINK = re.compile(r"!?\[(?!\d+\]\[)([^\[\]\n]*)\](?:\([^()\s]*(?:\s+\"[^\"\n]{0,500}\")?\)|\[[^\[\]\n]*\])")
_EMPHASIS = re.compile(r"(?<![\w*_])(\*{1,3}|_{1,3})(?=\S)(.{1,200}?)(?<=\S)\1(?![\w*_])")
_CODE = re.compile(r"(?<!`)`+([^`\n]+)`+")
_TAG = re.compile(r"</?[A-Za-z][\w-]*(?=[\s/>])[^<>\n]{0,200}>|<!--(?:(?!<!--).)*?-->", re.DOTALL)
_FRONT_LINES = 200


def read_markdown(path: Path, encoding: str | None) -> Reading:
    """A Markdown file: headings part it into sections. Fenced code and markup are left out."""
    reading = Reading(clean=plain)
    reading.pieces = _markdown_pieces(lines_of(path, encoding), reading, name_title(path))
    return reading


def _markdown_pieces(lines: Iterator[str], reading: Reading, name: str) -> Iterator[Piece]:
    head = list(islice(lines, _FRONT_LINES))
    front = _front_matter(head)
    reading.title = next((found[1].strip().strip("\"'") for line in front if (found := _FRONT_TITLE.match(line))), "")
    start = at = sum(map(len, front))
    headings = Headings(reading)
    held: list[str] = []
    fence = ""
    for line in chain(head[len(front) :], lines):
        at += len(line)
        heading = None
        mark = _FENCE.match(line)
        if mark and mark[1].startswith(fence):
            fence = "" if fence else mark[1]
        elif not fence and (heading := _heading(line, held)) is None:
            held.append(line)
            continue
        yield from pieces_of(held, headings.section, start)
        held, start = [], at
        if heading:
            headings.enter(*heading)
    yield from pieces_of(held, headings.section, start)
    reading.title = reading.title or name


def _front_matter(head: list[str]) -> list[str]:
    """The lines of the YAML header that a file begins with."""
    if not head or head[0].strip() != "---":
        return []
    return head[: next((n for n, line in enumerate(head[1:], 2) if line.strip() in {"---", "..."}), 0)]


def _heading(line: str, held: list[str]) -> tuple[int, str] | None:
    """Level and text of a heading. The text of an underlined one is taken from the lines held."""
    if found := _ATX.match(line.rstrip("\r\n")):
        text = (found[2] or "").rstrip(" \t")
        closed = text.rstrip("#")
        return len(found[1]), plain(closed if closed.endswith((" ", "\t")) else text)
    if held and (found := _SETEXT.match(line.rstrip("\r\n"))):
        above = held[-1].strip()
        alone = len(held) == 1 or not held[-2].strip()
        if above and alone and len(above) <= _LONGEST_TITLE and not above.startswith(("-", "*", "|", ">")):
            held.pop()
            return 1 if found[1][0] == "=" else 2, plain(above)
    return None


def plain(text: str) -> str:
    """Markdown without its marks: the words of links, emphasis and code."""
    text = _LINK.sub(r"\1", _TAG.sub("", text))
    text = _CODE.sub(r"\1", text)
    return _EMPHASIS.sub(r"\2", text).strip()


# ---- HTML ---------------------------------------------------------------------------------------------------------

_CHARSET = re.compile(
    rb"<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,200}?encoding)\s*=\s*[\"']?\s*(?:x-)?([\w.:-]{2,40})", re.IGNORECASE
)
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
"""Encodings that pages declare, by Python's names, with those that browsers read them in (WHATWG Encoding, section 4.2)."""
_HEAD_BYTES = 4096
_SILENT = word_set(
    "script style noscript template svg math nav aside footer button select option iframe object canvas dialog menu audio "
    "video map"
)
"""Elements that hold no words of the page itself."""
_BLOCKS = word_set(
    "address article aside blockquote body br caption center dd details dialog div dl dt fieldset figcaption figure footer form "
    "header hr legend li main menu nav ol p pre section summary table tbody td tfoot th thead tr ul"
)
_PAGE = word_set("html body main article")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_ROLES = word_set("navigation banner contentinfo search complementary dialog alert menu menubar toolbar")
_NAMES = word_set(
    "nav navbar navigation menu sidebar footer cookie cookies breadcrumb breadcrumbs advert advertisement ads share sharing "
    "social newsletter popup modal skip pagination pager noprint navbox toc metadata onetrust cookiebanner cky cmplz"
)
"""Words in `class` and `id` that mark what surrounds a page."""
_LINKED, _SHORT = 0.7, 150
"""A short block of which so much is links is a menu."""
_SENTENCE = re.compile(r"[.!?。！？](?:\s|$)")
_PLACE = re.compile("\x01(\\d+)\x02")
"""An offset in the file, written into the page before it is parsed: parsers do not tell where a text stands."""


def read_html(path: Path, encoding: str | None) -> Reading:
    """A page: its `<main>`, else its only `<article>`, else the page without what looks like its surroundings.

    Raises:
        UnreadableError: lxml is not installed; the file cannot be read, is too large or nested too deeply, or is written
            in an unknown encoding.
    """
    try:
        from lxml import html
    except ImportError:
        raise UnreadableError("HTML files need lxml: pip install 'thinkgraph[documents]'") from None
    try:
        _check_size(path, MOST_HTML)
        text = re.sub("[\\s\x00-\x1f]", " ", _decoded(path.read_bytes(), encoding))
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from None
    if text.count("<") + text.count(";") > MOST_MARKS:
        raise UnreadableError(f"has more than {MOST_MARKS:,} tags and entities: no page has; part it")
    # Every stretch of text begins with its offset: what comes before it is a tag, an entity or nothing.
    marked = re.sub("(?:^|[>;])(?= *[^< ])", lambda found: f"{found[0]}\x01{found.end()}\x02", text)
    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True, huge_tree=True)
    try:
        page = html.document_fromstring(marked.encode("utf-8", "replace"), parser, ensure_head_body=True)
    except html.etree.ParserError:
        return Reading(name_title(path))  # nothing but comments
    if any(error.type_name == "ERR_RESOURCE_LIMIT" for error in parser.error_log):
        raise UnreadableError("is nested too deeply to be a page")
    blocks, titles = _page_blocks(page)
    title = _flat(" ".join(titles))
    headings = [_flat(block.text) for block in blocks if block.level == 1]
    if len(headings) > 1:  # they head chapters
        headings = [title, headings[0]]
    reading = Reading(next(filter(None, [*headings, title, name_title(path)])))
    reading.pieces = _html_pieces(blocks, reading)
    return reading


def _decoded(raw: bytes, encoding: str | None) -> str:
    """A whole page: as its byte order mark says, else UTF-8, else as it declares itself, else in `encoding`."""
    found = _CHARSET.search(raw[:_HEAD_BYTES])
    declared = found[1].decode("ascii") if found else ""
    meant = ""
    with suppress(LookupError):
        meant = _MEANT.get(codecs.lookup(declared).name, "")
    marked = _marked_encoding(raw)
    for name in (marked,) if marked else ("utf-8", meant, declared, encoding):
        with suppress(UnicodeError, LookupError):
            if name and "\0" not in (text := raw.decode(name, "replace" if marked else "strict")):
                return text
    raise UnreadableError("is not UTF-8 text and declares no other encoding that fits; name it with --encoding")


@dataclass(slots=True)
class _Block:
    """Words between the tags of two block elements."""

    level: int = 0
    """1 to 6: a heading."""
    parts: list[str] = field(default_factory=list)
    size: int = 0
    marks: list[tuple[int, int]] = field(default_factory=list)
    """See `Piece.marks`."""
    linked: int = 0
    """How many of its characters are links."""
    told: bool = False
    """Whether it is in a cell whose neighbour says what it is."""

    def add(self, marked: str, *, linked: bool) -> None:
        """Take in a text with its offsets."""
        for number, part in enumerate(_PLACE.split(marked)):
            if number % 2:
                self.marks.append((self.size, int(part)))
            elif part:
                self.parts.append(part)
                self.size += len(part)
                self.linked += len(part.strip()) * linked

    @property
    def text(self) -> str:
        return "".join(self.parts)

    @property
    def is_menu(self) -> bool:
        """Whether it is short, mostly links, and no sentence."""
        words = self.text.strip()
        linked = self.linked > _LINKED * len(words) and not self.told
        return linked and len(words) < _SHORT and not _SENTENCE.search(words)


def _page_blocks(page: Any) -> tuple[list[_Block], list[str]]:
    """The blocks of a page's own words, and its titles."""
    named = page.xpath("//title[not(ancestor::svg)]")
    titles = [_PLACE.sub("", node.text or "") for node in named]
    for node in [*named, *(node for node in page.iter("*") if _is_silent(node))]:
        node.clear(keep_tail=True)  # an empty block still parts what is before it from what is behind it
    half, headed = _size(page) / 2, page.find(".//h1") is not None
    for node in [node for node in page.iter("*") if _is_around(node)]:
        # What holds most of the page is the page, whatever it is called.
        if (headed and node.find(".//h1") is None) or _size(node) <= half:
            node.clear(keep_tail=True)
    articles = page.xpath("//article")
    for roots in (page.xpath("//main[not(ancestor::main)]"), articles if len(articles) == 1 else [], [page.body]):
        if found := [block for root in roots for block in _blocks(root)]:
            break
    return found, titles


def _size(node: Any) -> int:
    """How many characters it holds, without white space."""
    return len(re.sub(r"\s+", "", _PLACE.sub("", node.text_content())))


def _is_silent(node: Any) -> bool:
    """Whether an element holds no words of the page itself, by its tag, role or class."""
    tag, given = node.tag, node.attrib
    if tag in _PAGE:
        return False
    if tag in _SILENT or (tag == "header" and next(node.iterancestors("main", "article"), None) is None):
        return True
    if tag == "sup":  # the mark of a footnote
        return bool(node.xpath("(parent::a | .//a)[contains(@href, '#')]"))
    return given.get("role", "").lower() in _ROLES or "hidden" in given or "mw-editsection" in given.get("class", "")


def _is_around(node: Any) -> bool:
    """Whether an element seems to surround the page's own words, by its tag or its names.

    The id of a heading or section is made of its words.
    """
    tag, given = node.tag, node.attrib
    if tag in _PAGE or tag in _HEADINGS or tag in {"a", "span", "p"}:
        return False
    named = "" if tag == "section" or "section" in given.get("class", "").split() else given.get("id", "")
    names = f"{given.get('class', '')} {named}".lower()
    words = {*names.split(), *re.split(r"[\s_-]+", names)}
    return tag == "form" or given.get("aria-hidden", "").lower() == "true" or bool(_NAMES & words)


def _is_told(node: Any) -> bool:
    """Whether it is a cell of a table, or a definition, beside one that is no link: what it links to is no menu."""
    if node.tag not in {"td", "th", "dd", "dt"} or len(node.text_content()) > _SHORT:
        return False
    beside = [one for one in (node.getprevious(), node.getnext()) if one is not None]
    return any(one.tag in {"th", "dt"} or one.find(".//a") is None for one in beside)


def _blocks(root: Any) -> list[_Block]:
    from lxml import etree

    blocks = [_Block()]
    links = 0
    cell = None
    for event, node in etree.iterwalk(root, events=("start", "end")):
        begins = event == "start"
        if begins and cell is None and _is_told(node):
            cell = node
        elif node is cell:
            cell = None
        if node.tag in _BLOCKS or node.tag in _HEADINGS:
            blocks.append(_Block(_HEADINGS.get(node.tag, 0) if begins else 0, told=cell is not None))
        links += (1 if begins else -1) * (node.tag == "a")
        if begins or node is not root:
            blocks[-1].add((node.text if begins else node.tail) or "", linked=links > 0)
    return [block for block in blocks if block.text.strip()]


def _html_pieces(blocks: list[_Block], reading: Reading) -> Iterator[Piece]:
    """The blocks of each section together."""
    headings = Headings(reading)
    held: list[_Block] = []
    for block in blocks:
        if block.level:
            yield from _joined(held, headings.section)
            held = []
            headings.enter(block.level, _flat(block.text))
        elif not block.is_menu:
            held.append(block)
    yield from _joined(held, headings.section)


def _joined(blocks: list[_Block], section: str) -> Iterator[Piece]:
    marks: list[tuple[int, int]] = []
    size = 0
    for block in blocks:
        marks += [(size + at, file) for at, file in block.marks]
        size += block.size + 1
    if blocks:
        yield Piece(section, "\n".join(block.text for block in blocks), marks[0][1] if marks else 0, tuple(marks))


def _flat(text: str) -> str:
    return " ".join(text.split())


# ---- PDF ----------------------------------------------------------------------------------------------------------

_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n([^\W\d_])")
_LONGEST_PDF_TITLE = 200
_PAGES_NAMED = 10


def read_pdf(path: Path, _encoding: str | None) -> Reading:
    """A PDF file, which says itself how it is encoded. Offsets count the characters of its pages' texts, one after the other.

    Raises:
        UnreadableError: pypdf is not installed, or the file is damaged, encrypted, or holds pictures of text only.
    """
    try:
        import pypdf
        from pypdf.errors import DependencyError
    except ImportError:
        raise UnreadableError("PDF files need pypdf: pip install 'thinkgraph[documents]'") from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        _check_size(path, MOST_BYTES)
        reader = pypdf.PdfReader(path)
        locked = reader.is_encrypted and not reader.decrypt("")
        title = "" if locked else _title(reader) or name_title(path)
    except DependencyError:
        raise UnreadableError("is encrypted with AES: pip install 'pypdf[crypto]' to read it") from None
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from None
    except NotImplementedError as error:
        raise UnreadableError(f"cannot be read: {_words(error)}") from None
    except UnreadableError:
        raise
    except Exception as error:  # noqa: BLE001 - damaged files fail in as many ways as there are
        raise UnreadableError(f"is a damaged PDF file ({_words(error)})") from None
    if locked:
        raise UnreadableError("is encrypted; take the password off first")
    reading = Reading(title=title, clean=_unbroken)
    reading.pieces = _pages(reader, reading.left_out)
    return reading


def _unbroken(text: str) -> str:
    """Without the hyphens at line ends, but for those before a capital, which belong to a name ("Guinea-Bissau")."""
    return _HYPHEN.sub(lambda found: found[1] if found[1].islower() else f"-{found[1]}", text)


def _title(reader: PdfReader) -> str:
    title = _flat(str((reader.metadata and reader.metadata.title) or ""))
    # Word processors write the file's name there, libraries that there is none.
    named = len(title) > _LONGEST_PDF_TITLE or re.search(r"\.\w{2,4}$|^untitled|^\(anonymous\)$", title, re.IGNORECASE)
    return "" if named else title


def _pages(reader: PdfReader, left_out: list[str]) -> Iterator[Piece]:
    start, found = 0, False
    pictures: list[int] = []
    damaged: dict[int, str] = {}
    for number in range(1, _number_of_pages(reader) + 1):
        try:
            page = reader.pages[number - 1]
            text = page.extract_text()
            if any(c.isalnum() for c in text):
                found = True
            elif len(page.images):
                pictures.append(number)
        except Exception as error:  # noqa: BLE001 - damaged pages fail in as many ways as there are
            damaged[number] = _words(error)
            continue
        yield Piece(f"page {number}", text, start)
        start += len(text)
    why = next(iter(damaged.values()), "")
    if damaged and not found:
        raise UnreadableError(f"is a damaged PDF file (page {min(damaged)}: {why})")
    if not found:
        raise UnreadableError("holds no text (a scan?); run OCR over it first")
    if damaged:
        left_out.append(f"has damaged pages ({_numbers([*damaged])}: {why}); write it anew")
    if pictures:
        left_out.append(f"has pages of pictures without text ({_numbers(pictures)}; a scan?); run OCR over them")


def _number_of_pages(reader: PdfReader) -> int:
    try:
        return len(reader.pages)
    except Exception as error:  # noqa: BLE001 - as above
        raise UnreadableError(f"is a damaged PDF file ({_words(error)})") from None


def _numbers(pages: list[int]) -> str:
    return ", ".join(map(str, pages[:_PAGES_NAMED])) + ", …" * (len(pages) > _PAGES_NAMED)


def _words(error: BaseException) -> str:
    return _flat(str(error))[:80] or type(error).__name__
