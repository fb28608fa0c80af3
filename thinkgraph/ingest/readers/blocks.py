"""Reads files of triples by blocks: what is written plainly as arrays, anything else row by row, with the same result.

A block is plain if it is UTF-8 without control characters, every line has the same number of cells, and subject,
relation and object need no more than spaces taken off. That is nearly all of nearly every large file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from thinkgraph.ingest.readers.files import ColumnLayout, Qualifiers, TripleRow, read_triples, triples_in
from thinkgraph.ingest.readers.lines import (
    LINE_LIMIT,
    Format,
    cells_of,
    decoded,
    format_of,
    line_too_long,
    open_binary,
    sample_of,
)
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.ingest.readers.spans import Hashes, Offsets, cut, hashes, words_of

BLOCK_BYTES = 4 << 20
"""Read at a time; its arrays take some ten times as much."""
BATCH_ROWS = 100_000
"""Rows handed on at a time by the reader that goes row by row."""

_SIGNS: dict[Format, int] = {"tsv": ord("\t"), "pipe": ord("|"), "csv": ord(",")}
_NEWLINE, _SPACE, _QUOTE, _CONTROLS = ord("\n"), ord(" "), ord('"'), 32
# White space beyond ASCII that `str.strip` takes off, by its two or three bytes in UTF-8.
_WIDE_2 = np.array([0xC285, 0xC2A0], np.int32)
_WIDE_3 = np.array([int(chr(c).encode().hex(), 16) for c in (0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)], np.int32)  # fmt: skip


class Plain(NamedTuple):
    """The rows of a plain block."""

    data: bytes
    starts: Offsets
    """Where subject, relation and object start in `data`, shape (rows, 3)."""
    ends: Offsets
    hashes: Hashes
    extras: list[tuple[Qualifiers, bool]]
    """What the other columns say, each once, by first appearance: qualifiers, and whether the object is a literal."""
    extra: npt.NDArray[np.int64] | None
    """Which of `extras` holds for each row; None where there are no other columns."""


Batch: TypeAlias = Plain | list[TripleRow]


class _Block(NamedTuple):
    line: int
    """Number of its first line."""
    data: bytes
    """Whole lines."""


def read_batches(path: Path, rejects: Rejects) -> Iterator[Batch]:
    """The rows of one file of triples, as `read_triples` gives them, many at a time. A thread reads ahead.

    Raises:
        KnowledgeError: the file is missing, empty, not UTF-8, damaged or of no known format.
    """
    form = format_of(path, sample_of(path))
    if form not in _SIGNS:
        rows = read_triples(path, rejects)
        while batch := list(islice(rows, BATCH_ROWS)):
            yield batch
        return
    layout = ColumnLayout.of(path, form)
    headed = layout.headed
    with open_binary(path) as stream, ThreadPoolExecutor(1) as pool:
        blocks = _ahead(pool, _blocks(path, stream), form, layout)
        for block, plain in blocks:
            if plain is not None and not headed:
                yield plain
                continue
            # A quote may open a cell that goes on beyond the block: from here on the file is one.
            open_ended = form == "csv" and b'"' in block.data
            rest = chain((block,), (later for later, _ in blocks)) if open_ended else (block,)
            cells = cells_of(decoded(path, _lines(rest), rejects), path, form, rejects)
            if headed:
                headed = next(cells, None) is None
            triples = triples_in(cells, layout, path, rejects)
            while batch := list(islice(triples, BATCH_ROWS)):
                yield batch


def _ahead(
    pool: ThreadPoolExecutor, blocks: Iterator[_Block], form: Format, layout: ColumnLayout
) -> Iterator[tuple[_Block, Plain | None]]:
    """The blocks as they are and, where they are plain, as arrays; one more is prepared while one is used."""

    def prepare() -> tuple[_Block, Plain | None] | None:
        block = next(blocks, None)
        return None if block is None else (block, plain_rows(block.data, form, layout) if block.line > 1 else None)

    future: Future[tuple[_Block, Plain | None] | None] = pool.submit(prepare)
    while (found := future.result()) is not None:
        future = pool.submit(prepare)
        yield found


def _blocks(path: Path, stream: IO[bytes]) -> Iterator[_Block]:
    """The first line, which may be a header or begin with a mark, and then blocks of whole lines."""
    rest, line = stream.readline(LINE_LIMIT), 1
    if len(rest) >= LINE_LIMIT:
        raise line_too_long(path, line)
    yield _Block(line, rest)
    rest, line = b"", 2
    while more := stream.read(BLOCK_BYTES):
        first = more.find(b"\n") + 1
        if len(rest) + (first or len(more)) >= LINE_LIMIT:
            raise line_too_long(path, line)
        end = more.rfind(b"\n") + 1
        if not end:
            rest += more
            continue
        block = _Block(line, rest + more[:end])
        rest, line = more[end:], line + block.data.count(b"\n")
        yield block
    if rest:
        yield _Block(line, rest)


def _lines(blocks: Iterable[_Block]) -> Iterator[tuple[int, bytes]]:
    for block in blocks:
        yield from enumerate(io.BytesIO(block.data), block.line)


def plain_rows(data: bytes, form: Format, layout: ColumnLayout) -> Plain | None:
    """The rows of whole lines, or None if they are not plain (see the module)."""
    if form == "csv" and b'"' in data:
        return None
    if not data.endswith(b"\n"):
        data += b"\n"
    octets = np.frombuffer(data, np.uint8)
    grid = _grid(octets, _SIGNS[form])
    if grid is None or grid[0].shape[1] < layout.needed:
        return None
    starts, ends = grid
    if form == "csv" and int((ends - starts).max()) > csv.field_size_limit():
        return None
    named = [layout.subject, layout.relation, layout.object]
    cells = _stripped(data, octets, starts[:, named], ends[:, named])
    if cells is None or (octets[cells[0][:, 2]] == _QUOTE).any():
        return None
    words = words_of(data)
    found = hashes(words, cells[0].reshape(-1), cells[1].reshape(-1)).reshape(-1, 3)
    others = [column for column in range(starts.shape[1]) if column not in named]
    if not others:
        return Plain(data, *cells, found, [], None)
    extra = np.zeros(len(starts), np.uint64)
    for column in others:
        # Multiplied in between, so that the same cells in other columns give another sum.
        extra = extra * np.uint64(0x9E3779B97F4A7C15) + hashes(words, starts[:, column], ends[:, column])
    _, first, which = np.unique(extra, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    extras = []
    for raw in cut(data, starts[first[order], 0], ends[first[order], -1]):
        row = raw.decode().split(chr(_SIGNS[form]))
        extras.append((layout.qualifiers(row), layout.marked(row)))
    return Plain(data, *cells, found, extras, place[which.reshape(-1)])


def _grid(octets: npt.NDArray[np.uint8], sign: int) -> tuple[Offsets, Offsets] | None:
    """Where each cell of whole lines starts and ends, shape (lines, cells); None if some line has more or fewer than
    the first, or there is a control character.
    """
    special = octets < _CONTROLS
    if sign >= _CONTROLS:
        special |= octets == sign
    places = np.flatnonzero(special)
    columns = int(np.argmax(octets[places] == _NEWLINE)) + 1
    if len(places) % columns:
        return None
    ends = places.reshape(-1, columns)
    if not (octets[ends] == np.array([sign] * (columns - 1) + [_NEWLINE], np.uint8)).all():
        return None
    return np.concatenate(([0], places[:-1] + 1)).reshape(-1, columns), ends


def _stripped(
    data: bytes, octets: npt.NDArray[np.uint8], starts: Offsets, ends: Offsets
) -> tuple[Offsets, Offsets] | None:
    """The cells without the spaces around them; None if one is empty, is no UTF-8 or has other white space there."""
    if (starts >= ends).any():
        return None
    starts, ends = starts.reshape(-1), ends.reshape(-1)
    padded = np.flatnonzero(octets[starts] == _SPACE)
    while len(padded):
        starts[padded] += 1
        padded = padded[octets[starts[padded]] == _SPACE]
    # Now no cell but an empty one can lose its first character to its end.
    padded = np.flatnonzero((octets[ends - 1] == _SPACE) & (starts < ends))
    while len(padded):
        ends[padded] -= 1
        padded = padded[octets[ends[padded] - 1] == _SPACE]
    if (starts >= ends).any():
        return None
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError:
            return None
        wide = np.concatenate((starts[octets[starts] > 0x7F], ends[octets[ends - 1] > 0x7F] - 3))  # noqa: PLR2004
        # Three bytes from where the cell starts, and the three before its end: all are inside the block, since a
        # character beyond ASCII is followed by a line's end, and preceded by a byte unless it is the first one.
        wide = np.maximum(wide, 0)
        three = octets[wide].astype(np.int32) << 16 | octets[wide + 1].astype(np.int32) << 8
        three |= octets[np.minimum(wide + 2, len(octets) - 1)]
        if (
            np.isin(three, _WIDE_3).any()
            or np.isin(three >> 8, _WIDE_2).any()
            or np.isin(three & 0xFFFF, _WIDE_2).any()
        ):
            return None
    return starts.reshape(-1, 3), ends.reshape(-1, 3)
