from __future__ import annotations

import asyncio
import threading
import tracemalloc
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from memory_graph import small_world

from thinkgraph.models.offline import OfflineChatModel
from thinkgraph.models.offline.model import key_phrases, sub_questions
from thinkgraph.models.offline.rule_based import estimate_tokens, read_call
from thinkgraph.models.offline.words import Similarity, is_literal, nearness, number_in, stem
from thinkgraph.prompts.communities import community_line
from thinkgraph.prompts.forms import judge_form
from thinkgraph.prompts.kinds import KINDS, Shape
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.prompts.lines import entity_line, numbered, passage_line, path_line, relation_line
from thinkgraph.state.knowledge import Step
from thinkgraph.testing.embedder import HashEmbedder

GRAPH, _ = small_world()
TYPES = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}


@pytest.fixture(params=["words", "vectors"])
def model(request: pytest.FixtureRequest) -> OfflineChatModel:
    return OfflineChatModel(HashEmbedder().embed if request.param == "vectors" else None)


STATED = [
    ("Osk", "The Osk rises in Varn and leaves the Grey Hills.", [["Osk", "rises in", "Varn"], ["Varn", "and leaves", "Grey Hills"]]),
    ("Osk", "It ends in Lake Merish. Nothing else.", [["Osk", "ends in", "Lake Merish"]]),
    ("Varn", "The president of Varn is Ines Calder.", [["Varn", "president", "Ines Calder"]]),
    ("Hall", "It opened on 4 May 1931, nothing more.", [["Hall", "opened on", "4 May 1931"]]),
    ("", "nothing has a name here", []),
    ("Osk", "", []),
]  # fmt: skip


@pytest.mark.parametrize(("title", "text", "triples"), STATED)
def test_statements_of_a_passage(model, title: str, text: str, triples: list[list[str]]) -> None:
    passage = numbered([passage_line(title, "", text)])
    found = ask(model, "extract.triples", Shape(), passage=passage)["triples"]
    assert found == triples


def test_only_the_relations_that_are_listed(model) -> None:
    passage = numbered([passage_line("Osk", "", "The Osk rises in Varn. The Osk was painted by Ines Calder.")])
    relations = numbered(["rises in -- where a river begins", "borders"])
    found = ask(model, "extract.triples", Shape(), passage=passage, relations=relations)
    assert found["triples"] == [["Osk", "rises in", "Varn"]]


def test_a_follow_up_question_gets_the_names_that_were_said(model) -> None:
    said = "person: Which country has Mount Kenya?\nassistant: Uganda"
    role, shape = "history.rephrase", Shape()
    assert ask(model, role, shape, conversation=said, question="What is its capital?") == (
        "What is its capital? (Uganda)"
    )
    own = "What is the capital of Kenya?"
    assert ask(model, role, shape, conversation=said, question=own) == own


def messages(role: str, shape: Shape, **inputs: str) -> list[Any]:
    prompt = PromptLibrary().get(role)
    given = dict.fromkeys(prompt.places, "") | inputs
    return [TYPES[who](content=text) for who, text in prompt.render(given, shape, shots=2)]


def ask(model: OfflineChatModel, role: str, shape: Shape, **inputs: str) -> Any:
    return PromptLibrary().get(role).kind.parse(model.invoke(messages(role, shape, **inputs)).text, shape)


def raw(model: OfflineChatModel, kind: str, user: str, shape: Shape | None = None) -> Any:
    shape = shape or Shape(options=9, clues=9, evidence=9)
    head = KINDS[kind].instruction(shape)
    return KINDS[kind].parse(model.invoke([SystemMessage(head), HumanMessage(user)]).text, shape)


def hop(entity: str, relation: str, direction: str = "out"):
    return GRAPH.neighbours([Step(entity=entity, relation=relation, direction=direction)])[0]["triples"]


def listed(entity: str, relation: str, direction: str = "out", total: int = 0) -> str:
    return path_line(entity, [], hop(entity, relation, direction), total=total)


