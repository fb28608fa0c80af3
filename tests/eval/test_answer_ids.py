"""Gold answers given as ids are compared by what the graph calls them."""

from __future__ import annotations

from dataclasses import replace

from thinkgraph.eval.datasets.ids import compared_forms, named
from thinkgraph.eval.metrics import score
from thinkgraph.eval.questions import Question
from thinkgraph.testing.memory import MemoryGraphStore

WIKIDATA = "http://www.wikidata.org/entity/"
GRAPH = MemoryGraphStore(
    [("Q1", "P36", "Q2"), ("Q3", "P36", "Q2")], labels={"Q1": "Suriname", "Q2": "Paramaribo", "Q3": "Suriname"}
)


def test_an_id_is_what_the_graph_calls_it() -> None:
    asked = [
        Question("a", "Capital?", ("Q2", "Q99"), aliases=((f"{WIKIDATA}Q2",), (f"{WIKIDATA}Q99",))),
        Question("b", "When?", ("1975",)),
        Question("c", "Which countries?", ("Q1", "Q3")),
        Question("d", "Nothing?", ()),
    ]
    capital, when, countries, nothing = named(asked, GRAPH)
    assert capital.answers == ("Paramaribo", "Q99"), "an id that the graph does not know stays"
    assert capital.aliases == (("Q2", f"{WIKIDATA}Q2"), (f"{WIKIDATA}Q99",))
    assert score(["paramaribo"], capital.answers, capital.aliases)["hits1"] == 1.0
    assert score(["Q2"], capital.answers, capital.aliases)["hits1"] == 1.0
    assert (when, nothing) == (asked[1], asked[3])
    assert (countries.answers, countries.aliases) == (("Suriname",), (("Q1", "Q3"),))


def test_published_scripts_compare_names_and_ids_only_where_there_is_no_name() -> None:
    iri = "http://www.wikidata.org/entity/Q42"
    asked = Question(id="1", question="Who?", answers=("Ann", "Q42", "Bo"), aliases=(("Q7", "Annie"), (iri, "Q42"), ()))
    # "en" stands in every IRI.
    assert compared_forms(asked) == ["Ann", "Annie", "Q42", "Bo"]
    assert compared_forms(replace(asked, compared=("Bo",))) == ["Bo"]
