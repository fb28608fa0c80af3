from __future__ import annotations

import argparse
import bz2
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from itertools import groupby
from pathlib import Path

import pytest

from thinkgraph.cli.kb import command as kb
from thinkgraph.errors import KnowledgeError, UsageError
from thinkgraph.ingest import build as build_module
from thinkgraph.ingest.build import build_kb
from thinkgraph.ingest.folder import BuildFolder
from thinkgraph.ingest.neo4j.kb_rows import KbRows
from thinkgraph.tools.encoders import embeddings
from thinkgraph.tools.kb_files import read_manifest
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.openers import OPENERS
from thinkgraph.tools.sqlite.graph import SqliteGraphStore
from thinkgraph.tools.sqlite.text import SqliteTextStore

TRIPLES = """Paris\tcapital_of\tFrance
Paris\tpopulation\t2102650
Lyon\tpopulation\t522250
Lyon\tin\tFrance
Lyon\tin\tFrance
broken
"""
PASSAGES = [
    {"id": 1, "title": "Paris", "text": "Paris is a city.", "section": "Intro"},
    {"id": 2, "title": "Lugdunum", "text": "Lyon was founded by Romans."},
    {"id": 3, "title": "x", "text": "Both.", "entities": ["Paris", {"name": "lyon", "type": "LOC"}, "Atlantis", {}]},
    {"id": 4, "title": "Atlantis", "text": "Unknown."},
    {"id": 1, "title": "Paris", "text": "Once more."},
]


class FakeEmbedder:
    def __init__(self, name: str = "fake") -> None:
        self.name = name

    def embed(self, texts):
        return [[1.0, 0.0] for _ in texts]


class Texts:
    """The real text side, which can be told to run out of space."""

    def __init__(self, build_text) -> None:
        self.fail_after: int | None = None
        self._build_text = build_text

    def __call__(self, path, passages, **options):
        return self._build_text(path, self._failing(passages), **options)

    def _failing(self, passages):
        for number, passage in enumerate(passages):
            if number == self.fail_after:
                raise OSError(28, "No space left on device")
            yield passage


def passages_in(folder: Path) -> list[dict]:
    with SqliteTextStore(folder / "text.sqlite", FakeEmbedder("bundled")) as store:
        return store.passages(["1", "2", "3", "4"])


@pytest.fixture(autouse=True)
def texts(monkeypatch):
    def load(spec=None):
        return FakeEmbedder(str(spec or "bundled")) if isinstance(spec, str | None) else spec

    fake = Texts(build_module.build_text)
    monkeypatch.setattr(build_module, "build_text", fake)
    monkeypatch.setattr(embeddings, "load_embedder", load)
    return fake


@pytest.fixture
def files(tmp_path):
    (tmp_path / "triples.tsv").write_text(TRIPLES)
    (tmp_path / "passages.jsonl").write_text("\n".join(map(json.dumps, PASSAGES)))
    (tmp_path / "aliases.json").write_text('{"Lyon": ["Lugdunum"], "Nowhere": ["N"]}')
    (tmp_path / "entities.tsv").write_text(
        "id\tlabel\ttype\nParis\tParis (city)\tcity\nNew\tNew one\t\nin\tlies in\t\n"
    )
    return {
        "triples": [tmp_path / "triples.tsv"],
        "passages": [tmp_path / "passages.jsonl"],
        "aliases": tmp_path / "aliases.json",
        "entities": tmp_path / "entities.tsv",
    }


def test_what_a_passage_names_that_the_graph_lacks_is_reported(tmp_path, files):
    rows = [
        {"id": "1", "text": "One.", "entities": ["Paris", "Atlantis", "Lyon", "Mu", "Ys", "Thule"]},
        {"id": "2", "text": "Two.", "entities": ["Atlantis"]},
        {"id": "3", "text": "Three.", "title": "Lyon"},
    ]
    (tmp_path / "passages.jsonl").write_text("\n".join(map(json.dumps, rows)))
    report = build_kb(tmp_path / "kb", triples=files["triples"], passages=files["passages"])
    assert report.manifest["text"]["not_linked"] == 1
    told = [json.loads(line) for line in (tmp_path / "kb" / "build_report.jsonl").read_text().splitlines()]
    assert [(one["line"], one["reason"]) for one in told if one["kind"] == "unknown entity"] == [
        (1, "the passage names 'Atlantis', 'Mu', 'Ys' and 1 more, which the graph lacks")
    ]