def reason(model: OfflineChatModel, question: str, *lines: str) -> Any:
    shape = Shape(evidence=len(lines), fields=("clues", "query"))
    return ask(model, "tog2.reason", shape, question=question, evidence=numbered(lines))


def test_names_are_what_is_written_as_one(model) -> None:
    question = 'Who wrote "the long way" about the Osk, and when did Lindow Hall open?'
    assert raw(model, "names", f"## Question\n{question}") == ["the long way", "Osk", "Lindow Hall"]
    assert raw(model, "names", "## Question\nWhat is the capital of the largest country?") == []
    for odd in ("日本の首都は？", "ما هي عاصمة مصر؟", "", "???"):
        assert raw(model, "names", f"## Question\n{odd}") == []


def test_communities_are_chosen_read_and_put_into_words(model) -> None:
    line = community_line([*hop("Uganda", "capital"), *hop("Kenya", "shares_border_with")])
    other = community_line(hop("Niger (river)", "length_km"))
    assert raw(
        model, "pick", f"## Question\nWhich is the capital of Uganda?\n\n## Options\n{numbered([other, line])}"
    ) == [2]
    found = raw(
        model, "judge", f"## Question\nWhat is the capital of Uganda?\n\n## Evidence\n{numbered([other, line])}"
    )
    assert (found["answers"], found["evidence"]) == (["Kampala"], [2])
    texts = raw(model, "texts", f"## Options\n{numbered([line, other])}", Shape(options=2))
    assert "Uganda capital Kampala" in texts[0]


def test_of_very_many_options_only_the_likest_are_encoded() -> None:
    encoded: list[str] = []

    def embed(texts: Any) -> Any:
        encoded.extend(texts)
        return HashEmbedder().embed(texts)

    options = [path_line("Kenya", hop("Kenya", "shares_border_with")[:1])] * 3 + [f"word{n} other" for n in range(300)]
    raw(
        OfflineChatModel(embed),
        "score",
        f"## Question\nWhat borders Kenya?\n\n## Options\n{numbered(options)}",
        Shape(options=303),
    )
    assert 0 < len(encoded) <= 64 + 4, "and words of the question"


def test_topics_named_in_the_question(model) -> None:
    options = numbered(["Kenya -- country in Africa", "Capital -- book", "Panama -- country"])
    assert ask(
        model, "tog2.topic_prune", Shape(options=3), question="What is the capital of Kenya?", options=options
    ) == [1]


def test_namesakes_by_description(model) -> None:
    options = numbered(entity_line(GRAPH.entity(key)) for key in ("Niger", "Niger (river)"))
    question = "How long is the river Niger?"
    assert ask(model, "tog2.topic_prune", Shape(options=2), question=question, options=options) == [2]


def test_relations_by_words_and_direction(model) -> None:
    edges = [*GRAPH.relations(["Kenya"])[0], *GRAPH.relations(["Nairobi"])[0]]
    options = numbered(relation_line(edge, edge["entity"]) for edge in edges)
    question = "Which languages are official in the country whose capital is Nairobi?"
    scores = ask(model, "tog2.relation_prune", Shape(options=len(edges)), question=question, options=options, most="3")
    best = {edges[n - 1]["name"]: score for n, score in scores if score >= 5}
    assert {"capital", "official_language"} <= best.keys()
    assert "export_partner" not in best


