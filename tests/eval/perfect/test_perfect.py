from __future__ import annotations

from typing import Any

import pytest
from eval.perfect.chooser_kit import GOLDS, GRAPH, TEXTS, ask, hop, raw, reason

from thinkgraph.eval.gold import resolve_golds
from thinkgraph.eval.perfect.chooser import PerfectChooser, keywords
from thinkgraph.eval.perfect.errors import Slip
from thinkgraph.eval.questions import Question
from thinkgraph.prompts.communities import community_line
from thinkgraph.prompts.kinds import Shape
from thinkgraph.prompts.lines import answer_line, entity_line, numbered, passage_line, path_line, relation_line
from thinkgraph.state.knowledge import Passage
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore
from thinkgraph.tools.grounding import all_hold


def test_in_a_conversation_a_question_stays_as_it_is() -> None:
    chooser = PerfectChooser({})
    assert ask(chooser, "history.rephrase", Shape(), conversation="person: Hm", question="And why?") == "And why?"


@pytest.fixture
def model() -> PerfectChooser:
    return PerfectChooser(GOLDS)


def test_topics_are_the_starts_and_namesakes_are_told_apart(model) -> None:
    options = numbered(entity_line(GRAPH.entity(key)) for key in ("Niger", "Niger (river)", "Kenya"))
    picked = ask(model, "tog2.topic_prune", Shape(options=3), question="how long is the Niger?", options=options)
    assert picked == [2]


def test_relations_are_steps_of_the_path_in_its_direction(model) -> None:
    edges = [edge for key in ("Kenya", "Uganda") for edge in GRAPH.relations([key])[0]]
    options = numbered(relation_line(edge, edge["entity"]) for edge in edges)
    question = "capital of the biggest buyer from Kenya?"
    scores = ask(model, "tog2.relation_prune", Shape(options=len(edges)), question=question, options=options, most="3")
    assert [(edges[n - 1]["entity"], edges[n - 1]["name"], edges[n - 1]["direction"], s) for n, s in scores] == [
        ("Kenya", "export_partner", "out", 10.0),
        ("Uganda", "capital", "out", 10.0),
    ]


def test_ranks_gold_triples_and_passages(model) -> None:
    lines = [
        path_line("Volcan Baru", hop("Volcan Baru", "highest_point", "in")),
        passage_line("Panama", "Flag", "The flag shows two stars."),
        passage_line("Panama", "Voting", "A person must have reached 18 to vote in Panama."),
        passage_line("Panama", "Voting", "Parliament has one house with 71 seats."),
    ]
    scores = ask(model, "rank.texts", Shape(options=4), question="voting age under Baru?", options=numbered(lines))
    assert scores == [(1, 10.0), (3, 10.0)]


def test_sufficient_only_when_every_hop_is_shown(model) -> None:
    question = "capital of the biggest buyer from Kenya?"
    first = reason(model, question, path_line("Kenya", hop("Kenya", "export_partner")[:1]))
    assert not first["sufficient"]
    assert first["clues"] == "Kenya export partner Uganda."
    assert first["query"] == "Uganda capital"
    path = path_line("Kenya", hop("Kenya", "export_partner")[:1] + hop("Uganda", "capital"))
    assert reason(model, question, "noise", path)["answers"] == ["Kampala"]
    assert reason(model, question, "noise", path)["evidence"] == [2]


def test_the_answer_is_read_from_the_shown_passage(model) -> None:
    path = path_line("Volcan Baru", hop("Volcan Baru", "highest_point", "in"))
    text = passage_line("Panama", "Voting", "A person must have reached 18 to vote in Panama.")
    other = passage_line("Panama", "Other", "18 rivers run to the sea.")
    assert reason(model, "voting age under Baru?", path, other)["sufficient"] is False
    assert reason(model, "voting age under Baru?", path, text)["answers"] == ["18"]
    assert reason(model, "voting age under Baru?", text)["sufficient"] is False


def test_counts_need_the_whole_list_or_its_length(model) -> None:
    near = hop("Kenya", "shares_border_with")
    question = "how many neighbours has Kenya?"
    assert reason(model, question, path_line("Kenya", [], near))["answers"] == ["2"]
    told = path_line("Kenya", [], near[:1], total=2)
    assert told.endswith(", ... and 1 more")
    assert reason(model, question, told) == reason(model, question, told) | {"answers": ["2"], "evidence": [1]}
    assert not reason(model, question, path_line("Kenya", near[:1]))["sufficient"]
    assert all_hold(["2"], [told])
    assert not reason(model, question, path_line("Kenya", [], near, total=3))["sufficient"]
    assert not reason(model, question, *(path_line("Kenya", [triple]) for triple in near))["sufficient"]