@pytest.mark.parametrize(("name", "pack"), [("p.jsonl.gz", gzip.compress), ("p.jsonl.bz2", bz2.compress)])
def test_packed_passages_are_not_counted_ahead(tmp_path, files, name, pack):
    (tmp_path / name).write_bytes(pack(b'{"id": "1", "text": "One."}\n{"id": "2", "text": "Two."}\n'))
    told = []
    build_kb(
        tmp_path / "kb", triples=files["triples"], passages=[tmp_path / name], progress=lambda *step: told.append(step)
    )
    assert [step for step in told if step[0] == "text"] == [("text", 0, None), ("text", 2, None)]


def test_build_and_open(tmp_path, files):
    stages = set()
    report = build_kb(tmp_path / "kb", **files, progress=lambda stage, *_: stages.add(stage))
    assert report.manifest["graph"] == {
        "entities": 4, "literals": 2, "triples": 4, "relations": 3, "duplicates": 1, "entities_without_triples": 1,
    }  # fmt: skip
    text = report.manifest["text"]
    assert text == {**text, "passages": 4, "entities": 2, "not_linked": 1}
    assert report.manifest["linking"] == {**report.manifest["linking"], "entities": 4}
    assert report.manifest["literal_relations"] == ["population"]
    assert report.rejected == {"malformed": 1, "unknown entity": 2, "duplicate id": 1}
    assert not report.resumed
    assert {"inputs", "triples", "sorting", "names"} <= stages
    assert [one["entities"] for one in passages_in(tmp_path / "kb")] == [["Paris"], ["Lyon"], ["Paris", "Lyon"], []]
    lines = (tmp_path / "kb" / "build_report.jsonl").read_text().splitlines()
    assert {json.loads(line)["kind"] for line in lines} == set(report.rejected)
    assert str(tmp_path) not in (tmp_path / "kb" / "kb.json").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "aliases.json", "entities.tsv", "kb", "passages.jsonl", "triples.tsv",
    ]  # fmt: skip
    assert sorted(p.name for p in (tmp_path / "kb").iterdir()) == [
        "build_report.jsonl", "entities.sqlite", "graph.sqlite", "kb.json", "text.sqlite",
    ]  # fmt: skip
    with Knowledge.open(tmp_path / "kb") as found:
        assert found.name == "kb"
        assert found.fingerprint == report.manifest["fingerprint"]
        paris, new = found.graph.entities(["Paris", "New"])
        assert (paris["label"], paris["type"]) == ("Paris (city)", "city")
        assert new["label"] == "New one"
        assert found.embedder.name == "bundled"
        labels = {edge["label"] for edges in found.graph.relations(["Lyon"]) for edge in edges}
        assert labels == {"population", "lies in"}
        with pytest.raises(AttributeError, match="cannot be changed"):
            found.name = "other"


