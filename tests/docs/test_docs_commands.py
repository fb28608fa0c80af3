"""Every command that a page shows runs here, in its page's order, over small things of the same names; or a mark says what else
runs it, or why nothing does (docs/page_blocks.py).
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import chromadb
import pytest
from chromadb.config import Settings
from cli.conftest import Done, Run, cli, offline_server, process
from docs.page_blocks import ELSEWHERE, PAGES, ROOT, Block, Mark, blocks, check_printed, name
from docs.test_docs import PYTHON, TOML
from graphs.cases import PASSAGES, ROWS
from model_server import ModelServer
from rdf_samples import plain_rdf, suite_things, wikidata_rdf
from sparql_server import SparqlServer

from thinkgraph.cli import main
from thinkgraph.cli.runs import RunStore
from thinkgraph.ingest.build import build_kb

__all__ = ["cli", "offline_server", "process"]
CHAIN = {"TopicEntityName": "Panama", "InferentialChain": ["capital"]}
WEBQSP = {
    "QuestionId": "1",
    "RawQuestion": "what is the capital of panama?",
    "Parses": [{"ParseId": "1.P0", **CHAIN, "Answers": [{"AnswerType": "Entity", "EntityName": "Panama City"}]}],
}
HELLO = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-03-26",
            "capabilities": {},
            "clientInfo": {"name": "a page", "version": "1"},
        },
    }
).encode()
"""What a client of the MCP server says first."""
OURS = {"./tg", "thinkgraph", "uvx"}
_PROGRAMS = "uvx|uv|pip|docker|git|mkdir|cd|cp|sed|sh|curl|npm|pre-commit|python|export|langgraph|llama-server"
_LINE = re.compile(rf"""(?:[A-Z_]+=(?:"[^"]*"|\S+) )*(?:\./tg|thinkgraph|{_PROGRAMS}|scripts/\S+) """)
_ASSIGNED = re.compile(r"[A-Z_]+=")
_ENDPOINT = re.compile(r"sparql\+https?://[^?]*(.*)", re.DOTALL)
_RUN = re.compile(r"\d{6}-[0-9a-f]{8}")


@dataclass(frozen=True)
class Command:
    """A line of a page, and what the page says of it."""

    line: str
    """Without what follows `#`."""
    code: int
    """The exit status that the line promises."""
    mark: Mark | None
    """Why it is not run, or which other test runs it; None where it runs here."""

    @property
    def words(self) -> list[str]:
        """The command, without what it sets in the environment."""
        words = shlex.split(self.line)
        while _ASSIGNED.match(words[0]):
            del words[0]
        return words


def lines(block: Block) -> list[str]:
    """The lines of a block of commands; none where its first line is no command."""
    found = [line for line in block.text.replace("\\\n", " ").splitlines() if line.strip()]
    return found if block.language in {"", "sh"} and _LINE.match(found[0]) else []


def commands(page: Path) -> Iterator[Command]:
    """Every command on a page, in order."""
    for block in blocks(page):
        for shown in lines(block):
            line = re.sub(r"\s#\s.*", "", shown)
            told = re.search(r"# .*exit code (\d+)", shown)
            mark = next((mark for mark in block.marks if mark.about(line)), None)
            yield Command(line, int(told[1]) if told else 0, mark)


ALL = {page: list(commands(page)) for page in PAGES}
RUN = {page: [one for one in found if not one.mark] for page, found in ALL.items() if name(page) != ELSEWHERE}
BLOCKS = [pytest.param(block, id=block.name) for page in PAGES for block in blocks(page)]


def test_most_commands_run_here() -> None:
    assert sum(map(len, ALL.values())) >= 100
    assert sum(map(len, RUN.values())) >= 40


def check_block(block: Block) -> None:
    """Assert that a test has all of a block, or that a mark says why none has."""
    shown = lines(block)
    if shown:
        assert [line for line in shown if not _LINE.match(line)] == [], "what is no command among commands"
    elif not any(not mark.words for mark in block.marks):
        assert block in PYTHON + TOML or name(block.page) == ELSEWHERE
    for mark in block.marks:
        assert any(map(mark.about, block.text.splitlines())), "a mark about a line that is not there"
        if mark.test:
            assert name(block.page) in (ROOT / mark.test).read_text("utf-8")
        else:
            assert len(mark.why.split()) > 2


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_is_run_or_read_by_a_test_or_says_why_not(block: Block) -> None:
    check_block(block)