def communities(*groups: Any) -> list[str]:
    return [community_line(group, {("Kenya", "shares_border_with", "out"): 2}) for group in groups]


def test_a_list_may_be_shared_out_among_communities(model) -> None:
    """Each says how many more there are; together they show as many as there are."""
    near = hop("Kenya", "shares_border_with")
    question = "how many neighbours has Kenya?"
    both = communities([near[0], *hop("Uganda", "capital")], near[1:])
    assert both[0].startswith("(Uganda) <-"), "where the list stands backwards it says nothing of its length"
    assert "and 1 more" in both[1]
    assert reason(model, question, *both) == reason(model, question, *both) | {"answers": ["2"], "evidence": [1, 2]}
    assert not reason(model, question, both[0])["sufficient"]
    assert reason(model, question, both[1])["answers"] == ["2"]
    assert all_hold(["2"], both)
    assert not all_hold(["3"], both)


def test_communities_are_chosen_by_what_they_add(model) -> None:
    """Those with a gold statement, the nearest to the answer first; what the evidence shows already adds nothing."""
    first, second = hop("Kenya", "export_partner")[:1], hop("Uganda", "capital")
    question = "capital of the biggest buyer from Kenya?"
    options = [
        community_line(group) for group in (hop("Kenya", "shares_border_with"), first, second, [*first, *second])
    ]
    user = f"## Question\n{question}\n\n## Options\n{numbered(options)}"
    assert raw(model, "pick", user) == [4, 3, 2]
    shown = f"\n\n## Evidence\n{numbered([options[1]])}"
    assert raw(model, "pick", user + shown) == [3, 4]
    prose = "\n\n## Evidence\n[1] The export partner of Kenya is Uganda."
    assert raw(model, "pick", user + prose) == [3, 4]
    assert raw(model, "pick", user + f"\n\n## Evidence\n{numbered([options[3]])}") == []


def test_likely_answers_where_they_are_asked_for(model) -> None:
    """Ends that shown statements lead to from the start."""
    line = path_line("Kenya", hop("Kenya", "export_partner")[:1] + hop("Uganda", "capital"))
    question = "neighbours' capitals?"
    facts = [hop("Kenya", "shares_border_with"), hop("Uganda", "capital"), hop("Tanzania", "capital")]
    path = [["Kenya", "shares_border_with"], ["*", "capital"]]
    asked = Question(id="x", question=question, answers=("Kampala", "Dodoma"), gold_path=tuple(map(tuple, path)))
    chooser = PerfectChooser({question: resolve_golds([asked], GRAPH, TEXTS)[0]})
    partly = numbered([community_line([*facts[0], *facts[1]]), line])
    user = f"## Question\n{question}\n\n## Evidence\n{partly}"
    assert raw(chooser, "judge", user)["answers"] == []
    likely = raw(chooser, "judge", user, Shape(evidence=2, likely=True))
    assert (likely["sufficient"], likely["answers"], likely["evidence"]) == (False, ["Kampala"], [1])
    # A capital without the way to it is none.
    lost = f"## Question\n{question}\n\n## Evidence\n{numbered([community_line(facts[2])])}"
    assert raw(chooser, "judge", lost, Shape(evidence=1, likely=True))["answers"] == []


def test_names_and_texts(model) -> None:
    assert raw(model, "names", "## Question\nlargest neighbour of Kenya?") == ["Kenya"]
    assert raw(model, "names", "## Question\ndoes Kenya border Panama?") == ["Kenya", "Panama"]
    assert raw(model, "names", "## Question\nmayor of Nairobi?") == []
    line = community_line(hop("Kenya", "shares_border_with"))
    texts = raw(model, "texts", f"## Options\n{numbered([line, 'plain'])}", Shape(options=2))
    assert texts == ["Kenya shares border with Uganda. Kenya shares border with Tanzania.", "plain"]