def test_literal_options(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text(
        "a\tyear\t1990\nb\tyear\t1991\nc\tmotto\tfree\n1990\tin\tcentury\n"
        + "".join(f"m{i}\tyear\t{i}\n" for i in range(1900, 1990))
    )
    kinds = {}
    for name, options in {
        "auto": {},
        "none": {"detect_literals": False},
        "forced": {"literal_relations": ["motto"]},
    }.items():
        build_kb(tmp_path / name, triples=[path], **options)
        with SqliteGraphStore(tmp_path / name / "graph.sqlite") as store:
            kinds[name] = {
                t["object_label"]: t["literal"] for one in store.neighbourhood(["a", "b", "c"]) for t in one["triples"]
            }
    # 1990 has a fact of its own, so it stays a thing.
    assert kinds["auto"] == {"1990": False, "1991": True, "free": False}
    assert kinds["none"] == {"1990": False, "1991": False, "free": False}
    assert kinds["forced"] == {"1990": False, "1991": True, "free": True}


def test_fingerprint_follows_content_only(tmp_path, files):
    first = build_kb(tmp_path / "one", **files).manifest["fingerprint"]
    assert build_kb(tmp_path / "two", **files, name="other").manifest["fingerprint"] == first
    assert build_kb(tmp_path / "three", **files, detect_literals=False).manifest["fingerprint"] != first
    assert build_kb(tmp_path / "five", **files, embedder="x").manifest["fingerprint"] != first
    files["triples"][0].write_text(TRIPLES + "x\ty\tz\n")
    assert build_kb(tmp_path / "four", **files).manifest["fingerprint"] != first


def test_same_inputs_give_the_same_graph_in_another_process(tmp_path, files):
    code = (
        "import sys; from thinkgraph.ingest.build import build_kb; "
        "build_kb(sys.argv[1], triples=[sys.argv[2]], aliases=sys.argv[3], name='n', index=False)"
    )
    for seed, name in (("1", "one"), ("2", "two")):
        arguments = [str(tmp_path / name), str(files["triples"][0]), str(files["aliases"])]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, *arguments], check=True, env=environment)
    assert (tmp_path / "one" / "graph.sqlite").read_bytes() == (tmp_path / "two" / "graph.sqlite").read_bytes()


def test_existing_base_is_replaced_only_on_request(tmp_path, files):
    before = build_kb(tmp_path / "kb", triples=files["triples"]).manifest
    with pytest.raises(KnowledgeError, match="--replace"):
        build_kb(tmp_path / "kb", **files)
    with Knowledge.open(tmp_path / "kb") as old:
        after = build_kb(tmp_path / "kb", **files, replace=True).manifest
        assert old.graph.lookup(["Lugdunum"]) == [[]]
    assert before["fingerprint"] != after["fingerprint"] == read_manifest(tmp_path / "kb")["fingerprint"]
    assert not list(tmp_path.glob(".kb*"))


def test_failed_replacement_keeps_the_old(tmp_path, files, texts):
    before = build_kb(tmp_path / "kb", triples=files["triples"]).manifest
    texts.fail_after = 2
    with pytest.raises(KnowledgeError, match=r"No space left on device.*same command again"):
        build_kb(tmp_path / "kb", **files, replace=True)
    assert read_manifest(tmp_path / "kb") == before


def test_replacement_without_exchange(tmp_path, files, monkeypatch):
    monkeypatch.setattr(BuildFolder, "_exchange", lambda _: False)
    build_kb(tmp_path / "kb", triples=files["triples"])
    build_kb(tmp_path / "kb", **files, replace=True)
    assert read_manifest(tmp_path / "kb")["text"]
    assert not list(tmp_path.glob(".kb*"))
    # Cut off between its two moves, a replacement is undone by the next build.
    (tmp_path / "kb").rename(tmp_path / ".kb.old")
    with pytest.raises(KnowledgeError, match="already"):
        build_kb(tmp_path / "kb", **files)
    assert read_manifest(tmp_path / "kb")["text"]


def test_finished_stages_are_not_redone(tmp_path, files, texts, monkeypatch):
    texts.fail_after = 1
    with pytest.raises(KnowledgeError, match="No space"):
        build_kb(tmp_path / "kb", **files)
    assert not (tmp_path / "kb").exists()
    texts.fail_after = None

    def no_graph(*_: object) -> None:
        raise AssertionError("the graph was finished")

    monkeypatch.setattr(build_module.Build, "_graph", no_graph)
    report = build_kb(tmp_path / "kb", **files)
    assert report.resumed
    assert report.rejected == {"malformed": 1, "unknown entity": 2, "duplicate id": 1}
    assert not list(tmp_path.glob(".kb*"))


