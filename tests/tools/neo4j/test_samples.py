"""The stock samples, read with nothing set."""

from __future__ import annotations

import io
import json
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import chromadb
import pytest
from chromadb.config import Settings
from fakes import FakeModel
from tools.neo4j.conftest import Database, cli_run
from tools.neo4j.contents import EXAMPLES

import thinkgraph as tg
from thinkgraph.errors import KnowledgeError
from thinkgraph.eval.gold import resolve_golds
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.questions import read_questions
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.neo4j.connection import Connection
from thinkgraph.tools.neo4j.graph import Neo4jGraphStore
from thinkgraph.tools.neo4j.text import Neo4jTextStore
from thinkgraph.tools.vectorstores.chroma import ChromaTextStore
from thinkgraph.training.chat.paths import made_questions

MOVIES = [
    ("Who wrote the film that Tony Scott directed?", ["Jim Cash"], [["Tony Scott", "DIRECTED"], ["*", "-WROTE"]]),
    ("When was the director of Speed born?", ["1943"], [["Speed", "-DIRECTED"], ["*", "born"]]),
    (
        "Who directed the film in which Emil Eifrem acted?",
        ["Lilly Wachowski", "Lana Wachowski"],
        [["Emil Eifrem", "ACTED_IN"], ["*", "-directed"]],
    ),
    (
        "When was the film released that Robert Longo directed?",
        ["1995"],
        [["Robert Longo", "directed"], ["*", "released"]],
    ),
]
NORTHWIND = [
    (
        "In which city is the customer that purchased order 10255?",
        ["Buenos Aires"],
        [["Order 10255", "-purchased"], ["*", "city"]],
    ),
    (
        "Who is the contact of the supplier of Potato Gnocchi?",
        ["Gianni Conti"],
        [["Potato Gnocchi", "-supplies"], ["*", "contact name"]],
    ),
    (
        "To which category do the products of order 10249 belong?",
        ["Seafood"],
        [["Order 10249", "orders"], ["*", "part of"]],
    ),
    ("What did the seller of order 10250 study?", ["chemistry"], [["Order 10250", "-sold"], ["*", "text:notes"]]),
]
ASKED = {
    "movies": [
        ("Who wrote the film that Tony Scott directed?", "Jim Cash"),
        ("When was the director of Speed born?", "1943"),
    ],
    "northwind": [
        ("In which country is the supplier of Potato Gnocchi?", "Italy"),
        ("Which company supplies Silken Tofu?", "Kaisei Suisan"),
    ],
}


# All tests over one sample, and then all over the other: every change of what the database holds costs seconds.
each_sample = pytest.mark.parametrize("sample", ["northwind", "movies"], scope="module")


def load(name: str) -> Any:
    return lambda there: there.script(EXAMPLES / f"{name}.cypher")


@pytest.fixture
def movies(neo4j_server: Database) -> Iterator[Database]:
    with neo4j_server.holding("movies", load("movies")):
        yield neo4j_server


@pytest.fixture
def northwind(neo4j_server: Database) -> Iterator[Database]:
    with neo4j_server.holding("northwind", load("northwind")):
        yield neo4j_server


def ceilings(database: Database, rows: list[tuple[str, list[str], Any]], folder: Path) -> None:
    """The perfect chooser answers every question."""
    file = folder / "questions.jsonl"
    file.write_text(
        "".join(
            json.dumps({"id": str(at), "question": question, "answers": answers, "gold_path": path, "type": "2hop"})
            + "\n"
            for at, (question, answers, path) in enumerate(rows)
        )
    )
    questions = read_questions(file)
    with Knowledge.open(database.spec, embedder=HashEmbedder()) as knowledge:
        golds = resolve_golds(questions, knowledge.graph, knowledge.text)
        chooser = PerfectChooser({q.question: gold for q, gold in zip(questions, golds, strict=True)})
        graph = tg.build("tog2", knowledge=knowledge, model=chooser, settings={"ranker": "bm25"})
        for question in questions:
            answer = graph.invoke({"question": question.question})["answer"]
            assert sorted(answer["answers"]) == sorted(question.answers), (question.question, answer["reason"])
            assert answer["status"] == "grounded"


def company(database: Database) -> None:
    database.run(
        "UNWIND range(1, 12) AS i CREATE (c:Company {names: ['Firm ' + i, 'Number ' + i + ' Ltd'], city: 'Town ' + (i % 4)}) "
        "CREATE (:Note {text: 'Firm ' + i + ' opened an office this spring.'})-[:MENTIONS]->(c)"
    )


