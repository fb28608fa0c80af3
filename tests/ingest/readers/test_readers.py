from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from built_graph import built_graph
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.readers import files, lines
from thinkgraph.ingest.readers.files import read_aliases, read_entities, read_passages, read_triples
from thinkgraph.ingest.readers.rejects import Rejects
from thinkgraph.tools.sqlite.graph import SqliteGraphStore
from thinkgraph.tools.values import value_kind


def rows_of(path: Path, content: str | bytes, rejects: Rejects | None = None) -> list[tuple]:
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
    found = []
    for batch in read_triples(path, rejects if rejects is not None else Rejects(strict=True)):
        none = [None] * len(batch.subjects)
        columns = (*batch[:3], batch.qualifiers or [()] * len(none), batch.datatypes or none)
        found += zip(*columns, strict=True)
    return found


PLAIN = [("a", "r", "b", (), None), ("c", "r", "d", (), None)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.tsv", "a\tr\tb\nc\tr\td\n"),
        ("t.tsv", "head\trelation\ttail\na\tr\tb\nc\tr\td"),
        ("t.tsv", "\ufeffsubject\tpredicate\tobject\r\na\tr\tb\r\n\r\nc\tr\td\r\n"),
        ("t.tsv", "o\tp\ts\nb\tr\ta\nd\tr\tc\n"),
        ("t.tsv.gz", "a\tr\tb\nc\tr\td\n"),
        ("t.csv", "subject,relation,object\na,r,b\nc,r,d\n"),
        ("t.csv.gz", '"a","r","b"\n"c","r","d"\n'),
        ("kb.txt", "a|r|b\nc|r|d\n"),
        ("kb.tsv", "a|r|b\nc|r|d\n"),
        ("kb", "a\tr\tb\nc\tr\td\n"),
        ("kb.dat", "a,r,b\nc,r,d\n"),
        ("quoted.tsv", '"a"\t"r"\t"b"\n"c"\t"r"\t"d"\n'),
        ("t.csv", "source,target,relationship\na,b,r\nc,d,r\n"),
        ("t.csv", ":START_ID(Person),:END_ID,:TYPE\na,b,r\nc,d,r\n"),
        ("t.csv", 'subject;relation;object\na;r;b\n"c";r;d\n'),
        ("t.csv", "from,type,to\na,r,b\nc,r,d\n"),
        ("t.csv", "node_1,node_2,edge\na,b,r\nc,d,r\n"),
        ("t.csv", "Relation Type,Head Entity,Tail-Entity\nr,a,b\nr,c,d\n"),
        ("t.jsonl", '{"source":"a","target":"b","relationship":"r"}\n{"from":"c","to":"d","type":"r"}\n'),
        ("t.jsonl", '{"subject":"a","relation":"r","object":"b"}\n{"h":"c","p":"r","t":"d"}\n'),
        ("t.txt", '{"head":"a","predicate":"r","tail":"b"}\n{"s":"c","r":"r","o":"d"}\n'),
    ],
)
def test_formats(tmp_path, name, content):
    assert rows_of(tmp_path / name, content) == PLAIN


def test_the_surest_column_names_the_relation(tmp_path):
    gephi = "Source,Target,Type,Id,Label\na,b,Directed,1,r\n"
    assert rows_of(tmp_path / "g.csv", gephi) == [("a", "r", "b", (("Type", "Directed"), ("Id", "1")), None)]


def test_a_source_beside_a_head_is_a_qualifier(tmp_path):
    expected = [("a", "r", "b", (("source", "page 3"),), None)]
    assert rows_of(tmp_path / "t.csv", "source,head,relation,tail\npage 3,a,r,b\n") == expected
    row = '{"source": "page 3", "head": "a", "relation": "r", "tail": "b"}\n'
    assert rows_of(tmp_path / "t.jsonl", row) == expected