def test_changed_inputs_start_anew(tmp_path, files, texts):
    texts.fail_after = 1
    with pytest.raises(KnowledgeError, match="No space"):
        build_kb(tmp_path / "kb", **files)
    texts.fail_after = None
    files["triples"][0].write_text("a\tb\tc\n")
    report = build_kb(tmp_path / "kb", **files)
    assert not report.resumed
    assert report.manifest["graph"]["triples"] == 1


def test_killed_build_goes_on(tmp_path, files):
    big = tmp_path / "big.tsv"
    with big.open("w") as out:
        out.writelines(f"n{i % 5000}\tr{i % 7}\tn{i * 31 % 5000}\n" for i in range(60_000))
    code = "import sys; from thinkgraph.ingest.build import build_kb; build_kb(sys.argv[1], triples=[sys.argv[2]], index=False)"
    whole = build_kb(tmp_path / "whole", triples=[big], name="kb", index=False).manifest
    for delay in (0.25, 0.4, 0.55):
        process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "kb"), str(big)])
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if (tmp_path / "kb").exists():
            read_manifest(tmp_path / "kb")
            shutil.rmtree(tmp_path / "kb")
    report = build_kb(tmp_path / "kb", triples=[big], index=False)
    assert report.manifest["graph"] == whole["graph"]
    assert report.manifest["fingerprint"] == whole["fingerprint"]
    assert not list(tmp_path.glob(".kb*"))


@pytest.mark.parametrize("stage", ["triples", "entities", "sorting", "nodes", "names"])
def test_a_build_killed_at_any_stage_goes_on(tmp_path, files, stage):
    code = (
        "import os, signal, sys; from thinkgraph.ingest.build import build_kb; from pathlib import Path\n"
        "def kill(stage, *_):\n    if stage == sys.argv[2]: os.kill(os.getpid(), signal.SIGKILL)\n"
        "at = Path(sys.argv[1]); build_kb(at / 'kb', triples=[at / 'triples.tsv'], aliases=at / 'aliases.json', "
        "entities=at / 'entities.tsv', index=False, progress=kill)"
    )
    options = {"triples": files["triples"], "aliases": files["aliases"], "entities": files["entities"], "index": False}
    whole = build_kb(tmp_path / "whole", **options, name="kb")
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path), stage], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "kb").exists()
    report = build_kb(tmp_path / "kb", **options)
    assert report.rejected == whole.rejected == {"malformed": 1, "unknown entity": 1}
    assert (tmp_path / "kb" / "graph.sqlite").read_bytes() == (tmp_path / "whole" / "graph.sqlite").read_bytes()
    assert sorted(p.name for p in (tmp_path / "kb").iterdir()) == ["build_report.jsonl", "graph.sqlite", "kb.json"]
    assert not list(tmp_path.glob(".kb*"))


def test_triples_are_not_read_again(tmp_path, files, monkeypatch):
    write = build_module.write_graph

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(build_module, "write_graph", full)
    with pytest.raises(KnowledgeError, match=r"No space left on device.*same command again"):
        build_kb(tmp_path / "kb", **files)
    monkeypatch.setattr(build_module, "write_graph", write)
    monkeypatch.setattr(build_module, "read_triples", None)
    report = build_kb(tmp_path / "kb", **files)
    assert report.resumed
    assert report.manifest["graph"]["triples"] == 4
    assert report.rejected == {"malformed": 1, "unknown entity": 2, "duplicate id": 1}


@pytest.mark.parametrize("where", ["adjacency._write_edges", "names.key_label", "graph.move_names"])
@pytest.mark.parametrize("large", [1, 1_000_000])
def test_what_writes_a_graph_may_fail(tmp_path, files, monkeypatch, where, large):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("thinkgraph.ingest.writers.graph.LARGE", large)
    # Only here: a process of its own finds room, unless it ends as one that does not.
    monkeypatch.setattr(f"thinkgraph.ingest.writers.{where}", full)
    if where == "names.key_label":
        monkeypatch.setattr("thinkgraph.ingest.writers.graph.sys.executable", "/bin/false")
    with pytest.raises(KnowledgeError, match="No space left on device"):
        build_kb(tmp_path / "kb", **files)
    assert not (tmp_path / "kb").exists()
    monkeypatch.undo()
    assert build_kb(tmp_path / "kb", **files).manifest["graph"]["triples"] == 4


