"""Linking by meaning with the real encoder, and only where nothing else links."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from thinkgraph.ingest.build import build_kb
from thinkgraph.runtime.deps import Deps
from thinkgraph.tools.encoders.embeddings import BundledEmbedder
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.meter import Meter, current_meter

ENTITIES = {
    "Lawyer": "person who practises law",
    "Physician": "person who treats the sick",
    "Automobile": "road vehicle with an engine",
    "Austria": "country in Europe",
    "Vienna": "capital of Austria",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = tmp_path_factory.mktemp("meaning")
    (files / "t.tsv").write_text("".join(f"{name}\tin\tWorld\n" for name in ENTITIES))
    (files / "e.tsv").write_text("id\tdescription\n" + "".join(f"{a}\t{b}\n" for a, b in ENTITIES.items()))
    (files / "p.jsonl").write_text(json.dumps({"id": "p1", "title": "Austria", "text": "Austria has mountains."}))
    build_kb(files / "kb", triples=[files / "t.tsv"], entities=files / "e.tsv", passages=[files / "p.jsonl"])
    return files / "kb"


@pytest.fixture
def encoder() -> BundledEmbedder:
    return BundledEmbedder()


@pytest.fixture
def knowledge(folder: Path, encoder: BundledEmbedder) -> Iterator[Knowledge]:
    with Knowledge.open(folder, embedder=encoder) as opened:
        yield opened


@pytest.mark.parametrize(
    ("text", "entity"),
    [
        ("Who pays the Attorney?", "Lawyer"),
        ('What does a "medical doctor" earn?', "Physician"),
        ("my car broke down", "Automobile"),
    ],
)
def test_a_synonym_that_shares_no_word(knowledge: Knowledge, text: str, entity: str) -> None:
    first = knowledge.linker.link([text])[0][0]
    assert (first["entity"]["id"], first["method"]) == (entity, "vector")
    assert first["entity"]["description"] == ENTITIES[entity]
    assert first["score"] < 0.3


@pytest.mark.parametrize(
    "text",
    ["Is Vienna in Austria?", "the lawyer of austria", "Where is Viena?", "", "?", "where is it", "lawyers in austria"],
)
def test_the_encoder_is_not_loaded_where_names_are_enough(
    knowledge: Knowledge, encoder: BundledEmbedder, text: str
) -> None:
    knowledge.linker.link([text])
    assert encoder.encoded == 0
    assert encoder._loaded is None


def test_each_round_trip_is_counted_once(knowledge: Knowledge) -> None:
    deps = Deps(knowledge=knowledge, models=None, prompts=None, journal=None)  # type: ignore[arg-type]

    def cost(call: Callable[..., object], *arguments: object) -> int:
        meter = Meter()
        token = current_meter.set(meter)
        try:
            call(*arguments)
        finally:
            current_meter.reset(token)
        return meter.store_round_trips

    assert cost(deps.call, "graph.entities", ["Austria"]) == 1
    assert cost(deps.call, "text.passages", ["p1"]) == 1
    assert cost(deps.call, "text.passages_of", ["Austria"], "mountains") == 1
    assert cost(deps.call, "text.search", ["mountains"]) == 1
    assert cost(knowledge.linker.link, ["Vienna"]) == 1  # names
    # Names, words and spelling; meaning asks no graph.
    assert cost(knowledge.linker.link, ["Is Vienna by Qqqqqq?"]) == 3


def test_closing_leaves_open_what_was_put_in(folder: Path, encoder: BundledEmbedder) -> None:
    with Knowledge.open(folder, embedder=encoder) as own:
        graph, text = own.graph, own.text
        with Knowledge(graph=graph, text=text, embedder=encoder) as borrowed:
            assert borrowed.linker.link(["Vienna"])[0]
        assert graph.entities(["Vienna"])[0]
        assert text is not None
        assert text.passages(["p1"])[0]
        assert own.linker.link(["Attorney"])[0]
    for call in (lambda: graph.entities(["Vienna"]), lambda: text.passages(["p1"]), lambda: own.linker.link(["Car"])):
        with pytest.raises(Exception, match="closed"):
            call()


def test_a_given_embedder_is_never_closed(folder: Path) -> None:
    class Closing(BundledEmbedder):
        closed = False

        def close(self) -> None:
            self.closed = True

    mine = Closing()
    with Knowledge.open(folder, embedder=mine) as opened:
        assert opened.embedder is mine
        assert opened.text
    assert not mine.closed
    with Knowledge(graph=opened.graph, embedder=mine, close_stores=True):
        pass
    assert mine.closed
