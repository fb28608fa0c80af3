"""Questions made of a graph's own paths: what they ask follows from the graph, whatever store holds it."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from sparql_server import SparqlServer
from training.chat import towns

from thinkgraph.errors import UsageError
from thinkgraph.eval.gold import agrees, resolve_golds
from thinkgraph.eval.questions import Question, question_row, read_questions
from thinkgraph.models.roles import Models
from thinkgraph.state.settings import RunSettings
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.protocols import GraphStore
from thinkgraph.tools.sparql.http import RequestPolicy
from thinkgraph.tools.sparql.store import SparqlGraphStore
from thinkgraph.training.chat.paths import made_questions
from thinkgraph.training.chat.rewording import reworded
from thinkgraph.training.chat.wording import AskedHop, count_text, question_text


class Bare:
    """A store with the protocol's methods and no others."""

    def __init__(self, store: GraphStore) -> None:
        for name in ("info", "lookup", "search", "entities", "triples", "relations", "neighbours", "neighbourhood"):
            setattr(self, name, getattr(store, name))


class Typed(Bare):
    """A store whose towns have a type."""

    def entities(self, ids: Any) -> Any:
        found = self.of(ids)
        return [one and {**one, "type": "town" if one["id"].endswith("Town") else ""} for one in found]

    def lookup(self, names: Any, *, limit: int = 10) -> Any:
        found = self.found(names, limit=limit)
        return [[{**hit, "entity": self.entities([hit["entity"]["id"]])[0]} for hit in hits] for hits in found]

    def __init__(self, store: GraphStore) -> None:
        self.of, self.found = store.entities, store.lookup
        for name in ("info", "search", "triples", "relations", "neighbours", "neighbourhood"):
            setattr(self, name, getattr(store, name))


def check(questions: list[Question], store: Any, count: int) -> None:
    """The paths lead to the answers; hops of all lengths are there."""
    golds = resolve_golds(questions, store)
    assert len(questions) == count
    assert {"1hop", "2hop", "3hop"} <= {question.type for question in questions}
    for question, gold in zip(questions, golds, strict=True):
        assert agrees(gold) if question.answers else question.type == "unanswerable"
        assert question.topic[0] in question.question
    assert len({question.question for question in questions}) == count
    assert len({question.id for question in questions}) == count


def test_the_protocol_is_enough() -> None:
    store = Bare(towns.store())
    made = made_questions(store, 90, seed=1, topics=["Oskow Town"])  # type: ignore[arg-type]
    check(made, store, 90)
    assert made == made_questions(store, 90, seed=1, topics=["Oskow Town"])  # type: ignore[arg-type]
    assert made != made_questions(store, 90, seed=2, topics=["Oskow Town"])  # type: ignore[arg-type]
    assert any(question.type == "count" for question in made)


def test_common_words_find_a_beginning() -> None:
    assert len(made_questions(towns.store(), 5)) == 5  # "River …"
    store = towns.store()
    store.search = lambda texts, **_: [[] for _ in texts]  # type: ignore[method-assign]
    with pytest.raises(
        UsageError, match=r"no entity was found to begin with \(nothing by common words\).*--topic NAME"
    ):
        made_questions(store, 5)
    with pytest.raises(UsageError, match=r"none of --topic Atlantis"):
        made_questions(store, 5, topics=["Atlantis"])


def test_what_others_of_its_kind_have_is_asked_in_vain() -> None:
    bare = {f"{name} Town" for name in towns.NAMES[::2]}
    rows = [row for row in towns.rows() if row[1] != "mayor" or row[0] not in bare]
    store = Typed(type(towns.store())(rows, literals=["population"]))
    found = [one for one in made_questions(store, 200, topics=["Oskow Town", "Varnow Town"]) if not one.answers]  # type: ignore[arg-type]
    assert len(found) > 2
    assert {one.question for one in found} <= {f"What is the mayor of {town}?" for town in bare}
    assert all(one.gold_path == () and one.type == "unanswerable" for one in found)


def test_over_sparql() -> None:
    policy = RequestPolicy(rate=0, concurrency=4, retries=0)
    with SparqlServer(towns.turtle()) as server, SparqlGraphStore(server.url, policy=policy, search="none") as store:
        check(made_questions(store, 20, topics=["Oskow Town", "Varnwick Town"]), store, 20)
        # A round trip for a batch, not for a question.
        assert len(server.calls) < 150


