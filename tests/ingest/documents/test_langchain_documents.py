"""Knowledge bases out of LangChain's documents and graph documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Any

import pytest
from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

import thinkgraph as tg
from thinkgraph.errors import KnowledgeError, UsageError
from thinkgraph.ingest.documents.store import DocumentStore
from thinkgraph.ingest.langchain import build_from_documents, build_from_graph_documents, load
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.kb_files import DOCUMENTS

TEXTS = (
    "Marie Curie was born in Warsaw. Marie Curie worked in Paris with Pierre Curie.",
    "Pierre Curie was born in Paris. Pierre Curie died in Paris.",
)


@dataclass
class Node:
    id: str | int
    type: str = "Node"
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass
class Relationship:
    source: Node
    target: Node
    type: str
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass
class Graph:
    nodes: list[Node]
    relationships: list[Relationship]
    source: Document | None


class Reports(BaseLoader):
    """A loader as anyone may write one."""

    def __init__(self, name: str = "all") -> None:
        if name == "broken":
            raise RuntimeError("no such report\nand more")
        self.name = name

    def lazy_load(self):
        for text in TEXTS:
            yield Document(text, metadata={"source": f"https://reports.example/{self.name}"})


def graphs(node: Any = Node, edge: Any = Relationship, graph: Any = Graph) -> list[Any]:
    curie = node(id="Marie Curie", type="Person", properties={"description": "a physicist", "pages": [1]})
    pierre, paris, seven = (
        node(id=name, type=kind) for name, kind in (("Pierre Curie", "Person"), ("Paris", "City"), (7, "N"))
    )
    first = graph(
        nodes=[curie, paris],
        relationships=[edge(source=curie, target=paris, type="WORKED_IN", properties={"since": 1891})],
        source=Document(TEXTS[0], metadata={"source": "curie.txt", "title": "Curie"}),
    )
    second = graph(
        nodes=[pierre, curie, seven],
        relationships=[
            edge(source=curie, target=pierre, type="SPOUSE"),
            edge(source=pierre, target=seven, type="NUMBER"),
        ],
        source=Document(TEXTS[0], metadata={"source": "curie.txt"}),
    )
    return [first, second]


def test_documents_become_a_knowledge_base(tmp_path):
    documents = [*Reports().load(), Document("Warsaw and Paris are cities.", id="own", metadata={"title": "Cities"})]
    with tg.Knowledge.from_documents(documents, tmp_path / "kb", embedder=HashEmbedder()) as knowledge:
        assert knowledge.graph.entities(["Marie Curie"])[0]["label"] == "Marie Curie"
        hits = knowledge.text.passages_of(["Pierre Curie"], "Where was Pierre Curie born?")
        assert hits[0]["passage"]["text"] == TEXTS[1]
        assert hits[0]["passage"]["title"] == "all"
    report = build_from_documents(tmp_path / "kb", documents, embedder=HashEmbedder(), replace=True)
    assert report.documents["documents"] == 3


def test_a_folder_that_has_the_name_of_a_bundled_base_is_that_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with tg.Knowledge.from_documents([Document(TEXTS[0])], "world", embedder=HashEmbedder()) as knowledge:
        assert knowledge.graph.entities(["Marie Curie"])[0]
    with tg.Knowledge.from_graph_documents(graphs(), "world", embedder=HashEmbedder(), replace=True) as knowledge:
        assert knowledge.graph.entities(["Marie Curie"])[0]


def test_an_address_is_no_folder_to_build_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for build, given in (
        (tg.Knowledge.from_documents, [Document(TEXTS[0])]),
        (tg.Knowledge.from_graph_documents, graphs()),
    ):
        with pytest.raises(UsageError, match=r"^neo4j://me@host/films is an address: name a folder of this machine$"):
            build(given, "neo4j://me:secret@host/films")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("build", [tg.Knowledge.from_documents, tg.Knowledge.from_graph_documents])
def test_langchains_embeddings_encode_what_is_built(build, tmp_path):
    given = graphs() if build == tg.Knowledge.from_graph_documents else [Document(text) for text in TEXTS]
    embeddings = DeterministicFakeEmbedding(size=8)
    with build(given, tmp_path / "kb", embedder=embeddings) as knowledge:
        assert knowledge.text.search(["Where was Marie Curie born?"])[0]
    with tg.Knowledge.open(tmp_path / "kb", embedder=embeddings) as knowledge:
        assert knowledge.text.search(["Where was Marie Curie born?"])[0]
    with pytest.raises(KnowledgeError, match=r"^int is no embedder"):
        build(given, tmp_path / "other", embedder=5)


def test_other_documents_never_take_the_place_of_those_that_are_there(tmp_path):
    first = [Document(TEXTS[0], id="one"), Document("", id="two")]

    def build(*documents, **more):
        return build_from_documents(tmp_path / "kb", documents, embedder=HashEmbedder(), **more)

    assert build(*first).documents["failed"] == 1
    with pytest.raises(KnowledgeError, match=r"is a knowledge base already; add --replace \(in Python, replace=True\)"):
        build(Document(TEXTS[1], id="three"))
    assert build(first[0], Document(TEXTS[1], id="two")).changes == {"unchanged": 1, "added": 1, "removed": 0}
    assert build(Document(TEXTS[1], id="three"), replace=True).changes == {"added": 1, "removed": 2}


def test_no_document_is_lost_without_a_word(tmp_path):
    documents = [
        Document("Alpha City is in Beta Land.", id="a"),
        Document("Gamma City is in Delta Land.", id="a"),
        Document("Rho Hill is in Tau Land.", id="a#2"),
        Document(f"Psi Hill is in Chi Land, {'o' * 175}. " * 5_000, id="long"),
        Document("Eta Hill is in Mu\0Land.", id="nul"),
        Document(" \n", id="blank\nid"),
    ]
    with pytest.warns(UserWarning, match=r"not used: 1 not read \(.*\), the first: blank id: holds no words$") as said:
        tg.Knowledge.from_documents(documents, tmp_path / "kb", embedder=HashEmbedder(), index=False).close()
    assert said[0].filename == __file__
    with DocumentStore(tmp_path / "kb" / DOCUMENTS, write=False) as store:
        facts = {fact["id"]: fact["problem"] for fact in store.facts()}
        assert sum(len(chunk.text) for chunk in store.chunks(of="long")) > 1_000_000
    assert facts == {**dict.fromkeys(["a", "a#2", "a#2#2", "long", "nul"], ""), "blank\nid": "holds no words"}


def test_documents_made_by_hand_may_lack_metadata(tmp_path):
    bare = Document.model_construct(page_content=TEXTS[0], metadata=None)
    build_from_documents(tmp_path / "kb", [bare], embedder=HashEmbedder(8))
    with DocumentStore(tmp_path / "kb" / DOCUMENTS, write=False) as store:
        assert [fact["id"] for fact in store.facts()] == ["document 1"]


@pytest.mark.parametrize("made", [{"page_content": None}, {"page_content": b"Paris"}, {"metadata": ["a"]}])
def test_a_document_that_is_not_whole_is_named(tmp_path, made):
    broken = Document.model_construct(**{"page_content": TEXTS[0], "metadata": {}, "id": "report", **made})
    with pytest.raises(UsageError, match="'report': "):
        build_from_documents(tmp_path / "kb", [broken])
    with pytest.raises(UsageError, match="'report': "):
        build_from_graph_documents(tmp_path / "kb", [Graph([], graphs()[0].relationships, broken)])


def test_no_documents_are_no_knowledge_base(tmp_path):
    with pytest.raises(KnowledgeError, match="there is no document in what is given"):
        tg.Knowledge.from_documents([], tmp_path / "kb")


def test_a_long_source_of_a_graph_is_several_passages(tmp_path):
    edge = Relationship(Node("Psi Hill"), Node("Chi Land"), "IN")
    one = Graph([], [edge], Document("Psi Hill is in Chi\0Land. " * 50_000, id="long"))
    report = build_from_graph_documents(tmp_path / "kb", [one], embedder=HashEmbedder(), index=False)
    assert not report.rejected
    assert report.manifest["text"]["passages"] == 2


def test_graph_documents_become_a_knowledge_base(tmp_path):
    check_graph(tg.Knowledge.from_graph_documents(graphs(), tmp_path / "kb", embedder=HashEmbedder()))


def check_graph(knowledge):
    with knowledge:
        (curie,) = knowledge.graph.entities(["Marie Curie"])
        assert (curie["type"], curie["description"]) == ("Person", "a physicist")
        found = knowledge.graph.edges_among(["Marie Curie", "Paris", "Pierre Curie"])
        said = {(one["subject"], one["relation"], one["object"]): one["qualifiers"] for one in found}
        assert said == {
            ("Marie Curie", "WORKED_IN", "Paris"): [["since", "1891"]],
            ("Marie Curie", "SPOUSE", "Pierre Curie"): [],
        }
        (hit,) = knowledge.text.passages_of(["Pierre Curie"], "Paris")
        assert hit["passage"]["text"] == TEXTS[0]
        assert set(hit["passage"]["entities"]) >= {"Marie Curie", "Paris", "Pierre Curie"}


def test_nothing_of_a_graph_document_is_lost(tmp_path):
    ann, paris = Node("Ann"), Node("Paris")
    properties = {"since": date(1891, 5, 1), "with": ["Jo", "Al"], "until": " ", "sure": None, "vector": [0.5] * 384}
    first = Graph([], [Relationship(ann, paris, "LIVES_IN", properties)], Document("She lives there."))
    second = Graph([], [], Document("Paris is large."))
    with tg.Knowledge.from_graph_documents([first, second], tmp_path / "kb", embedder=HashEmbedder()) as knowledge:
        (found,) = knowledge.graph.edges_among(["Ann", "Paris"])
        assert found["qualifiers"] == [["since", "1891-05-01"], ["with", "Jo"], ["with", "Al"]]
        (about,) = knowledge.text.passages_of(["Ann"], "Ann")
        assert about["passage"]["text"] == "She lives there."
        ((large,),) = knowledge.text.search(["Paris is large."], limit=1)
        assert large["passage"]["text"] == "Paris is large."
        assert (about["passage"]["title"], large["passage"]["title"]) == ("document 1", "document 2")


def test_a_name_in_quotes_is_one_node(tmp_path):
    bowie, heroes = Node("David Bowie"), Node('"Heroes"')
    graph = Graph([], [Relationship(bowie, heroes, "RECORDED"), Relationship(heroes, bowie, "IS_BY")], None)
    report = build_from_graph_documents(tmp_path / "kb", [graph], embedder=HashEmbedder())
    assert (report.manifest["graph"]["entities"], report.manifest["graph"]["literals"]) == (2, 0)


def test_what_a_later_node_says_of_an_entity_is_kept(tmp_path):
    ann, paris = Node("q1", "Person"), Node("q2", "City")
    told = Node("q1", "Woman", {"name": "Ann Lee", "description": "a weaver"})
    documents = [Graph([], [Relationship(ann, paris, "LIVES_IN")], None), Graph([told, Node("q2")], [], None)]
    with tg.Knowledge.from_graph_documents(documents, tmp_path / "kb", embedder=HashEmbedder()) as knowledge:
        first, second = knowledge.graph.entities(["q1", "q2"])
    assert (first["label"], first["type"], first["description"]) == ("Ann Lee", "Person", "a weaver")
    assert (second["label"], second["type"]) == ("q2", "City")


@pytest.mark.parametrize(
    ("make", "given", "says"),
    [
        (tg.Knowledge.from_documents, ["text"], "this is str"),
        (tg.Knowledge.from_documents, Document("text"), "this is tuple"),
        (tg.Knowledge.from_graph_documents, [Document("text")], "this is Document"),
    ],
)
def test_other_objects_are_refused_by_name(tmp_path, make, given, says):
    with pytest.raises(UsageError, match=says):
        make(given, tmp_path / "kb")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (Graph(None, [], None), "nodes and relationships are lists; this is NoneType"),
        (Graph([], None, None), "nodes and relationships are lists; this is NoneType"),
        (Graph([], [Relationship(None, Node("b"), "R")], None), "nodes have an id.*this is NoneType"),
        (Graph(["Ann"], [Relationship(Node("a"), Node("b"), "R")], None), "nodes have an id.*this is str"),
        (Graph([], [{"source": "a"}], None), "relationships have a source.*this is dict"),
        (Graph([], [Relationship(Node("a"), Node("b"), "R")], "a text"), "Document objects.*this is str"),
        (Graph([], [Relationship(Node(None), Node("b"), "R")], None), "its id is None"),
    ],
)
def test_graph_documents_made_by_hand_are_refused_with_a_reason(tmp_path, given, says):
    """They ended with Python's own AttributeError or TypeError; a node without an id became an entity called None."""
    with pytest.raises(UsageError, match=says):
        build_from_graph_documents(tmp_path / "kb", [given], embedder=HashEmbedder())
    assert not (tmp_path / "kb").exists()


