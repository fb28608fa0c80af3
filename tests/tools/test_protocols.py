"""What a store of a user's own gives is held to its protocol, with one line that says where it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

import thinkgraph as tg
from thinkgraph.errors import KnowledgeError, StoreError
from thinkgraph.state.knowledge import Match, Passage, PassageHit, Relation
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore

ROWS = [("Panama", "capital", "Panama City"), ("Panama", "highest point", "Baru"), ("Peru", "capital", "Lima")]
PASSAGE = Passage(
    id="p", entities=["Panama"], title="Panama", section="Voting", text="Panama votes from the age of 18."
)


class OwnGraph(MemoryGraphStore):
    """One that changes what one of its methods gives."""

    changed: ClassVar[str] = ""
    change: Callable[[list[Any]], Any]

    def relations(self, ids: Sequence[str]) -> list[list[Relation]]:
        found = super().relations(ids)
        return self.change(found) if self.changed == "relations" else found

    def lookup(self, names: Sequence[str], *, limit: int = 10) -> list[list[Match]]:
        found = super().lookup(names, limit=limit)
        return self.change(found) if self.changed == "lookup" else found


class OwnText(MemoryTextStore):
    """One without sections."""

    def passages_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[PassageHit]:
        hits: Any = super().passages_of(entities, query, limit=limit)
        return [{**hit, "passage": {**hit["passage"], "section": None}} for hit in hits]


def answer(graph: MemoryGraphStore, text: MemoryTextStore | None = None) -> str:
    kb = tg.Knowledge(graph=graph, text=text, embedder=HashEmbedder())
    return tg.build("tog2", knowledge=kb).invoke({"question": "What is the capital of Panama?"})["answer"]["text"]


def own_graph(changed: str, change: Callable[[list[Any]], Any]) -> OwnGraph:
    graph = OwnGraph(ROWS)
    graph.__dict__.update(changed=changed, change=change)
    return graph


@pytest.mark.parametrize(
    ("changed", "change", "said"),
    [
        ("relations", lambda found: found[:-1], "relations .* promises: 0 results for 1 asked"),
        ("relations", lambda _: None, "relations .* 'all of it': Input should be a valid list"),
        ("relations", lambda found: [[{**one, "label": None} for one in row] for row in found], r"'0\.0\.label': "),
        ("lookup", lambda found: [[{**one, "entity": {"id": "x"}} for one in row] for row in found], r"entity\.label'"),
    ],
)
def test_what_a_graph_should_not_give_is_named(changed: str, change: Callable[[list[Any]], Any], said: str) -> None:
    with pytest.raises(StoreError, match=f"OwnGraph.{changed} does not give what GraphStore") as raised:
        answer(own_graph(changed, change))
    assert raised.match(said)


def test_what_a_text_store_should_not_give_is_named() -> None:
    with pytest.raises(StoreError, match=r"OwnText\.passages_of .* TextStore promises: '0\.passage\.section': .* None"):
        answer(OwnGraph(ROWS), OwnText([PASSAGE]))


def test_what_an_own_linker_should_not_give_is_named() -> None:
    class OwnLinker:
        def link(self, texts: Sequence[str], *, limit: int = 20) -> Any:
            return [{"entity": text} for text in texts[:limit]]

    kb = tg.Knowledge(graph=MemoryGraphStore(ROWS), linker=OwnLinker(), embedder=HashEmbedder())
    with pytest.raises(StoreError, match=r"OwnLinker\.link does not give what Linker promises: '0': "):
        tg.build("tog2", knowledge=kb).invoke({"question": "What is the capital of Panama?"})


def test_an_own_store_may_give_what_reads_as_lists() -> None:
    def lazily(found: list[Any]) -> Iterator[Any]:
        return (tuple(row) for row in found)

    assert answer(own_graph("relations", lazily)) == "Panama City"
    assert answer(own_graph("lookup", lazily)) == "Panama City"


def test_a_part_without_its_methods_is_refused_at_once() -> None:
    class Half:
        def info(self) -> None: ...

        def search(self) -> None: ...

    half: Any = Half()
    with pytest.raises(KnowledgeError, match=r"^graph= takes a GraphStore .*: Half lacks edges_among, .*, triples$"):
        tg.Knowledge(graph=half)
    with pytest.raises(KnowledgeError, match=r"^text= takes a TextStore .*: Half lacks passages, passages_of$"):
        tg.Knowledge(graph=MemoryGraphStore(ROWS), text=half)
    with pytest.raises(KnowledgeError, match=r"^text= takes a TextStore .*: Half lacks passages, passages_of$"):
        tg.Knowledge.open("world", text=half)
    with pytest.raises(KnowledgeError, match=r"^linker= takes a Linker .*: Half lacks link$"):
        tg.Knowledge(graph=MemoryGraphStore(ROWS), linker=half)
    with pytest.raises(KnowledgeError, match="Half is no embedder: give a name, a LangChain Embeddings or an Embedder"):
        tg.Knowledge(graph=MemoryGraphStore(ROWS), embedder=half)


def test_langchain_embeddings_are_an_embedder() -> None:
    kb = tg.Knowledge(graph=MemoryGraphStore(ROWS), embedder=DeterministicFakeEmbedding(size=8))
    assert [len(vector) for vector in kb.embedder.embed(["a", "b"])] == [8, 8]


def test_the_offline_model_refuses_what_are_no_vectors() -> None:
    class OwnEmbedder:
        name = "own"

        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return [[float("nan")] * 8 for _ in texts]

    kb = tg.Knowledge(graph=MemoryGraphStore(ROWS), embedder=OwnEmbedder())
    graph = tg.build("tog2", knowledge=kb, settings={"ranker": "bm25"})
    with pytest.raises(KnowledgeError, match=r"^the embedder 'own' must give one vector a text, .* not finite"):
        graph.invoke({"question": "At what age can people vote in the country whose highest point is Baru?"})
