"""Opens input files: plain or gzip, UTF-8, line by line, with one clear error for what cannot be read."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Literal, cast

import numpy as np

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.readers.rejects import Rejects

Format = Literal["tsv", "csv", "semicolons", "pipe", "jsonl", "quoted-tsv"]

_SUFFIXES: dict[str, Format] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".psv": "pipe",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
SIGNS: dict[Format, str] = {"tsv": "\t", "pipe": "|"}
"""What parts the cells where no cell is quoted."""
_DELIMITERS: dict[Format, str] = {"csv": ",", "semicolons": ";", "quoted-tsv": "\t"}
_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
_SAMPLE_LINES = 200
_BLOCK = 1 << 21
_BAD_SHARE = 0.1
_QUOTED_SHARE = 0.9
_WIDE_SHARE = 0.25
"""Of UTF-16's bytes in a line of Latin letters half are zero; of other files, few."""
LINE_LIMIT = 64 * 1024 * 1024
_MAY_BE_SPACE = np.isin(
    np.arange(256), [byte for at in range(0x3001) if chr(at).isspace() for byte in chr(at).encode()]
)
"""By byte, whether white space can begin or end with it."""
_RDF = re.compile(
    r"\s*(?:@(?:prefix|base)\s|(?i:prefix\s+[\w.-]*:\s*<|base\s*<)|<[^<>\s]+>\s+<[^<>\s]+>\s+"
    r'(?:<[^<>\s]+>|_:\S+|".*"\S*)(?:\s+(?:<[^<>\s]+>|_:\S+))?\s*\.\s*$)'
)
"""A line that only Turtle and its kin have. Commas, bars and tabs stand in them too, and are no cells' ends."""
_JSON = json.JSONDecoder(parse_constant=lambda _: None)
"""NaN and Infinity, which are no JSON, stand where a table has a blank cell."""
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@contextmanager
def open_binary(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file behind its byte order mark, unpacked if its name ends in `.gz` or `.bz2`.

    Raises:
        KnowledgeError: whatever goes wrong.
    """
    if path.is_dir():
        raise KnowledgeError(f"{path} is a folder; name a file")
    try:
        with _OPENERS.get(path.suffix.lower(), Path.open)(path, "rb") as stream:
            if stream.peek(len(codecs.BOM_UTF8)).startswith(codecs.BOM_UTF8):
                stream.read(len(codecs.BOM_UTF8))
            yield cast("IO[bytes]", stream)
    except FileNotFoundError:
        raise KnowledgeError(f"there is no file {path}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        kind = "bzip2" if path.suffix.lower() == ".bz2" else "gzip"
        raise KnowledgeError(f"{path} is a damaged {kind} file ({error}); fetch or pack it again") from None
    except OSError as error:
        raise KnowledgeError(f"{path} cannot be read: {error.strerror or error}") from None


def is_packed(path: Path) -> bool:
    """Whether `open_binary` unpacks a file, by its name."""
    return path.suffix.lower() in _OPENERS


def suffix_of(path: Path) -> str:
    """What a file's name ends in, in lower case (".json"), but for the `.gz` or `.bz2` of a packed one."""
    return (path.with_suffix("") if is_packed(path) else path).suffix.lower()


def read_lines(path: Path, rejects: Rejects, *, blank: bool = False) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each line, with `blank` the blank ones too; undecodable lines become rejects."""
    with open_binary(path) as stream:
        for first, block in read_blocks(stream):
            yield from numbered_lines(path, first, block, rejects, blank=blank)


def read_blocks(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The number of a line, and it with as many more as fit into a block; what is longer than a line may be is cut."""
    first = 1
    while block := stream.read(_BLOCK):
        block += stream.readline(LINE_LIMIT)
        yield first, block
        first += block.count(b"\n")


def numbered_lines(
    path: Path, first: int, block: bytes, rejects: Rejects, *, blank: bool = False
) -> Iterator[tuple[int, str]]:
    """Number and text of each line of a block, as `read_lines` gives them."""
    for number, raw in enumerate(BytesIO(block), first):
        if len(raw) >= LINE_LIMIT:
            raise _too_long(path, number)
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            rejects.add(path, number, f"not UTF-8 ({error.reason} at byte {error.start + 1})")
            continue
        if "\0" in line:
            rejects.add(path, number, "contains a NUL character")
        elif blank or not line.isspace():
            yield number, line.rstrip("\r\n")


def _too_long(path: Path, number: int) -> KnowledgeError:
    return KnowledgeError(f"{path.name}, line {number}: longer than {LINE_LIMIT >> 20} MiB; is this a file of lines?")


def plain_cells(block: bytes, sign: str, columns: int) -> list[str] | None:
    """The cells of all lines in a block, one after another; None unless every line has so many, and none is empty."""
    codes = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero((codes == ord(sign)) | (codes == ord("\n")))
    row = [ord(sign)] * (columns - 1) + [ord("\n")]
    if len(ends) % columns or (codes[ends].reshape(-1, columns) != row).any() or not block.endswith(b"\n"):
        return None
    if len(block) >= LINE_LIMIT or b"\0" in block or (np.diff(ends, prepend=-1) == 1).any():
        return None
    try:
        cells = block[:-1].decode("utf-8").replace("\n", sign).split(sign)
    except UnicodeDecodeError:
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    for at in np.flatnonzero(_MAY_BE_SPACE[codes[starts]] | _MAY_BE_SPACE[codes[ends - 1]]).tolist():
        cells[at] = cells[at].strip()
        if not cells[at]:
            return None
    return cells


def sample_of(path: Path) -> list[str]:
    """The first lines of a file; raises `KnowledgeError` if it is missing, empty or not UTF-8 text."""
    lines: list[str] = []
    bad = size = 0
    with open_binary(path) as stream:
        for number in range(_SAMPLE_LINES):
            raw = stream.readline(LINE_LIMIT)
            size += len(raw)
            if not raw or (number and size > LINE_LIMIT):
                break
            if len(raw) >= LINE_LIMIT:
                raise _too_long(path, number + 1)
            if number == 0:
                _check_narrow(path, raw)
            try:
                line = raw.decode("utf-8")
            except UnicodeDecodeError:
                bad += 1
                continue
            if line.strip():
                lines.append(line.rstrip("\r\n"))
    if bad and bad > _BAD_SHARE * (bad + len(lines)):
        raise KnowledgeError(f"{path} is not UTF-8 text; convert it (iconv -t UTF-8) or unpack it first")
    if not lines:
        raise KnowledgeError(f"{path} is empty")
    if len(lines) == 1 and "\r" in lines[0]:
        raise KnowledgeError(f"{path} ends its lines with a CR alone; convert it (tr '\\r' '\\n')")
    return lines


def _check_narrow(path: Path, raw: bytes) -> None:
    """Refuse a file whose first line is UTF-16, with a byte order mark or without, or a zip archive's."""
    if raw.startswith(b"PK\x03\x04"):
        raise KnowledgeError(f"{path} is a zip archive; unpack it, or save a spreadsheet as CSV")
    if raw.startswith(_UTF16):
        raise KnowledgeError(f"{path} is UTF-16; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)")
    if raw.count(b"\0") > _WIDE_SHARE * len(raw):
        kind = "UTF-16BE" if raw.startswith(b"\0") else "UTF-16LE"
        raise KnowledgeError(f"{path} holds NUL characters, as UTF-16 does; convert it (iconv -f {kind} -t UTF-8)")


def format_of(path: Path, *, columns: int = 3) -> Format:
    """The format by the file's extension, or by its first lines where the extension says nothing or is wrong."""
    sample = sample_of(path)
    named = _SUFFIXES.get(suffix_of(path))
    first = sample[0].lstrip()
    if first.startswith("[") and named == "jsonl":
        raise KnowledgeError(f"{path} is one JSON array; write one object a line (jq -c '.[]')")
    if first.strip() == "{" and sample[1:] and sample[1].lstrip().startswith('"'):
        raise KnowledgeError(
            f"{path} is JSON over several lines; write one object a line (jq -c), or name JSON-LD .jsonld"
        )
    if first.startswith("{") or named == "jsonl":
        return "jsonl"
    if named == "csv":
        return _csv_of(sample, columns)
    if named is None and any(map(_RDF.match, sample)):
        raise KnowledgeError(f"{path} is RDF; name it by its kind (.nt, .ttl, .nq, .trig)")
    widest = {sign: max(line.count(sign) for line in sample) for sign in "\t|,"}
    if named == "tsv" or (named is None and widest["\t"] >= columns - 1):
        if widest["\t"] < columns - 1 <= widest["|"]:
            return "pipe"
        quoted = sum(line.startswith('"') and '"\t"' in line for line in sample)
        return "quoted-tsv" if quoted >= _QUOTED_SHARE * len(sample) else "tsv"
    if named == "pipe" or widest["|"] >= columns - 1:
        return "pipe"
    if widest[","] >= columns - 1:
        return "csv"
    raise KnowledgeError(
        f"{path} has no format that is known: write tab-separated lines, CSV, JSON Lines or subject|relation|object, "
        "or name RDF by its kind (.nt, .ttl, .rdf, .nq)"
    )


def _csv_of(sample: list[str], columns: int) -> Format:
    """What parts the cells of a CSV file. Where the comma is the decimal sign, spreadsheets write semicolons; some write tabs."""
    fits: dict[Format, int] = {
        form: sum(line.count(sign) >= columns - 1 for line in sample)
        for form, sign in _DELIMITERS.items()
        if form == "csv" or sample[0].count(sign) >= columns - 1
    }
    # A tab stands in few cells, a comma in many.
    return max(("quoted-tsv", "csv", "semicolons"), key=lambda form: fits.get(form, -1))


def read_cells(path: Path, form: Format, rejects: Rejects) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row of a TSV, CSV or pipe file (JSON Lines: see `read_objects`)."""
    # A quoted cell may have blank lines.
    return cells_of(read_lines(path, rejects, blank=form in _DELIMITERS), path, form, rejects)


def cells_of(
    lines: Iterable[tuple[int, str]], path: Path, form: Format, rejects: Rejects
) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of each row in lines of a TSV, CSV or pipe file."""
    if sign := SIGNS.get(form):
        for number, line in lines:
            yield number, line.split(sign)
        return
    first = last = 0
    row: list[str] = []

    def feed() -> Iterator[str]:
        nonlocal first, last
        for last, raw in lines:
            first = first or last
            row.append(raw + "\n")
            yield row[-1]

    reader = csv.reader(feed(), delimiter=_DELIMITERS[form])
    while True:
        first = 0
        row.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            # A quote left open takes line after line, up to the longest cell.
            lost = f"; lines {first} to {last} are not used" if last > first else ""
            long = f"a cell is longer than {csv.field_size_limit():,} characters, which JSON Lines may have"
            fault = long if "limit" in str(error) else error
            rejects.add(path, first, f"bad CSV: {fault} (is a quote left open?){lost}")
            continue
        # The reader ends a quote that is left open at the next one or at the file's end, and takes all lines to there for one cell.
        if last > first and not _closed(row, _DELIMITERS[form]):
            rejects.add(path, first, f"a quote is opened and not closed; lines {first} to {last} are not used")
        elif len(cells) > 1 or any(map(str.strip, cells)):
            yield last, cells


def _closed(row: Iterable[str], delimiter: str) -> bool:
    """Whether each quote in the lines of a row ends where a cell does."""
    try:
        next(csv.reader(row, delimiter=delimiter, strict=True))
    except csv.Error:
        return False
    return True


def storable_text(value: object) -> str:
    """A text out of JSON; "" for anything else, and for what no store takes."""
    if not isinstance(value, str) or "\0" in value:
        return ""
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, written as an escape
        return ""
    return value


def read_objects(path: Path, rejects: Rejects) -> Iterator[tuple[int, dict[str, object]]]:
    """Line number and object of each line of a JSON Lines file."""
    for number, line in read_lines(path, rejects):
        try:
            value = _JSON.decode(line)
        except (ValueError, RecursionError) as error:
            rejects.add(path, number, f"bad JSON: {error}")
            continue
        if isinstance(value, dict):
            yield number, value
        else:
            rejects.add(path, number, "not a JSON object")
