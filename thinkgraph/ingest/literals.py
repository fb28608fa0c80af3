"""Decides which objects are literal values, relation by relation and file by file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from thinkgraph.ingest.runs import RowFile

Flags = npt.NDArray[np.bool_]

VALUE_SHARE = 0.95
"""Share of a relation's objects that must look like values."""
OPEN_SHARE = 0.8
"""Share of those values that must never be a subject: where years have facts of their own, they are things."""


def literal_rows(
    rows: RowFile, files: Sequence[tuple[int, int]], value: Flags, open_value: Flags, relations: int
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
