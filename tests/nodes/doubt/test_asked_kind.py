"""Is the answer of the kind that the question asks for?"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from fakes import FakeModel
from nodes.flows import TypedStore, deps_of, outcome

import thinkgraph as tg
from thinkgraph.eval.bench_setup import bench_model, known_golds, load_questions
from thinkgraph.eval.perfect import chooser
from thinkgraph.models.ops import Flow
from thinkgraph.nodes.common.evidence_lines import Texts
from thinkgraph.nodes.doubt.asked_kind import asked_for, asking_part, described
from thinkgraph.nodes.doubt.misfit import is_named, misfit
from thinkgraph.nodes.doubt.walk import Walk
from thinkgraph.state.evidence import EvidenceItem, Path, path_item
from thinkgraph.state.knowledge import Passage, Triple
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.knowledge import Knowledge


@pytest.mark.parametrize(
    ("question", "kind", "said"),
    [
        ("Which currency is used where the Volga ends?", "thing", "currency"),
        ("In the country where the Volga ends, which currency is used?", "thing", "currency"),
        ("What is the capital of the country whose highest peak is Ras Dejen?", "thing", "capital"),
        ("What is the voting age in the country whose highest peak is Ras Dejen?", "thing", "age"),
        ("Name the countries that surround Paraguay.", "thing", "countries"),
        ("Which country's capital is Paramaribo?", "thing", "country"),
        ("Which countries border Germany?", "thing", "countries"),
        ("Which Beatles album?", "thing", "album"),
        ("the films that share directors with [Jaws] were in which genres", "thing", "genres"),
        ("Nuuk is the seat of a territory; who is the head of state?", "person", "a person"),
        ("In which year was it founded?", "time", "a date"),
        ("Through how many countries does the Niger flow?", "number", "a number"),
        ("Where does the Osk end?", "place", "a place"),
        ("What's the currency of Kenya?", "thing", "currency"),
        ("Tell me how many countries border Germany.", "number", "a number"),
        ("Tell me who wrote Osk.", "person", "a person"),
        ("Can you tell me when it ended?", "time", "a date"),
        ("What is the number of countries that border Germany?", "number", "a number"),
        ("What is the licence number of Osk?", "thing", "number"),
    ],
)
def test_the_words_tell_what_is_asked_for(question: str, kind: str, said: str) -> None:
    asked = asked_for(question)
    assert asked is not None
    assert (asked.kind, asked.said) == (kind, said)


@pytest.mark.parametrize(
    "question",
    [
        "Does the Rhine end in the Netherlands?",
        "Which of the two is lower?",
        "Which of the country's rivers is the longest?",
        "Which bank prints the notes?",
        "What is spoken in Peru?",
        "What is the Blue Tower in Arden?",
        "Welche Währung gilt dort, wo die Wolga endet?",
        "ボルガ川が終わる国の通貨は何ですか。",
        "",
    ],
)
def test_what_is_not_sure_is_left_open(question: str) -> None:
    assert asked_for(question) is None


ROWS = [
    ("Volga", "ends_in", "Russia"),
    ("Russia", "currency", "ruble"),
    ("Russia", "head_of_government", "Ada Lund"),
    ("Russia", "population", "144000000"),
    ("Volga", "tributary", "Oka"),
]
TYPES = {"Volga": "river", "Oka": "river", "Russia": "country", "ruble": "currency", "Ada Lund": "person"}


def asked(question: str, answer: str, types: dict[str, str], **settings: Any) -> Any:
    """The answer of kg_rag where a model gives `answer` and cites every line."""
    graph = TypedStore(ROWS, literals=["population"])
    graph.types = types
    knowledge = Knowledge(graph=graph, embedder=HashEmbedder(), name="volga")

    def reply(prompt: Any) -> Any:
        lines = [item.number for item in prompt.lines("evidence")]
        return {"sufficient": True, "answers": [answer], "evidence": lines}

    model = FakeModel(replies={"kg_rag.reason": reply})
    return tg.build("kg_rag", knowledge=knowledge, model=model, **settings).invoke({"question": question})["answer"]


@pytest.mark.parametrize("types", [TYPES, {}], ids=["typed", "untyped"])
def test_a_bridge_is_not_grounded(types: dict[str, str]) -> None:
    answer = asked("Which currency is used where the Volga ends?", "Russia", types)
    assert (answer["answers"], answer["status"]) == (["Russia"], "partial")
    assert "asks for currency, and Russia is" in answer["reason"]
    right = asked("Which country does the Volga end in?", "Russia", types)
    assert (right["status"], right["reason"]) == ("grounded", "the evidence holds the answer")


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("How many people live where the Volga ends?", "Russia", "asks for a number, and Russia is a name"),
        ("When was Russia founded?", "Volga", "asks for a date, and Volga is a name"),
        ("Who owns the Volga?", "Oka", "asks for a person, and Oka is a river"),
        ("Which river is a tributary of the Volga?", "Russia", "asks for river, and Russia is a country"),
    ],
)
def test_a_thing_of_another_sort_is_not_grounded(question: str, answer: str, said: str) -> None:
    found = asked(question, answer, TYPES)
    assert found["status"] == "partial"
    assert said in found["reason"]


@pytest.mark.parametrize(
    ("of_type", "said"),
    [("ocean", "Oka is an ocean"), ("rivers", "Oka is one of the rivers"), ("lake", "Oka is a lake")],
)
def test_what_an_answer_is_reads_as_english(of_type: str, said: str) -> None:
    assert said in asked("Who owns the Volga?", "Oka", {**TYPES, "Oka": of_type})["reason"]


@pytest.mark.parametrize(
    ("question", "answer", "said"),
    [
        ("Who rules Russia?", "ruble", "asks for a person, and ruble is a currency"),
        ("Which language is spoken in Russia?", "ruble", "asks for language, and ruble is a currency"),
        ("Who rules Russia?", "Ada Lund", ""),
        ("Which money is used in Russia?", "ruble", ""),
    ],
)
def test_without_types_a_relation_may_say_what_its_object_is(question: str, answer: str, said: str) -> None:
    found = asked(question, answer, {})
    assert found["status"] == ("partial" if said else "grounded")
    assert said in found["reason"]


def test_a_question_of_another_language_changes_nothing() -> None:
    assert asked("Welche Währung gilt, wo die Volga endet?", "Russia", TYPES)["status"] == "grounded"


def test_inner_nodes_of_gold_paths_are_not_grounded(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = [question for question in load_questions("world") if question.type in {"2hop", "3hop"}]
    knowledge = Knowledge.open("world")
    model = bench_model("perfect", questions, knowledge)
    graph = tg.build("fiske", knowledge=knowledge, model=model)
    real = chooser.reading.judge
    given: list[str] = []

    def judge(*arguments: Any) -> Any:
        finding = real(*arguments)
        return dataclasses.replace(finding, answers=list(given)) if given and finding.answers else finding

    monkeypatch.setattr(chooser.reading, "judge", judge)

    def status(question: str, *instead: str) -> str:
        given[:] = instead
        found: str = graph.invoke({"question": question})["answer"]["status"]
        return found

    right, bridges = [], []
    for question in questions:
        right.append(status(question.question))
        gold = known_golds([question], knowledge)[question.id]
        inner = {end for hop in gold.hops[:-1] for end in hop.ends[:2]} - set(question.answers)
        bridges += [status(question.question, end) for end in inner]
    assert right.count("grounded") == len(right) == 32
    assert len(bridges) > 40
    assert bridges.count("grounded") <= 1, "of a region, a part of the world, no word tells that it is none"


FILMS = [
    ("Osk", "directed_by", "Ada Lund"),
    ("Osk", "written_by", "Bo Hall"),
    ("Osk", "starred_actors", "Ines Calder"),
    ("Merish", "directed_by", "Ada Lund"),
]


def graph_of(*rows: tuple[str, str, str]) -> MemoryGraphStore:
    """The films, and what else these rows say."""
    return MemoryGraphStore(dict.fromkeys([*FILMS, *rows]))


def triples_of(*rows: tuple[str, str, str]) -> dict[str, Triple]:
    ends = {end for row in (*FILMS, *rows) for end in (row[0], row[2])}
    every = graph_of(*rows).edges_among(sorted(ends), limit=100)
    return {one["id"]: one for one in every if (one["subject"], one["relation"], one["object"]) in rows}


def faults(question: str, answer: str, *rows: tuple[str, str, str]) -> str:
    """What a cited path of these statements, and a graph of films, say against an answer."""
    known = triples_of(*rows)
    items = [path_item(key, Path(start=one["subject"], triples=[]), [key], total=1) for key, one in known.items()]
    return str(walked(misfit([answer], Walk(question, items, Texts(known, {}))), graph_of(*rows)))


def walked(flow: Flow[Any], graph: MemoryGraphStore, *near: str) -> Any:
    """What a flow returns over a graph, with an encoder to which only these texts are near to the first one."""
    encoder = SimpleNamespace(
        embed=lambda texts: [
            [float(at == 0 or text in near), float(at > 0 and text not in near)] for at, text in enumerate(texts)
        ]
    )
    return outcome(flow, deps_of(graph, encoder))


DIRECTED, WRITTEN, STARRED, ALSO = FILMS


@pytest.mark.parametrize(
    ("question", "answer", "rows", "fault"),
    [
        ("Who wrote the film Osk?", "Bo Hall", [WRITTEN], ""),
        ("Who wrote the film Osk?", "Ada Lund", [DIRECTED], "nothing that written by leads to"),
        ("Who acted in Osk?", "Ada Lund", [DIRECTED], "nothing that starred actors leads to"),
        ("Who directed what Bo Hall wrote?", "Osk", [WRITTEN], "nothing that directed by leads to"),
        ("Who's the director of Osk?", "Ines Calder", [STARRED], "nothing that directed by leads to"),
        ("Who is listed as director of Osk?", "Ines Calder", [STARRED], "nothing that directed by leads to"),
        ("Osk was written by who?", "Ines Calder", [STARRED], "nothing that written by leads to"),
        ("The director of Osk is also the director of which films?", "Ada Lund", [DIRECTED], "on the way to it"),
        ("The director of Osk is also the director of which films?", "Merish", [DIRECTED, ALSO], ""),
        ("Which screenwriters co-wrote films with Ada Lund?", "Bo Hall", [WRITTEN], ""),
    ],
)
def test_who_did_it_is_where_a_relation_called_so_leads(
    question: str, answer: str, rows: list[tuple[str, str, str]], fault: str
) -> None:
    found = faults(question, answer, *rows)
    assert found.endswith(f"{answer} is {fault}" if fault else "")
    assert bool(found) == bool(fault)


def test_a_place_in_a_schema_says_nothing_of_what_an_answer_is() -> None:
    """Both ends' types stand in "religion.adherents.main_religion": it is no phrase about its object."""
    question = "What religion do people in Osk have?"
    assert faults(question, "Merish", ("Merish", "main_religion", "Osk")).endswith("Merish is what has it")
    assert faults(question, "Merish", ("Merish", "religion.adherents.main_religion", "Osk")) == ""