@pytest.mark.parametrize(
    ("header", "missing"),
    [("source,target,weight", "relation"), ("source,target", "relation"), ("subject,relation,area", "object")],
)
def test_a_header_without_a_part_is_refused(tmp_path, header, missing):
    with pytest.raises(KnowledgeError, match=rf"has the columns .*; name the one of the {missing} '{missing}'$"):
        rows_of(tmp_path / "edges.csv", f"{header}\na,b,3\nc,d,4\n")


def test_single_letters_are_no_header(tmp_path):
    assert rows_of(tmp_path / "t.csv", "s,r,x\n") == [("s", "r", "x", (), None)]


@pytest.mark.parametrize("head", ["", "subject\trelation\tobject\n"])
def test_tabs_part_the_columns_of_a_file_called_csv(tmp_path, head):
    content = f'{head}a\tr\tb, c, d\ne\tr\t"f\tg"\n'
    rows = rows_of(tmp_path / "t.csv", content)
    assert [row[:3] for row in rows] == [("a", "r", "b, c, d"), ("e", "r", "f\tg")]


def test_tabs_in_cells_part_no_columns(tmp_path):
    assert rows_of(tmp_path / "t.csv", "a,r,b\nc,r,d\te\tf\n")[1][:3] == ("c", "r", "d\te\tf")


def test_semicolons_in_cells_part_no_columns(tmp_path):
    assert rows_of(tmp_path / "t.csv", "a;b;c,r,b;c;d\n") == [("a;b;c", "r", "b;c;d", (), None)]


@pytest.mark.parametrize(
    "content",
    [
        "# prefixes\n@prefix e: <http://e/> .\ne:a e:r e:b, e:c, e:d .\n",
        "PREFIX e: <http://e/>\ne:a e:r e:b {| e:k 1 |}, e:c, e:d .\n",
        '<http://e/a> <http://e/r> <http://e/b> .\n<http://e/a> <http://e/r> "x, y, z"@en .\n',
        "<http://e/a>\t<http://e/r>\t<http://e/b>\t.\n",
        '<http://e/a> <http://e/r> "x, y, z" <http://e/graph> .\n',
    ],
)
def test_rdf_by_another_name_is_not_taken_for_cells(tmp_path, content):
    for name in ("graph.n3", "graph", "graph.txt.gz"):
        with pytest.raises(KnowledgeError, match=r"graph.* is RDF; name it by its kind"):
            rows_of(tmp_path / name, content)


def test_iris_in_columns_are_no_rdf(tmp_path):
    rows = rows_of(
        tmp_path / "graph", "<http://e/a>\t<http://e/r>\tA sentence.\n<http://e/a>\t<http://e/r>\t<http://e/b>\n"
    )
    assert [row[2] for row in rows] == ["A sentence.", "<http://e/b>"]


