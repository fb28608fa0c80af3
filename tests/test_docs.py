"""What the documentation shows is run or read: Python and configuration; test_docs_commands.py has the commands. No link leads nowhere."""

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
from graphs.cases import PASSAGES, ROWS
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

import thinkgraph as tg
from thinkgraph.config import load_config
from thinkgraph.graphs.registry import find_method
from thinkgraph.ingest.build import build_kb
from thinkgraph.state.settings import resolve_settings
from thinkgraph.version import VERSION

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))

from site_hooks import outside  # noqa: E402 - the path comes first

DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *DOCS]
SERVER = {"tutorial.md", "neo4j.md"}
"""Pages whose Python needs a Neo4j server: tests/tools/neo4j/test_tutorial.py runs it."""
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")


def fenced(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", page.read_text("utf-8"))


BLOCKS = [
    pytest.param(page, code, id=f"{page.name}-{number}")
    for page in (ROOT / "README.md", *DOCS)
    if page.name not in SERVER
    for number, code in enumerate(fenced(page, "python"), start=1)
]


def test_the_citation_is_of_this_release() -> None:
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_there_is_something_to_run() -> None:
    assert len(BLOCKS) >= 8


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


@pytest.mark.parametrize(("page", "code"), BLOCKS)
def test_python_runs(page: Path, code: str, at_hand: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    names = dict(at_hand)
    if page.name == "documents.md":
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


@pytest.mark.parametrize("page", [page for page in DOCS if fenced(page, "toml")], ids=lambda page: page.name)
def test_configuration_is_read(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = fenced(page, "toml")
    (tmp_path / "thinkgraph.toml").write_text(text, "utf-8")
    monkeypatch.setenv("THINKGRAPH_CONFIG", str(tmp_path / "thinkgraph.toml"))
    config = load_config()
    for table in tomllib.loads(text):
        assert config.get(table) is not None or config.settings("tog2")
    resolve_settings(find_method("tog2").settings, config.settings("tog2"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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
