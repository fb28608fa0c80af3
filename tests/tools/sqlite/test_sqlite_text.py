"""The text store of a knowledge base: what is ranked before and after all is encoded, and where vectors are kept."""

from __future__ import annotations

import multiprocessing
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.ingest.encode import take_over
from thinkgraph.ingest.passages import build_text
from thinkgraph.testing.conformance.text import TextStoreConformance, ids_of, sample_passages
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.encoders.words import WordsEmbedder
from thinkgraph.tools.linking.meaning import EntityIndex, entity_passage, entity_text
from thinkgraph.tools.meter import Meter, current_meter
from thinkgraph.tools.progress import no_progress
from thinkgraph.tools.sqlite import text as sqlite_text
from thinkgraph.tools.sqlite.encodings import stored_vectors
from thinkgraph.tools.sqlite.text import OF_ONE, OF_SEVERAL, RANKED, SqliteTextStore
from thinkgraph.tools.sqlite.text_schema import title_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from thinkgraph.state.knowledge import Entity, Passage

NAME = HashEmbedder().name


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    kb = tmp_path / "kb"
    build_text(kb / "text.sqlite", sample_passages(), embedder=NAME, progress=no_progress)
    return kb


def opened(folder: Path, embedder: HashEmbedder | None = None) -> SqliteTextStore:
    return SqliteTextStore(folder / "text.sqlite", embedder or HashEmbedder())


def notes(count: int) -> list[Passage]:
    return [
        {"id": f"n{i:04}", "entities": ["many"], "title": "", "section": "", "text": f"Note w{i} of v{i % 9}"}
        for i in range(count)
    ]


def test_a_query_is_read_by_the_encoders_query_side(folder: Path) -> None:
    class Reversed(HashEmbedder):
        def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
            return self.embed([text[::-1] for text in texts])

    wanted = sample_passages()[0]
    query = f"{title_prefix(wanted)}{wanted['text']}"[::-1]
    with opened(folder, Reversed()) as store:
        best = store.passages_of(wanted["entities"], query, limit=1)[0]
    assert (best["passage"]["id"], best["score"]) == (wanted["id"], pytest.approx(1, abs=1e-3))


class TestSqlite(TextStoreConformance):
    """Of an entity with more passages than `OF_ONE`, those whose words fit best."""

    exact = False

    @pytest.fixture
    def store(self, folder: Path) -> Iterator[SqliteTextStore]:
        with opened(folder) as store:
            yield store


class TestSqliteEncoded(TextStoreConformance):
    @pytest.fixture
    def store(self, folder: Path) -> Iterator[SqliteTextStore]:
        with opened(folder) as store:
            store.encode()
            yield store


class TestSqliteByWords(TextStoreConformance):
    """Candidates by words, of all passages too."""

    exact = False

    @pytest.fixture
    def store(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqliteTextStore]:
        monkeypatch.setattr(sqlite_text, "RANKED", 8)
        with opened(folder) as store:
            yield store


def test_scores_are_exact_over_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(0)
    words = [f"w{i}" for i in range(50)]
    passages: list[Passage] = [
        {"id": f"{i}", "entities": ["e"], "title": "", "section": "", "text": " ".join(rng.choices(words, k=5))}
        for i in range(500)
    ]
    embedder = HashEmbedder()
    build_text(tmp_path / "text.sqlite", passages, embedder=embedder.name, progress=no_progress)
    query = "w1 w2 w3"
    (vector,) = embedder.embed([query])
    truth = {
        p["id"]: sum(a * b for a, b in zip(vector, row, strict=True))
        for p, row in zip(passages, embedder.embed([p["text"] for p in passages]), strict=True)
    }
    monkeypatch.setattr(sqlite_text, "_CHUNK", 7)
    with SqliteTextStore(tmp_path / "text.sqlite", embedder) as store:
        store.encode()
        hits = store.passages_of(["e"], query, limit=20)
        for hit in hits:
            assert hit["score"] == pytest.approx(truth[hit["passage"]["id"]], abs=1e-3)
        assert min(hit["score"] for hit in hits) >= sorted(truth.values())[-20] - 1e-3
        monkeypatch.setattr(sqlite_text, "_CHUNK", 4096)
        assert store.passages_of(["e"], query, limit=20) == hits
        assert store.search([query], limit=20)[0] == hits


def test_stores_count_no_round_trips_themselves(folder: Path) -> None:
    meter = Meter()
    token = current_meter.set(meter)
    try:
        with SqliteTextStore(folder / "text.sqlite", HashEmbedder()) as store:
            store.passages(["p1", "p2"])
            store.passages_of(["austria", "hungary"], "capital")
            store.search(["capital", "river"])
    finally:
        current_meter.reset(token)
    assert meter.store_round_trips == 0