def test_quoted_csv_keeps_delimiters(tmp_path):
    (row,) = rows_of(tmp_path / "t.csv", '\n"a, ""b""\n\n \nc",r,"d|e\tf"\n  \n\n')
    assert row[:3] == ('a, "b"\n\n \nc', "r", "d|e\tf")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\tr\tb\tshare=5; year=2020\n", [("share", "5"), ("year", "2020")]),
        ("a\tr\tb\tdev-0\t2\n", [("column 4", "dev-0"), ("column 5", "2")]),
        ("a\tr\tb\t\t2\n", [("column 5", "2")]),
        ("a\tr\t5.0\t5 sq km\n", [("as written", "5 sq km")]),
        ("s\tr\to\tqualifiers\na\tr\tb\tx=1;y=2", [("x", "1"), ("y", "2")]),
        ("s\tr\to\tqualifier\na\tr\tb\tplain", [("qualifier", "plain")]),
        ("s\tr\to\tsource\na\tr\tb\tBBC", [("source", "BBC")]),
        (":START_ID\t:TYPE\t:END_ID\tsince:int\ttags:string[]\na\tr\tb\t1999\tx", [("since", "1999"), ("tags", "x")]),
        ("s\tr\to\ta:int\na\tr\tb\t1", [("a:int", "1")]),
        (":START_ID\t:TYPE\t:END_ID\tp:string[]\na\tr\tb\tk=v\x1f2", [("p", "k=v"), ("p", "2")]),
        ("a\tr\tb\thttp://x/?a\n", [("column 4", "http://x/?a")]),
    ],
)
def test_qualifiers(tmp_path, content, expected):
    (row,) = rows_of(tmp_path / "t.tsv", content)
    assert list(row[3]) == expected


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_ends_of_an_export_for_neo4j_admin_stay_values_or_things(tmp_path, name):
    """Quotes are part of an id there, and only the header tells what is a value."""
    sign = "," if name == "t.csv" else "\t"
    header, row = sign.join([":START_ID(Entity)", ":TYPE", ":END_ID({})"]), sign.join(["a", "r", "{}"])
    written = ['"""x"""', "Haus"] if name == "t.csv" else ['"x"', "Haus"]
    for space, datatype in (("Literal", ""), ("Entity", None)):
        found = rows_of(tmp_path / name, "\n".join([header.format(space), *map(row.format, written)]) + "\n")
        assert [(one[2], one[4]) for one in found] == [('"x"', datatype), ("Haus", datatype)]


@pytest.mark.parametrize("name", [r"a\u0000b", r"a\ud800"])
def test_a_name_that_no_store_takes_is_refused_for_what_it_has(tmp_path, name):
    rejects = Rejects()
    assert rows_of(tmp_path / "t.jsonl", f'{{"s":"x","p":"r","o":"{name}"}}', rejects) == []
    assert rejects.kept[0]["reason"] == "object has a NUL character or half a character"


def test_marked_literals(tmp_path):
    content = 'a\tr\t"Aarhus, Denmark"\na\tr\t"1990"^^xsd:gYear\na\tr\t"Haus"@de\na\tr\t"x\\"y"^^<http://w3/#string>\na\tr\tb"c'
    found = [(row[2], row[4]) for row in rows_of(tmp_path / "t.tsv", content)]
    assert found == [("Aarhus, Denmark", ""), ("1990", "gYear"), ("Haus", "de"), ('x"y', "string"), ('b"c', None)]
    objects = ['"b","literal":true', "5", "true", '"c","literal":false', '"d","qualifiers":{"k":["v","w"],"n":1}']
    content = "\n".join(f'{{"s":"a","p":"r","o":{one}}}' for one in objects)
    found = [row[2:] for row in rows_of(tmp_path / "t.jsonl", content)]
    assert found[:4] == [("b", (), ""), ("5", (), "number"), ("true", (), "boolean"), ("c", (), None)]
    assert found[4] == ("d", (("k", "v"), ("k", "w"), ("n", "1")), None)
    quoted = json.dumps({"s": "a", "p": "r", "o": '"Heroes"', "literal": False})
    assert [row[2:] for row in rows_of(tmp_path / "q.jsonl", quoted)] == [('"Heroes"', (), None)]


def test_blank_qualifiers_say_nothing(tmp_path):
    blank = [{"note": "  "}, {"tags": ["", None]}, {"qualifiers": {"k": [" ", None]}}, {"qualifiers": " "}]
    content = "\n".join(json.dumps({"s": "a", "p": "r", "o": "b", **one}) for one in blank)
    assert rows_of(tmp_path / "t.jsonl", content) == [("a", "r", "b", (), None)] * 4


def test_what_is_no_number_says_nothing(tmp_path):
    """Tables have NaN where a cell is blank; it became the thing "nan"."""
    rejects = Rejects()
    rows = [{"o": "b", "since": float("nan")}, {"o": float("nan")}, {"s": float("inf"), "o": "b"}]
    content = "\n".join(json.dumps({"s": "a", "p": "r", **one}) for one in rows)
    assert rows_of(tmp_path / "t.jsonl", content, rejects) == [("a", "r", "b", (), None)]
    assert [one["reason"] for one in rejects.kept] == ["object is empty or no text", "subject is empty or no text"]