def test_short_texts_and_lists_of_names(neo4j_server: Database) -> None:
    """Short texts that mention things are passages without being told, and every name of a list finds its node."""
    with neo4j_server.holding("company", company), Knowledge.open(neo4j_server.spec) as knowledge:
        assert knowledge.text is not None
        assert (knowledge.text.info()["passages"], knowledge.graph.info()["entities"]) == (12, 12)
        ((link, *_),) = knowledge.linker.link(["In which town is Number 7 Ltd?"])
        assert (link["entity"]["label"], link["method"]) == ("Firm 7", "alias")
        (hit,) = knowledge.text.passages_of([link["entity"]["id"]], "office")
        assert hit["passage"]["text"] == "Firm 7 opened an office this spring."
        (around,) = knowledge.graph.neighbourhood([link["entity"]["id"]])
        assert [(one["relation"], one["object_label"]) for one in around["triples"]] == [("city", "Town 3")]


PROSE = (
    "is told of here at some length, in so many ordinary words that nobody would take them for a value of something. "
    * 3
)


@pytest.mark.parametrize(
    ("graph", "passages", "things"),
    [
        # Joined to nothing but one another: things with a text.
        ("(a:Page {title: 'A', text: $t})-[:LINKS_TO]->(:Page {title: 'B', text: $t})-[:MENTIONS]->(a)", [], ["Page"]),
        ("(:Law {number: 'L-12', text: $t})-[:AMENDS]->(:Law {number: 'L-3', text: $t})", [], ["Law"]),
        ("(:Article {title: 'A', body: $t})-[:HAS]->(:Section {title: 'S', text: $t})", [], ["Article", "Section"]),
        # Joined to things by what speaks of nothing.
        ("(:Article {title: 'A', body: $t})-[:WRITTEN_BY]->(:Person {name: 'Ann'})", [], ["Article", "Person"]),
        ("(:Article {title: 'A', body: $t})-[:ABOUT]->(:Person {name: 'Ann'})", ["Article"], ["Person"]),
        ("(:Review {rating: 5, text: $t})-[:REVIEWS]->(:Film {title: 'F'})", ["Review"], ["Film"]),
        ("(:Chunk {text: $t})-[:NEXT]->(:Chunk {text: $t})", ["Chunk"], []),
        ("(:Document {title: 'D', text: $t})", ["Document"], []),
        (
            "(:Document {title: 'D', text: $t})<-[:PART_OF]-(:Chunk {text: $t})-[:HAS_ENTITY]->(:Person {name: 'Ann'})",
            ["Chunk", "Document"],
            ["Person"],
        ),
    ],
)
def test_which_texts_are_things(neo4j_server: Database, graph: str, passages: list[str], things: list[str]) -> None:
    with (
        neo4j_server.holding(graph, lambda there: there.run(f"CREATE {graph}", t=PROSE) and None),
        Knowledge.open(neo4j_server.spec, embedder=HashEmbedder()) as knowledge,
    ):
        store = cast("Neo4jGraphStore", knowledge.graph)
        assert sorted(store.plan.passages) == passages
        assert sorted(store.plan.things) == things
        assert knowledge.text is not None
        assert knowledge.text.search(["told of at some length"])[0]
        assert not knowledge.empty, "there are passages, if nothing else"


def written(database: Database) -> None:
    database.run(
        "CREATE (:Article {title: 'On Engines', body: $text, year: 1843})-[:WRITTEN_BY]->(:Person {name: 'Ada Lovelace'})",
        text=PROSE,
    )


def test_an_article_is_asked_about(neo4j_server: Database) -> None:
    with neo4j_server.holding("written", written):
        done = cli_run("ask", "--kb", neo4j_server.spec, "Who is On Engines written by?", "--quiet", "--json")
        assert done.code == 0, done.err
        assert json.loads(done.out)["answers"] == ["Ada Lovelace"]


def test_northwind_perfect(northwind: Database, tmp_path: Path) -> None:
    ceilings(northwind, NORTHWIND, tmp_path)


def test_northwind_is_recognised(northwind: Database) -> None:
    with Neo4jGraphStore.open(northwind.spec) as store:
        names = {label: str(one.names[0]) for label, one in store.plan.roles.items()}
        assert names == {
            "Product": "productName",
            "Category": "categoryName",
            "Supplier": "companyName",
            "Customer": "companyName",
            "Order": "orderID",
            "Employee": "firstName+lastName",
        }
        ids = {
            one["entity"]["id"] for row in store.lookup(["Potato Gnocchi", "order 10252", "nadia holt"]) for one in row
        }
        assert ids == {"Product:13", "Order:10252", "Employee:1"}
        (nadia,) = store.neighbourhood(["Employee:1"])
        facts = {triple["relation_label"]: triple["object_label"] for triple in nadia["triples"] if triple["literal"]}
        assert facts["hire date"] == "1992-05-01"
        assert "notes" not in facts
        text = Neo4jTextStore(store, HashEmbedder())
        (hit,) = text.passages_of(["Employee:1"], "psychology")
        assert (hit["passage"]["title"], hit["passage"]["section"]) == ("Nadia Holt", "notes")