def test_closed_or_wrong(folder: Path, tmp_path: Path) -> None:
    store = SqliteTextStore(folder / "text.sqlite", HashEmbedder())
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.passages(["p1"])
    with pytest.raises(KnowledgeError, match="no text store"):
        SqliteTextStore(tmp_path / "nothing", HashEmbedder())
    with pytest.raises(KnowledgeError, match="hash-256"):
        SqliteTextStore(folder / "text.sqlite", HashEmbedder(64))


def test_what_was_ranked_is_kept_and_nothing_else_is_encoded(folder: Path) -> None:
    first = HashEmbedder(cache_size=0)
    with opened(folder, first) as store:
        assert not (folder / "encodings.sqlite").exists()
        hits = store.passages_of(["austria"], "capital of Austria")
    assert first.encoded == 3  # the query and the two passages about Austria
    again = HashEmbedder(cache_size=0)
    with opened(folder, again) as store:
        assert store.passages_of(["austria"], "capital of Austria") == hits
    assert again.encoded == 1


def test_candidates_are_the_same_whatever_is_encoded_and_encode_nothing(tmp_path: Path) -> None:
    build_text(tmp_path / "text.sqlite", notes(3 * RANKED), embedder=NAME, progress=no_progress)
    embedder = HashEmbedder(cache_size=0)
    with opened(tmp_path, embedder) as store:
        found = store.candidates_of(["many"], "w7 of v7", limit=5)
        assert embedder.encoded == 0
        assert found[0]["id"] == "n0007"
        assert store.passages_of(["many"], "w7 of v7", limit=5)
        assert store.candidates_of(["many"], "w7 of v7", limit=5) == found
        store.encode()
        assert store.candidates_of(["many"], "zzz qqq", limit=5) == [
            hit["passage"] for hit in store.passages_of(["many"], "zzz qqq", limit=5)
        ]


def test_the_same_question_finds_the_same_before_and_after_others_were_asked(tmp_path: Path) -> None:
    build_text(tmp_path / "text.sqlite", notes(5 * RANKED), embedder=NAME, progress=no_progress)
    embedder = HashEmbedder(cache_size=0)
    with opened(tmp_path, embedder) as store:
        hits = store.passages_of(["many"], "w7 of v7", limit=5)
        assert embedder.encoded == 1 + OF_ONE
        assert hits[0]["passage"]["id"] == "n0007"
        for number in range(0, 600, 50):
            store.search([f"w{number}"], limit=5)
        assert store.passages_of(["many"], "w7 of v7", limit=5) == hits
        assert len(store.passages_of(["many"], "nothing of it", limit=RANKED + 9)) == RANKED + 9
        assert len(store.search(["?"], limit=7)[0]) == 7


def test_no_entity_takes_the_places_of_the_others(tmp_path: Path) -> None:
    def about(entity: str, count: int, text: str) -> list[Passage]:
        return [
            {"id": f"{entity}{i:03}", "entities": [entity], "title": "", "section": "", "text": f"{text} of no {i}"}
            for i in range(count)
        ]

    loud, quiet = about("loud", 2 * RANKED, "river sea"), about("quiet", RANKED, "hill")
    quiet[99]["text"] = "river and many other words that make it long, which counts against it"
    build_text(tmp_path / "text.sqlite", [*loud, *quiet], embedder=NAME, progress=no_progress)
    embedder = HashEmbedder(cache_size=0)
    with opened(tmp_path, embedder) as store:
        found = ids_of(store.passages_of(["loud", "quiet"], "river sea", limit=OF_SEVERAL))
        assert embedder.encoded == 1 + OF_SEVERAL
        assert sum(one.startswith("quiet") for one in found) == OF_SEVERAL // 2
        assert "quiet099" in found
        few = {one["id"] for one in store.candidates_of(["loud", "quiet"], "river sea", limit=6)}
        assert sum(one.startswith("quiet") for one in few) == len(few) // 2
        assert "quiet099" in few
        embedder.encoded = 0
        assert ids_of(store.passages_of(["loud", "nobody"], "river sea", limit=5))
        assert embedder.encoded <= 1 + OF_ONE


def test_all_is_exact_once_all_is_encoded(tmp_path: Path) -> None:
    # No passage shares a word with the query, so that only vectors can tell them apart.
    build_text(tmp_path / "text.sqlite", notes(3 * RANKED), embedder=NAME, progress=no_progress)
    with opened(tmp_path) as store:
        store.encode()
        vector = np.array(HashEmbedder().embed(["zzz qqq"])[0])
        rows = np.array(HashEmbedder().embed([one["text"] for one in notes(3 * RANKED)]))
        best = (rows @ vector).max()
        (hits,) = store.search(["zzz qqq"], limit=1)
        assert hits[0]["score"] == pytest.approx(best, abs=1e-3)
        assert store.passages_of(["many"], "zzz qqq", limit=1) == hits