@pytest.mark.parametrize(
    ("language", "text", "marks"),
    [
        ("js", "1\n", ()),
        ("", "anything\n", ()),
        ("python", "1\n", ()),
        ("sh", "ls\n", ()),
        ("", "./tg ask a\nls -l\n", ()),
        ("", "./tg ask a\n", (Mark(("ask b",), "it needs a server", ""),)),
        ("", "./tg ask a\n", (Mark((), "too slow", ""),)),
        ("", "./tg ask a\n", (Mark((), "", "tests/scripts/test_house.py"),)),
        ("js", "1\n", (Mark(("1",), "it needs a server", ""),)),
    ],
)
def test_a_forgotten_block_is_found(language: str, text: str, marks: tuple[Mark, ...]) -> None:
    with pytest.raises(AssertionError):
        check_block(Block(ROOT / "SECURITY.md", 1, language, text, marks))


@pytest.mark.parametrize(
    "command",
    [pytest.param(one, id=f"{name(page)}-{number}") for page in PAGES for number, one in enumerate(ALL[page], start=1)],
)
def test_a_command_is_one_that_there_is(command: Command) -> None:
    program, *words = command.words
    if program == "uvx":
        assert words.pop(0) == "thinkgraph"
    if program not in OURS:
        assert command.line
    elif program == "./tg" and words[0] in {"test", "check", "dev", "docs"}:
        assert f"\n{words[0]})" in (ROOT / "tg").read_text("utf-8")
    elif program == "./tg" and words[0] == "python":
        assert words[1] == "…" or (ROOT / words[1]).is_file()
    else:
        parsed = main._parser(words[0]).parse_args(words)
        assert parsed.command == words[0]


