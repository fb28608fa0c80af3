"""A knowledge base's folder is other people's data: its manifest is checked, and what it names is not loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.build import build_kb
from thinkgraph.ingest.documents.build import build_documents, remove_documents, update_documents
from thinkgraph.integrations.langgraph import server
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.encoders import embeddings
from thinkgraph.tools.kb_files import read_manifest
from thinkgraph.tools.knowledge import Knowledge

TEXT = "Panama is a country. Panama City is the capital of Panama."
MONEY = "openai:text-embedding-3-small"


@pytest.fixture
def kb(tmp_path):
    triples, passages = tmp_path / "t.tsv", tmp_path / "p.jsonl"
    triples.write_text("Panama\tcapital\tPanama City\n")
    passages.write_text(json.dumps({"id": "1", "title": "Panama", "text": TEXT, "entities": ["Panama"]}) + "\n")
    build_kb(tmp_path / "kb", triples=[triples], passages=[passages])
    return tmp_path / "kb"


@pytest.fixture
def loaded(monkeypatch):
    """What encoders were asked for by name."""
    asked: list[str | None] = []

    def load(spec=None):
        if isinstance(spec, HashEmbedder):
            return spec
        asked.append(spec)
        made = HashEmbedder()
        made.name = embeddings.BundledEmbedder().name
        return made

    monkeypatch.setattr(embeddings, "load_embedder", load)
    return asked


def _change(folder, **values):
    manifest = json.loads((folder / "kb.json").read_text())
    for path, value in values.items():
        *parents, last = path.split("__")
        part = manifest
        for parent in parents:
            part = part[parent]
        part[last] = value
    (folder / "kb.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("files", None),
        ("files", {"graph.sqlite": "12"}),
        ("files", {"../../etc/passwd.sqlite": 1}),
        ("files", {"/etc/passwd": 1}),
        ("embedder", []),
        ("embedder", {"name": "x"}),
        ("embedder", {"name": "x", "spec": 3}),
        ("graph", {}),
        ("text", 7),
        ("text", {}),
        ("text__fingerprint", "../../elsewhere"),
        ("linking__fingerprint", "a/b"),
        ("fingerprint", 5),
        ("name", None),
        ("inputs", {}),
        ("literal_relations", [1]),
        ("documents", None),
        ("format", 1e999),
    ],
)
def test_a_manifest_that_says_nonsense_is_refused_in_a_line(kb, name, value):
    _change(kb, **{name: value})
    with pytest.raises(KnowledgeError, match=r"kb\.json is damaged") as caught:
        read_manifest(kb)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    "content", ["[" * 100_000, "[]", "7", '{"format": 3}', '{"format": 3, "name": "\\ud800"}', "\0"]
)
def test_a_manifest_that_is_none_is_refused_in_a_line(kb, content):
    (kb / "kb.json").write_text(content)
    with pytest.raises(KnowledgeError, match=r"kb\.json is damaged"):
        read_manifest(kb)


@pytest.mark.parametrize("spec", [MONEY, "some/model", ".", "/etc"])
def test_only_the_bundled_encoder_is_loaded_unasked(kb, loaded, spec):
    _change(kb, embedder__spec=spec)
    with Knowledge.open(kb) as knowledge, pytest.raises(KnowledgeError, match="--trust-embedder"):
        _ = knowledge.linker
    assert loaded == []
    with Knowledge.open(kb, trust_embedder=True) as knowledge:
        assert knowledge.linker is not None
    assert loaded == [spec]
    with Knowledge.open(kb, embedder=HashEmbedder()) as knowledge:
        assert knowledge.embedder.name == HashEmbedder().name
    assert loaded == [spec]


@pytest.mark.parametrize("spec", ["bundled", "all-MiniLM-L6-v2", " sentence-transformers/all-MiniLM-L6-v2 "])
def test_the_bundled_encoder_has_its_names(kb, loaded, spec):
    _change(kb, embedder__spec=spec)
    with Knowledge.open(kb) as knowledge:
        assert knowledge.linker is not None
    assert loaded == [None]


def test_documents_are_added_and_removed_with_a_trusted_encoder(tmp_path, loaded):
    (tmp_path / "docs").mkdir()
    for name in "ab":
        (tmp_path / "docs" / f"{name}.txt").write_text(f"{TEXT} {name} says so.")
    build_documents(tmp_path / "kb", [tmp_path / "docs"])
    _change(tmp_path / "kb", embedder__spec=MONEY)
    loaded.clear()
    (tmp_path / "docs" / "a.txt").write_text(f"{TEXT} Colombia borders Panama.")
    with pytest.raises(KnowledgeError, match="--trust-embedder"):
        update_documents(tmp_path / "kb", [tmp_path / "docs"])
    with pytest.raises(KnowledgeError, match="--trust-embedder"):
        remove_documents(tmp_path / "kb", ["docs/b.txt"])
    assert loaded == []
    update_documents(tmp_path / "kb", [tmp_path / "docs"], trust_embedder=True)
    remove_documents(tmp_path / "kb", ["docs/b.txt"], trust_embedder=True)
    assert set(loaded) == {MONEY}


def test_a_manifest_that_may_not_be_read_is_not_damaged(kb, monkeypatch):
    def refuse(*_args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_text", refuse)
    with pytest.raises(KnowledgeError, match=r"kb\.json cannot be read: Permission denied$"):
        read_manifest(kb)


def test_the_server_says_whom_it_trusts(kb, loaded, monkeypatch):
    _change(kb, embedder__spec=MONEY)
    for trust in (False, True):
        knowledge = server._knowledge(str(kb), None, trust)
        if trust:
            assert knowledge.linker is not None
        else:
            with pytest.raises(KnowledgeError, match="--trust-embedder"):
                _ = knowledge.linker
        knowledge.close()
    server._knowledge.cache_clear()
    assert loaded == [MONEY]