def test_a_relation_that_tells_which_thing_is_meant_leads_no_further() -> None:
    rows = [("Laos", "capital", "Vientiane"), ("Laos", "borders", "Burma"), ("Burma", "capital", "Rangoon")]
    question = "Which states border the country whose capital is Vientiane?"
    assert faults(question, "Burma", *rows) == ""
    assert faults(question, "Burma", *rows, ("Burma", "chief_of_state", "U Soe")) == ""


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("What is the capital of the state that once ruled the country topped by Mont Ngaoui?", 2),
        ("What are the capitals of the countries that border the country whose capital is Dhaka?", 2),
        ("who acted in the films directed by the director of Jaws", 1),
        ("What is the capital of the country that is home to Mount Kenya?", 1),
        ("How long is the river that begins in the country with the capital Kigali?", 2),
        ("Which country borders the country whose capital is Dhaka?", 0),
        ("What is the capital of Kenya?", 0),
        ("Anders Morgenthaler was the director on which movies?", 0),
        ("can you name a film directed by Mel Stuart?", 0),
        ("Was ist die Hauptstadt des Landes, dessen Gipfel der Elbrus ist?", 0),
    ],
)
def test_things_that_a_question_only_describes_are_counted(question: str, count: int) -> None:
    assert described(question) == count


