"""What the documentation shows is run or read: Python, configuration, a prompt; test_docs_commands.py has the commands, and sees to it that
no block is forgotten. No link leads nowhere.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from docs.page_blocks import DOCS, ELSEWHERE, PAGES, ROOT, Block, block_of, blocks, name
from graphs.cases import PASSAGES, ROWS
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langgraph_cli.config import validate_config

import thinkgraph as tg
from thinkgraph.cli import main
from thinkgraph.config import load_config
from thinkgraph.eval.perfect.errors import parse_slips
from thinkgraph.graphs.registry import find_method
from thinkgraph.ingest.build import build_kb
from thinkgraph.prompts.kinds import Shape
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.state.settings import resolve_settings
from thinkgraph.tools.neo4j.connection import parse_address
from thinkgraph.version import VERSION

sys.path.insert(0, str(ROOT / "scripts"))

from site_hooks import outside

_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


def in_language(language: str) -> list[Block]:
    """The blocks of all pages in one language, without those that another test has, or none."""
    pages = [page for page in PAGES if name(page) != ELSEWHERE]
    return [block for page in pages for block in blocks(page) if block.language == language and not block.marks]


PYTHON, TOML = in_language("python"), in_language("toml")


def test_the_citation_is_of_this_release() -> None:
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_there_is_something_to_run() -> None:
    assert len(PYTHON) >= 8
    assert TOML


@pytest.fixture
def at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the pages take for granted: a folder `my-kb`, LangChain's loader and transformer, a vector store."""
    monkeypatch.chdir(tmp_path)
    Path("rows.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS), "utf-8")
    Path("passages.jsonl").write_text("".join(json.dumps(passage) + "\n" for passage in PASSAGES), "utf-8")
    # A page may build it itself.
    build_kb(Path("my-kb"), triples=[Path("rows.tsv")], passages=[Path("passages.jsonl")])
    document = Document("Citizens of Panama vote from the age of 18.", id="p1", metadata={"entity_id": "Panama"})
    node, other = (
        SimpleNamespace(id="Panama", type="Country", properties={}),
        SimpleNamespace(id="Baru", type="Mountain", properties={}),
    )
    edge = SimpleNamespace(source=node, target=other, type="HIGHEST_POINT", properties={})
    made = SimpleNamespace(nodes=[node, other], relationships=[edge], source=document)
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    store.add_documents([document])
    return {
        "loader": SimpleNamespace(load=lambda: [document]),
        "transformer": SimpleNamespace(convert_to_graph_documents=lambda chunks: [made for _ in chunks]),
        "chunks": [document],
        "vectorstore": store,
    }


@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.name)
def test_python_runs(block: Block, at_hand: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    code, names = block.text, dict(at_hand)
    if block.page.name == "documents.md":
        Path("my-kb").rename("other")
    exec(compile(code, "docs", "exec"), names)  # noqa: S102 - our own pages
    if "answer" in names:
        assert names["answer"]["status"] == "grounded"
        assert "Paramaribo" in names["answer"]["text"]
    if "print(" in code:
        assert capsys.readouterr().out.strip()
    for found in names.values():
        if isinstance(found, tg.Knowledge):
            assert found.graph.info()["triples"] > 0 or found.text is not None
            found.close()


@pytest.mark.parametrize("block", TOML, ids=lambda block: block.name)
def test_configuration_is_read(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "thinkgraph.toml").write_text(block.text, "utf-8")
    monkeypatch.setenv("THINKGRAPH_CONFIG", str(tmp_path / "thinkgraph.toml"))
    config = load_config()
    for table in tomllib.loads(block.text):
        assert config.get(table) is not None or config.settings("tog2")
    resolve_settings(find_method("tog2").settings, config.settings("tog2"))


def test_a_prompt_file_of_docs_methods_md_is_taken(tmp_path: Path) -> None:
    (tmp_path / "tog2").mkdir()
    (tmp_path / "tog2" / "reason.prompt").write_text(block_of("docs/methods.md", "---\n# Places"), "utf-8")
    prompt = PromptLibrary(tmp_path).get("tog2.reason")
    (example,) = prompt.examples(Shape(evidence=1), profile="small")
    assert "(Osk) flows through: (Tarn Mill)" in example[0]
    asked = prompt.render({"question": "Who?", "evidence": "[1] (a) b: (c)", "task": "Say who."}, Shape(evidence=1))
    assert "Say who." in str(asked)


def test_the_choosers_of_docs_measuring_md_err_as_it_says() -> None:
    for line in block_of("docs/measuring.md", "--model perfect:").splitlines():
        flag, model = line.partition(" #")[0].split()
        found = parse_slips(model.removeprefix("perfect:"), model)
        assert (flag, len(found)) == ("--model", model.count("=") or 1)


def test_the_options_of_docs_howto_neo4j_md_are_known() -> None:
    address = parse_address(block_of("docs/howto/neo4j.md", "neo4j://").strip())
    assert address.mapping["name"] == ("Person.fullName", "Company.legalName")
    assert address.mapping["hide"] == ("Audit", "LOGGED")


def test_a_client_of_docs_howto_mcp_md_starts_a_server() -> None:
    (server,) = json.loads(block_of("docs/howto/mcp.md", "{"))["mcpServers"].values()
    assert Path(server["command"]).name == "tg"
    assert main._parser("mcp").parse_args(server["args"]).kb == server["args"][-1]


@pytest.mark.parametrize("entry", ["store", "checkpointer"])
def test_the_server_of_docs_howto_server_md_is_configured(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    own = json.loads((ROOT / "langgraph.json").read_text("utf-8"))
    shown = json.loads("{" + block_of("docs/howto/server.md", f'"{entry}"') + "}")
    assert own.get(entry, shown[entry]) == shown[entry]
    accepted: Any = validate_config(own | shown)
    assert accepted[entry] == shown[entry]
    path, _, factory = shown[entry]["path"].partition(":")
    assert f"def {factory}(" in (ROOT / path).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    dead = [link for link in _LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert dead == []


def test_every_page_is_in_the_navigation() -> None:
    def files(entry: Any) -> Iterator[str]:
        for one in entry.values() if isinstance(entry, dict) else entry:
            yield from [one] if isinstance(one, str) else files(one)

    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    listed = [*files(site["nav"])]
    assert sorted(listed) == sorted(page.relative_to(ROOT / "docs").as_posix() for page in DOCS)


def test_the_reference_has_every_name_of_the_package() -> None:
    page = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    told = re.findall(r"^::: thinkgraph\.(?!state\.)[\w.]*?(\w+)$", page, re.MULTILINE)
    assert sorted([*told, "__version__"]) == sorted(tg.__all__)


@pytest.mark.parametrize(
    ("text", "fetches"),
    [
        ('<script src="https://cdn.example/a.js"></script>', True),
        ("<link rel=stylesheet href=//fonts.example/a.css>", True),
        ('<img alt="a" src="http://host.example/a.png">', True),
        ("@import 'https://cdn.example/a.css';", True),
        ('<script src="assets/a.js"></script><a href="https://host.example/">elsewhere</a>', False),
    ],
)
def test_what_a_page_would_fetch_is_found(text: str, fetches: bool, tmp_path: Path) -> None:  # noqa: FBT001
    (tmp_path / "page.html").write_text(text, "utf-8")
    assert outside(tmp_path) == ["page.html"] * fetches
