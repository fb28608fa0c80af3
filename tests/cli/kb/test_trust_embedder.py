"""Whom the command line trusts: --trust-embedder, thinkgraph.toml, the environment, and resume."""

from __future__ import annotations

import json

import pytest
from cli.conftest import Run
from graphs.cases import ROWS

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.build import build_kb
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.encoders import embeddings

MONEY = "openai:text-embedding-3-small"


@pytest.mark.parametrize("given", ["flag", "file", "variable"])
def test_an_encoder_is_loaded_by_its_name_only_when_told_to(cli: Run, tmp_path, monkeypatch, given):
    (tmp_path / "rows.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS), "utf-8")
    passage = {"id": "1", "title": "Panama", "text": "Panama is a country.", "entities": ["Panama"]}
    (tmp_path / "passages.jsonl").write_text(json.dumps(passage) + "\n")
    kb = tmp_path / "kb"
    build_kb(kb, triples=[tmp_path / "rows.tsv"], passages=[tmp_path / "passages.jsonl"], embedder=HashEmbedder())
    manifest = json.loads((kb / "kb.json").read_text())
    manifest["embedder"]["spec"] = MONEY
    (kb / "kb.json").write_text(json.dumps(manifest))
    loaded: list[str | None] = []
    monkeypatch.setattr(embeddings, "load_embedder", lambda spec=None: loaded.append(spec) or HashEmbedder())
    monkeypatch.chdir(tmp_path)
    ask = ("ask", "--kb", str(kb), "--thread", "t", "What is the capital of Panama?")
    done = cli(*ask)
    assert (done.code, loaded) == (KnowledgeError.exit_code, [])
    assert "--trust-embedder" in done.line
    if given == "file":
        (tmp_path / "thinkgraph.toml").write_text("trust_embedder = true\n")
    elif given == "variable":
        monkeypatch.setenv("THINKGRAPH_TRUST_EMBEDDER", "1")
    if given == "flag":
        assert cli("resume", "t", "--trust-embedder").code == 0
    else:
        assert cli(*ask, "--replace").code == 0
    assert set(loaded) == {MONEY}