def test_kb_info_and_doctor(northwind: Database) -> None:
    done = cli_run("kb", "info", northwind.spec)
    assert done.code == 0
    assert "named by companyName" in done.out
    assert "sold (SOLD)" in done.out
    loud = northwind.spec.replace("bolt:", "BOLT:", 1)
    assert cli_run("kb", "info", loud).out == done.out, "a scheme has no case"
    facts = json.loads(cli_run("kb", "info", northwind.spec, "--json").out)
    assert facts["entities"] == 61
    assert facts["missing"] == []
    checked = cli_run("doctor", "--kb", northwind.spec, "--no-calls")
    assert checked.code == 0, checked.out
    assert "ok   knowledge                neo4j: 61 entities" in checked.out


def test_overrides(northwind: Database) -> None:
    options = (
        "id=Customer.companyName&name=Customer.contactName,Employee.lastName&text=none&hide=Employee,PART_OF&alias=none"
    )
    with Knowledge.open(f"{northwind.spec}?{options.replace('id=Customer.companyName&', '')}") as knowledge:
        assert knowledge.text is None
        (found,) = knowledge.graph.lookup(["Maria Brandt"])
        assert [(one["entity"]["id"], one["entity"]["label"], one["method"]) for one in found] == [
            ("Customer:ANTON", "Maria Brandt", "exact")
        ]
        assert knowledge.graph.lookup(["Nadia Holt", "Holt"]) == [[], []]
        assert knowledge.graph.entities(["Employee:1"]) == [None]
        (edges,) = knowledge.graph.relations(["Product:13"])
        assert {edge["name"] for edge in edges if not edge["name"].startswith("u")} == {
            "ORDERS",
            "SUPPLIES",
            "discontinued",
            "quantityPerUnit",
        }
        (order,) = knowledge.graph.relations(["Order:10248"])
        assert "SOLD" not in {edge["name"] for edge in order}
    with Knowledge.open(f"{northwind.spec}?{options}") as knowledge:
        assert knowledge.graph.entities(["Antonia Feinkost"])[0] is not None
        assert knowledge.graph.entities(["Customer:ANTON"]) == [None]