OVER = "What is the currency of the state that ruled the country topped by Elbrus?"
SHORT = [("Georgia", "highest_point", "Elbrus"), ("Georgia", "currency", "lari")]
LONG = [SHORT[0], ("Georgia", "ruled_by", "Russia"), ("Russia", "currency", "ruble")]


def over(question: str, answer: str, *rows: tuple[str, str, str]) -> str:
    """What one cited path from Elbrus, of these statements, says against an answer."""
    known = triples_of(*rows)
    *way, last = sorted(known, key=lambda key: known[key]["relation"] == "currency")
    items = [path_item("p", Path(start="Elbrus", triples=way), [last], total=1)]
    return str(walked(misfit([answer], Walk(question, items, Texts(known, {}))), graph_of(*rows)))


def test_an_answer_nearer_than_the_question_describes_is_none() -> None:
    assert "describes more things" in over(OVER, "lari", *SHORT)
    assert not over(OVER, "ruble", *LONG)
    assert not over("What is the currency of the country topped by Elbrus?", "lari", *SHORT)
    assert not over(OVER.replace("Elbrus", "West Elbrus"), "lari", *SHORT), (
        "a path from elsewhere may be a part of the way"
    )


@pytest.mark.parametrize(
    ("answer", "sentence", "passed"),
    [
        ("lari", "It pays with the lari.", 1),
        ("lari", "The lari is the currency of Georgia.", 1),
        ("ruble", "Georgia, whose ruler was Russia, paid with the ruble.", 2),
        ("ruble", "Nobody knows the currency.", None),
    ],
)
def test_a_sentence_passes_the_things_that_it_names(answer: str, sentence: str, passed: int | None) -> None:
    known = triples_of(SHORT[0])
    passage = Passage(id="p", title="Georgia", section="", text=sentence, entities=["Georgia"])
    chunk = EvidenceItem(id="c", kind="chunk", score=1.0, round=0, passage="p", start=0, end=len(sentence))
    items = [path_item("p", Path(start="Elbrus", triples=[]), list(known), total=1), chunk]
    assert Walk(OVER, items, Texts(known, {"p": passage})).passed([answer]) == passed
    elsewhere = passage | {"title": f"Money: the {answer}", "text": "." * len(sentence)}
    assert Walk(OVER, items, Texts(known, {"p": elsewhere})).passed([answer]) is None, "a title is no sentence"