ANSWERED = [
    ("What is the capital of Kenya?", [path_line("Kenya", hop("Kenya", "capital"))], ["Nairobi"]),
    ("What languages are official in Kenya?", [listed("Kenya", "official_language")], ["English", "Swahili"]),
    (
        "What is the capital of the country that is the largest export partner of Kenya?",
        [
            listed("Kenya", "export_partner"),
            *(
                path_line("Kenya", [hop("Kenya", "export_partner")[n], *hop(end, "capital")])
                for n, end in enumerate(("Uganda", "Panama"))
            ),
        ],
        ["Kampala"],
    ),
    (
        "What is the currency of the country whose highest point is Volcan Baru?",
        [path_line("Volcan Baru", [*hop("Volcan Baru", "highest_point", "in"), *hop("Panama", "currency")])],
        ["balboa"],
    ),
    ("How many countries border Kenya?", [listed("Kenya", "shares_border_with")], ["2"]),
    ("Do Kenya and Uganda share a border?", [listed("Kenya", "shares_border_with")], ["yes"]),
    (
        "Which country borders both Kenya and Uganda?",
        [listed("Kenya", "shares_border_with"), listed("Uganda", "shares_border_with")],
        ["Tanzania"],
    ),
    (
        "Which country has a larger population, Kenya or Uganda?",
        [path_line("Kenya", hop("Kenya", "population")), path_line("Uganda", hop("Uganda", "population"))],
        ["Kenya"],
    ),
    (
        "From what age may people vote in the country whose highest point is Volcan Baru?",
        [
            path_line("Volcan Baru", hop("Volcan Baru", "highest_point", "in")),
            passage_line("Panama", "Flag", "The flag shows 2 stars."),
            passage_line(
                "Panama", "Voting", "A person must have reached the age of 18 to vote. Parliament has 71 seats."
            ),
        ],
        ["18"],
    ),
    (
        "At what age may people vote in the country whose highest point is Volcan Baru?",
        [
            path_line("Volcan Baru", hop("Volcan Baru", "highest_point", "in")),
            passage_line("", "", "A citizen of Panama must have reached the age of 18 to vote."),
        ],
        ["18"],
    ),
]


@pytest.mark.parametrize(("question", "lines", "answers"), ANSWERED, ids=[case[0] for case in ANSWERED])
def test_answers_from_evidence(model, question: str, lines: list[str], answers: list[str]) -> None:
    reply = reason(model, question, "(Kenya) -[national color]-> (black)", *lines)
    assert (reply["sufficient"], reply["answers"]) == (True, answers)
    assert reply["evidence"]
    assert 1 not in reply["evidence"]


OPEN = [
    ("Who is the mayor of Nairobi?", [path_line("Nairobi", hop("Nairobi", "capital", "in"))]),
    ("How deep is Volcan Baru's crater?", [path_line("Volcan Baru", hop("Volcan Baru", "highest_point", "in"))]),
    (
        "What is the capital of the country that is the largest export partner of Kenya?",
        [listed("Kenya", "export_partner")],
    ),
    (
        "What is the capital of the country that is the largest export partner of Kenya?",
        [path_line("Kenya", hop("Kenya", "capital"))],
    ),
    (
        "What is the capital of the country that is the largest export partner of Kenya?",
        [
            path_line("Kenya", [hop("Kenya", "export_partner")[1], *hop("Panama", "capital")]),
            path_line("Kenya", hop("Kenya", "capital")),
        ],
    ),
    ("How many countries border Kenya?", [listed("Kenya", "shares_border_with", total=5)]),
    ("Do Kenya and Panama share a border?", [path_line("Kenya", hop("Kenya", "shares_border_with")[:1])]),
    (
        "Which neighbour of Kenya has the largest population?",
        [path_line("Kenya", [t, *hop(t["object"], "population")]) for t in hop("Kenya", "shares_border_with")[:1]],
    ),
    ("Who composed Tosca?", [passage_line("Kenya", "Land", "Kenya lies on the equator.")]),
    # Neither a claim nor a question for yes or no: nothing says so in English.
    ("القاهرة عاصمة مصر ؟", ["(القاهرة) -[عاصمة]-> (مصر)"]),
    ("日本 首都 东京", ["(日本) -[首都]-> (东京)"]),
    ("Москва столица Россия", ["(Россия) -[столица]-> (Москва)"]),
    ("Was grenzt an Wien, Linz?", ["(Linz) -[grenzt an]-> (Wien)"]),
    # What is not so does not stand in the evidence.
    ("Which country does not border Kenya?", [listed("Kenya", "shares_border_with")]),
    ("Which country doesn't share a border with Kenya?", [listed("Kenya", "shares_border_with")]),
    ("Is Nairobi not the capital of Kenya?", [path_line("Kenya", hop("Kenya", "capital"))]),
    ("Nairobi is not the capital of Kenya.", [path_line("Kenya", hop("Kenya", "capital"))]),
    # Nothing is asked.
    (
        "Panama?",
        [
            path_line("Panama", hop("Panama", "capital")),
            passage_line("Panama", "Voting", "Nobody under 18 can vote in Panama."),
        ],
    ),
]