def test_a_qualifier_that_is_no_text_is_named(tmp_path):
    rejects = Rejects()
    content = "\n".join(json.dumps({"s": "a", "p": "r", "o": "b", "made": made}) for made in ({"by": "x"}, "y"))
    assert len(rows_of(tmp_path / "t.jsonl", content, rejects)) == 1
    assert [one["reason"] for one in rejects.kept] == ["the qualifier 'made' is no text"]


def test_malformed_rows_are_named(tmp_path):
    rejects = Rejects()
    content = b"a\tr\tb\nonly one\na\t\tb\na\tr\t\n\xff\xfe\tr\tb\na\tr\tb\0\n" + b"c\tr\td\n" * 40
    assert len(rows_of(tmp_path / "t.tsv", content, rejects)) == 41
    assert [(one["line"], one["reason"].split(" (")[0]) for one in rejects.kept] == [
        (2, "1 column where 3 are needed"),
        (3, "empty relation"),
        (4, "empty object"),
        (5, "not UTF-8"),
        (6, "contains a NUL character"),
    ]
    assert {one["file"] for one in rejects.kept} == {"t.tsv"}
    rejects = Rejects()
    lines = ["{", "[1]", '{"s":"a","p":"r"}', '{"s":"a","p":"r","o":{"x":1}}', '{"s":"\\ud800","p":"r","o":"b"}', "{}"]
    assert rows_of(tmp_path / "t.jsonl", "\n".join(lines), rejects) == []
    assert [one["line"] for one in rejects.kept] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(KnowledgeError, match=r"t\.jsonl, line 1"):
        rows_of(tmp_path / "t.jsonl", "\n".join(lines))


def test_an_empty_relation_between_bars_is_malformed_in_a_block_of_plain_lines_too(tmp_path):
    """It was taken for a relation without a name, unless another line of the block was malformed."""
    rejects = Rejects()
    assert rows_of(tmp_path / "t.psv", "a||b\nc|r|d\n", rejects) == [("c", "r", "d", (), None)]
    assert [(one["line"], one["reason"]) for one in rejects.kept] == [(1, "empty relation")]


def test_unclosed_quote_is_reported(tmp_path):
    rejects = Rejects()
    rows = rows_of(tmp_path / "t.csv", 'a,r,b\n"open,r,b\n' + "c,r,d\n" * 40_000, rejects)
    assert rejects.counts["malformed"] >= 1
    assert rows


