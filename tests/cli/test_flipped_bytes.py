"""Files with flipped bytes: a command ends with its answer or with one line, and `kb info` tells."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path

import pytest
from cli.conftest import QUESTION, Run
from graphs.cases import PASSAGES, ROWS

from thinkgraph.errors import KnowledgeError
from thinkgraph.ingest.build import build_kb
from thinkgraph.ingest.encode import encode_kb
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.knowledge import Knowledge

TRIES = 30


def flip(path: Path, whole: bytes, seed: int) -> None:
    """Change some bytes; every other time none of the file's first page."""
    drawn, changed = random.Random(seed), bytearray(whole)
    for _ in range(drawn.choice([1, 5, 50, 400])):
        changed[drawn.randrange(0 if seed % 2 else 4096, len(changed))] ^= drawn.randrange(1, 256)
    path.write_bytes(changed)


@pytest.mark.parametrize("name", ["graph", "text", "entities"])
def test_of_a_knowledge_base(cli: Run, tmp_path: Path, name: str) -> None:
    folder, embedder = tmp_path / "kb", HashEmbedder()
    (tmp_path / "rows.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS), "utf-8")
    (tmp_path / "passages.jsonl").write_text("".join(json.dumps(one) + "\n" for one in PASSAGES), "utf-8")
    build_kb(folder, triples=[tmp_path / "rows.tsv"], passages=[tmp_path / "passages.jsonl"], embedder=embedder)
    path = folder / f"{name}.sqlite"
    whole = path.read_bytes()
    said: list[str] = []
    for seed in range(TRIES):
        flip(path, whole, seed)
        try:
            with Knowledge.open(folder, embedder=embedder) as knowledge:
                (links,) = knowledge.linker.link(["What is the capital of Suriname?"])
                knowledge.graph.neighbourhood([link["entity"]["id"] for link in links])
                assert knowledge.text is not None
                knowledge.text.passages_of(["Suriname", "Colombia"], "capital")
        except KnowledgeError as error:
            said.append(str(error))
        done = cli("kb", "info", str(folder))
        assert done.code == 3
        assert f"{path} is damaged" in done.line
    path.write_bytes(whole)
    assert cli("kb", "info", str(folder)).code == 0
    assert said, "no damage was ever met"
    assert not [one for one in said if "\n" in one]


def test_of_the_vectors(tmp_path: Path) -> None:
    """They are no part of the content: what is damaged is made again, and answers stay."""
    folder, embedder = tmp_path / "kb", HashEmbedder()
    (tmp_path / "rows.tsv").write_text("".join("\t".join(row) + "\n" for row in ROWS), "utf-8")
    (tmp_path / "passages.jsonl").write_text("".join(json.dumps(one) + "\n" for one in PASSAGES), "utf-8")
    build_kb(folder, triples=[tmp_path / "rows.tsv"], passages=[tmp_path / "passages.jsonl"], embedder=embedder)
    encode_kb(folder, embedder=embedder)
    path = folder / "encodings.sqlite"
    whole = path.read_bytes()

    def hits() -> object:
        with Knowledge.open(folder, embedder=embedder) as knowledge:
            assert knowledge.text is not None
            return knowledge.text.passages_of(["Suriname", "Colombia"], "capital")

    expected = hits()
    for seed in range(TRIES):
        flip(path, whole, seed)
        assert hits() == expected


def test_of_checkpoints(ask: Run, cli: Run, home: Path) -> None:
    ask(QUESTION, "--thread", "t")
    path = home / "checkpoints.sqlite"
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()
    whole = path.read_bytes()
    codes = set()
    for seed in range(TRIES):
        for beside in home.glob("checkpoints.sqlite-*"):
            beside.unlink()
        flip(path, whole, seed)
        for command in (("resume", "t"), ("runs", "export", "t")):
            done = cli(*command)
            codes.add(done.code)
            assert done.code in {0, 5}, done.err
            if done.code:
                assert done.err.splitlines()[-1].startswith("thinkgraph: error: ")
                assert "internal error" not in done.err
    assert codes == {0, 5}
