"""Decides which objects are literal values, relation by relation and file by file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thinkgraph.ingest.readers.spans import hashes, joined, words_of
from thinkgraph.ingest.writers.intern import Ints
from thinkgraph.ingest.writers.loader import Flags, Loaded, part
from thinkgraph.ingest.writers.runs import RowFile
from thinkgraph.tools.values import value_kind

VALUE_SHARE = 0.95
"""Share of a relation's objects that must look like values."""
OPEN_SHARE = 0.8
"""Share of those values that must never be a subject: where years have facts of their own, they are things."""

# How a value can begin, month, truth value or currency: a look at this saves most names the full look.
_BEGINNING = re.compile(
    r"[-+.\u2212$€£¥\s\d]|[A-Z]{3}\s|jan|feb|ma[ry]|apr|ju[nl]|aug|sep|oct|nov|dec|true|false|yes|no", re.IGNORECASE
)


class Literals(NamedTuple):
    """What became of the nodes of a graph."""

    literal: Flags
    """By node, whether it is a literal."""
    rows: Flags | None
    """Rows whose object changes; None if there are none."""
    twin: Ints
    """By node, the node that the object of such a row becomes: itself where it is nothing but a value."""
    added: int
    """Literals made of the keys of entities; they are numbered after all nodes, their keys are in the file `twins`."""
    dropped: Flags
    """By node, whether nothing mentions it any more."""
    relations: list[int]
    """Relations whose values were found to be literals."""


def find_literals(loaded: Loaded, *, detect: bool) -> Literals:
    """Decide which nodes of a load are literals: those marked as such and, with `detect`, the values of relations that
    have little else.
    """
    marked, declared = loaded.flags()
    nothing = np.zeros(loaded.size, np.bool_)
    twin = np.arange(loaded.size, dtype=np.int32)
    value = _values(loaded, marked) if detect else nothing
    if not value.any():
        return Literals(marked, None, twin, 0, nothing, [])
    subject = np.zeros(loaded.size, np.bool_)
    highest = 0
    for chunk in loaded.rows.chunks():
        subject[chunk[:, 0]] = True
        highest = max(highest, int(chunk[:, 1].max()))
    open_value = value & ~subject & ~declared & ~marked
    mask, relations, thing = literal_rows(loaded.rows, loaded.state["files"], value, open_value, highest)
    becoming = np.zeros(loaded.size, np.bool_)
    at = 0
    for chunk in loaded.rows.chunks():
        becoming[chunk[mask[at : at + len(chunk)], 2]] = True
        at += len(chunk)
    if not becoming.any():
        return Literals(marked, None, twin, 0, nothing, [])
    other = _namesakes(loaded, marked, becoming)
    # A node that is only ever a value simply turns into a literal; one that is a thing elsewhere gets a twin.
    lone = becoming & ~thing
    literal = marked | (lone & (other == 0))
    fresh = becoming & thing & (other == 0)
    twin[other > 0] = other[other > 0]
    added = int(fresh.sum())
    twin[fresh] = np.arange(loaded.size, loaded.size + added, dtype=np.int32)
    with part(loaded.path, "twins").open("wb") as out:
        for first, keys in loaded.texts() if added else ():
            out.writelines(keys[i].encode() + b"\0" for i in np.flatnonzero(fresh[first : first + len(keys)]).tolist())
    return Literals(literal, mask, twin, added, lone & (other > 0), sorted(relations))


def _values(loaded: Loaded, marked: Flags) -> Flags:
    """By node, whether its key looks like a value and no file marks it."""
    found = np.zeros(loaded.size, np.bool_)
    begins = _BEGINNING.match
    for first, keys in loaded.texts():
        found[first : first + len(keys)] = [begins(key) is not None and value_kind(key) is not None for key in keys]
    return found & ~marked


def _namesakes(loaded: Loaded, marked: Flags, becoming: Flags) -> Ints:
    """By node that becomes a literal, the literal that a file marks and has the same key; 0 where there is none."""
    other = np.zeros(loaded.size, np.int32)
    if not marked.any():
        return other
    texts, nodes = [], []
    for first, keys in loaded.texts():
        chosen = np.flatnonzero((marked | becoming)[first : first + len(keys)])
        data, starts, ends = joined([keys[i] for i in chosen.tolist()])
        texts.append(hashes(words_of(data), starts, ends))
        nodes.append(chosen.astype(np.int32) + np.int32(first))
    text, node = np.concatenate(texts), np.concatenate(nodes)
    given = marked[node]
    order = np.argsort(text[given])
    known, literal = text[given][order], node[given][order]
    place = np.minimum(np.searchsorted(known, text[~given]), len(known) - 1)
    other[node[~given]] = np.where(known[place] == text[~given], literal[place], np.int32(0))
    return other


def literal_rows(
    rows: RowFile, files: Sequence[Sequence[int]], value: Flags, open_value: Flags, relations: int
) -> tuple[Flags, set[int], Flags]:
    """Which rows have a literal as object.

    Args:
        rows: rows (subject, relation, object, …).
        files: first and last (excluded) row of each file.
        value: by node, whether it looks like a value.
        open_value: by node, whether it may become a literal (a value that is no subject).
        relations: the highest number of a relation.

    Returns:
        A mask over the rows, the relations concerned, and by node whether it is used as a thing all the same.
    """
    mask = np.zeros(rows.rows, dtype=bool)
    thing = np.zeros(len(value), dtype=bool)
    concerned: set[int] = set()
    for start, stop in files:
        total, values, opened = (np.zeros(relations + 1, dtype=np.int64) for _ in range(3))
        for chunk in rows.chunks(start, stop):
            r, o = chunk[:, 1], chunk[:, 2]
            total += np.bincount(r, minlength=relations + 1)
            values += np.bincount(r[value[o]], minlength=relations + 1)
            opened += np.bincount(r[open_value[o]], minlength=relations + 1)
        chosen = (opened > 0) & (values >= VALUE_SHARE * total) & (opened >= OPEN_SHARE * values)
        concerned |= set(np.flatnonzero(chosen).tolist())
        at = start
        for chunk in rows.chunks(start, stop):
            found = chosen[chunk[:, 1]] & open_value[chunk[:, 2]]
            mask[at : at + len(chunk)] = found
            thing[chunk[:, 0]] = True
            thing[chunk[~found, 2]] = True
            at += len(chunk)
    return mask, concerned, thing