def test_yes_and_no(model) -> None:
    near = hop("Kenya", "shares_border_with")
    assert reason(model, "does Kenya border Uganda?", path_line("Kenya", near[:1]))["answers"] == ["yes"]
    assert not reason(model, "does Kenya border Panama?", path_line("Kenya", near[:1]))["sufficient"]
    assert reason(model, "does Kenya border Panama?", path_line("Kenya", [], near))["answers"] == ["no"]
    labels = Shape(evidence=1, labels=("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"))
    reply = raw(
        model,
        "judge",
        f"## Question\ndoes Kenya border Panama?\n\n## Evidence\n[1] {path_line('Kenya', [], near)}",
        labels,
    )
    assert reply["answers"] == ["REFUTES"]


def test_largest_needs_every_value_and_compares_what_is_shown(model) -> None:
    near = hop("Kenya", "shares_border_with")
    lines = [path_line("Kenya", [triple, *hop(triple["object"], "population")]) for triple in near]
    question = "largest neighbour of Kenya?"
    assert not reason(model, question, lines[0])["sufficient"]
    assert reason(model, question, *lines)["answers"] == ["Tanzania"]
    swapped = [line.replace("67400000", "1") for line in lines]
    assert not reason(model, question, *swapped)["sufficient"], "a changed value is not the gold fact"


def test_intersection(model) -> None:
    lines = [
        path_line("Kenya", [], hop("Kenya", "shares_border_with")),
        path_line("Uganda", [], hop("Uganda", "shares_border_with")),
    ]
    assert reason(model, "neighbour of both?", *lines)["answers"] == ["Tanzania"]
    assert not reason(model, "neighbour of both?", lines[0])["sufficient"]


@pytest.mark.parametrize("question", ["mayor of Nairobi?", "a question nobody knows?"])
def test_never_answers_what_it_cannot(model, question: str) -> None:
    line = path_line("Kenya", hop("Kenya", "capital"))
    assert reason(model, question, line)["answers"] == []
    assert ask(model, "tog2.topic_prune", Shape(options=1), question=question, options="[1] Nairobi") == []


def test_keywords_pairs_and_verdict(model) -> None:
    question = "capital of the biggest buyer from Kenya?"
    words = raw(model, "keywords", f"## Question\n{question}")
    assert words == ["Kenya", "export partner", "capital"]
    clues = numbered(words)
    edges = numbered(relation_line(edge, "Kenya") for edge in GRAPH.relations(["Kenya"])[0])
    pairs = raw(model, "pairs", f"## Question\n{question}\n\n## Clues\n{clues}\n\n## Options\n{edges}")
    assert [clue for clue, _ in pairs] == [2]
    found = raw(model, "pairs", f"## Question\n{question}\n\n## Clues\n{clues}\n\n## Options\n[1] Uganda\n[2] Panama")
    assert found == [(2, 1)]
    path = path_line("Kenya", hop("Kenya", "export_partner")[:1] + hop("Uganda", "capital"))
    for answer, right in (("Kampala", True), ("Nairobi", False), ("Kampala and Nairobi", False)):
        user = f"## Question\n{question}\n\n## Evidence\n[1] {path}\n\n## Answer\n{answer}"
        assert raw(model, "verdict", user)["right"] is right
    assert raw(model, "verdict", f"## Question\n{question}\n\n## Answer\nKampala")["right"] is False


def test_a_relation_that_is_written_down_in_either_direction_is_one_clue() -> None:
    graph = MemoryGraphStore([("Osk", "borders", "Lind"), ("Lind", "borders", "Osk"), ("Tarr", "borders", "Osk")])
    path = (("Osk", "borders"), ("count",))
    asked = Question(id="1", question="how many neighbours has Osk?", answers=("2",), gold_path=path)
    (gold,) = resolve_golds([asked], graph, MemoryTextStore([]))
    assert [hop.outgoing for hop in gold.hops] == [True, False]
    assert keywords(gold) == ["Osk", "borders"]


def test_pairs_of_shared_relations_and_of_things_with_what_led_to_them(model) -> None:
    question = "capital of the biggest buyer from Kenya?"
    clues = numbered(["Kenya", "export partner", "capital"])

    def pairs(*options: str) -> Any:
        return raw(model, "pairs", f"## Question\n{question}\n\n## Clues\n{clues}\n\n## Options\n{numbered(options)}")

    assert pairs("(Panama and 3 more) -[capital]-> x4", "(Panama and 3 more) <-[capital]- x4") == [(3, 1)]
    assert pairs("(Panama) -[capital]-> x1") == []
    told = [
        "Uganda -- country; Kenya export partner Uganda, share pct 10",
        "Uganda -- Uganda export partner Kenya",
        "Panama -- Kenya export partner Panama, share pct 4",
        "Kampala -- city; Uganda capital Kampala; Uganda major city Kampala",
        "Kampala -- Uganda major city Kampala",
    ]
    assert pairs(*told) == [(2, 1), (3, 4)]