def test_names_in_a_text_do_not_lengthen_a_way_that_statements_lead() -> None:
    question = "Who rules the country that Lesotho borders?"
    known = triples_of(("Lesotho", "ruled_by", "Letsie"))
    text = "Letsie, whose heir is Lerotholi, rules."
    passage = Passage(id="p", title="Lesotho", section="", text=text, entities=["Lesotho"])
    chunk = EvidenceItem(id="c", kind="chunk", score=1.0, round=0, passage="p", start=0, end=len(text))
    items = [path_item("p", Path(start="Lesotho", triples=[]), list(known), total=1), chunk]
    assert Walk(question, items, Texts(known, {"p": passage})).passed(["Letsie"]) == 0
    assert Walk(question, items[1:], Texts({}, {"p": passage})).passed(["Letsie"]) is None, "from nowhere that is known"


def chained(answer: str, *rows: tuple[str, str, str], rounds: Sequence[int]) -> str:
    """What a chain of communities, of a statement each, says against an answer; that with the currency is cited."""
    known = triples_of(*rows)
    found = {(one["subject"], one["relation"], one["object"]): key for key, one in known.items()}
    shown = [
        EvidenceItem(id=found[row], kind="community", score=1.0, round=number, triples=[found[row]], totals=[])
        for row, number in zip(rows, rounds, strict=True)
    ]
    (cited,) = (item for item in shown if known[item["id"]]["relation"] == "currency")
    return str(walked(misfit([answer], Walk(OVER, [cited], Texts(known, {})), shown=shown), graph_of(*rows)))


