from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.passages import build_text
from thinkgraph.testing.conformance.text import sample_passages
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.progress import no_progress
from thinkgraph.tools.sqlite.text import SqliteTextStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from thinkgraph.state.knowledge import Passage, TextInfo


def passage(number: int, text: str = "") -> Passage:
    return {
        "id": f"p{number}",
        "entities": [f"e{number % 7}"],
        "title": f"Title {number}",
        "section": "",
        "text": text or f"text number {number}",
    }


def build(path: Path, passages: Iterable[Passage], embedder: HashEmbedder | None = None) -> TextInfo:
    return build_text(path, passages, embedder=(embedder or HashEmbedder()).name, progress=no_progress)


def test_counts_and_progress(tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    info = build_text(
        tmp_path / "kb" / "text.sqlite",
        (passage(i) for i in range(600)),
        embedder=HashEmbedder().name,
        progress=lambda *news: told.append(news),
        total=600,
    )
    assert info["name"] == "kb"
    assert (info["passages"], info["entities"]) == (600, 7)
    assert told[0] == ("text", 0, 600)
    assert told[-1] == ("text", 600, 600)
    assert os.listdir(tmp_path / "kb") == ["text.sqlite"]  # noqa: PTH208 - names suffice


def test_a_build_that_is_cut_off_leaves_the_old_store(tmp_path: Path) -> None:
    path = tmp_path / "text.sqlite"
    before = build(path, [passage(i) for i in range(300)])

    def dying() -> Iterator[Passage]:
        yield from (passage(i) for i in range(700))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(path, dying())
    with SqliteTextStore(path, HashEmbedder()) as store:
        assert store.info() == {**before, "name": tmp_path.name}
    after = build(path, (passage(i) for i in range(1000)))
    assert after == build(tmp_path / "other.sqlite", (passage(i) for i in range(1000)))


def test_a_change_changes_the_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "text.sqlite"
    first = build(path, [passage(i) for i in range(300)])
    assert build(path, [passage(i) for i in range(300)]) == first
    changed = [passage(i, "changed" if i == 5 else "") for i in range(300)]
    second = build(path, changed)
    relinked: list[Passage] = [{**p, "entities": ["other"]} for p in changed]
    third = build(path, relinked)
    assert third["entities"] == 1
    assert len({first["fingerprint"], second["fingerprint"], third["fingerprint"]}) == 3


def test_readers_see_the_old_store_until_the_new_is_done(tmp_path: Path) -> None:
    path = tmp_path / "text.sqlite"
    build(path, [passage(0)])

    def looking() -> Iterator[Passage]:
        for i in range(1, 600):
            yield passage(i)
        with SqliteTextStore(path, HashEmbedder()) as store:
            assert store.info()["passages"] == 1

    assert build(path, looking())["passages"] == 599
    with SqliteTextStore(path, HashEmbedder()) as store:
        assert store.passages(["p0", "p1"])[0] is None


def test_fingerprint_is_of_the_content_and_the_embedder(tmp_path: Path) -> None:
    there = build(tmp_path / "a.sqlite", sample_passages())
    back = build(tmp_path / "b.sqlite", reversed(sample_passages()))
    other = build(tmp_path / "c.sqlite", sample_passages(), HashEmbedder(64))
    assert there["fingerprint"] == back["fingerprint"] != other["fingerprint"]


def test_one_id_twice(tmp_path: Path) -> None:
    for other in ([passage(1), passage(1, "other")], [*[passage(i) for i in range(600)], passage(1, "other")]):
        with pytest.raises(KnowledgeError, match="cannot write"):
            build(tmp_path / "new.sqlite", other)


def test_nothing_to_build(tmp_path: Path) -> None:
    info = build(tmp_path / "text.sqlite", [])
    assert (info["passages"], info["entities"]) == (0, 0)
    with SqliteTextStore(tmp_path / "text.sqlite", HashEmbedder()) as store:
        assert store.search(["a"]) == [[]]
        assert store.passages_of(["a"], "b") == []


def test_unwritable_and_damaged(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(KnowledgeError, match="cannot write"):
        build(tmp_path / "file" / "text.sqlite", [])
    damaged = tmp_path / "text.sqlite"
    damaged.write_bytes(b"not a database at all" * 100)
    with pytest.raises(KnowledgeError, match="kb build"):
        SqliteTextStore(damaged, HashEmbedder())
    assert build(damaged, [passage(1)])["passages"] == 1
    with closing(sqlite3.connect(damaged)) as connection:
        connection.execute("UPDATE meta SET value = '0' WHERE key = 'format'")
        connection.commit()
    with pytest.raises(KnowledgeError, match="format 0"):
        SqliteTextStore(damaged, HashEmbedder())
    assert build(damaged, [passage(1)])["passages"] == 1