def test_a_claim_is_judged_in_any_language(model) -> None:
    shape = Shape(evidence=1, labels=("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"))
    lines = numbered(["(Россия) -[столица]-> (Москва)"])
    reply = ask(model, "tog2.reason", shape, question="Россия столица Москва", evidence=lines)
    assert reply["answers"] == ["SUPPORTS"]


@pytest.mark.parametrize(("question", "lines"), OPEN, ids=[f"{n}" for n in range(len(OPEN))])
def test_says_so_where_the_evidence_falls_short(model, question: str, lines: list[str]) -> None:
    reply = reason(model, question, *lines)
    assert (reply["sufficient"], reply["answers"]) == (False, [])
    assert reply["query"]


def test_clues_and_query_lead_on(model) -> None:
    question = "What is the capital of the country that is the export partner of Kenya?"
    reply = reason(model, question, path_line("Kenya", hop("Kenya", "export_partner")[:1]))
    assert "Uganda" in reply["clues"]
    assert "capital" in reply["query"]


def test_no_from_a_list_shown_whole(model) -> None:
    lines = [listed("Kenya", "shares_border_with"), path_line("Panama", hop("Panama", "capital"))]
    assert reason(model, "Do Kenya and Panama share a border?", *lines)["answers"] == ["no"]
    shape = Shape(evidence=1, labels=("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"))
    reply = raw(
        model, "judge", f"## Question\nKenya shares a border with Uganda.\n\n## Evidence\n[1] {lines[0]}", shape
    )
    assert reply["answers"] == ["SUPPORTS"]


def test_without_evidence_nothing_is_known(model) -> None:
    assert ask(model, "tog2.precheck", Shape(fields=()), question="What is the capital of Kenya?")["answers"] == []


def test_other_kinds(model) -> None:
    assert raw(model, "keywords", "## Question\nWhich river crosses New Kenya?") == ["river crosses", "New Kenya"]
    user = "## Question\nx\n\n## Clues\n[1] capital\n[2] Kenya\n\n## Options\n[1] (Kenya) -[capital]-> x1\n[2] (Kenya) -[anthem]-> x1"
    assert raw(model, "pairs", user) == [(1, 1)]
    line = path_line("Kenya", hop("Kenya", "capital"))
    known = f"## Question\nWhat is the capital of Kenya?\n\n## Evidence\n[1] {line}\n\n## Answer\n"
    assert raw(model, "verdict", known + "Nairobi")["right"] is True
    assert raw(model, "verdict", known + "Kampala")["right"] is False
    assert "Uganda" in raw(
        model, "text", "## Question\nWhat is its capital?\n\n## Clues so far\nThe partner is Uganda."
    )


def test_pairs_of_things_by_what_is_told_of_them_and_of_relations_without_superlatives(model) -> None:
    clues = numbered(["largest export partner", "country", "capital"])
    told = numbered(["Uganda -- country; Kenya export partner Uganda", "Nairobi -- Kenya major city Nairobi"])
    assert raw(model, "pairs", f"## Clues\n{clues}\n\n## Options\n{told}") == [(1, 1), (2, 1)]
    steps = numbered(["(Kenya) -[export partner]-> x2", "(Kenya) -[anthem]-> x1"])
    assert raw(model, "pairs", f"## Clues\n{clues}\n\n## Options\n{steps}") == [(1, 1)]
    nodes = raw(model, "subquestions", "## Question\nWhat is the capital of the country whose highest point is Baru?")
    assert [node["refers"] for node in nodes] == [[], [1]]
    assert model.invoke("hello").text