def test_a_cell_that_csv_does_not_take_is_named(tmp_path):
    rejects = Rejects()
    assert len(rows_of(tmp_path / "t.csv", f'a,r,b\na,r,"{"x" * 140_000}"\nc,r,d\n', rejects)) == 2
    (one,) = rejects.kept
    said = "bad CSV: a cell is longer than 131,072 characters, which JSON Lines may have (is a quote left open?)"
    assert (one["line"], one["reason"]) == (2, said)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.tsv", b"", "is empty"),
        ("t.tsv", b"\n \n", "is empty"),
        ("t.tsv", "a\tr\tb\n".encode("utf-16"), "UTF-16"),
        ("t.tsv", "é\tè\tà\n".encode("latin-1") * 30, "not UTF-8"),
        ("t.tsv.gz", b"\x1f\x8bnot gzip", "gzip"),
        ("t.tsv.gz", gzip.compress(b"a\tr\tb\n" * 99, mtime=0)[:-12], "gzip"),
        ("t.json", b"[{}]", "JSON array"),
        ("t.json", b'{\n  "@context": {},\n  "@id": "http://e/a"\n}\n', "several lines.*JSON-LD"),
        ("t.txt", b"no columns here\n", "no format"),
        ("t.tsv", b"a\tr\tb\rc\tr\td\r", "CR alone"),
    ],
)
def test_unreadable_files(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(KnowledgeError, match=message) as caught:
        list(read_triples(path, Rejects()))
    assert "\n" not in str(caught.value)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(KnowledgeError, match="no file"):
        read_triples(tmp_path / "nothing.tsv", Rejects())
    with pytest.raises(KnowledgeError, match="is a folder"):
        read_triples(tmp_path, Rejects())


def test_entities_aliases_passages(tmp_path):
    path = tmp_path / "e.tsv"
    path.write_text("id\tdescription\tlabel\nq1\tcapital\tParis\nq2\t\t\n\t\tx\n")
    rejects = Rejects()
    assert list(read_entities(path, rejects)) == [("q1", "Paris", "", "capital"), ("q2", "", "", "")]
    assert rejects.counts == {"malformed": 1}
    path.write_text("q1\tParis\n")
    assert list(read_entities(path, rejects)) == [("q1", "Paris", "", "")]
    path.write_text("qid:ID(City)\tborn:int\tname:string\t:LABEL\nq1\t1\tParis\tCity\n")
    assert list(read_entities(path, rejects)) == [("q1", "Paris", "City", "")], "as neo4j-admin writes"
    path = tmp_path / "e.jsonl"
    path.write_text('{"id": 7, "type": "city"}\n')
    assert list(read_entities(path, rejects)) == [("7", "", "city", "")]
    path.write_text('{"entity": "q1", "Name": "Paris", "label": "", "class": "City"}\n')
    assert list(read_entities(path, rejects)) == [("q1", "Paris", "City", "")], "as the columns of a table"
    path = tmp_path / "a.json"
    path.write_text('{"Paris": ["City of Light", "City of Light", 5], "Lyon": "Lugdunum"}')
    assert read_aliases(path, Rejects(strict=True)) == {"Paris": ["City of Light", "5"], "Lyon": ["Lugdunum"]}
    for bad in ("[]", "{", "\udcff"):
        path.write_bytes(bad.encode("utf-8", "surrogateescape"))
        with pytest.raises(KnowledgeError, match=r"a\.json"):
            read_aliases(path, Rejects())
    path = tmp_path / "p.jsonl"
    lines = [
        {"id": 0, "text": "x", "title": "T"},
        {"id": "d", "sentences": ["One. ", "Two."], "entities": ["e", 5]},
        {"id": "n"},
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    rejects = Rejects()
    found = [row[1:] for row in read_passages(path, rejects)]
    assert found == [("0", "T", "", "x", None), ("d", "", "", "One. Two.", ["e", "5"])]
    assert rejects.kept[0]["line"] == 3


def test_a_header_of_entities_without_their_ids_is_no_entity(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("Name,Type,Born\nParis,City,52\n")
    with pytest.raises(KnowledgeError, match="has the columns Name, Type, Born; name the one of the ids 'id'"):
        list(read_entities(path, Rejects()))
    path.write_text("name,Description\n")
    with pytest.raises(KnowledgeError, match="'id'"):
        list(read_entities(path, Rejects()))
    path.write_text("Name,What a thing is called\nType,type\n")
    assert len(list(read_entities(path, Rejects()))) == 2, "no header"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("1971", "date"), ("1963-03-13", "date"), ("13 March 1963", "date"), ("August 25, 2017", "date"), ("44 BC", "date"),
        ("5", "number"), ("-2,381,740.5", "number"), ("1e5", "number"), ("true", "boolean"), ("87.8%", "quantity"),
        ("2,381,740 sq km", "quantity"), ("$2.534 billion (2024 est.)", "quantity"), ("5.6 (kilograms)", "quantity"),
        ("3 Idiots", None), ("10 Downing Street", None), ("May", None), ("A1", None), ("e10", None), ("", None),
        ("2001: A Space Odyssey", None), ("9" * 200, None),
    ],
)  # fmt: skip
def test_values(text, kind):
    assert value_kind(text) == kind


def usable(text: str) -> bool:
    return bool(text.strip()) and text == text.strip() and not text.startswith('"')


cell = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12).filter(
    usable
)
# Universal newlines inside quotes are CSV's own affair: a lone carriage return comes back as it went in.
statement = st.tuples(cell, cell, cell, st.lists(st.tuples(cell, cell), max_size=2), st.booleans())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(statements=st.lists(statement, min_size=1, max_size=25))
def test_everything_is_read_back(tmp_path_factory, statements):
    folder = tmp_path_factory.mktemp("roundtrip")
    path = folder / "t.jsonl"
    path.write_text(
        "\n".join(
            json.dumps({"subject": s, "relation": r, "object": o, "qualifiers": q, "literal": lit})
            for s, r, o, q, lit in statements
        ),
        "utf-8",
    )
    assert_read_back(folder, path, {(s, r, o, tuple(q), lit) for s, r, o, q, lit in statements})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(statements=st.lists(st.tuples(cell, cell, cell), min_size=1, max_size=25))
