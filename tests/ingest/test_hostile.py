"""`kb build` on input and in places that go wrong: one clear line, a status that is not 0, and nothing lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from thinkgraph.cli.main import main
from thinkgraph.ingest.readers import files
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.encoders import embeddings
from thinkgraph.tools.kb_files import read_manifest
from thinkgraph.tools.knowledge import Knowledge

REFUSED = 3
INTERRUPTED = 130


class Interrupted(HashEmbedder):
    """Gets Ctrl-C after some batches, once."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None

    def _encode(self, model, texts):
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                self.left = None
                raise KeyboardInterrupt
        return super()._encode(model, texts)


@pytest.fixture(autouse=True)
def encoder(monkeypatch, tmp_path):
    made = Interrupted()
    monkeypatch.setattr(embeddings, "load_embedder", lambda _=None: made)
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path / "cache"))
    return made


@pytest.fixture
def build(tmp_path, capsys):
    def run(*arguments: object, target: str = "kb") -> tuple[int, list[str], str]:
        status = main(["kb", "build", str(tmp_path / target), *map(str, arguments)])
        out, err = capsys.readouterr()
        return status, err.splitlines(), out

    return run


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (bytes(range(256)) * 400, "is not UTF-8 text"),
        ("a\tb\tc\n".encode("utf-16"), "is UTF-16; convert it"),
        ("a\tb\tc\n".encode("utf-16-le"), "convert it (iconv -f UTF-16LE -t UTF-8)"),
        ("é\tb\tc\n".encode("utf-16-be"), "convert it (iconv -f UTF-16BE -t UTF-8)"),
        (b"x" * 10_000_000, "1 column where 3 are needed"),
        (b"no separators here\n", "1 column"),
        (b'{"s": "a"', "bad JSON"),
        (b"PK\x03\x04" + b"\0" * 100, "is a zip archive; unpack it"),
    ],
)
def test_unusable_triples(build, tmp_path, content, message):
    (tmp_path / "t.tsv").write_bytes(content)
    status, err, out = build("--triples", tmp_path / "t.tsv")
    assert (status, len(err), out) == (REFUSED, 1, "")
    assert err[0].startswith("thinkgraph: error: ")
    assert message in err[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.tsv"]


def test_no_file(build, tmp_path):
    for name, message in (("none.tsv", "there is no file"), (".", "is a folder")):
        status, err, _ = build("--triples", tmp_path / name)
        assert (status, len(err)) == (REFUSED, 1)
        assert message in err[0]


def test_a_device_and_a_pipe_are_no_files(build, tmp_path):
    os.mkfifo(tmp_path / "pipe.tsv")
    (tmp_path / "zero.tsv").symlink_to("/dev/zero")
    for name in ("pipe.tsv", "zero.tsv"):
        status, err, _ = build("--triples", tmp_path / name)
        assert (status, len(err)) == (REFUSED, 1)
        assert "is no file but a pipe or a device" in err[0]


def test_a_passage_that_is_no_passage(build, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_PASSAGE", 1000)
    rows = [{"id": "1", "text": "a" * 1001}, {"id": "2", "text": "a" * 1000}]
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, rows)))
    status, err, _ = build("--triples", tmp_path / "t.tsv", "--no-index", "--passages", tmp_path / "p.jsonl")
    assert status == 0
    assert "p.jsonl, line 1: malformed: the text is longer than 1,000 characters; cut it into passages" in err
    assert read_manifest(tmp_path / "kb")["text"]["passages"] == 1


def test_quotes_over_lines(build, tmp_path):
    (tmp_path / "t.csv").write_text('subject,relation,object\na,says,"two\nlines"\nb,r,"c\n"\nd,r,e\n')
    assert build("--triples", tmp_path / "t.csv")[0] == 0
    with Knowledge.open(tmp_path / "kb") as kb:
        assert kb.graph.info()["triples"] == 3
        assert kb.graph.neighbourhood(["a"])[0]["triples"][0]["object"] == "two\nlines"
    # An open quote swallows the rest of the file, which must be said.
    (tmp_path / "t.csv").write_text('a,r,b\nb,says,"never closed\nc,r,d\ne,r,f\n')
    status, err, _ = build("--triples", tmp_path / "t.csv", target="open")
    assert status == 0
    assert "t.csv, line 2: malformed: a quote is opened and not closed; lines 2 to 4 are not used" in err
    status, err, _ = build("--triples", tmp_path / "t.csv", "--strict", target="strict")
    assert (status, len(err)) == (REFUSED, 1)