def test_encoding_ahead_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    build_text(tmp_path / "text.sqlite", notes(1000), embedder=NAME, progress=no_progress)
    code = (
        "import os, signal, sys; from pathlib import Path; from thinkgraph.testing.embedder import HashEmbedder\n"
        "from thinkgraph.tools.sqlite.text import SqliteTextStore\n"
        "def kill(_stage, done, _total):\n    if done >= 500: os.kill(os.getpid(), signal.SIGKILL)\n"
        "SqliteTextStore(Path(sys.argv[1]) / 'text.sqlite', HashEmbedder()).encode(kill)"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    embedder = HashEmbedder(cache_size=0)
    told: list[int] = []
    with opened(tmp_path, embedder) as store:
        assert not store.vectors.whole
        made = store.encode(lambda _stage, done, _total: told.append(done))
        assert made == embedder.encoded == 1000 - 512
        assert store.vectors.whole
        assert store.encode() == 0
    assert told[0] == 0
    assert told[-1] == 1000


def test_a_folder_that_is_read_only_stays_as_it_is(folder: Path, cache: Path) -> None:
    folder.chmod(0o555)
    try:
        with opened(folder) as store:
            assert ids_of(store.search(["capital of Austria"], limit=1)[0]) == ["p1"]
        assert [file.name for file in folder.iterdir()] == ["text.sqlite"]
        assert (cache / "encodings.sqlite").is_file()
        again = HashEmbedder(cache_size=0)
        with opened(folder, again) as store:
            store.search(["capital of Austria"], limit=1)
        assert again.encoded == 1
    finally:
        folder.chmod(0o755)


def test_nowhere_to_keep_vectors(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(folder) as store:
        expected = store.search(["capital of Austria"])
    (folder / "encodings.sqlite").unlink()

    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setenv("THINKGRAPH_CACHE", "/dev/null/nowhere")
    monkeypatch.setattr("thinkgraph.tools.sqlite.encodings._kept", full)
    with opened(folder) as store:
        assert store.search(["capital of Austria"]) == expected
        assert store.passages_of(["austria"], "river")
        with pytest.raises(KnowledgeError, match="disk is full"):
            store.encode()
    assert len(caplog.messages) == 1
    assert "vectors cannot be kept" in caplog.messages[0]
    assert "\n" not in caplog.messages[0]


def test_a_full_disk_leaves_no_file_to_warn_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "encodings.sqlite").unlink(missing_ok=True)
    connect = sqlite3.connect

    def small(file: str | Path, **options: Any) -> sqlite3.Connection:
        db = connect(file, **options)
        if file == folder / "encodings.sqlite":
            db.execute("PRAGMA max_page_count=3")
        return db

    monkeypatch.setattr("thinkgraph.tools.sqlite.encodings.sqlite3.connect", small)
    with opened(folder) as store:
        store.encode()
    # What did not go into the folder lies in the cache, and the next one finds it there.
    with opened(folder) as store:
        assert store.search(["capital of Austria"])[0]
    assert not caplog.messages


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "encodings.sqlite").symlink_to(tmp_path / "elsewhere.sqlite")
    with opened(folder) as store:
        assert store.search(["capital of Austria"])[0]
    assert not (tmp_path / "elsewhere.sqlite").exists()