def test_quoted_csv_is_read_back(tmp_path_factory, statements):
    folder = tmp_path_factory.mktemp("roundtrip")
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([("subject", "relation", "object"), *statements])
    path = folder / "t.csv"
    path.write_bytes(out.getvalue().encode())
    assert_read_back(folder, path, {(*row, (), False) for row in statements})


def assert_read_back(folder: Path, source: Path, expected: set[tuple]) -> None:
    rejects = Rejects(strict=True)
    counts, _ = built_graph(folder / "graph.sqlite", read_triples(source, rejects), detect_literals=False)
    assert counts["triples"] == len(expected)
    subjects = sorted({row[0] for row in expected})
    with SqliteGraphStore(folder / "graph.sqlite") as store:
        ids = [subject for subject, one in zip(subjects, store.entities(subjects), strict=True) if one]
        assert ids == subjects
        edges = [edge for edges in store.relations(subjects) for edge in edges if edge["direction"] == "out"]
        steps = [{"entity": e["entity"], "relation": e["name"], "direction": "out"} for e in edges]
        found = [triple for one in store.neighbours(steps) for triple in one["triples"]]
        ends = store.entities([triple["object"] for triple in found])
        values = [end["label"] if end["literal"] else end["id"] for end in ends]
        back = {
            (t["subject"], t["relation"], value, tuple(map(tuple, t["qualifiers"])), t["literal"])
            for t, value in zip(found, values, strict=True)
        }
        assert back == expected
        assert len(found) == len(expected)
        around = store.neighbourhood(subjects)
        assert {t["id"] for one in around for t in one["triples"]} >= {t["id"] for t in found}
        assert all(match for match in store.lookup(subjects, limit=50))


def test_a_line_longer_than_any_is_refused_before_it_is_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "LINE_LIMIT", 1 << 20)
    path = tmp_path / "bomb.tsv.gz"
    with gzip.open(path, "wb") as out:
        for _ in range(40):
            out.write(b"x" * (1 << 20))
    with pytest.raises(KnowledgeError, match=r"bomb\.tsv\.gz, line 1: longer than 1 MiB"):
        lines.sample_of(path)
    few = tmp_path / "few.tsv"
    few.write_bytes((b"a\tb\t" + b"c" * 400_000 + b"\n") * 20)
    assert len(lines.sample_of(few)) == 2, "a sample is bounded in bytes, too"


def test_aliases_without_end_are_refused_before_they_are_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LINE_LIMIT", 1 << 20)
    path = tmp_path / "aliases.json.gz"
    with gzip.open(path, "wb") as out:
        out.write(b'{"a": ["')
        for _ in range(40):
            out.write(b"x" * (1 << 20))
    with pytest.raises(KnowledgeError, match=r"aliases\.json\.gz is longer than 1 MiB"):
        read_aliases(path, Rejects())
