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
    return build_text(path, passages, embedder=embedder or HashEmbedder(), progress=no_progress)


def test_counts_and_progress(tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    info = build_text(
        tmp_path / "kb" / "text.sqlite",
        (passage(i) for i in range(600)),
        embedder=HashEmbedder(),
        progress=lambda *news: told.append(news),
        total=600,
    )
    assert info["name"] == "kb"
    assert (info["passages"], info["entities"]) == (600, 7)
    assert told[0] == ("text", 0, 600)
    assert told[-1] == ("text", 600, 600)
    assert os.listdir(tmp_path / "kb") == ["text.sqlite"]  # noqa: PTH208 - names suffice


def test_again_embeds_nothing_and_a_change_embeds_itself(tmp_path: Path) -> None:
    path = tmp_path / "text.sqlite"
    first = build(path, [passage(i) for i in range(300)])
    embedder = HashEmbedder()
    assert build(path, [passage(i) for i in range(300)], embedder) == first
    assert embedder.encoded == 0
    changed = [passage(i, "changed" if i == 5 else "") for i in range(300)]
    second = build(path, changed, embedder)
    assert embedder.encoded == 1
    assert second["fingerprint"] != first["fingerprint"]
    relinked: list[Passage] = [{**p, "entities": ["other"]} for p in changed]
    third = build(path, relinked, embedder)
    assert embedder.encoded == 1
    assert third["entities"] == 1
    assert third["fingerprint"] != second["fingerprint"]


def test_a_killed_build_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "text.sqlite"

    def dying() -> Iterator[Passage]:
        for i in range(1000):
            if i == 700:
                raise KeyboardInterrupt
            yield passage(i)

    embedder = HashEmbedder(cache_size=0)
    with pytest.raises(KeyboardInterrupt):
        build(path, dying(), embedder)
    assert not path.exists()
    info = build(path, (passage(i) for i in range(1000)), embedder)
    assert embedder.encoded == 1000
    assert info == build(tmp_path / "other.sqlite", (passage(i) for i in range(1000)))


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


def test_another_embedder_embeds_all_again(tmp_path: Path) -> None:
    path = tmp_path / "text.sqlite"
    build(path, [passage(i) for i in range(10)])
    embedder = HashEmbedder(64)
    build(path, [passage(i) for i in range(10)], embedder)
    assert embedder.encoded == 10
    with SqliteTextStore(path, embedder) as store:
        assert store.dimensions == 64
        assert store.search(["text number 3"], limit=1)[0][0]["passage"]["id"] == "p3"


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