def test_texts_from_elsewhere_keyed_by_a_property(northwind: Database) -> None:
    client = chromadb.EphemeralClient(settings=Settings(anonymized_telemetry=False))
    try:
        collection = client.create_collection("reviews", embedding_function=None)
        texts = {"13": "These gnocchi are made with potatoes from Avezzano.", "14": "The tagliatelle are cut by hand."}
        collection.add(
            ids=list(texts),
            documents=list(texts.values()),
            embeddings=HashEmbedder().embed(list(texts.values())),
            metadatas=[{"productID": one} for one in texts],
        )
        with Neo4jGraphStore.open(f"{northwind.spec}?id=Product.productID") as graph:
            outside = ChromaTextStore(client, "reviews", entity_key="productID", embedder=HashEmbedder())
            knowledge = Knowledge(graph=graph, text=outside, embedder=HashEmbedder())
            (match,) = knowledge.graph.lookup(["potato gnocchi"])[0]
            assert match["entity"]["id"] == "13"
            assert knowledge.text is not None
            (hit,) = knowledge.text.passages_of([match["entity"]["id"]], "Where are the potatoes from?")
            assert "Avezzano" in hit["passage"]["text"]
            case = {
                "tog2.reason": lambda prompt: {
                    "sufficient": True,
                    "answers": ["Avezzano"],
                    "evidence": [item.number for item in prompt.lines("evidence") if "Avezzano" in item.passage],
                    "clues": "",
                    "query": "",
                }
            }
            built = tg.build("tog2", knowledge=knowledge, model=FakeModel(case), settings={"ranker": "bm25"})
            answer = built.invoke({"question": "Where do the potatoes of Potato Gnocchi come from?"})["answer"]
            assert (answer["answers"], answer["status"]) == (["Avezzano"], "grounded")
    finally:
        client.close()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("name=Customer.nope", "name=Customer.nope: the database has no such property"),
        ("text=Nobody.notes", "text=Nobody.notes: the database has no such property"),
        ("passage=notes", "passage=notes: the database has no such property (Label.property)"),
        ("literal=Nobody", "literal=Nobody: the database has no such label"),
        ("hide=Nobody", "hide=Nobody: the database has no such label or type"),
        ("id=Customer.nope", "id=Customer.nope: the database has no such property"),
        (
            "id=Product.productID,Customer.country",
            "id=Customer.country: 3 nodes have the value 'Germany'; name a property",
        ),
        ("id=Product.unitPrice", "no node of Product has a text or a whole number there, but values such as "),
        ("id=Product.country", "no node of Product has a text or a whole number there; name another property"),
        ("vectors=nobody", "vectors=nobody: the database has no such vector index (known: there is none)"),
    ],
)
def test_overrides_that_name_nothing(northwind: Database, option: str, said: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        Knowledge.open(f"{northwind.spec}?{option}")
    assert said in str(caught.value)


@each_sample
def test_ask_with_no_other_flag(neo4j_server: Database, sample: str) -> None:
    with neo4j_server.holding(sample, load(sample)):
        for question, answer in ASKED[sample]:
            done = cli_run("ask", "--kb", neo4j_server.spec, question, "--quiet", "--json")
            assert done.code == 0, done.err
            assert json.loads(done.out)["answers"] == [answer]


@each_sample
def test_training_data_of_its_own_paths(sample: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    there: Database = request.getfixturevalue(sample)
    words = ("--generate", "12", "--seed", "7", "--methods", "tog2,fiske,coggrag", "--json")
    done = cli_run("export", "training", str(tmp_path / "data"), "--kb", there.spec, *words)
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["unfit"] == 0
    assert report["train"] > 100
    assert there.address.password not in (tmp_path / "data" / "README.md").read_text("utf-8")
    # A dozen need not have every length: what a seed draws hangs on the database's own ids, which it gives out anew.
    with Neo4jGraphStore.open(there.spec) as store:
        assert {"1hop", "2hop", "3hop"} <= {question.type for question in made_questions(store, 100)}


def test_movies_perfect(movies: Database, tmp_path: Path) -> None:
    ceilings(movies, MOVIES, tmp_path)


def test_how_much_is_asked_at_once_is_no_new_query(movies: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cold server plans each new text, and each other type of its parameters, for seconds: a list's size is in its type."""
    asked: list[tuple[str, dict[str, Any]]] = []
    rows = Connection.rows

    def noted(self: Connection, query: str, parameters: Any = None, **options: Any) -> Any:
        asked.append(
            (query, {name: value for name, value in (parameters or {}).items() if not isinstance(value, dict)})
        )
        return rows(self, query, parameters, **options)

    names = [
        "speed",
        "keanu reeves",
        "the matrix",
        "jim cash",
        "tom hanks",
        "apollo 13",
        "top gun",
        "nobody",
        "hugo weaving",
    ]
    with Neo4jGraphStore.open(movies.spec) as store:
        ids = [match["entity"]["id"] for found in store.lookup(names) for match in found]
        assert len(ids) >= 8
        monkeypatch.setattr(Connection, "rows", noted)
        for look, one, many in (
            (store.lookup, ["speed"], names),
            (store.entities, ids[:1], ids),
            (store.relations, ids[:1], ids),
            (store.neighbourhood, ids[:1], ids),
        ):
            asked.clear()
            look(one)
            first, *_ = asked
            look([name for name in many if name not in one])
            assert asked == [first, first]
            assert first[0].count("normalize(") <= 1, "how names are compared stands once, not once for each label"


def test_movies_are_recognised(movies: Database) -> None:
    with Neo4jGraphStore.open(movies.spec) as store:
        roles = store.plan.roles
        assert [str(name) for name in roles["Movie"].names] == ["title"]
        assert [str(name) for name in roles["Person"].names] == ["name"]
        (edges,) = store.relations([store.lookup(["keanu reeves"])[0][0]["entity"]["id"]])
        assert {(edge["name"], edge["label"], edge["count"]) for edge in edges} == {
            ("born", "born", 1),
            ("ACTED_IN", "acted in", 8),
        }
        (found,) = store.neighbours([{"entity": edges[0]["entity"], "relation": "ACTED_IN", "direction": "out"}])
        roles_of = {triple["object_label"]: triple["qualifiers"] for triple in found["triples"]}
        assert roles_of["The Matrix"] == [["roles", "Neo"]]
        assert not Neo4jTextStore.recognised(store)


def test_the_chatbot_answers_a_line_at_a_time(
    neo4j_server: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = "Who wrote the film that Tony Scott directed?\n\nWhen was the director of Speed born?\n"
    main = runpy.run_path(str(EXAMPLES / "chatbot.py"))["main"]
    monkeypatch.setattr("sys.stdin", io.StringIO(asked))
    with neo4j_server.holding("movies", lambda there: there.script(EXAMPLES / "movies.cypher")):
        main([neo4j_server.spec])
    first, second = ("\n" + capsys.readouterr().out).split("\n> ")[1:]
    assert first.splitlines()[1:3] == [
        "Jim Cash",
        "Status: grounded (the evidence holds the answer; best guess (offline))",
    ]
    assert "Tony Scott" in first
    assert second.splitlines()[1] == "1943"
