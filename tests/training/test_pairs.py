from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from training.sample import rows, write_rows

from thinkgraph.errors import KnowledgeError, UsageError
from thinkgraph.eval.questions import spread
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.training.pairs import TextPair, digest, make_triple, read_pairs, split


def test_labels_are_read_as_a_knowledge_base_reads_them(tmp_path: Path) -> None:
    row = {"triples": [["Aarhus_Airport", "cityServed", '"Aarhus, Denmark"']], "texts": ["One.", "Two.", "One."]}
    (pair,) = read_pairs([write_rows(tmp_path / "a.jsonl", [row])], Rejects())
    assert pair.line == "(Aarhus Airport) -[city served]-> (Aarhus, Denmark)"
    assert pair.texts == ("One.", "Two.")
    assert pair.triples[0]["literal"]
    assert not make_triple("a", "b", "Panama")["literal"]
    assert make_triple("a", "b", "2702.0")["literal"]


def test_qualifiers_gzip_and_the_same_triples_twice(tmp_path: Path) -> None:
    rows = [
        {"triples": [["Panama", "borders", "Colombia", [["length km", "339"]]]], "text": "They meet."},
        {"triples": [["Panama", "borders", "Colombia", [["length km", "339"]]]], "text": "Panama meets Colombia."},
    ]
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    (pair,) = read_pairs([file], Rejects())
    assert pair.line == "(Panama) -[borders]-> (Colombia) {length km=339}"
    assert pair.texts == ("They meet.", "Panama meets Colombia.")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"triples": [["a", "b", "c"]], "te', "bad JSON"),
        ("[1]", "not a JSON object"),
        ('{"texts": ["x"]}', 'field "triples" must be a list'),
        ('{"triples": [], "text": "x"}', 'field "triples" must be a list'),
        ('{"triples": [["a", "b"]], "text": "x"}', "is no [subject, relation, object]"),
        ('{"triples": [["a", "b", " "]], "text": "x"}', "is no [subject, relation, object]"),
        ('{"triples": [["a", "b", 3]], "text": "x"}', "is no [subject, relation, object]"),
        ('{"triples": [["a", "b", "c", [["q"]]]], "text": "x"}', "qualifiers must be pairs"),
        ('{"triples": [["a", "b", "c"]]}', "there is no text"),
        ('{"triples": [["a", "b", "c"]], "texts": ["", " "]}', "there is no text"),
        ('{"triples": [["a", "b", "c"]], "texts": [3]}', 'field "texts" must be a list of texts'),
    ],
)
def test_malformed_lines_are_counted_with_their_number(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(rows()[0]) + "\n" + line + "\n", "utf-8")
    rejects = Rejects()
    assert len(read_pairs([file], rejects)) == 1
    (reject,) = rejects.kept
    assert reject["line"] == 2
    assert words in reject["reason"]
    file.write_text(line, "utf-8")
    with pytest.raises(UsageError, match=r"no line can be used \(a.jsonl, line 1: "):
        read_pairs([file], Rejects())


def test_without_texts_there_is_still_something_to_write(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "a.jsonl", [{"triples": [["a", "b", "c"]]}])
    assert read_pairs([file], Rejects(), texts=False)[0].texts == ()


@pytest.mark.parametrize(
    ("content", "words"), [(None, "there is no file"), (b"", "is empty"), (b"\xff\xfe\0", "UTF-16")]
)
def test_files_that_cannot_be_read(tmp_path: Path, content: bytes | None, words: str) -> None:
    file = tmp_path / "a.jsonl"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(KnowledgeError, match=words):
        read_pairs([file], Rejects())


def test_a_split_shares_no_triples_and_hangs_on_nothing_but_them(pairs: list[TextPair]) -> None:
    halves = split(pairs, 0.25, 0)
    assert len(halves.validation) == round(len(pairs) / 4)
    assert {p.line for p in halves.train}.isdisjoint(p.line for p in halves.validation)
    assert len(halves.train) + len(halves.validation) == len(pairs)
    again = split(pairs[::-1], 0.25, 0)
    assert {p.line for p in again.validation} == {p.line for p in halves.validation}
    assert {p.line for p in split(pairs, 0.25, 1).validation} != {p.line for p in halves.validation}
    assert not split(pairs, 0.0, 0).validation
    assert len(split(pairs, 0.001, 0).validation) == 1
    assert not split(pairs[:1], 0.5, 0).validation


def test_spread_and_digest(pairs: list[TextPair]) -> None:
    assert spread(pairs, None) is pairs
    assert [pairs.index(pair) for pair in spread(pairs, 4)] == [0, 4, 8, 12]
    assert digest(pairs) == digest(list(pairs)) != digest(pairs[1:])
