"""Every command that a page shows runs here, in its page's order, over small things of the same names; or the page says why not.

Why not stands before its block, `<!-- not run: REASON -->`, or of some lines only: `<!-- not run (WORDS; WORDS): REASON -->`.
Whoever reads the page does not see it.
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
from graphs.cases import PASSAGES, ROWS
from model_server import ModelServer
from rdf_samples import plain_rdf, suite_things, wikidata_rdf
from sparql_server import SparqlServer

from thinkgraph.cli import main
from thinkgraph.cli.runs import RunStore
from thinkgraph.ingest.build import build_kb

__all__ = ["cli", "offline_server", "process"]
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
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
ELSEWHERE = {"tutorial.md": "tests/tools/neo4j/test_tutorial.py"}
"""Pages whose commands another test runs."""
OURS = {"./tg", "thinkgraph", "uvx"}
_BLOCK = re.compile(r"(?ms)^```(\w*)\n(.*?)^```$|((?:^    [^\n]*\n|^\n(?=    ))+)|<!-- (not run.*?) -->")
_LINE = re.compile(
    r"(?:[A-Z_]+=\S+ )*(?:\./tg|thinkgraph|uvx|uv|pip|docker|git|mkdir|cp|sh|curl|npm|pre-commit|scripts/\S+) "
)
_WHY = re.compile(r"not run(?: \((.+?)\))?: (.+)", re.DOTALL)
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
    not_run: str
    """Why it is not run; empty where it is."""

    @property
    def words(self) -> list[str]:
        """The command, without what it sets in the environment."""
        words = shlex.split(self.line)
        while _ASSIGNED.match(words[0]):
            del words[0]
        return words


def commands(page: Path) -> Iterator[Command]:
    """Every command on a page, in order."""
    why: list[tuple[list[str], str]] = []
    for language, fenced, indented, mark in _BLOCK.findall(page.read_text("utf-8")):
        if mark:
            found = _WHY.fullmatch(mark)
            assert found, f"{page.name}: no reason in '{mark}'"
            why.append(([part.strip() for part in (found[1] or "").split(";")], " ".join(found[2].split())))
            continue
        text = fenced if language == "sh" else indented
        for shown in text.replace("\\\n", " ").splitlines():
            if not _LINE.match(shown.strip()):
                continue
            line = re.sub(r"\s#\s.*", "", shown.strip())
            told = re.search(r"# .*exit code (\d+)", shown)
            reason = next((reason for parts, reason in why if any(part in line for part in parts)), "")
            yield Command(line, int(told[1]) if told else 0, reason)
        if text:
            why.clear()


ALL = {page: list(commands(page)) for page in PAGES}
RUN = {page: [one for one in found if not one.not_run] for page, found in ALL.items() if page.name not in ELSEWHERE}


def test_most_of_them_run_and_the_others_say_why() -> None:
    assert sum(map(len, ALL.values())) >= 90
    assert sum(map(len, RUN.values())) >= 40
    assert all(len(one.not_run.split()) > 2 for found in ALL.values() for one in found if one.not_run)
    for name, test in ELSEWHERE.items():
        assert name in (ROOT / test).read_text("utf-8")
    marks = sum(page.read_text("utf-8").count("<!-- not run") for page in PAGES)
    texts = {(page, one.not_run) for page, found in ALL.items() for one in found if one.not_run}
    assert marks == len(texts), "a mark that no command is under, or one reason twice on a page"


@pytest.mark.parametrize(
    "command",
    [pytest.param(one, id=f"{page.name}-{number}") for page in PAGES for number, one in enumerate(ALL[page], start=1)],
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
    for name in ("docs.jsonl", "documents.jsonl"):
        (folder / name).write_text(passages, "utf-8")
    (folder / "aliases.json").write_text(json.dumps({"Panama": ["Republic of Panama"]}), "utf-8")
    build_kb(folder / "my-kb", triples=[folder / "graph.tsv"], passages=[folder / "docs.jsonl"])
    (folder / "my-prompts" / "tog2").mkdir(parents=True)
    shutil.copy(ROOT / "thinkgraph" / "prompts" / "tog2" / "reason.prompt", folder / "my-prompts" / "tog2")
    (folder / "reports" / "2023").mkdir(parents=True)
    report = "# Panama\n\nPanama borders Colombia. The capital of Panama is Panama City.\n"
    (folder / "reports" / "2023" / "old.md").write_text(report, "utf-8")
    (folder / "notes.md").write_text("# Colombia\n\nThe capital of Colombia is Bogota.\n", "utf-8")
    (folder / "questions.jsonl").write_text('{"id": "1", "question": "What is the capital of Suriname?"}\n', "utf-8")
    gold = {"id": "1", "question": "What is the capital of Panama?", "answers": ["Panama City"]}
    gold |= {"gold_path": [["Panama", "capital"]]}
    (folder / "gold.jsonl").write_text(json.dumps(gold) + "\n", "utf-8")
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
    """The words, with a question where the page has an ellipsis, the last run where it has a run, and few questions of a bench."""
    about = "Panama" if "my-kb" in words or "my-docs" in words else "Suriname"
    found = [f"What is the capital of {about}?" if word == "…" else word for word in words]
    if any(_RUN.fullmatch(word) for word in found):
        with RunStore() as runs:
            last = runs.rows()[0]["thread"]
        found = [last if _RUN.fullmatch(word) else word for word in found]
    if words[1:3] == ["bench", "roles"]:
        return [*found, "--cases", "1"]
    few = "1" if "--sensitivity" in words else "2"
    return [*found, "--limit", few] if words[1] == "bench" and "world" in words and "--limit" not in words else found


@pytest.mark.parametrize("page", [page for page, found in RUN.items() if found], ids=lambda page: page.name)
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
