"""Reads PDF files with pypdf, an optional package: page by page, each page a section."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from thinkgraph.ingest.documents.pieces import Piece, Reading, UnreadableError
from thinkgraph.ingest.documents.plain import name_title

if TYPE_CHECKING:
    from pypdf import PdfReader

_HYPHEN = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_])")
_LONGEST_TITLE = 200


def read_pdf(path: Path) -> Reading:
    """A PDF file. Offsets count the characters of its pages' texts, one after the other.

    Raises:
        UnreadableError: pypdf is not installed, or the file is damaged, encrypted, or holds pictures of text only.
    """
    try:
        import pypdf
        from pypdf.errors import PyPdfError
    except ImportError:
        raise UnreadableError("PDF files need pypdf: pip install 'thinkgraph[documents]'") from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = pypdf.PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableError("is encrypted; take the password off first")
        title = _title(reader) or name_title(path)
    except OSError as error:
        raise UnreadableError(f"cannot be read: {error.strerror or error}") from None
    except (PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise UnreadableError(f"is a damaged PDF file ({_words(error)})") from None
    return Reading(title=title, pieces=_pages(reader), clean=lambda text: _HYPHEN.sub("", text))


def _title(reader: PdfReader) -> str:
    title = " ".join(str((reader.metadata and reader.metadata.title) or "").split())
    # Word processors write the file's name there.
    return (
        title if len(title) <= _LONGEST_TITLE and not re.search(r"\.\w{2,4}$|^untitled", title, re.IGNORECASE) else ""
    )


def _pages(reader: PdfReader) -> Iterator[Piece]:
    start = 0
    found = False
    number = 0
    try:
        for number, page in enumerate(reader.pages, start=1):
            text = page.extract_text()
            found = found or any(c.isalnum() for c in text)
            yield Piece(f"page {number}", text, start)
            start += len(text)
    except Exception as error:  # noqa: BLE001 - damaged files fail in as many ways as there are
        raise UnreadableError(f"is a damaged PDF file (page {max(number, 1)}: {_words(error)})") from None
    if not found:
        raise UnreadableError("holds no text (a scan?); run OCR over it first")


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:80] or type(error).__name__