@pytest.mark.parametrize("python", [sys.executable, "/bin/false", None])
def test_a_large_graph_is_the_same(tmp_path, files, monkeypatch, python):
    """Its names are indexed in a process of its own, or here where that fails."""
    build_kb(tmp_path / "small", **files, name="kb")
    monkeypatch.setattr("thinkgraph.ingest.writers.graph.LARGE", 1)
    monkeypatch.setattr("thinkgraph.ingest.writers.graph.sys.executable", python)
    build_kb(tmp_path / "large", **files, name="kb")
    small, large = ((tmp_path / name / "graph.sqlite").read_bytes() for name in ("small", "large"))
    assert small == large


def test_two_builds_of_one_folder(tmp_path, files):
    with (
        BuildFolder(tmp_path / "kb", "key", replace=False),
        pytest.raises(KnowledgeError, match="another process is building"),
    ):
        build_kb(tmp_path / "kb", **files)
    assert build_kb(tmp_path / "kb", **files).manifest["graph"]["triples"] == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"triples": ["nothing.tsv"]}, "there is no file nothing.tsv"),
        ({"triples": ["."]}, "is a folder"),
        ({"aliases": "/dev/null"}, "is no file but a pipe or a device"),
        ({"passages": ["nothing.jsonl"]}, "there is no file"),
    ],
)
def test_bad_inputs(tmp_path, files, change, message):
    with pytest.raises(KnowledgeError, match=message) as caught:
        build_kb(tmp_path / "kb", **{**files, **change})
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "kb").exists()


def test_bad_targets(tmp_path, files):
    with pytest.raises(UsageError, match="--triples"):
        build_kb(tmp_path / "kb", triples=[])
    with pytest.raises(KnowledgeError, match="not empty and not a knowledge base"):
        build_kb(tmp_path, **files)
    with pytest.raises(KnowledgeError, match="is a file"):
        build_kb(files["aliases"], **files)
    with pytest.raises(KnowledgeError, match="cannot write"):
        build_kb("/proc/kb", **files)
    (tmp_path / "empty").mkdir()
    assert build_kb(tmp_path / "empty", **files).manifest


@pytest.mark.parametrize("named", [str, Path])
def test_files_are_given_in_a_list(tmp_path, named):
    (tmp_path / "t.tsv").write_text("a\tr\tb\n")
    with pytest.raises(UsageError, match=r"paths are given in a list: \['t\.tsv'\]"):
        build_kb(tmp_path / "kb", triples=named("t.tsv"))
    with pytest.raises(UsageError, match=r"a file is named by a text or a path, not \('a', 'r', 'b'\)"):
        build_kb(tmp_path / "kb", triples=(row for row in [("a", "r", "b")]))


def test_nothing_usable(tmp_path):
    (tmp_path / "t.tsv").write_text("a\nb\n\tx\ty\n")
    with pytest.raises(KnowledgeError, match=r"no triple could be read from t\.tsv: line 1"):
        build_kb(tmp_path / "kb", triples=[tmp_path / "t.tsv"])
    with pytest.raises(KnowledgeError, match=r"t\.tsv, line 1.*strict"):
        build_kb(tmp_path / "kb", triples=[tmp_path / "t.tsv"], strict=True)
    (tmp_path / "good.tsv").write_text("a\tr\tb\n")
    (tmp_path / "p.jsonl").write_text('{"id": "1", "content": "a"}\n')
    with pytest.raises(KnowledgeError, match=r"no passage could be read.*\(p\.jsonl, line 1: no text\)"):
        build_kb(tmp_path / "kb", triples=[tmp_path / "good.tsv"], passages=[tmp_path / "p.jsonl"])