@pytest.fixture(scope="session")
def things(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what pages take for granted, by their names."""
    folder = tmp_path_factory.mktemp("things")
    (folder / "graph.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS), "utf-8")
    (folder / "values.csv").write_text("subject,relation,object\nPanama,population,4400000\n", "utf-8")
    passages = "".join(json.dumps(passage) + "\n" for passage in PASSAGES)
    for file in ("docs.jsonl", "documents.jsonl"):
        (folder / file).write_text(passages, "utf-8")
    (folder / "aliases.json").write_text(json.dumps({"Panama": ["Republic of Panama"]}), "utf-8")
    build_kb(folder / "my-kb", triples=[folder / "graph.tsv"], passages=[folder / "docs.jsonl"])
    (folder / "my-prompts" / "tog2").mkdir(parents=True)
    shutil.copy(ROOT / "thinkgraph" / "prompts" / "tog2" / "reason.prompt", folder / "my-prompts" / "tog2")
    (folder / "reports" / "2023").mkdir(parents=True)
    report = "# Panama\n\nPanama borders Colombia. The capital of Panama is Panama City.\n"
    (folder / "reports" / "2023" / "old.md").write_text(report, "utf-8")
    (folder / "notes.md").write_text("# Colombia\n\nThe capital of Colombia is Bogota.\n", "utf-8")
    gold = {"id": "1", "question": "What is the capital of Panama?", "answers": ["Panama City"]}
    gold |= {"gold_path": [["Panama", "capital"]]}
    for file in ("gold.jsonl", "questions.jsonl"):
        (folder / file).write_text(json.dumps(gold) + "\n", "utf-8")
    turtle = '<http://e.org/p> <http://www.w3.org/2000/01/rdf-schema#label> "Panama"@en .\n'
    (folder / "graph.ttl").write_text(turtle, "utf-8")
    triple = b"<http://e.org/p> <http://e.org/capital> <http://e.org/c> .\n"
    (folder / "more.nt.gz").write_bytes(gzip.compress(triple))
    (folder / "communities.jsonl").write_text('{"triples": [["Panama", "capital", "Panama City"]]}\n', "utf-8")
    topic = {"question": gold["question"], "qid_topic_entity": {"Panama": "Panama"}, "answers": ["Panama City"]}
    (folder / "webqsp_test.json").write_text(json.dumps([{"id": "1", **topic}]), "utf-8")
    (folder / "WebQSP.test.json").write_text(json.dumps({"Questions": [WEBQSP]}), "utf-8")
    for hops in (2, 3):
        (folder / f"qa_{hops}hop_dev.tsv").write_text("what year is [Jaws] from\t1975\tmovie_to_year\n", "utf-8")
    (folder / "films.tsv").write_text("Jaws\trelease_year\t1975\nJaws\tdirected_by\tSteven Spielberg\n", "utf-8")
    build_kb(folder / "metaqa-kb", triples=[folder / "films.tsv"])
    client = chromadb.PersistentClient(str(folder / "chroma"), settings=Settings(anonymized_telemetry=False))
    collection = client.create_collection("docs", embedding_function=None)
    entity = {"entity_id": "Panama"}
    collection.add(["p"], embeddings=[[1.0] * 384], documents=["Panama City is its capital."], metadatas=[entity])
    client.close()
    (folder / "thinkgraph").symlink_to(ROOT / "thinkgraph")
    (folder / "examples").symlink_to(ROOT / "examples")
    return folder


@pytest.fixture(scope="session")
def endpoints() -> Iterator[dict[str, str]]:
    """Endpoints on this machine, by what is asked of them: Wikidata's form, or plain RDF."""
    with SparqlServer(wikidata_rdf(suite_things())) as wikidata, SparqlServer(plain_rdf(suite_things())) as plain:
        yield {"wikidata": wikidata.url, "plain": plain.url}


def nearby(words: list[str], endpoints: Mapping[str, str]) -> list[str]:
    """The words, with endpoints on this machine in place of others' and the reader's own. They lack Wikidata's own search."""

    def here(found: re.Match[str]) -> str:
        if "profile=wikidata" in found[0]:
            return f"sparql+{endpoints['wikidata']}{found[1]}&search=none"
        return f"sparql+{endpoints['plain']}{found[1]}"

    return [_ENDPOINT.sub(here, word) for word in words]


def filled(words: list[str]) -> list[str]:
    """The words, with a question where the page has an ellipsis, the last run where it has a run, and one question of a bench."""
    about = "Panama" if "my-kb" in words or "my-docs" in words else "Suriname"
    found = [f"What is the capital of {about}?" if word == "…" else word for word in words]
    if any(_RUN.fullmatch(word) for word in found):
        with RunStore() as runs:
            last = runs.rows()[0]["thread"]
        found = [last if _RUN.fullmatch(word) else word for word in found]
    if words[1:3] == ["bench", "roles"]:
        return [*found, "--cases", "1"]
    if words[1:3] == ["export", "training"]:
        return [*found, "--limit", "2"] if "--data" in words else found
    return [*found, "--limit", "1"] if words[1] == "bench" and "world" in words and "--limit" not in words else found


@pytest.mark.parametrize("page", [page for page, found in RUN.items() if found], ids=name)
def test_the_commands_of_a_page_run(
    page: Path,
    things: Path,
    tmp_path: Path,
    cli: Run,
    process: Run,
    endpoints: Mapping[str, str],
    offline_server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(things, tmp_path / "at", symlinks=True)
    monkeypatch.chdir(tmp_path / "at")
    monkeypatch.setenv("OPENAI_BASE_URL", offline_server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    for command in RUN[page]:
        program, *words = nearby(filled(command.words), endpoints)
        if program not in OURS:
            done = subprocess.run(
                ["bash", "-ec", command.line], capture_output=True, text=True, timeout=60, check=False
            )
            found = Done(done.returncode, done.stdout, done.stderr)
        elif words[0] == "python":
            found = process(*words[1:], program=[sys.executable])
        elif words[0] == "mcp":  # serves as long as somebody may ask
            found = process(*words, text=HELLO)
        else:
            # What a page says may build again what its neighbour has built.
            if words[:2] == ["kb", "build"]:
                shutil.rmtree(words[2], ignore_errors=True)
            found = cli(*words)
        assert found.code == command.code, (command.line, found)
        assert found.out or found.err or program not in OURS, command.line


def test_the_first_answer_of_readme_md_is_what_is_printed(cli: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    asked, shown = blocks(ROOT / "README.md")[:2]
    program, *words = shlex.split(lines(asked)[1])
    done = cli(*words)
    assert program == "./tg"
    assert done.code == 0
    check_printed(done.out, shown.text)