def test_of_a_chain_of_communities_those_up_to_the_cited_one_are_on_the_way() -> None:
    assert not chained("ruble", *LONG, rounds=[0, 1, 2])
    more = ("Georgia", "neighbour", "Turkey")
    joining = ("lari", "used_in", "Turkey")
    assert not chained("lari", *SHORT, more, joining, rounds=[0, 1, 1, 1])
    assert "describes more things" in chained("lari", *SHORT, more, joining, rounds=[0, 1, 2, 2])


def test_what_a_community_holds_beside_the_way_to_an_answer_is_not_passed() -> None:
    more = ("Georgia", "neighbour", "Turkey")
    assert "describes more things" in chained("lari", *SHORT, more, rounds=[0, 1, 1])
    around = [more, ("Turkey", "neighbour", "Armenia"), ("Armenia", "neighbour", "Georgia")]
    assert "describes more things" in chained("lari", *SHORT, *around, rounds=[0, 1, 1, 1, 1]), (
        "a way around ends there"
    )


def test_a_thing_of_the_question_that_only_has_a_value_stands_on_no_way() -> None:
    rows = [*SHORT, ("Kura", "length", "1515")]
    known = {key: {**one, "literal": one["relation"] == "length"} for key, one in triples_of(*rows).items()}
    item = EvidenceItem(id="c", kind="community", score=1.0, round=0, triples=list(known), totals=[])
    assert Walk(f"{OVER} It is not the Kura.", [item], Texts(known, {})).passed(["lari"]) == 1


UNION = [
    ("Arden", "ruled_from", "Osk"),
    ("Arden", "member_of", "League"),
    ("Borduria", "member_of", "League"),
    ("Arden", "anthem", "Rise"),
    ("Borduria", "anthem", "March"),
    ("Borduria", "largest_cities", "Dorn"),
    ("Borduria", "largest_cities", "Velm"),
    ("Dorn", "anthem", "Bells"),
    ("Velm", "anthem", "Waves"),
]


@pytest.mark.parametrize("kind", ["community", "chunk and community"])
@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("What is the anthem of the country whose seat is Osk?", "Rise", False),
        ("What is the anthem of the country whose seat is Osk?", "March", True),
        ("Which anthem has another one of what Arden is in?", "March", False),
        ("Which anthem has what shares the league with Arden?", "March", False),
        ("What is the anthem of a place in Borduria?", "Bells", False),
        ("What is the anthem of Dorn in Borduria?", "Bells", False),
        ("What is the anthem of Dorn in Borduria?", "Waves", True),
        ("What is the anthem of the largest city beside Dorn in Borduria?", "Waves", False),
        ("What is the anthem of the neighbour of the country whose seat is Osk?", "March", False),
        # Nothing is named: nobody knows the way.
        ("What is the anthem there?", "March", False),
    ],
)
def test_a_way_into_a_list_and_out_again_leads_to_something_else(
    question: str, answer: str, kind: str, *, other: bool
) -> None:
    known = triples_of(*UNION)
    items = [EvidenceItem(id="c", kind="community", score=1.0, round=0, triples=list(known), totals=[])]
    if kind != "community":
        items.append(EvidenceItem(id="p", kind="chunk", score=1.0, round=0, passage="p", sentences=[]))
    found = str(walked(misfit([answer], Walk(question, items, Texts(known, {})), shown=items), graph_of(*UNION)))
    assert ("from something else than what the question names" in found) == (other and kind == "community")