def test_graph_documents_without_relationships_are_refused(tmp_path):
    with pytest.raises(KnowledgeError, match="no relationship"):
        tg.Knowledge.from_graph_documents([Graph([Node("a")], [], None)], tmp_path / "kb")
    assert not (tmp_path / "kb").exists()


def test_a_loader_reads_each_source_as_it_stands():
    found = load(f"{__name__}:Reports", ["https://a", "b"])
    assert [one.metadata["source"] for one in found[::2]] == [
        "https://reports.example/https://a",
        "https://reports.example/b",
    ]
    assert len(load(f"{__name__}:Reports", [])) == 2


@pytest.mark.parametrize(
    ("loader", "sources", "kind", "says"),
    [
        ("no_such_module:Loader", [], UsageError, "no_such_module"),
        (f"{__name__}:NoSuch", [], UsageError, "module:Class"),
        ("no colon", [], UsageError, "no colon"),
        ("", [], UsageError, "module:Class"),
        (f"{__name__}:Reports", ["broken"], KnowledgeError, "with broken: no such report"),
        ("sys:exit", ["0"], KnowledgeError, "failed with 0"),
    ],
)
def test_a_loader_that_is_none_is_one_line(loader, sources, kind, says):
    with pytest.raises(kind, match=says) as caught:
        load(loader, sources)
    assert "\n" not in str(caught.value)


def test_without_langchain_community_its_extra_is_named(monkeypatch):
    # Whatever was imported before is found by its whole name.
    for name in ("langchain_community", "langchain_community.document_loaders"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    with pytest.raises(UsageError, match=r"pip install 'thinkgraph\[community\]'"):
        load("langchain_community.document_loaders:TextLoader", ["a.txt"])


def test_langchain_communitys_own_classes(tmp_path):
    documents = pytest.importorskip("langchain_community.graphs.graph_document")
    made = graphs(documents.Node, documents.Relationship, documents.GraphDocument)
    check_graph(tg.Knowledge.from_graph_documents(made, tmp_path / "kb", embedder=HashEmbedder()))
    (tmp_path / "a.txt").write_text(TEXTS[0])
    (found,) = load("langchain_community.document_loaders:TextLoader", [str(tmp_path / "a.txt")])
    assert found.page_content == TEXTS[0]
