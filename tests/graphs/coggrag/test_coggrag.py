"""What is CogGRAG's own: mind map, keys, retrieval (METHODS: CogGRAG)."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import ROWS, small_knowledge
from graphs.coggrag.coggrag_kit import (
    ANSWERS,
    BIGGER,
    KEYS,
    STEPS,
    TWO_HOPS,
    ask,
    asked,
    events_of,
    outline,
    script,
    spied,
)

import thinkgraph as tg
from thinkgraph.nodes.coggrag.retrieve import in_words
from thinkgraph.state.knowledge import Passage
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore
from thinkgraph.tools.knowledge import Knowledge


def test_two_hops_are_answered_bottom_up_with_their_evidence() -> None:
    answer, model = ask(TWO_HOPS, script())
    assert (answer["answers"], answer["status"]) == (["Panama City"], "grounded")
    assert asked(model, "reason") == list(ANSWERS)
    assert outline(answer) == [
        f"{TWO_HOPS} → Panama City (verified)",
        "#1 Which country has the highest point Baru? → Panama (verified)",
        "#2 What is the capital of #1? → Panama City (verified)",
    ]
    # The line of the first hop led there.
    lines = ["(Panama) -[capital]-> (Panama City)", "(Baru) <-[highest point]- (Panama)"]
    assert [path["text"] for path in answer["evidence"]["paths"]] == lines
    assert answer["rounds"] == 3
    data = json.loads(json.dumps(answer["trace"]["data"]))
    assert [node["refers"] for node in data["nodes"]] == [{}, {}, {"1": "0.1"}]
    assert data["nodes"][2]["asked"] == "What is the capital of Panama?"
    assert data["keys"][0] == {"parts": ["?0.1", "highest point", "Baru"], "of": ["0.1"], "level": "local"}


def test_calls_are_bounded_as_the_method_says() -> None:
    _, model = ask(TWO_HOPS, script())
    roles = Counter(model.roles)
    assert roles == {
        "coggrag.decompose": 1,
        "coggrag.extract_keys_local": 1,
        "coggrag.extract_keys_global": 1,
        "coggrag.reason": 3,
        "coggrag.verify": 3,
    }
    for rethinks in (1, 2, 3):
        _, model = ask(TWO_HOPS, script(verify={"right": False}), rethinks=rethinks)
        assert len(model.roles) == 1 + 2 + 3 * (1 + 2 * rethinks)


def test_decompose_breaks_open_questions_down_again_side_by_side() -> None:
    splits = {
        "Root?": [("A?", ()), ("B of #1?", (1,)), ("C?", ())],
        "A?": [("A1?", ()), ("A2?", ())],
        'B of [the answer to "A?"]?': [("B1?", ())],
        "B of #1?": [],
        "C?": [("C1?", ())],
    }
    model = FakeModel(script(splits, [], {}), latency=0.4)
    graph = tg.build("coggrag", knowledge=small_knowledge(), model=model, settings=STEPS)
    answer = graph.invoke({"question": "Root?"})["answer"]
    assert sorted(asked(model, "decompose")) == ["A?", 'B of [the answer to "A?"]?', "C?", "Root?"]
    assert model.most_at_once[0] == 3
    assert [(line["level"], line["text"].partition(" →")[0]) for line in answer["trace"]["lines"]] == [
        (0, "Root?"),
        (1, "#1 A?"),
        (2, "#1 A1?"),
        (2, "#2 A2?"),
        (1, "#2 B of #1?"),
        (2, "#1 B1?"),
        (1, "#3 C?"),
        (2, "#1 C1?"),
    ]


def test_comparisons_are_sub_questions_and_one_is_open_in_an_example_where_the_paper_is_wanted(
    sent: list[list[Any]],
) -> None:
    for settings, wanted in (({}, False), ({"comparisons": True}, True)):
        sent.clear()
        ask(TWO_HOPS, script(), **settings)
        prompt = "\n".join(str(message.content) for message in sent[0])
        assert ("let the last sub-question ask for that" in prompt) is wanted
        assert ("Write no sub-question for what follows" in prompt) is not wanted
        assert ('"open": true' in prompt) is wanted
        assert ("Are #1 and #2 the same town?" in prompt) is wanted


def test_questions_that_need_no_other_are_answered_side_by_side() -> None:
    splits = {BIGGER: [("Who borders Panama?", ()), ("Who borders Colombia?", ()), ("What is Baru?", ())]}
    keys = [{"key": ["Panama", "borders", "?2"], "of": [2]}, {"key": ["?3", "borders", "Colombia"], "of": [3]}]
    answers = {
        "Who borders Panama?": ["Colombia", "Costa Rica"],
        "Who borders Colombia?": ["Panama"],
        BIGGER: ["Panama"],
    }
    model = FakeModel(script(splits, keys, answers), latency=0.4)
    graph = tg.build("coggrag", knowledge=small_knowledge(), model=model, settings=STEPS)
    answer = graph.invoke({"question": BIGGER})["answer"]
    assert model.most_at_once[0] == 3
    assert answer["rounds"] == 2
    assert (answer["answers"], answer["status"]) == (["Panama"], "grounded")


def test_circles_among_references_are_broken_and_said() -> None:
    splits = {"Root?": [("What is #2?", (2,)), ("What is #1?", (1,)), ("What is #3?", (3,))]}
    events = events_of("Root?", script(splits, [], {}))
    said = next(event for event in events if event["type"] == "pruned" and event["what"] == "questions")
    assert "that would be a circle" in said["reason"]
    assert events[-1]["type"] == "answered"


@pytest.mark.parametrize("shown", [False, True])
def test_a_deeper_question_without_an_answer_is_shown_above_only_if_wanted(shown: bool) -> None:  # noqa: FBT001
    splits = {"Root?": [("Capital of Panama?", ()), ("Queen of Panama?", ())]}
    keys = [{"key": ["Panama", "capital", "?2"], "of": [2, 3]}]
    _, model = ask("Root?", script(splits, keys, {"Capital of Panama?": ["Panama City"]}), unanswered=shown)
    root = [prompt for prompt in model.asked if prompt.role == "coggrag.reason" and prompt.text("question") == "Root?"]
    told = [item.text for item in root[0].lines("evidence") if item.text.startswith("asked")]
    assert told == ["asked | Capital of Panama? | Panama City"] + ["asked | Queen of Panama? | I don't know"] * shown


def test_a_question_answered_before_is_shown_to_those_above_it() -> None:
    _, model = ask(TWO_HOPS, script())
    last = [prompt for prompt in model.asked if prompt.role == "coggrag.reason"][-1]
    told = [(item.asked, item.answers) for item in last.lines("evidence") if item.asked]
    assert told == [
        ("Which country has the highest point Baru?", ("Panama",)),
        ("What is the capital of Panama?", ("Panama City",)),
    ]


# --- keys and retrieval ---------------------------------------------------------------------------------------------


def test_retrieve_links_and_expands_all_keys_at_once_and_placeholders_never() -> None:
    knowledge, graph, linker = spied()
    keys = [
        {"key": ["Baru"], "of": [1]},
        {"key": ["Colombia", "capital"], "of": [1]},
        {"key": ["?2", "highest point", "Baru"], "of": [2]},
        {"key": ["?2", "capital", "?"], "of": [3]},
        {"key": ["?town", "?"], "of": [3]},
    ]
    ask(TWO_HOPS, script(keys=keys), knowledge, follow_answers=False)
    assert [names for name, names in linker.asked if name == "link"] == [["Baru", "Colombia"]]
    assert graph.times("neighbourhood") == 1
    assert graph.times("relations") == graph.times("neighbours") == 0


def test_answers_are_followed_only_where_something_still_needs_them() -> None:
    knowledge, graph, linker = spied()
    answer, _ = ask(TWO_HOPS, script(), knowledge)
    assert answer["answers"] == ["Panama City"]
    # Baru first, then Panama, whose id the shown triple gives: it is not linked again, and Panama City is no start at all.
    assert [ids for name, ids in graph.asked if name == "neighbourhood"] == [["Baru"], ["Panama"]]
    assert linker.times("link") == 1


def test_without_following_the_second_hop_is_not_found_and_named() -> None:
    answer, model = ask(TWO_HOPS, script(), follow_answers=False)
    assert answer["status"] == "unknown"
    assert answer["reason"].startswith('no answer to sub-question 2 "What is the capital of Panama?"')
    assert answer["answers"] == []
    assert "coggrag.rethink" not in model.roles


def test_an_answer_from_a_passage_is_linked_by_its_name() -> None:
    question = "What is the capital of the land the tale is about?"
    splits = {question: [("Which land is the tale of Baru about?", ()), ("What is the capital of #1?", (1,))]}
    answers = {
        "Which land is the tale of Baru about?": ["Colombia"],
        "What is the capital of Colombia?": ["Bogota"],
        question: ["Bogota"],
    }
    passage = Passage(id="p", entities=["Baru"], title="Baru", section="Tale", text="The tale is about Colombia.")
    rows = [("Panama", "highest_point", "Baru"), ("Colombia", "capital", "Bogota")]
    knowledge = Knowledge(
        graph=MemoryGraphStore(rows), text=MemoryTextStore([passage]), embedder=HashEmbedder(), name="tale"
    )
    keys = [{"key": ["Baru"], "of": [2]}, {"key": ["?2", "capital", "?3"], "of": [3]}]
    answer, _ = ask(question, script(splits, keys, answers), knowledge, passages=3)
    assert (answer["answers"], answer["status"]) == (["Bogota"], "grounded")
    assert [cited["id"] for cited in answer["evidence"]["passages"]] == ["p"]
    assert answer["trace"]["data"]["nodes"][1]["answers"] == ["Colombia"]


def test_a_placeholder_without_a_number_is_tied_to_the_question_that_asks_for_it() -> None:
    keys = [
        {"key": ["?country", "highest point", "Baru"], "of": [2]},
        {"key": ["?country", "capital", "?town"], "of": [3]},
    ]
    answer, _ = ask(TWO_HOPS, script(keys=keys))
    assert answer["answers"] == ["Panama City"]


def test_the_statement_that_gave_an_answer_is_not_looked_up_again() -> None:
    # A global key belongs to both questions; around Panama only the second one's is looked for.
    both = {"key": ["?2", "highest point", "Baru"], "of": [2, 3]}
    events = events_of(TWO_HOPS, script(keys=[both, KEYS[1]]), least=0)
    kept = [[one["label"] for one in event["kept"]] for event in events if event["type"] == "pruned"]
    assert kept == [["highest point Baru"], ["Panama capital"]]
    loose = [{"key": one["key"], "of": []} for one in KEYS]
    answer, _ = ask(TWO_HOPS, script(keys=loose))
    assert answer["answers"] == ["Panama City"]


def test_a_question_that_needs_an_answer_without_a_key_for_it_is_followed_by_its_words() -> None:
    answer, _ = ask(TWO_HOPS, script(keys=KEYS[:1]), least=1)
    assert answer["answers"] == ["Panama City"]


def test_extract_keys_that_cannot_be_read_are_the_questions_themselves() -> None:
    answer, model = ask(TWO_HOPS, script(extract_keys_local="no idea", extract_keys_global="none"))
    assert answer["answers"] == ["Panama City"]
    assert answer["usage"]["total"]["fallbacks"] == 2
    assert len(model.roles) == 11


def test_only_what_is_near_a_key_is_shown() -> None:
    def shown(**settings: Any) -> set[str]:
        keys = [{"key": ["Panama", "capital", "?1"], "of": [1]}]
        _, model = ask("Capital of Panama?", script({}, keys, {}), **settings)
        prompts = [prompt for prompt in model.asked if prompt.role == "coggrag.reason"]
        return (
            {triple.relation for item in prompts[0].lines("evidence") for triple in item.triples} if prompts else set()
        )

    assert shown(epsilon=0.7, least=0) == {"capital"}
    assert len(shown(epsilon=-1, least=0)) == len({row[1] for row in ROWS if row[0] == "Panama"})
    assert shown(epsilon=1, least=0) == set()
    assert len(shown(epsilon=1, least=2)) == 2


def test_placeholders_stay_in_the_keys_where_the_paper_is_wanted() -> None:
    assert in_words(["Panama", "capital", "?0.1"]) == "Panama capital"
    assert in_words(["?school", "founded in", "?0.1"], {"0.1": "In which year?"}) == "school founded in In which year?"
    encoded: list[str] = []

    class Encoder(HashEmbedder):
        def _encode(self, model: Any, texts: list[str]) -> Any:
            encoded.extend(texts)
            return super()._encode(model, texts)

    for wanted, key in ((False, "Panama capital"), (True, "Panama capital Capital of Panama?")):
        encoded.clear()
        knowledge = Knowledge(graph=MemoryGraphStore(ROWS), embedder=Encoder(), name="keys")
        keys = [{"key": ["Panama", "capital", "?1"], "of": [1]}]
        ask("Capital of Panama?", script({}, keys, {}), knowledge, placeholders=wanted, whole_lists=False)
        assert key in encoded


def test_the_papers_map_has_no_small_caps() -> None:
    rows = [*ROWS, *(("Panama", "borders", f"Land {n:03}") for n in range(250))]
    knowledge = Knowledge(graph=MemoryGraphStore(rows), embedder=HashEmbedder(), name="many")
    question = "Who borders Panama?"
    splits = {question: [(f"Part {n}?", ()) for n in range(30)]}
    keys = [{"key": ["Panama", "borders", "?1"], "of": [1]}]

    def lines(**settings: Any) -> tuple[int, int]:
        answer, model = ask(question, script(splits, keys, {}), knowledge, epsilon=-1, **settings)
        shown = next(prompt for prompt in model.asked if prompt.role == "coggrag.reason").lines("evidence")
        return len(answer["trace"]["data"]["nodes"]), sum(len(item.triples) for item in shown)

    assert lines() == (16, 203)
    nodes, triples = lines(preset="paper")
    assert nodes == 31
    assert triples > 250


def test_tuples_prune_as_open_triples_unless_told_not_to() -> None:
    keys = [{"key": ["Panama", "capital"], "of": [1]}]
    replies = script({}, keys, {"Capital of Panama?": ["Panama City"]})
    answer, _ = ask("Capital of Panama?", replies, least=0)
    assert answer["answers"] == ["Panama City"]
    answer, model = ask("Capital of Panama?", replies, least=0, open_tuples=False)
    assert answer["status"] == "unknown"
    assert "coggrag.reason" not in model.roles


def test_a_list_is_kept_whole_unless_the_paper_is_wanted() -> None:
    question = "How many countries border Panama?"
    keys = [{"key": ["Panama", "borders", "Colombia"], "of": [1]}]
    replies = script({}, keys, {question: ["2"]})

    def lines(**settings: Any) -> list[str]:
        _, model = ask(question, replies, least=0, **settings)
        prompt = next(prompt for prompt in model.asked if prompt.role == "coggrag.reason")
        return [
            item.text for item in prompt.lines("evidence") if "borders" in item.text and item.text.startswith("(Pan")
        ]

    assert lines(epsilon=0.7) == ["(Panama) -[borders]-> (Colombia), (Costa Rica)"]
    # Single triples are dropped one by one, and the line says that there are more.
    assert lines(epsilon=0.9, whole_lists=False) == ["(Panama) -[borders]-> (Colombia), ... and 1 more"]


def hub(size: int = 3000) -> Knowledge:
    rows = [("Hub", "member", f"Member {n:05}") for n in range(size)] + [("Hub", "capital", "Centre")]
    return Knowledge(graph=MemoryGraphStore(rows), embedder=HashEmbedder(), name="hub")


def test_retrieve_bounds_a_hub_and_still_finds_what_it_has_once() -> None:
    keys = [{"key": ["Hub", "capital", "?1"], "of": [1]}]
    replies = script({}, keys, {"Capital of Hub?": ["Centre"]})
    for seed in range(3):
        answer, _ = ask("Capital of Hub?", replies, hub(), hub=50, tails=20, seed=seed)
        assert answer["answers"] == ["Centre"]
        assert answer["usage"]["encoder_texts"] <= 4


def test_texts_are_bounded_whatever_the_hub_and_what_was_cut_is_said() -> None:
    keys = [{"key": ["Hub", "member", "Member 00077"], "of": [1]}]
    question = "Which is Member 00077?"
    events = events_of(
        question,
        script({}, keys, {question: ["Member 00077"]}),
        hub(),
        whole_lists=False,
        encode_texts=16,
        hub=5000,
        tails=5000,
    )
    pruned = next(event for event in events if event["type"] == "pruned" and event["what"] == "triples")
    assert "sentences were not compared (encode_texts)" in pruned["reason"]
    assert next(event["ranked"] for event in events if event["type"] == "retrieved") == 16
    # The cheap comparison of words keeps what the key names.
    assert events[-1]["text"] == "Member 00077"


def test_a_second_question_encodes_nothing_again() -> None:
    graph = tg.build("coggrag", knowledge=small_knowledge(), model=FakeModel(script()), settings=STEPS)
    first = graph.invoke({"question": TWO_HOPS})["answer"]["usage"]["encoder_texts"]
    second = graph.invoke({"question": TWO_HOPS})["answer"]["usage"]["encoder_texts"]
    assert first > 0
    assert second == 0


def test_knowledge_is_bounded_and_what_answers_stand_on_stays() -> None:
    rows = [*ROWS, *(("Panama", f"capital x{n}", f"Thing {n}") for n in range(40))]
    knowledge = Knowledge(graph=MemoryGraphStore(rows), embedder=HashEmbedder(), name="many")
    answer, model = ask(TWO_HOPS, script(), knowledge, lines=2, epsilon=-1)
    assert answer["answers"] == ["Panama City"]
    assert all(
        sum(bool(item.hops) for item in prompt.lines("evidence")) <= 3
        for prompt in model.asked
        if prompt.role == "coggrag.reason"
    )


# --- reasoning, verifying, re-thinking ------------------------------------------------------------------------------
