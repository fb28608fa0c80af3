"""What must not load heavy libraries: importing, help, looking at a knowledge base, opening one that is built."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from thinkgraph.ingest.build import build_kb
from thinkgraph.ingest.world import world_folder

HEAVY = ("torch", "chromadb", "neo4j", "openai", "sentence_transformers", "transformers")
ENTRY = (
    "from thinkgraph.cli.main import main\ntry:\n    main({!r})\nexcept SystemExit as end:\n    assert not end.code\n"
)


@pytest.fixture
def environment(tmp_path):
    return {**os.environ, "THINKGRAPH_CACHE": str(tmp_path / "cache"), "THINKGRAPH_HOME": str(tmp_path / "home")}


def loaded(code: str, environment: dict[str, str], names: tuple[str, ...] = HEAVY) -> str:
    """Which of the libraries a fresh interpreter has loaded after `code`."""
    tail = f"\nimport sys\nprint('LOADED', *[name for name in {names!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code + tail], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].removeprefix("LOADED").strip()


def test_import_and_help(environment):
    assert not loaded("import thinkgraph", environment, (*HEAVY, "numpy", "langgraph"))
    assert not loaded(ENTRY.format(["--help"]), environment, (*HEAVY, "numpy", "langgraph"))
    assert not loaded(ENTRY.format(["kb", "build", "--help"]), environment, (*HEAVY, "numpy", "langgraph"))


def test_integrations_for_langchain(environment):
    made = "import thinkgraph as tg\ntg.ThinkGraphTool()\ntg.ThinkGraphRetriever()\ntg.knowledge_tools()"
    assert not loaded(made, environment)


def test_kb_info(tmp_path, environment):
    (tmp_path / "t.tsv").write_text("a\tb\tc\n")
    build_kb(tmp_path / "kb", triples=[tmp_path / "t.tsv"], index=False)
    assert not loaded(ENTRY.format(["kb", "info", str(tmp_path / "kb")]), environment)


def test_the_example_opened_a_second_time(environment, monkeypatch):
    monkeypatch.setenv("THINKGRAPH_CACHE", environment["THINKGRAPH_CACHE"])
    world_folder()
    code = "import thinkgraph\nworld = thinkgraph.Knowledge.open('world')\nassert world.graph.entities(['Kenya'])[0]"
    assert not loaded(code, environment, (*HEAVY, "numpy", "langgraph"))


def test_a_question(environment):
    # Neo4j's driver and OpenAI's client belong to other addresses and models.
    asked = ENTRY.format(["ask", "What is the capital of Suriname?"])
    assert not loaded(asked, environment, (*HEAVY, "scipy", "langchain_openai", "huggingface_hub"))


def test_the_example_opened_the_first_time(environment):
    # The vectors come with it: no encoder is needed.
    assert not loaded("import thinkgraph\nthinkgraph.Knowledge.open('world')", environment)