def test_lines_between_two_open_quotes_are_told(build, tmp_path):
    """They became the object of the first one, and nothing was said of them."""
    rows = [f"{i},r," + '"' * (i in (7, 90)) + f"x{i}" for i in range(100)]
    (tmp_path / "t.csv").write_text("\n".join(["s,r,o", *rows, 'a,says,"two ""fine""\nlines"']) + "\n")
    _, err, _ = build("--triples", tmp_path / "t.csv", "--no-index")
    assert err[0] == "t.csv, line 9: malformed: a quote is opened and not closed; lines 9 to 92 are not used"
    assert read_manifest(tmp_path / "kb")["graph"]["triples"] == 17


def test_all_lines_that_an_open_quote_takes_are_told(build, tmp_path):
    rows = [f"{i},r," + '"' * (i == 7) + "x" * 100 for i in range(3000)]
    (tmp_path / "t.csv").write_text("\n".join(["s,r,o", *rows]) + "\n")
    _, err, _ = build("--triples", tmp_path / "t.csv", "--no-index")
    used = read_manifest(tmp_path / "kb")["graph"]["triples"]
    assert err[0].startswith("t.csv, line 9: malformed: bad CSV")
    assert err[0].endswith(f"is a quote left open?); lines 9 to {9 + 2999 - used} are not used")


def test_one_long_line_among_others(build, tmp_path):
    (tmp_path / "t.tsv").write_text(f"a\tb\tc\na\tb\t{'x' * 10_000_000}\n")
    assert build("--triples", tmp_path / "t.tsv", "--no-index")[0] == 0
    assert read_manifest(tmp_path / "kb")["graph"]["triples"] == 2