def test_a_longer_name_does_not_name_the_shorter_one_in_it() -> None:
    rows = [("Osk City", "contained by", "Osk")]
    assert faults("What state does Osk City belong to?", "Osk", *rows) == ""
    assert faults("What state does Osk belong to?", "Osk", *rows).endswith("Osk is what it asks about")


def test_what_is_asked_about_is_no_answer_whatever_is_asked_for() -> None:
    rows = [("Kenya", "currency", "Kenyan shilling"), ("Kenya", "central bank", "CBK")]
    fault = "the question asks for something else, and Kenyan shilling is what it asks about"
    asked = "Which bank prints the notes of the Kenyan shilling?"
    assert asked_for(asked) is None
    assert faults(asked, "Kenyan shilling", *rows) == fault
    assert faults(asked, "CBK", *rows) == ""
    # Another thing that the question names may be what it is asked of.
    assert faults("Which bank prints the Kenyan shilling of Kenya?", "Kenyan shilling", *rows) == ""


@pytest.mark.parametrize(
    ("question", "answer", "rows", "near", "named"),
    [
        ("Who starred in Osk?", "Ines Calder", [STARRED], "", True),
        ("Which person wrote Osk?", "Bo Hall", [WRITTEN], "", True),
        ("Which film did Ada Lund direct?", "Osk", [DIRECTED], "", True),
        # No word names the relation: the encoder finds it nearest, or another.
        ("Who is the author of Osk?", "Bo Hall", [WRITTEN], "written by", True),
        ("Who is the author of Osk?", "Bo Hall", [WRITTEN], "directed by", False),
        ("Which genre is the film Osk of?", "Ada Lund", [DIRECTED], "starred actors", False),
        # A relation that the question names for another step is not in the way.
        ("Who is the author of the film directed by Ada Lund?", "Bo Hall", [WRITTEN, DIRECTED], "directed by", True),
        # Nothing leads there from what it names.
        ("Who is the author of the film directed by Ada Lund?", "Bo Hall", [WRITTEN], "written by", False),
        # Nothing leads to it; the question names it; it has the relation and is asked for as what it leads to.
        ("Who starred for Ada Lund?", "Osk", [DIRECTED], "directed by", False),
        ("Who directed the film that Ada Lund directed?", "Ada Lund", [DIRECTED], "directed by", False),
        ("Which kind of thing is it?", "Osk", [DIRECTED], "directed by", False),
        # Nobody knows what is asked for, but the relation is spelt out.
        ("What has Ada Lund as its directed by?", "Osk", [DIRECTED], "", True),
        ("What has Ada Lund as its written by?", "Osk", [DIRECTED], "", None),
        ("What has Bo Hall as its directed by?", "Osk", [DIRECTED], "", None),
        # Nothing tells.
        ("Which genre is the film Osk of?", "drama", [DIRECTED], "", None),
        ("Welches Genre hat Osk?", "Ada Lund", [DIRECTED], "", None),
        ("How many people starred in Osk?", "1", [DIRECTED], "", None),
    ],
)
def test_a_relation_that_leads_to_the_answer_is_named_or_not(
    question: str, answer: str, rows: list[tuple[str, str, str]], near: str, *, named: bool | None
) -> None:
    triples = triples_of(*rows)
    items = [path_item(key, Path(start="Osk", triples=[]), [key], total=1) for key in triples]
    flow = is_named([answer], Walk(question, items, Texts(triples, {})))
    assert walked(flow, MemoryGraphStore(FILMS), near) is named


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("what types are the films directed by [Ada Lund]?", "what types"),
        ("Who was the colonial ruler of the country whose capital is Osk?", "Who was the colonial ruler"),
        ("the movies written by Bo Hall were directed by who?", "Hall were directed by who?"),
        ("Name all the films of Ada Lund.", "films of Ada Lund."),
        ("Who?", "Who?"),
        ("Welches Genre hat Osk?", "Welches Genre hat Osk?"),
        ("", ""),
    ],
)
def test_the_part_that_asks_is_a_few_words(question: str, part: str) -> None:
    assert asking_part(question) == part
