"""Numbering, sorting and writing a graph, however it is cut."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from built_graph import built_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.readers import lines
from thinkgraph.ingest.readers.files import read_triples
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.ingest.writers import rows as rows_module
from thinkgraph.ingest.writers.literals import _BEGINNING
from thinkgraph.ingest.writers.loader import Interner
from thinkgraph.ingest.writers.rows import sorted_runs
from thinkgraph.tools.sqlite.graph import SqliteGraphStore
from thinkgraph.tools.values import value_kind


def number(interner: Interner, texts: list[str]) -> tuple[list[int], list[str]]:
    numbers, new = interner.intern(texts)
    return numbers.tolist(), [texts[i] for i in new]


def test_interner_numbers_by_first_appearance():
    interner = Interner()
    assert number(interner, ["b", "a", "b"]) == ([1, 2, 1], ["b", "a"])
    assert number(interner, ["c", "a", "d", "c"]) == ([3, 2, 4, 3], ["c", "d"])
    assert number(interner, []) == ([], [])
    assert len(interner) == 4


@given(batches=st.lists(st.lists(st.text(max_size=20), max_size=60), max_size=8))
def test_interner_agrees_with_a_dictionary(batches):
    interner, known = Interner(), {}
    for texts in batches:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        for text in texts:
            known.setdefault(text, len(known) + 1)
        assert number(interner, texts) == ([known[text] for text in texts], new)


def test_look_alikes_get_numbers_of_their_own():
    texts = [f"{i}" for i in range(20_000)] + [f"entity/{i:024d}" for i in range(20_000)]
    texts += [f"x{a:04d}yyyy{b:03d}z" for a in range(150) for b in range(150)]
    texts += ["\0" * n for n in range(50)] + ["ab" * a + "é" * b for a in range(1, 40) for b in range(1, 40)]
    found, _ = Interner().intern([*texts, *((text,) for text in texts)])
    assert len(set(found.tolist())) == 2 * len(set(texts))


@given(rows=st.lists(st.tuples(*[st.integers(0, 20)] * 3), max_size=200), size=st.integers(1, 30))
def test_sorted_runs_sort(tmp_path_factory, rows, size):
    path = tmp_path_factory.mktemp("runs") / "rows"
    np.array(rows, np.int32).tofile(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "RUN_ROWS", size)
        runs = [run.tolist() for run in sorted_runs(path, 3)]
    assert [tuple(row) for run in runs for row in run] == sorted(set(rows))
    leads = [{row[0] for row in run} for run in runs]
    assert all(not a & b for i, a in enumerate(leads) for b in leads[i + 1 :])


def test_long_lines(tmp_path, monkeypatch):
    source = tmp_path / "t.tsv"
    source.write_bytes(b"a\tr\tb\n" + b"x" * 300 + b"\tr\tb\n" + b"c\tr\td\n")
    assert [len(batch.subjects) for batch in read_triples(source, Rejects())] == [3]
    assert lines.LINE_LIMIT > 200
    monkeypatch.setattr(lines, "LINE_LIMIT", 200)
    with pytest.raises(KnowledgeError, match=r"t\.tsv, line 2: longer than"):
        list(read_triples(source, Rejects()))


# The long s is an s to a pattern that ignores case; there are digits and a minus beyond ASCII.
values = ["ye\u017f", "Augu\u017ft 5", "\u0663\u0664", "TRUE", "\u22125", " 5"]
shapes = st.from_regex(r"[-+$€]?[A-Z]{0,3}\s?\d{1,4}[- /.][\w%]{0,8}( BC)?")


@settings(max_examples=400)
@given(text=st.one_of(st.text(max_size=12), shapes, st.sampled_from(values)))
def test_no_value_begins_otherwise(text):
    assert value_kind(text) is None or _BEGINNING.match(text)


@pytest.mark.parametrize("run_rows", [3, 50, 10_000])
def test_the_graph_does_not_depend_on_how_it_is_cut(tmp_path, monkeypatch, run_rows):
    source = tmp_path / "t.tsv"
    rows = [f"n{i % 17}\tr{i % 5}\tN_{i * 7 % 23}\tq{i % 3}\n" for i in range(400)] * 2
    rows += [f"n{i % 17}\tyear\t{1900 + i % 40}\t\n" for i in range(200)]
    source.write_text("".join(rows))

    def build(name: str) -> bytes:
        path = tmp_path / name
        counts, _ = built_graph(path, read_triples(source, Rejects(strict=True)), aliases={"n1": ["one"]})
        assert counts["literals"] == 40
        assert (counts["triples"], counts["duplicates"]) == (600, 400)
        return path.read_bytes()

    whole = build("whole.sqlite")
    monkeypatch.setattr(rows_module, "RUN_ROWS", run_rows)
    monkeypatch.setattr(rows_module, "_CHUNK_ROWS", 37)
    monkeypatch.setattr("thinkgraph.ingest.readers.files._BATCH_ROWS", 7)
    monkeypatch.setattr(lines, "_BLOCK", 100)
    assert build("cut.sqlite") == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.sqlite", "t.tsv", "whole.sqlite"]
    # Only the numbers of names depend on how many are looked at together.
    monkeypatch.setattr("thinkgraph.ingest.writers.names._BATCH", 2)
    build("names.sqlite")
    names = []
    for name in ("whole.sqlite", "names.sqlite"):
        db = sqlite3.connect(tmp_path / name)
        names.append(set(db.execute("SELECT node, kind, norm, bare, text FROM name").fetchall()))
        names.append(db.execute("SELECT * FROM node").fetchall())
        assert db.execute("SELECT count(*) FROM name_word WHERE name_word MATCH 'n'").fetchone() == (23,)
        db.close()
        with SqliteGraphStore(tmp_path / name) as store:
            names.append(store.search(["N 3"]) + store.search(["N 3"], fuzzy=True) + store.lookup(["ONE", "n_4"]))
    assert names[:3] == names[3:]