def test_texts_are_scored_by_what_they_tell(model) -> None:
    options = numbered([path_line("Kenya", hop("Kenya", "population")), path_line("Kenya", hop("Kenya", "capital"))])
    scores = dict(ask(model, "rank.texts", Shape(options=2), question="What is the capital of Kenya?", options=options))
    assert scores[2] > scores.get(1, 0)


def test_the_same_in_threads_and_in_an_event_loop(model) -> None:
    sent = messages("tog2.reason", Shape(evidence=1), question=ANSWERED[0][0], evidence=numbered(ANSWERED[0][1]))
    expected = model.invoke(sent).text
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(model.invoke(sent).text)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def several() -> list[Any]:
        return await asyncio.gather(*(model.ainvoke(sent) for _ in range(8)))

    found += [message.text for message in asyncio.run(several())]
    assert found == [expected] * 16


def test_usage_is_an_estimate(model) -> None:
    reply = model.invoke("x" * 9)
    assert reply.usage_metadata["input_tokens"] == 3 == estimate_tokens("x" * 9)
    assert reply.response_metadata.get("token_counts") == "estimated"


def test_explains_where_asked(model) -> None:
    head = KINDS["pick"].instruction(Shape(explain=True))
    assert '"why"' in model.invoke([SystemMessage(head), HumanMessage("## Question\nx")]).text


def test_remembered_vectors_are_small() -> None:
    def embed(texts: Sequence[str]) -> list[list[float]]:
        return [[(at + 1) / (len(text) + at + 2) for at in range(384)] for text in texts]

    words, nearness = [f"word{number}" for number in range(1000)], Similarity(embed)
    tracemalloc.start()
    try:
        nearness.warm(words)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < 2 * 8 * 384 * len(words)
    assert nearness.cosine("word1", "word2") == sum(x * x for x in embed(["word1"])[0])


def test_small_parts() -> None:
    assert stem("borders") == stem("bordering") == stem("border")
    assert nearness("rises", "rise") == 1
    assert Similarity(None).cosine("red fox", "red dog") == 0.5
    assert (number_in("about 4.2 million"), number_in("2,381,740 sq km"), number_in("Panama")) == (
        4.2e6,
        2381740.0,
        None,
    )
    assert number_in("1962-07-05") > number_in("1962-07-04")
    assert (is_literal("18 km"), is_literal("Panama")) == (True, False)
    assert key_phrases('Who wrote "Kde domov"?')[0] == "Kde domov"
    assert [(part["question"], part["refers"]) for part in sub_questions("Who rules?")] == [("Who rules?", [])]
    parts = sub_questions("How old must voters be in the country topped by Baru?")
    assert [(part["question"], part["refers"]) for part in parts] == [
        ("Which country topped by Baru?", []),
        ("How old must voters be in #1?", [1]),
    ]


def test_keys_are_names_with_the_other_words(model) -> None:
    listed = ["Which country's highest point is Volcan Baru?", "What is the capital of ?1?", "who rules", "Since when?"]
    shape = Shape(questions=4)
    found = raw(model, "keys", f"## Question\nq\n\n## Questions\n{numbered(listed)}", shape)
    assert [(one["key"], one["of"]) for one in found] == [
        (["Volcan Baru", "country's highest point", "?1"], [1]),
        (["?1", "capital", "?2"], [2]),
        (["rules"], [3]),
        (["Since"], [4]),
    ]
    linking = raw(
        model, "keys", f"## Question\nq\n\n## Questions\n{numbered(listed)}", Shape(questions=4, triples=True)
    )
    assert [one["key"] for one in linking] == [["?1", "capital", "?2"]]


@pytest.mark.parametrize("fields", [(), ("scores",)])
@pytest.mark.parametrize("explain", [False, True])
def test_the_only_answers_allowed_are_read_whatever_else_is_asked_for(
    fields: tuple[str, ...], *, explain: bool
) -> None:
    labels = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
    form = judge_form(Shape(evidence=1, options=3, fields=fields, labels=labels, explain=explain)).words
    call = read_call(f"Judge.\nReply with one JSON object and nothing else. {form}", "## Question\nIs it?")
    assert (call.labels, call.steers) == (labels, bool(fields))
