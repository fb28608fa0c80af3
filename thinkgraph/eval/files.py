"""Question files as they come: packed or not, with or without a mark of their byte order, cut off, damaged, no text at all."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from thinkgraph.errors import UsageError


def read_text(path: Path) -> str:
    """A file's text, unpacked where its name ends in .gz.

    Raises:
        UsageError: it cannot be read, is damaged or is not UTF-8.
    """
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}, line {line}: not UTF-8 text (byte {error.start})") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UsageError(f"{path}: a damaged gzip file ({error}); fetch it again") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from None


def lines_of(path: Path) -> Iterator[tuple[int, str]]:
    """Number (from 1) and text of each line that is not blank.

    Raises:
        UsageError: as `read_text`.
    """
    # Not splitlines(): a text may hold U+2028 and the like.
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield number, line.rstrip("\r")


def parsed(text: str) -> Any:
    """JSON as Python.

    Raises:
        ValueError: it is no JSON, or nested too deep.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def json_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Place ("FILE, line N") and object of each line of a JSON Lines file.

    Raises:
        UsageError: as `read_text`, or a line is no JSON object.
    """
    for number, line in lines_of(path):
        where = f"{path}, line {number}"
        try:
            value = parsed(line)
        except ValueError as error:
            raise UsageError(f"{where}: not a whole JSON object ({error}); is the file cut off?") from None
        if not isinstance(value, dict):
            raise UsageError(f"{where}: not a JSON object")
        yield where, value