def test_subquestions_are_answered_with_and_without_their_references(model) -> None:
    question = "capital of the biggest buyer from Kenya?"
    nodes = raw(model, "subquestions", f"## Question\n{question}")
    assert [node["question"] for node in nodes] == [
        "What is the export partner of Kenya?",
        "What is the capital of #1?",
    ]
    assert nodes[1]["refers"] == [1]
    fresh = PerfectChooser(GOLDS)  # a resumed run: it has not seen the question being broken down
    path = path_line("Uganda", hop("Uganda", "capital"))
    for wording in ("What is the capital of #1?", "What is the capital of Uganda?"):
        assert reason(fresh, wording, path)["answers"] == ["Kampala"]
    assert not reason(fresh, "What is the capital of Panama?", path)["sufficient"]


def test_what_combines_branches_is_left_to_the_question_itself(model) -> None:
    question = "neighbour of both?"
    nodes = raw(model, "subquestions", f"## Question\n{question}")
    assert [(node["question"], node["refers"]) for node in nodes] == [
        ("What is the shares border with of Kenya?", []),
        ("What is the shares border with of Uganda?", []),
    ]
    lines = [
        path_line("Kenya", [], hop("Kenya", "shares_border_with")),
        path_line("Uganda", [], hop("Uganda", "shares_border_with")),
    ]
    # A branch is answered with all it reaches, the question with what is common.
    assert reason(model, nodes[0]["question"], lines[0])["answers"] == ["Uganda", "Tanzania"]
    assert reason(model, question, *lines)["answers"] == ["Tanzania"]


def keys_of(model, question: str, *listed: str, triples: bool = False) -> Any:
    shape = Shape(questions=len(listed), triples=triples)
    found = raw(model, "keys", f"## Question\n{question}\n\n## Questions\n{numbered(listed)}", shape)
    return [(tuple(one["key"]), one["of"]) for one in found]


def test_keys_are_the_triples_of_the_path_with_numbers_for_what_is_unknown(model) -> None:
    question = "capital of the biggest buyer from Kenya?"
    listed = [question, "What is the export partner of Kenya?", "What is the capital of ?2?"]
    expected = [(("Kenya", "export partner", "?2"), [2]), (("?2", "capital", "?3"), [3])]
    assert keys_of(model, question, *listed) == expected
    assert keys_of(model, question, *listed, triples=True) == expected, "both share what ?2 stands for"
    assert keys_of(model, question, question) == [
        (("Kenya", "export partner", "?step1"), [1]),
        (("?step1", "capital", "?1"), [1]),
    ]
    assert keys_of(model, "does Kenya border Panama?", "does Kenya border Panama?") == [
        (("Kenya", "shares border with", "Panama"), [1])
    ]
    voting = "voting age under Baru?"
    assert keys_of(model, voting, voting, "What has Volcan Baru as its highest point?") == [
        (("?2", "highest point", "Volcan Baru"), [2])
    ]
    assert keys_of(model, "mayor of Nairobi?", "mayor of Nairobi?") == []


def test_an_answered_question_counts_as_what_it_tells(model) -> None:
    question = "capital of the biggest buyer from Kenya?"
    lines = [
        answer_line("What is the export partner of Kenya?", ["Uganda"]),
        answer_line("What is the capital of Uganda?", ["Kampala"]),
    ]
    found = reason(model, question, "noise", *lines)
    assert (found["answers"], found["evidence"]) == (["Kampala"], [2, 3])
    assert not reason(model, question, lines[0])["sufficient"]
    assert not reason(model, question, lines[0], answer_line("What is the capital of Uganda?", ["Nairobi"]))[
        "sufficient"
    ]
    voting = answer_line("What do texts on Voting of Panama tell of this: voting age under Baru?", ["18"])
    found = reason(
        model, "voting age under Baru?", path_line("Volcan Baru", hop("Volcan Baru", "highest_point", "in")), voting
    )
    assert (found["answers"], found["evidence"]) == (["18"], [1, 2])
    # Of several values it is not told which is whose.
    near = answer_line("What is the shares border with of Kenya?", ["Uganda", "Tanzania"])
    values = answer_line("What is the population of Uganda and Tanzania?", ["48600000", "67400000"])
    assert not reason(model, "largest neighbour of Kenya?", near, values)["sufficient"]