def test_a_question_file_gives_the_questions_back(tmp_path) -> None:
    import json

    made = made_questions(towns.store(), 12)
    lines = [json.dumps(question_row(question)) for question in made]
    (tmp_path / "q.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    assert read_questions(tmp_path / "q.jsonl") == made


@pytest.mark.parametrize(
    ("start", "legs", "text"),
    [
        ("Peru", [("capital", "out", "city", False)], "What is the capital of Peru?"),
        ("Peru", [("exports", "out", "", True)], "What are the exports of Peru?"),
        ("Lima", [("capital", "in", "country", False)], "Which country's capital is Lima?"),
        ("Big", [("ACTED_IN", "in", "Person", True)], "Who ACTED IN Big?".replace("ACTED IN", "acted in")),
        ("Big", [("directed_by", "out", "", False)], "Big is directed by what?"),
        ("Big", [("released", "out", "", False, True)], 'What is given as "released" for Big?'),
        ("Ann", [("acted in", "out", "Movie", True)], "Ann acted in which movie?"),
        ("Lima", [("capital", "in", "country", False), ("shares border with", "out", "country", True)],
         "The country whose capital is Lima shares border with which country?"),
        ("Ann", [("starredActors", "in", "film", True), ("release year", "out", "", True)],
         "What is the release year of a film whose starred actors include Ann?"),
        ("Ann", [("memberOf", "out", "club", True), ("located in", "out", "", False), ("country", "out", "", False)],
         "What is the country of the thing that a club that Ann is member of is located in?"),
    ],
)  # fmt: skip
def test_templates(start: str, legs: list[Any], text: str) -> None:
    made = [AskedHop(relation, direction, kind, many, *value) for relation, direction, kind, many, *value in legs]
    assert question_text(start, made) == text


def test_the_head_of_a_noun_is_what_has_a_plural() -> None:
    stock, gig = (
        AskedHop("units in stock", "out", "", many=False, value=True),
        AskedHop("held at", "out", "venue", many=False),
    )
    assert question_text("Rye", [stock]) == "What are the units in stock of Rye?"
    assert (
        question_text("Rye", [AskedHop("quantity per unit", "out", "", many=False)])
        == "What is the quantity per unit of Rye?"
    )
    assert (
        count_text("Peru", AskedHop("head of state", "out", "", many=True)) == "How many heads of state does Peru have?"
    )
    assert question_text("Gig 1", [gig]) == "Gig 1 is held at which venue?"


def test_counts_in_words() -> None:
    assert count_text("Ann", AskedHop("directed", "out", "movie", many=True)) == "Ann directed how many movies?"
    assert (
        count_text("Peru", AskedHop("major city", "out", "city", many=True)) == "How many major cities does Peru have?"
    )
    assert (
        count_text("Peru", AskedHop("flows through", "in", "river", many=True)) == "How many rivers flow through Peru?"
    )
    assert count_text("Ann", AskedHop("directed by", "in", "film", many=True)) == "How many films are directed by Ann?"
    assert (
        count_text("euro", AskedHop("currency", "in", "country", many=True))
        == "How many countries have euro as currency?"
    )


def test_new_words_must_keep_the_name_and_not_tell_the_answer(tmp_path) -> None:
    told = {
        "What is the mayor of Oskow Town?": "Who runs Oskow Town?",
        "What is the mayor of Varnow Town?": "Who runs that town?",
        "What is the mayor of Lindow Town?": "Does Ida Lindow run Lindow Town?",
    }
    asked = [
        Question(f"q{at}", text, (f"Ida {text.split()[-2].removesuffix('?')}",), topic=(f"{text.split()[-2]} Town",))
        for at, text in enumerate(told)
    ]
    model = FakeModel({"training.reword": lambda prompt: told[prompt.text("question")]})
    models = Models(model, offline=lambda: model)
    with Knowledge(graph=towns.store()) as knowledge:
        found = reworded(asked, "fake", models, knowledge, RunSettings(), folder=tmp_path)
        again = reworded(asked, "fake", models, knowledge, RunSettings(), folder=tmp_path)
    assert [one.question for one in found] == ["Who runs Oskow Town?", *list(told)[1:]]
    assert again == found
    assert len(model.asked) == 3  # what was paid for is not asked again