@pytest.mark.parametrize("damage", ["nonsense", "flipped"])
def test_damaged_vectors_are_made_again(folder: Path, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    with opened(folder) as store:
        expected = store.search(["capital of Austria"])
    file = folder / "encodings.sqlite"
    if damage == "nonsense":
        file.write_bytes(b"no database at all" * 500)
    else:
        with closing(sqlite3.connect(file)) as db:
            db.execute("UPDATE vectors SET vector = zeroblob(length(vector))")
            db.commit()
    embedder = HashEmbedder(cache_size=0)
    with opened(folder, embedder) as store:
        assert store.search(["capital of Austria"]) == expected
    assert embedder.encoded > len(sample_passages())
    assert ("delete that file" in caplog.text) == (damage == "nonsense")


def _rank(folder: Path, number: int) -> None:
    with opened(folder) as store:
        for at in range(4):
            store.search([f"w{number * 40 + at} of v{at}"], limit=3)


def test_many_processes_write_at_once(tmp_path: Path) -> None:
    build_text(tmp_path / "text.sqlite", notes(400), embedder=NAME, progress=no_progress)
    run = multiprocessing.get_context("fork").Process
    processes = [run(target=_rank, args=(tmp_path, number)) for number in range(6)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 6
    with closing(sqlite3.connect(tmp_path / "encodings.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM vectors").fetchone()[0] >= RANKED


def test_vectors_of_two_encoders_do_not_mix(tmp_path: Path) -> None:
    rows = np.ones((2, 4), np.float16)
    for name, model in (("text.sqlite", "one"), ("entities.sqlite", "other")):
        build_text(tmp_path / name, sample_passages(), embedder=model, progress=no_progress)
    with (
        stored_vectors(tmp_path / "text.sqlite") as (db, one),
        stored_vectors(tmp_path / "entities.sqlite") as (_, other),
    ):
        one.keep(db, {1: rows})
        found = one.read(db, [1, 2])
        assert found.keys() == {1}
        assert np.array_equal(found[1], rows)
        assert other.read(db, [1]) == {}
        assert (one.count(db), other.count(db)) == (1, 0)


def test_vectors_of_another_length_are_not_compared_nor_added_to(tmp_path: Path) -> None:
    """A provider's model of the same name may give shorter ones, as it is asked to."""
    build_text(tmp_path / "text.sqlite", notes(1000), embedder=NAME, progress=no_progress)
    with opened(tmp_path) as store:
        store.passages_of(["many"], "Note w7", limit=OF_ONE)
    shorter = HashEmbedder(8)
    shorter.name = NAME
    with opened(tmp_path, shorter) as store:
        before = (tmp_path / "encodings.sqlite").read_bytes()
        for ask in (store.encode, lambda: store.passages_of(["many"], "Note w7"), lambda: store.search(["Note w7"])):
            with pytest.raises(
                KnowledgeError, match=r"have 256 numbers, .* now gives 8: .* delete .*encodings\.sqlite"
            ):
                ask()
        assert (tmp_path / "encodings.sqlite").read_bytes() == before
    (tmp_path / "encodings.sqlite").unlink()
    with opened(tmp_path, shorter) as store:
        assert store.encode() == len(notes(1000))


def test_entity_index(tmp_path: Path) -> None:
    def entity(number: int, label: str, description: str = "") -> Entity:
        return {"id": f"e{number}", "label": label, "type": "t", "description": description, "literal": False}

    entities = [entity(i, f"name{i} of{i % 20}") for i in range(400)]
    entities += [entity(400, "red apple"), entity(401, "pear", "a green fruit")]
    passages = [entity_passage(one) for one in entities]
    assert [title_prefix(one) + one["text"] for one in passages] == [entity_text(one) for one in entities]
    build_text(tmp_path / "entities.sqlite", passages, embedder=HashEmbedder().name, progress=no_progress)
    with SqliteTextStore(tmp_path / "entities.sqlite", HashEmbedder()) as store:
        store.encode()
        apple, pear = EntityIndex(store).nearest(["apple, red", "a green fruit"], limit=3)
        assert EntityIndex(store).nearest([]) == []
    assert apple[0][0] == entities[400]
    assert apple[0][1] == pytest.approx(1, abs=1e-3)
    assert pear[0][0] == entities[401]
    assert len(apple) == 3


def test_vectors_are_taken_over_from_an_encoder_of_the_same_name(folder: Path, tmp_path: Path) -> None:
    with opened(folder) as store:
        store.encode()
    build_text(tmp_path / "new" / "text.sqlite", sample_passages()[1:], embedder="another", progress=no_progress)
    take_over(folder, tmp_path / "new")
    assert not (tmp_path / "new" / "encodings.sqlite").exists()
    build_text(tmp_path / "new" / "text.sqlite", sample_passages()[1:], embedder=NAME, progress=no_progress)
    take_over(folder, tmp_path / "new")
    embedder = HashEmbedder(cache_size=0)
    with opened(tmp_path / "new", embedder) as store:
        assert store.encode() == embedder.encoded == 0


def test_words_serve_where_nothing_can_encode(folder: Path) -> None:
    with SqliteTextStore(folder / "text.sqlite", WordsEmbedder()) as store:
        assert ids_of(store.passages_of(["austria"], "capital of Austria"))[0] == "p1"
        assert ids_of(store.search(["The capital of Hungary is Budapest"], limit=1)[0]) == ["p3"]
    assert not (folder / "encodings.sqlite").exists()


def test_long_passages_are_not_encoded_all_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    class Recording(HashEmbedder):
        def _encode(self, model: Any, texts: list[str]) -> Any:
            sizes.append(sum(map(len, texts)))
            return super()._encode(model, texts)

    monkeypatch.setattr(sqlite_text, "_AT_ONCE", 5000)
    long = [{**one, "text": f"{one['id']} " + "a b " * 500} for one in notes(30)]
    build_text(tmp_path / "text.sqlite", long, embedder=NAME, progress=no_progress)
    with opened(tmp_path, Recording()) as store:
        assert store.encode() == 30
        assert len(store.passages_of(["many"], "a", limit=30)) == 30
    assert len(sizes) > 30 / 3
    assert max(sizes) < 3 * 3000
