"""Reading by blocks gives what reading row by row gives, whatever is in the file and wherever the blocks are cut."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.readers import blocks
from thinkgraph.ingest.readers.blocks import Plain, read_batches
from thinkgraph.ingest.readers.files import read_triples
from thinkgraph.ingest.readers.lines import LINE_LIMIT
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.ingest.writers.graph import GraphWriter
from thinkgraph.ingest.writers.loader import TripleLoader
from thinkgraph.tools.sqlite.graph import SqliteGraphStore

NAMES = ["t.tsv", "t.csv", "t.psv", "t.txt"]


def outcome(folder: Path, source: Path, how, *, forced: frozenset[str]) -> object:
    """What is laid down and reported when a file is loaded, or the error."""
    rejects = Rejects()
    folder.mkdir()
    try:
        with TripleLoader(folder / "graph.sqlite") as loader:
            loader.add(how(source, rejects), literal_relations=forced)
            state = loader.finish()
    except KnowledgeError as error:
        return str(error)
    return state, {path.name: path.read_bytes() for path in folder.iterdir()}, rejects.counts, rejects.kept


def one_by_one(source: Path, rejects: Rejects):
    rows = list(read_triples(source, rejects))
    return [rows] if rows else []


def check(folder: Path, name: str, content: bytes, size: int, forced: frozenset[str] = frozenset()) -> None:
    source = folder / name
    source.write_bytes(content)
    whole = outcome(folder / "rows", source, one_by_one, forced=forced)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", size)
        patch.setattr(blocks, "BATCH_ROWS", 7)
        assert outcome(folder / "blocks", source, read_batches, forced=forced) == whole


plain_cell = st.text("ab1 .é–東\u00a0\u3000", min_size=1, max_size=6)
odd_cell = st.one_of(
    plain_cell,
    st.text(max_size=6),
    st.sampled_from(["", " ", '"', '"x"', '"x"@en', '"1"^^<d>', 'a"b', "\x1c", "\x85a", "a\u2003", "\ufeff", "a=b;c=d", "1", "x,y", "p|q"]),
)  # fmt: skip
sign = st.sampled_from(["\t", "|", ","])
header = st.sampled_from(["", "subject{0}relation{0}object\n", "o{0}x{0}p{0}literal{0}s\n", '"s"{0}"p"{0}"o"\n', "\ufeff", "\n"])  # fmt: skip
ending = st.sampled_from(["\n", "\n", "\n", "\n", "\r\n", "\n\n", "\n \n", "\r"])


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """A file that is mostly regular, with anything in between."""
    mark = draw(sign)
    columns = draw(st.integers(3, 5))
    text = draw(header).format(mark)
    pieces = [text.encode()]
    for _ in range(draw(st.integers(1, 12))):
        odd = draw(st.integers(0, 9)) == 0
        cells = draw(st.lists(odd_cell if odd else plain_cell, min_size=1 if odd else columns, max_size=columns + odd))
        line = mark.join(cells) + (draw(ending) if odd else "\n")
        pieces.append(line.encode("utf-8", "surrogatepass"))
        if odd and draw(st.booleans()):
            pieces.append(draw(st.sampled_from([b"\xff", b"\0", b"a\tb\tc\xc3\n", b'a,"b\n', b'"\n'])))
    content = b"".join(pieces)
    return draw(st.sampled_from(NAMES)), content if draw(st.booleans()) else content.rstrip(b"\n")


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(file=files(), size=st.integers(4, 80), forced=st.sampled_from([frozenset(), frozenset({"a", "b", "1"})]))
@example(file=("t.tsv", b"a\tr\tb\tq\nc\tr\td\tq\n" * 9), size=20, forced=frozenset())
@example(file=("t.csv", b'1\n\na,"b'), size=4, forced=frozenset())
@example(file=("t.csv", b'a,r,b\nc,r,d\ne,r,"f\ng,r,h"\ni,r,j\n'), size=8, forced=frozenset())
def test_blocks_and_rows_agree(tmp_path_factory, file, size, forced):
    check(tmp_path_factory.mktemp("blocks"), *file, size, forced)


def test_plain_files_go_the_fast_way(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("subject\trelation\tobject\tsource\n" + " é \tr\t東京\tBBC\n" * 99 + "a\tr\tb\tCNN\n")
    rejects = Rejects(strict=True)
    (plain,) = read_batches(path, rejects)
    assert isinstance(plain, Plain)
    assert plain.data[slice(plain.starts[0, 0], plain.ends[0, 0])].decode() == "é"
    assert [pairs for pairs, _ in plain.extras] == [(("source", "BBC"),), (("source", "CNN"),)]
    assert plain.extra.tolist() == [0] * 99 + [1]
    for row in ("a\tr\n", "a\t\tb\n", "a\tr\t\u00a0b\n", "a\tr\tb\u2003\n", '"a\tr\t"b"\n', "a\tr\tb\r\n", "\n"):
        path.write_text("a\tr\tb\n" * 2 + row, newline="")
        assert not any(isinstance(batch, Plain) for batch in read_batches(path, Rejects())), row


def test_other_columns_are_told_apart_by_their_place(tmp_path):
    check(
        tmp_path, "t.tsv", b"s\tp\to\tx\ty\n" + b"a\tr\tb\t1\t2\na\tr\tb\t2\t1\na\tr\tb\t\t1\na\tr\tb\t1\t\n" * 5, 1000
    )


def test_long_lines(tmp_path, monkeypatch):
    content = b"a\tr\tb\n" + b"x" * 300 + b"\tr\tb\n" + b"c\tr\td\n"
    check(tmp_path, "t.tsv", content, 32)
    monkeypatch.setattr(blocks, "LINE_LIMIT", 200)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 32)
    with pytest.raises(KnowledgeError, match=r"t\.tsv, line 2: longer than"):
        list(read_batches(tmp_path / "t.tsv", Rejects()))
    assert LINE_LIMIT > 200


def test_an_abandoned_reader_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    path = tmp_path / "t.tsv"
    path.write_text("a\tr\tb\n" * 500)
    batches = read_batches(path, Rejects())
    next(batches)
    batches.close()


@pytest.mark.parametrize("run_rows", [3, 50, 10_000])
def test_the_graph_does_not_depend_on_how_it_is_cut(tmp_path, monkeypatch, run_rows):
    source = tmp_path / "t.tsv"
    rows = [f"n{i % 17}\tr{i % 5}\tN_{i * 7 % 23}\tq{i % 3}\n" for i in range(400)] * 2
    rows += [f"n{i % 17}\tyear\t{1900 + i % 40}\t\n" for i in range(200)]
    source.write_text("".join(rows))

    def build(name: str) -> bytes:
        path = tmp_path / name
        with GraphWriter(path) as writer:
            writer.add_batches(read_batches(source, Rejects(strict=True)))
            counts, _ = writer.finish(meta={"name": "t", "fingerprint": "f"}, aliases={"n1": ["one"]})
        assert counts["literals"] == 40
        assert (counts["triples"], counts["duplicates"]) == (600, 400)
        return path.read_bytes()

    whole = build("whole.sqlite")
    monkeypatch.setattr("thinkgraph.ingest.writers.runs.RUN_ROWS", run_rows)
    monkeypatch.setattr("thinkgraph.ingest.writers.runs._CHUNK_ROWS", 37)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 100)
    assert build("cut.sqlite") == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.sqlite", "t.tsv", "whole.sqlite"]
    # Only the numbers of names depend on how many are looked at together.
    monkeypatch.setattr("thinkgraph.ingest.writers.loader._READ_BYTES", 50)
    monkeypatch.setattr("thinkgraph.ingest.writers.names._BATCH", 2)
    build("names.sqlite")
    names = []
    for name in ("whole.sqlite", "names.sqlite"):
        db = sqlite3.connect(tmp_path / name)
        names.append(set(db.execute("SELECT node, kind, triples, words, norm, text FROM name").fetchall()))
        names.append(db.execute("SELECT * FROM node").fetchall())
        assert db.execute("SELECT count(*) FROM name_word WHERE name_word MATCH 'n'").fetchone() == (23,)
        db.close()
        with SqliteGraphStore(tmp_path / name) as store:
            names.append(store.search(["N 3"]) + store.search(["N 3"], fuzzy=True) + store.lookup(["ONE", "n_4"]))
    assert names[:3] == names[3:]
