"""How much of a response is read: whoever sends it need not come to an end."""

from __future__ import annotations

import contextlib
from typing import Any, Final

LONGEST_RESPONSE: Final = 64_000_000
"""Bytes: `LONGEST_REPLY` characters, each in an event of its own."""
LONGEST_REFUSAL: Final = 256_000
"""Bytes that are read of a response that is no success."""


class Lines:
    """The lines of a body that comes in pieces.

    `response.iter_lines` would wait for the end of a line, however long it is.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._size = 0

    def add(self, piece: bytes) -> list[str]:
        """The lines that a piece ends.

        Raises:
            ConnectionError: the body is longer than any reply.
        """
        self._size += len(piece)
        if self._size > LONGEST_RESPONSE:
            raise ConnectionError(f"the response is longer than {LONGEST_RESPONSE:,} bytes")
        ended, *more = piece.split(b"\n")
        self._rest.append(ended)
        if not more:
            return []
        lines = [b"".join(self._rest), *more[:-1]]
        self._rest = more[-1:]
        return [line.decode("utf-8", "replace").rstrip("\r") for line in lines]

    def last(self) -> str:
        """What follows the last line's end."""
        return b"".join(self._rest).decode("utf-8", "replace")


def shorten_refusal(response: Any) -> None:
    """An event hook of an HTTP client (httpx, or the fork of it that the SDK brings): keeps the beginning of a refusal.

    The SDK would read the whole of it into memory.
    """
    if not response.is_success:
        kept = bytearray()
        with contextlib.closing(response.stream) as stream:
            for piece in stream:
                kept += piece
                if len(kept) > LONGEST_REFUSAL:
                    break
        _replace(response, kept)


async def ashorten_refusal(response: Any) -> None:
    """As `shorten_refusal`."""
    if not response.is_success:
        kept = bytearray()
        async with contextlib.aclosing(response.stream) as stream:
            async for piece in stream:
                kept += piece
                if len(kept) > LONGEST_REFUSAL:
                    break
        _replace(response, kept)


def _replace(response: Any, kept: bytearray) -> None:
    response.stream = type(response)(response.status_code, content=bytes(kept[:LONGEST_REFUSAL])).stream
