"""A reader that takes too long is ended wherever it is; what is said of it is one line, and the other documents are read."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from thinkgraph.ingest.documents import pieces, sources
from thinkgraph.ingest.documents.build import DocumentsReport, build_documents
from thinkgraph.ingest.documents.pieces import Piece, Reading, ReadingTime, UnreadableError, cut
from thinkgraph.testing.embedder import HashEmbedder

SAID = "takes more than 0.3 s to read: is it a document?"


@pytest.fixture(autouse=True)
def little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "MOST_SECONDS", 0.3)
    monkeypatch.setattr(pieces, "_LOOK", 0.05)


def spin(seconds: float = 60.0) -> None:
    """Use the processor, and drop every error that is raised meanwhile, as libraries do."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        try:
            sum(range(1_000))
        except Exception:  # noqa: BLE001, S112 - what a library does
            continue


def slow_to_open(_path: Path, _encoding: str | None) -> Reading:
    spin()
    return Reading("late", pieces=iter([Piece("", "Late words of Nowhere.", 0)]))


def slow_piece(_path: Path, _encoding: str | None) -> Reading:
    def read() -> Iterator[Piece]:
        yield Piece("", "The first words, of Somewhere.", 0)
        spin()
        yield Piece("", "Late words of Nowhere.", 30)

    return Reading("slow", pieces=read())


def slow_to_clean(_path: Path, _encoding: str | None) -> Reading:
    def clean(text: str) -> str:
        spin()
        return text

    return Reading("unclean", pieces=iter([Piece("", "Words of Nowhere.", 0)]), clean=clean)


def many_pieces(_path: Path, _encoding: str | None) -> Reading:
    def read() -> Iterator[Piece]:
        for at in itertools.count():
            spin(0.01)
            yield Piece("", "" if at % 2 else "word", at)

    return Reading("endless", pieces=read())


def built(tmp_path: Path) -> DocumentsReport:
    docs = tmp_path / "docs"
    docs.mkdir(exist_ok=True)
    (docs / "a.txt").write_text("Ada Lovelace met Charles Babbage in London.\n")
    (docs / "b.pdf").write_bytes(b"%PDF")
    (docs / "c.txt").write_text("Charles Babbage was born in London.\n")
    return build_documents(tmp_path / "kb", [docs], embedder=HashEmbedder(64), index=False)


@pytest.mark.parametrize("reader", [slow_to_open, slow_piece, slow_to_clean, many_pieces])
def test_a_slow_reader_is_ended_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: Callable[[Path, str | None], Reading]
) -> None:
    monkeypatch.setitem(sources._READERS, ".pdf", reader)
    began = time.thread_time()
    report = built(tmp_path)
    assert time.thread_time() - began < 30
    assert (report.documents["documents"], report.documents["failed"]) == (2, 1)
    (said,) = report.build.examples
    assert (said["file"], said["reason"]) == ("docs/b.pdf", SAID)
    assert not [thread for thread in threading.enumerate() if "_watch" in thread.name], "nobody looks any more"


def test_every_document_has_its_own_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nearly(path: Path, encoding: str | None) -> Reading:
        spin(0.2)
        return read(path, encoding)

    read = sources._READERS[".txt"]
    monkeypatch.setitem(sources._READERS, ".txt", nearly)
    report = built(tmp_path)
    assert report.documents["documents"] == 2


def test_what_is_done_with_the_passages_meanwhile_is_not_the_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    with ReadingTime() as clock:
        found = cut(Reading(pieces=(Piece("", "word", at) for at in range(8))), 100, clock)
        for _ in range(8):
            assert next(found).text == "word"
            spin(0.1)
        silent = Reading(pieces=(Piece("", spin(0.02) or "", at) for at in range(1_000)))
        clock.begin()
        with pytest.raises(UnreadableError, match="to read: is it a document"):
            list(cut(silent, 100, clock))
        # Nothing is left behind that would end what comes next.
        spin(0.5)