def test_opening_what_is_no_base(tmp_path, files):
    build_kb(tmp_path / "kb", **files)

    def broken(name: str):
        copy = tmp_path / name
        shutil.copytree(tmp_path / "kb", copy)
        return copy

    def refuse(spec, message: str) -> None:
        with pytest.raises(KnowledgeError, match=message) as caught:
            Knowledge.open(spec)
        assert "\n" not in str(caught.value)

    refuse(tmp_path / "none", "there is no knowledge base")
    refuse(tmp_path, "is not a knowledge base")
    refuse("", "empty")
    refuse("gopher://host", "gopher:// is no kind")
    for version, advice in ((99, "update thinkgraph"), (0, "build it again")):
        copy = broken(f"v{version}")
        manifest = json.loads((copy / "kb.json").read_text())
        (copy / "kb.json").write_text(json.dumps({**manifest, "format": version}))
        refuse(copy, advice)
    (broken("a") / "kb.json").write_text("{")
    refuse(tmp_path / "a", "is damaged")
    (broken("b") / "graph.sqlite").unlink()
    refuse(tmp_path / "b", r"graph\.sqlite cannot be read")
    with (broken("c") / "text.sqlite").open("r+b") as out:
        out.truncate(20)
    refuse(tmp_path / "c", "bytes where")
    with (broken("d") / "graph.sqlite").open("r+b") as out:
        out.write(b"nonsense" * 4)
    refuse(tmp_path / "d", "damaged")


def test_openers_by_scheme(monkeypatch, tmp_path, files):
    build_kb(tmp_path / "kb", **files)
    with SqliteGraphStore(tmp_path / "kb" / "graph.sqlite") as graph:
        opened = Knowledge(graph=graph, embedder=FakeEmbedder("mine"), name="own")
        monkeypatch.setitem(OPENERS, "mem", lambda _, **__: opened)
        assert Knowledge.open("mem://x") is opened
        assert (opened.name, opened.text, opened.embedder.name) == ("own", None, "mine")
        assert opened.graph is graph
        assert len(opened.fingerprint) == 32


def test_own_embedder_must_be_given_again(tmp_path, files):
    build_kb(tmp_path / "kb", **files, embedder=FakeEmbedder("mine"))
    with Knowledge.open(tmp_path / "kb") as found, pytest.raises(KnowledgeError, match="pass it"):
        _ = found.embedder
    mine = FakeEmbedder("mine")
    with Knowledge.open(tmp_path / "kb", embedder=mine) as found:
        assert found.embedder is mine


def cli(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    kb.add_arguments(parser)
    return kb.run(parser.parse_args([str(argument) for argument in arguments]))


def test_command_line(tmp_path, files, capsys):
    options = ["--passages", *files["passages"], "--aliases", files["aliases"], "--entities", files["entities"]]
    assert cli("build", tmp_path / "kb", "--triples", *files["triples"], *options, "--name", "a\x1b[31mb") == 0
    out, err = capsys.readouterr()
    assert "4 triples, 4 entities" in out
    assert "triples.tsv, line 6: malformed" in err
    assert cli("info", tmp_path / "kb") == 0
    out, _ = capsys.readouterr()
    assert "\x1b" not in out
    assert "2 entities (50.0%)" in out
    assert cli("info", tmp_path / "kb", "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["relations"][0] == {"name": "population", "label": "population", "triples": 2}
    assert facts["bytes"] > 0


def test_triples_are_exported_relation_by_relation(tmp_path):
    (tmp_path / "t.tsv").write_text("".join(f"n{i % 7}\tr{i % 3}\tn{i * 5 % 11}\n" for i in range(90)))
    build_kb(tmp_path / "kb", triples=[tmp_path / "t.tsv"], index=False)
    with KbRows(tmp_path / "kb") as rows:
        found = list(rows.triples())
        assert [relation for relation, _ in groupby(row.relation for row in found)] == ["r0", "r1", "r2"]
        assert list(rows.triples()) == found, "an export that was stopped goes on in the same order"
