"""Many texts as spans of one buffer, hashed together: millions of cells without a Python object for each."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Hashes: TypeAlias = npt.NDArray[np.uint64]
Offsets: TypeAlias = npt.NDArray[np.int64]

_WORD = 8
_PADDING = bytes(3 * _WORD)
_U = np.uint64
_TAIL = np.array([(1 << (8 * kept)) - 1 for kept in range(_WORD)] + [2**64 - 1], dtype=_U)
_ONE, _ALL_BITS = _U(1), _U(63)
_FIRST, _SECOND, _LENGTH = _U(0xFF51AFD7ED558CCD), _U(0xC4CEB9FE1A85EC53), _U(0x9E3779B97F4A7C15)
_SECRET, _MARK = (_U(int.from_bytes(os.urandom(_WORD), "little")) for _ in range(2))


def words_of(data: bytes) -> Hashes:
    """The buffer as 64-bit words, for `hashes`."""
    return np.frombuffer(data + _PADDING[: 2 * _WORD + -len(data) % _WORD], "<u8").astype(_U, copy=False)


def hashes(words: Hashes, starts: Offsets, ends: Offsets) -> Hashes:
    """A 64-bit hash of each span, never 0.

    Each eight bytes are mixed in by MurmurHash3's finalizer, from a start that is another in every process: whoever
    writes a file cannot know which of its texts would meet, and natural ones meet with the chance of random numbers.
    """
    at, left = starts, ends - starts
    state = left.astype(_U) * _LENGTH ^ _SECRET
    open_: Offsets | None = None
    while True:
        place, shift = at >> 3, ((at & 7) << 3).astype(_U)
        # The word at any byte, from the two aligned ones it lies in (a shift by 64 is undefined, hence in two steps).
        word = (words[place] >> shift) | (words[place + 1] << (_ALL_BITS - shift)) << _ONE
        word &= _TAIL[np.minimum(left, _WORD)]
        if open_ is None:
            state = _mixed(state ^ word)
        else:
            state[open_] = _mixed(state[open_] ^ word)
        more = np.flatnonzero(left > _WORD)
        if not len(more):
            state[state == 0] = _ONE
            return state
        open_ = more if open_ is None else open_[more]
        at, left = at[more] + _WORD, left[more] - _WORD


def _mixed(state: Hashes) -> Hashes:
    state ^= state >> _U(33)
    state *= _FIRST
    state ^= state >> _U(29)
    state *= _SECOND
    state ^= state >> _U(32)
    return state


def mark(found: Hashes, marked: npt.NDArray[np.bool_]) -> Hashes:
    """The hashes, those that are marked changed: a marked text is another one than the same text unmarked."""
    changed: Hashes = found.copy()
    changed[marked] ^= _MARK
    changed[changed == 0] = _ONE
    return changed


def joined(texts: Sequence[str]) -> tuple[bytes, Offsets, Offsets]:
    """A buffer of all texts, and where each starts and ends in it."""
    encoded = [text.encode() for text in texts]
    ends = np.fromiter(accumulate(map(len, encoded)), np.int64, len(encoded))
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))[: len(ends)]
    return b"".join(encoded), starts, ends


def cut(data: bytes, starts: Offsets, ends: Offsets) -> list[bytes]:
    """The spans as bytes."""
    return [data[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