def test_a_sub_question_is_known_by_what_it_is_about(model) -> None:
    # "The capital of Uganda" is not that of Kenya's other neighbours, and an end of the walk is no start of it.
    assert (
        reason(model, "What is the capital of Kampala?", path_line("Uganda", hop("Uganda", "capital")))["answers"] == []
    )


def test_wrong_choices_are_reproducible_and_as_frequent_as_asked() -> None:
    options = numbered(f"(Kenya) -[relation {n}]-> x1" for n in range(5)) + "\n[6] (Kenya) -[export partner]-> x2"
    asked = [
        f"## Question\ncapital of the biggest buyer from Kenya?\n\n## Note {n}\nx\n\n## Options\n{options}"
        for n in range(300)
    ]

    def wrong(seed: int, order: list[str]) -> dict[str, bool]:
        model = PerfectChooser(GOLDS, slips=[Slip(0.3)], seed=seed)
        return {user: raw(model, "pick", user) != [6] for user in order}

    first = wrong(1, asked)
    assert first == wrong(1, asked[::-1])
    assert first != wrong(2, asked)
    assert 0.2 < sum(first.values()) / len(asked) < 0.4


READ = [
    Passage(id="1", entities=["Osk", "Varn"], title="Osk", section="", text="The Osk rises in Varn."),
    Passage(id="2", entities=["Varn", "Ines"], title="Varn", section="", text="Varn is led by Ines of Tollow."),
]
NEEDED = "From where is the head of the land of the Osk?"


@pytest.fixture
def reader() -> PerfectChooser:
    graph = MemoryGraphStore([("Osk", "mentions", "Varn"), ("Varn", "mentions", "Ines"), ("Osk", "joins", "Lake")])
    asked = Question(id="1", question=NEEDED, answers=("Tollow",), gold_passages=("2", "1"))
    return PerfectChooser({NEEDED: resolve_golds([asked], graph, MemoryTextStore(READ))[0]})


def test_a_question_that_names_only_passages_is_walked_towards_them(reader) -> None:
    picked = ask(reader, "tog2.topic_prune", Shape(options=2), question=NEEDED, options=numbered(["Tollow", "Osk"]))
    assert picked == [2]
    options = numbered(["(Osk) -[joins]-> x1", "(Osk) -[mentions]-> x1", "(Varn) <-[mentions]- x1"])
    scores = ask(reader, "tog2.relation_prune", Shape(options=3), question=NEEDED, options=options, most="3")
    assert scores == [(2, 10.0)]
    lines = numbered([passage_line("Varn", "", READ[1]["text"]), passage_line("Lake", "", "Wet.")])
    assert ask(reader, "rank.texts", Shape(options=2), question=NEEDED, options=lines) == [(1, 10.0)]


def test_all_its_passages_must_be_shown_and_the_missing_one_is_asked_for_by_what_leads_to_it(reader) -> None:
    first, second = (passage_line(p["title"], "", p["text"]) for p in READ)
    found = reason(reader, NEEDED, first)
    assert (found["sufficient"], found["query"]) == (False, "Varn")
    assert reason(reader, NEEDED, second)["query"] == "Osk"
    found = reason(reader, NEEDED, second, "(Osk) -[mentions]-> (Varn)", first)
    assert (found["sufficient"], found["answers"], found["evidence"]) == (True, ["Tollow"], [1, 3])


def test_statements_are_the_gold_facts_that_a_passage_names(model) -> None:
    passage = numbered([passage_line("Kenya", "", "Kenya trades with Uganda, whose capital is Kampala.")])
    triples = ask(model, "extract.triples", Shape(), passage=passage)["triples"]
    assert sorted(triples) == [["Kenya", "export partner", "Uganda"], ["Kenya", "shares border with", "Uganda"], ["Uganda", "capital", "Kampala"]]  # fmt: skip
    nothing = numbered([passage_line("x", "", "Nothing known.")])
    assert ask(model, "extract.triples", Shape(), passage=nothing)["triples"] == []