def test_wrong_json_in_the_middle_and_files_twice(build, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    (tmp_path / "p.jsonl").write_text('{"id":"1","text":"a"}\n{"id": oops}\n[1]\n{"id":"2","text":"b"}\n')
    twice = ["--triples", tmp_path / "t.tsv", "--triples", tmp_path / "t.tsv"]
    status, err, out = build(*twice, "--passages", tmp_path / "p.jsonl")
    assert status == 0
    assert "1 duplicate row left out" in out
    assert [line.split(": ")[:2] for line in err[:2]] == [
        ["p.jsonl, line 2", "malformed"],
        ["p.jsonl, line 3", "malformed"],
    ]
    assert read_manifest(tmp_path / "kb")["text"]["passages"] == 2


def test_relations_of_literals_that_no_triple_has(build, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    status, err, _ = build("--triples", tmp_path / "t.tsv", "--literal", "b", "x", "y\nz")
    assert (status, len(err)) == (2, 1)
    assert "no triple has the relation 'x', 'y z', whose objects were to be literals" in err[0]
    assert not (tmp_path / "kb").exists()


def test_foreign_folder_is_left_alone(build, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "mine.txt").write_text("mine")
    for more in ([], ["--replace"]):
        status, err, _ = build("--triples", tmp_path / "t.tsv", *more)
        assert (status, len(err)) == (REFUSED, 1)
        assert "not empty and not a knowledge base" in err[0]
    assert [path.name for path in (tmp_path / "kb").iterdir()] == ["mine.txt"]


def test_files_of_others_in_a_knowledge_base_are_not_lost_with_it(build, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    assert build("--triples", tmp_path / "t.tsv")[0] == 0
    mine = tmp_path / "kb" / "mine.txt"
    mine.write_text("mine")
    status, err, _ = build("--triples", tmp_path / "t.tsv", "--replace")
    assert (status, len(err)) == (REFUSED, 1)
    assert "holds mine.txt too, which would be lost" in err[0]
    assert mine.read_text() == "mine"
    (tmp_path / "kb" / "kb.json").write_text("damaged")
    assert build("--triples", tmp_path / "t.tsv", "--replace")[0] == REFUSED
    mine.unlink()
    assert build("--triples", tmp_path / "t.tsv", "--replace")[0] == 0


def test_aliases_of_a_name_that_comes_twice_are_all_used(build, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    (tmp_path / "aliases.json").write_text('{"a": ["first"], "a": "second"}')
    assert build("--triples", tmp_path / "t.tsv", "--aliases", tmp_path / "aliases.json")[0] == 0
    with Knowledge.open(tmp_path / "kb") as kb:
        assert [links[0]["entity"]["id"] for links in kb.linker.link_names(["first", "second"], limit=1)] == ["a", "a"]


def test_aliases_under_names_of_one_entity_are_all_used(build, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    (tmp_path / "e.tsv").write_text("id\tlabel\na\tThe First\n")
    given = {
        "The First": ["one"],
        "the first": ["two"],
        "c": ["three"],
        " c": ["four"],
        "Nobody": ["x"],
        "nobody": ["y"],
    }
    (tmp_path / "aliases.json").write_text(json.dumps(given))
    _, err, _ = build(
        "--triples", tmp_path / "t.tsv", "--entities", tmp_path / "e.tsv", "--aliases", tmp_path / "aliases.json"
    )
    assert [line.split(": ")[2] for line in err[:2]] == [
        f"'{name}' names no entity, or several" for name in ("Nobody", "nobody")
    ]
    with Knowledge.open(tmp_path / "kb") as kb:
        found = kb.linker.link_names(["one", "two", "three", "four"], limit=1)
        assert [links[0]["entity"]["id"] for links in found] == ["a", "a", "c", "c"]


def test_rows_of_an_entity_that_say_different_things_are_told(build, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\tc\nd\tb\ta\n")
    rows = [
        "a\tAnn\tperson",
        "c\tCee\t",
        "c\tCee\tletter",
        "d\tDee\t",
        "a\tAnna\tperson",
        "a\tAnne\tperson",
        "e\tEmil\t",
        "e\tErna\t",
    ]
    (tmp_path / "e.tsv").write_text("\n".join(["id\tlabel\ttype", *rows]) + "\n")
    status, err, _ = build("--triples", tmp_path / "t.tsv", "--entities", tmp_path / "e.tsv", "--no-index", "--strict")
    assert status == 0
    assert err == [
        "e.tsv: duplicate id: the id 'a' comes again with another label ('Anna' is used, not 'Ann')",
        "e.tsv: duplicate id: the id 'a' comes again with another label ('Anne' is used, not 'Anna')",
        "e.tsv: duplicate id: the id 'e' comes again with another label ('Erna' is used, not 'Emil')",
        "not used: 3 duplicate id (see build_report.jsonl in the folder)",
    ]
    with Knowledge.open(tmp_path / "kb") as kb:
        assert [entity["label"] for entity in kb.graph.entities(["a", "c", "d", "e"])] == ["Anne", "Cee", "Dee", "Erna"]


def test_what_a_row_says_of_an_entity_in_no_text_is_told(build, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    rows = [
        {"id": "a", "label": ["A", "B"], "type": {"x": 1}, "description": "d"},
        {"id": "c", "label": None, "name": "C", "type": ""},
    ]
    (tmp_path / "e.jsonl").write_text("\n".join(map(json.dumps, rows)))
    _, err, _ = build("--triples", tmp_path / "t.tsv", "--entities", tmp_path / "e.jsonl", "--no-index")
    assert err[:-1] == ["e.jsonl, line 1: malformed: what it says of 'a' in label, type is no text and not used"]
    with Knowledge.open(tmp_path / "kb") as kb:
        a, c = kb.graph.entities(["a", "c"])
        assert (a["label"], a["description"], c["label"]) == ("a", "d", "C")


def test_an_entity_that_is_a_relation_too_keeps_what_is_said_of_it(build, tmp_path):
    (tmp_path / "t.tsv").write_text("film\tdirector\tann\nann\toccupation\tdirector\n")
    (tmp_path / "e.tsv").write_text(
        "id\tlabel\ttype\tdescription\ndirector\tfilm director\tjob\tmakes films\noccupation\thas the job\t\t\n"
    )
    assert build("--triples", tmp_path / "t.tsv", "--entities", tmp_path / "e.tsv", "--no-index")[0] == 0
    with Knowledge.open(tmp_path / "kb") as kb:
        told = {"label": "film director", "type": "job", "description": "makes films"}
        assert kb.graph.entities(["director", "occupation"]) == [{"id": "director", "literal": False, **told}, None]
        assert [match["entity"]["id"] for match in kb.graph.lookup(["Film director"])[0]] == ["director"]
        assert {r["label"] for r in kb.graph.relations(["ann"])[0]} == {"film director", "has the job"}


def test_empty_qualifiers_are_none(build, tmp_path):
    rows = [{"subject": "a", "relation": "b", "object": "c", "qualifiers": {"since": "", "until": None, "by": "d"}}]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert build("--triples", tmp_path / "t.jsonl")[0] == 0
    with Knowledge.open(tmp_path / "kb") as kb:
        assert kb.graph.neighbourhood(["a"])[0]["triples"][0]["qualifiers"] == [["by", "d"]]


def test_a_text_with_a_nul_character_is_said_to_have_one(build, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    (tmp_path / "p.jsonl").write_text(
        json.dumps({"id": "1", "text": "a\0b"}) + '\n{"id": "2"}\n{"id": "3", "text": "c"}\n'
    )
    _, err, _ = build("--triples", tmp_path / "t.tsv", "--passages", tmp_path / "p.jsonl")
    assert "p.jsonl, line 1: malformed: the text has a NUL character or half a character" in err
    assert "p.jsonl, line 2: malformed: no text" in err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_place(build, tmp_path):
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    (tmp_path / "shut").mkdir(mode=0o500)
    status, err, _ = build("--triples", tmp_path / "t.tsv", target="shut/kb")
    assert (status, len(err)) == (REFUSED, 1)
    assert "Permission denied" in err[0]


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS takes no such names")
def test_names_that_are_not_utf8(build, tmp_path):
    triples, passages = tmp_path / "t\udcff.tsv", tmp_path / "p\udcff.jsonl"
    triples.write_text("a\tb\tc\nd\n")
    passages.write_text('{"id": "1", "text": "x"}\n{"id": "1", "text": "y"}\n')
    status, err, _ = build("--triples", triples, "--passages", passages, "--name", "n\udcff", target="kb\udcff")
    assert (status, err[0]) == (0, "t\ufffd.tsv, line 2: malformed: 1 column where 3 are needed")
    manifest = read_manifest(tmp_path / "kb\udcff")
    assert (manifest["name"], manifest["inputs"][0]["file"]) == ("n\ufffd", "t\ufffd.tsv")
    docs = tmp_path / "docs\udcff.txt"
    docs.write_text("Anna Berg met Carl Dorn in Port Almeth.")
    assert build("--documents", docs, target="docs\udcff")[0] == 0
    assert read_manifest(tmp_path / "docs\udcff")["name"] == "docs\ufffd"


def test_no_room(tmp_path):
    (tmp_path / "t.tsv").write_text("".join(f"node {i}\tr\tnode {i + 1}\n" for i in range(20_000)))
    code = "from thinkgraph.cli.main import entry; entry()"
    command = [sys.executable, "-c", code, "kb", "build", str(tmp_path / "kb"), "--triples", str(tmp_path / "t.tsv")]
    command.append("--no-index")
    # A limit on the size of files fails a write as a full disk does.
    full = subprocess.run(
        ["bash", "-c", 'ulimit -f 500; exec "$@"', "-", *command], capture_output=True, text=True, check=False
    )
    assert full.returncode == REFUSED
    assert len(full.stderr.splitlines()) == 1
    assert "mend that and run the same command again" in full.stderr
    assert not (tmp_path / "kb").exists()
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert read_manifest(tmp_path / "kb")["graph"]["triples"] == 20_000


@pytest.fixture
def rows(build, tmp_path):
    """A knowledge base of 2,000 passages and 2 entities."""
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    lines = [json.dumps({"id": i, "text": f"passage number {i}"}) for i in range(2000)]
    (tmp_path / "p.jsonl").write_text("\n".join(lines))
    assert build("--triples", tmp_path / "t.tsv", "--passages", tmp_path / "p.jsonl")[0] == 0
    return tmp_path / "kb"


def test_a_build_encodes_nothing(rows, encoder, capsys):
    assert encoder.encoded == 0
    assert not (rows / "encodings.sqlite").exists()
    assert main(["kb", "info", str(rows)]) == 0
    assert "0 of 2,000 passages (the others when they are first ranked" in capsys.readouterr().out


def test_an_interrupted_index_goes_on(rows, encoder, capsys):
    encoder.left = 4
    assert main(["kb", "index", str(rows)]) == INTERRUPTED
    assert capsys.readouterr().err == "thinkgraph: error: interrupted; the same command goes on where it stopped\n"
    assert encoder.encoded == 4 * 128
    assert main(["kb", "info", str(rows), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["encoded"] == {"passages": {"made": 512, "of": 2000}, "entities": {"made": 0, "of": 2}}
    assert main(["kb", "index", str(rows)]) == 0
    assert "all is encoded (1,488 of the passages, 2 of the entities now)" in capsys.readouterr().out
    assert encoder.encoded == 2000 + 2
    assert main(["kb", "info", str(rows)]) == 0
    assert "2,000 of 2,000 passages\n" in capsys.readouterr().out


def test_a_new_build_takes_over_what_is_encoded(rows, build, tmp_path, encoder):
    assert main(["kb", "index", str(rows)]) == 0
    (tmp_path / "more.tsv").write_text("a\tb\tc\nx\ty\tz\n")
    assert build("--replace", "--triples", tmp_path / "more.tsv", "--passages", tmp_path / "p.jsonl")[0] == 0
    encoder.encoded = 0
    encoder._cache.clear()
    assert main(["kb", "index", str(rows)]) == 0
    assert encoder.encoded == 2  # the new entities


def test_index_of_what_is_no_folder(tmp_path, capsys):
    for name in ("neo4j://host", str(tmp_path / "none")):
        assert main(["kb", "index", name]) != 0
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_no_index(build, tmp_path, encoder, capsys):
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    assert build("--triples", tmp_path / "t.tsv", "--no-index")[0] == 0
    assert encoder.encoded == 0
    assert read_manifest(tmp_path / "kb")["linking"] is None
    assert main(["kb", "info", str(tmp_path / "kb")]) == 0
    assert "no entity can be linked (built with --no-index)" in capsys.readouterr().out
