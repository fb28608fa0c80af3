"""`kb build --documents`, `kb update`, `kb remove` and what they say."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from cli.conftest import PROGRAM, Run, environment
from docs.page_blocks import block_of
from local_http import InThread
from model_server import ModelServer, ServedCall
from replies import Fault

from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.encoders import embeddings

TEXTS = {
    "osk.md": "# Osk\n\nThe Osk is a river in Varn. It ends in Lake Merish.\n",
    "varn.txt": "Varn\n\nVarn is a country. Its capital is Port Arden.\n",
}


@pytest.fixture
def docs(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("THINKGRAPH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(embeddings, "load_embedder", lambda _spec=None: HashEmbedder(64))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "docs" / name).write_text(text)
    return tmp_path / "docs"


def answer(call: ServedCall) -> str:
    triple = ["Osk", "ends in", "Lake Merish"] if "Osk" in call.text else ["Varn", "capital", "Port Arden"]
    return json.dumps({"triples": [triple, ["Osk", "near", "Atlantis"]]})


def test_build_update_remove_and_look(cli: Run, docs: Path) -> None:
    done = cli("kb", "build", "kb", "--documents", "docs", "--no-index")
    assert done.code == 0
    assert "2 documents in 2 passages (2 added)" in done.out
    assert "4 triples, 4 entities" in done.out
    assert done.out.splitlines()[-1].endswith('thinkgraph ask --kb kb --model openai:NAME "…"')
    (docs / "hills.txt").write_text("The Grey Hills lie in Varn.")
    (docs / "bad.txt").write_bytes(b"\xff\xff")
    done = cli("kb", "update", "kb", "--documents", "docs")
    assert "3 documents in 3 passages (1 added, 2 unchanged)" in done.out
    assert "documents want a model" not in done.out
    assert "1 document failed; the same command tries again what failed" in done.out
    assert "docs/bad.txt: not read: is not UTF-8 text" in done.err
    done = cli("kb", "info", "kb")
    assert "documents    3, 1 failed (relations: cooccurrence)" in done.out
    done = cli("kb", "info", "kb", "--documents")
    assert [line.split("  ")[0] for line in done.out.splitlines()] == [
        "docs/bad.txt", "docs/hills.txt", "docs/osk.md", "docs/varn.txt",
    ]  # fmt: skip
    assert "failed: is not UTF-8 text" in done.out.splitlines()[0]
    assert json.loads(cli("kb", "info", "kb", "--documents", "--json").out)[1]["id"] == "docs/hills.txt"
    assert json.loads(cli("kb", "info", "kb", "--json").out)["documents"]["documents"] == 3
    done = cli("kb", "remove", "kb", "--document", "docs/hills.txt", "docs/bad.txt")
    assert "2 documents in 2 passages (2 removed)" in done.out
    assert cli("kb", "remove", "kb", "--document", "docs/hills.txt").line.endswith("lists them")


def test_extraction_says_what_it_cost_and_what_it_dropped(cli: Run, docs: Path, monkeypatch) -> None:
    with ModelServer(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        arguments = ["--extract", "llm", "--model", "openai:gpt-4o-mini", "--no-index"]
        done = cli("kb", "build", "kb", "--documents", "docs", *arguments)
        assert "relations are extracted by openai:gpt-4o-mini" in done.err
        assert "2 model calls to openai:gpt-4o-mini" in done.out
        assert ", $0.00" in done.out
        assert "2 statements; dropped: 2 not in the passage" in done.out
        done = cli("kb", "build", "again", "--documents", "docs", *arguments)
        assert "0 model calls" in done.out
        assert "2 replies were there already" in done.out
        assert "(relations: llm by openai:gpt-4o-mini)" in cli("kb", "info", "kb").out
        assert "name the model with --model" in cli("kb", "update", "kb", "--documents", "docs").line
        (docs / "more.txt").write_text("Varn has a capital, Port Arden.")
        done = cli("kb", "update", "kb", "--documents", "docs", "--model", "openai:gpt-4o-mini", "--set", "max_calls=1")
        assert "1 model calls" in done.out
        assert len(server.calls) == 3


def test_with_a_model_configured_no_other_is_proposed(cli: Run, docs: Path, monkeypatch) -> None:
    monkeypatch.setenv("THINKGRAPH_MODEL", "openai:gpt-4o-mini")
    done = cli("kb", "build", "my kb", "--documents", "docs", "--no-index")
    assert done.code == 0
    assert "documents want a model" not in done.out


def test_what_is_configured_counts_for_an_extraction_too(cli: Run, docs: Path, monkeypatch) -> None:
    build = ["build", "kb", "--documents", "docs", "--extract", "llm", "--no-index"]
    Path("prices.yaml").write_text("openai:reader: [1.0, 2.0]\n")
    with ModelServer(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("THINKGRAPH_MODEL", '{"default": "openai:other", "extract.triples": "openai:reader"}')
        for name in ("PROMPTS", "PRICES"):
            monkeypatch.setenv(f"THINKGRAPH_{name}", "nowhere")
            assert "nowhere" in cli("kb", *build).line
            monkeypatch.delenv(f"THINKGRAPH_{name}")
        assert not server.calls
        monkeypatch.setenv("THINKGRAPH_PRICES", "prices.yaml")
        done = cli("kb", *build, "--set", "max_cost=1")
    assert "relations are extracted by the model that is configured for extract.triples" in done.err
    assert "2 model calls to openai:reader" in done.out
    for name in ("set", "prompts", "prices"):
        done = cli("kb", "update", "kb", "--documents", "docs", f"--{name}", "max_calls=1")
        assert f"--{name} is for extraction by a model: name one with --model" in done.line


def test_no_model_is_asked_unasked(cli: Run, docs: Path, monkeypatch) -> None:
    with ModelServer(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
        done = cli("kb", "build", "kb", "--documents", "docs", "--extract", "llm", "--no-index")
        assert "relations are extracted by offline" in done.err
        assert "model calls to offline" in done.out
        assert not server.calls


def test_a_dead_model_is_one_line(cli: Run, docs: Path, monkeypatch) -> None:
    with ModelServer([Fault(401, "Incorrect API key provided")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        done = cli("kb", "build", "kb", "--documents", "docs", "--extract", "llm", "--model", "openai:m")
    assert done.code == 4
    assert "Incorrect API key" in done.line
    assert not Path("kb").exists()


def test_relations_file(cli: Run, docs: Path, monkeypatch) -> None:
    Path("relations.txt").write_text("# ours\nends in\twhere a river ends\n\ncapital\n")
    Path("empty.txt").write_text("# nothing\n")
    with ModelServer(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        flags = [
            "--documents",
            "docs",
            "--extract",
            "llm",
            "--model",
            "openai:m",
            "--no-index",
            "--entity-types",
            "river, land",
        ]
        cli("kb", "build", "kb", *flags, "--relations", "relations.txt")
        assert "[1] ends in -- where a river ends\n[2] capital" in server.calls[0].text
        assert "[1] river\n[2] land" in server.calls[0].text
        assert "names no relation" in cli("kb", "build", "kb2", *flags, "--relations", "empty.txt").line
        assert "cannot be read" in cli("kb", "build", "kb2", *flags, "--relations", "nowhere").line
        assert "--entity-types names no type" in cli("kb", "build", "kb2", *flags, "--entity-types", " , ").line


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "needs a file of triples (--triples, --wikidata), or documents"),
        (["--documents", "docs", "--triples", "t.tsv"], "--triples and --documents do not go together"),
        (["--documents", "docs", "--wikidata", "dump.json"], "--wikidata and --documents do not go together"),
        (["--documents", "docs", "--language", "de"], "--language and --documents do not go together"),
        (["--documents", "docs", "--strict"], "--strict and --documents do not go together"),
        (["--documents", "docs", "--no-literals"], "--no-literals and --documents do not go together"),
        (["--documents", "docs", "--model", "openai:m"], "--model is for extraction by a model: add --extract llm"),
        (["--documents", "docs", "--entity-types", "river"], "--entity-types is for extraction by a model"),
        (["--documents", "docs", "--extract", "both", "--set", "x=1"], "there is no setting 'x'"),
        (
            ["--documents", "docs", "--extract", "llm", "--set", "max_cost=1", "--model", "openai:m"],
            "max_cost cannot be kept",
        ),
        (["--documents", "docs", "--passage-size", "7"], "200 to 20,000"),
        (["--documents", "docs", "--encoding", "klingon"], "no encoding 'klingon'"),
        (["--documents", "nowhere"], "there is no file or folder nowhere"),
        (["--documents", "/dev/null"], "/dev/null is neither a file nor a folder"),
        (["--triples", "t.tsv", "--extract", "llm"], "--extract is for documents: name them with --documents"),
        (["--triples", "t.tsv", "--encoding", "latin-1"], "--encoding is for documents"),
        (["--documents", "docs", "--extract", "magic"], "invalid choice: 'magic'"),
    ],
)
def test_what_does_not_go_together_is_one_line(cli: Run, docs: Path, arguments: list[str], error: str) -> None:
    done = cli("kb", "build", "kb", *arguments)
    assert done.code in {2, 3}
    assert error in done.line
    assert not Path("kb").exists()
    assert not [path for path in Path().iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize(("name", "means"), [("world", "comes with the package"), ("neo4j://x/y", "an address")])
def test_a_name_that_would_open_something_else_is_refused(cli: Run, docs: Path, name: str, means: str) -> None:
    done = cli("kb", "build", name, "--documents", "docs")
    assert done.code == 2
    assert means in done.line
    assert not Path(name).exists()
    assert cli("kb", "build", "./world", "--documents", "docs", "--no-index").code == 0


@pytest.mark.parametrize("address", ["bolt://me:geheim@h", "neo4j+s://me:geheim@h/db", "sparql+http://me:geheim@h/x"])
@pytest.mark.parametrize(
    "command",
    [
        "build ADDRESS --triples t.tsv",
        "build ADDRESS --documents docs",
        "build kb --triples ADDRESS",
        "build kb --triples t.tsv --aliases ADDRESS",
        "build kb --documents ADDRESS",
        "build kb --documents docs --extract llm --relations ADDRESS",
        "update ADDRESS --documents docs",
        "remove ADDRESS --document a",
        "export ADDRESS --to out --format neo4j-csv",
        "export ADDRESS --to neo4j://h",
        "index ADDRESS",
    ],
)
def test_an_address_where_a_path_is_meant_is_refused_without_its_password(
    cli: Run, docs: Path, address: str, command: str
) -> None:
    Path("t.tsv").write_text("Varn\tin\tOrlen\n")
    before = sorted(Path().iterdir())
    done = cli("kb", *(address if word == "ADDRESS" else word for word in command.split()))
    assert done.code == 2
    assert "is an address: name a f" in done.line or "takes a knowledge base's folder" in done.line
    assert "geheim" not in done.out + done.err
    assert sorted(Path().iterdir()) == before


def test_the_bundled_base_stays_as_it_is(cli: Run, docs: Path) -> None:
    for command in (("update", "world", "--documents", "docs"), ("remove", "world", "--document", "x")):
        done = cli("kb", *command)
        assert (done.code, "comes with the package and stays as it is" in done.line) == (2, True)
    mistyped = cli("kb", "export", "world", "--to", "neo4j+s//me:geheim@h", "--format", "neo4j-csv")
    assert (mistyped.code, "has :// after its scheme" in mistyped.line) == (2, True)
    assert "geheim" not in mistyped.err
    assert not Path("neo4j+s").exists()


def test_names_of_files_do_not_steer_the_terminal(cli: Run, docs: Path) -> None:
    (docs / "a\x1b[31m\nb.txt").write_text("Nora Quill left Varn.")
    (docs / "bad\x1b[31m.txt").write_bytes(b"\xff\xff")
    done = cli("kb", "build", "kb", "--documents", "docs", "--no-index")
    listed = cli("kb", "info", "kb", "--documents")
    assert done.code == 0
    assert "\x1b" not in done.out + done.err + listed.out
    assert len(listed.out.splitlines()) == 4


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_at_once_and_nothing_is_asked_twice(docs: Path, tmp_path: Path) -> None:
    for n in range(20):
        (docs / f"x{n}.txt").write_text(f"Varn number {n} has Port Arden.")
    with ModelServer(answer, latency=0.3) as server:
        arguments = [
            "kb",
            "build",
            "kb",
            "--documents",
            "docs",
            "--extract",
            "llm",
            "--model",
            "openai:m",
            "--no-index",
        ]
        env = environment({"OPENAI_BASE_URL": server.base_url, "THINKGRAPH_CACHE": str(tmp_path / "cache")})
        process = subprocess.Popen([*PROGRAM, *arguments, "--set", "concurrency=2"], env=env, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while len(server.calls) < 6 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 130
        assert b"interrupted; the same command goes on where it stopped" in err
        assert b"Traceback" not in err


def test_a_loader_gives_the_documents(cli: Run, docs: Path, monkeypatch) -> None:
    (docs.parent / "varn_reports.py").write_text(
        "from langchain_core.documents import Document\n"
        "class Reports:\n"
        "    def __init__(self, name='all'): self.name = name\n"
        "    def load(self): return [Document('Varn borders Osk and Merish.', metadata={'source': self.name})]\n"
    )
    monkeypatch.syspath_prepend(docs.parent)
    done = cli("kb", "build", "kb", "--loader", "varn_reports:Reports", "--documents", "https://x.example/a", "b")
    assert done.code == 0, done.err
    assert "2 documents in 2 passages (2 added)" in done.out
    said = json.loads(cli("kb", "info", "kb", "--documents", "--json").out)
    assert {row["id"] for row in said} == {"https://x.example/a", "b"}
    assert cli("kb", "build", "one", "--loader", "varn_reports:Reports").code == 0
    done = cli("kb", "build", "none", "--loader", "varn_reports:Nothing")
    assert done.code == 2
    assert "module:Class" in done.line
    done = cli("kb", "build", "none", "--loader", "varn_reports:Reports", "--triples", "t.tsv")
    assert done.code == 2


class Report(BaseHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html><title>Varn</title><p>Varn borders Osk and Merish.</p></html>")


# langchain-community says so of itself.
@pytest.mark.filterwarnings("ignore:`langchain-community` is being sunset:DeprecationWarning")
def test_the_loader_of_the_page_reads_a_site(cli: Run, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("bs4")
    monkeypatch.setenv("USER_AGENT", "a test")
    line = block_of("docs/howto/documents.md", "./tg kb build my-docs --loader")
    with InThread(0, Report) as site:
        address = f"http://127.0.0.1:{site.port}/a"
        done = cli(*shlex.split(line.replace("https://example.org/a", address))[1:])
    assert done.code == 0, done.err
    assert "1 document in 1 passage" in done.out
    (row,) = json.loads(cli("kb", "info", "my-docs", "--documents", "--json").out)
    assert row["id"] == address
