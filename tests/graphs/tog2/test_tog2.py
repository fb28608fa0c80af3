"""What is ToG-2's own: modes, prunes, scores, evidence, ablations (METHODS: Think-on-Graph 2.0, sections 3 and 4).

These runs do not go back: `test_tog2_backtrack.py` has those that do.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import PASSAGES, small_knowledge
from langgraph.checkpoint.memory import InMemorySaver

import thinkgraph as tg
from thinkgraph.errors import SettingsError
from thinkgraph.eval.gold import resolve_golds
from thinkgraph.eval.perfect.chooser import PerfectChooser
from thinkgraph.eval.questions import Question
from thinkgraph.nodes.tog2.entity_prune import entity_scores
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.state.knowledge import Passage
from thinkgraph.state.settings import resolve_settings
from thinkgraph.state.tog2 import RankedChunk, Tog2Settings
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore
from thinkgraph.tools.knowledge import Knowledge

NEVER = {"sufficient": False, "answers": [], "evidence": [], "clues": "so far", "query": "what else"}
BORDERS = "Which countries border Panama?"
ONE_WAY = {"ranker": "bm25", "backtracks": 0, "steered": False}
ENTITIES: Any = {"beam": "entities"}
"""`test_tog2_paths.py` has a beam of relation paths."""


def every_relation(prompt: ParsedPrompt) -> Any:
    return {"scores": [[item.number, 9] for item in prompt.lines("options")]}


def only(*names: str) -> Any:
    def chosen(prompt: ParsedPrompt) -> Any:
        return {"scores": [[item.number, 9] for item in prompt.lines("options") if item.step and item.step[1] in names]}

    return chosen


def ask(
    question: str, replies: dict[str, Any], knowledge: Knowledge | None = None, **settings: Any
) -> tuple[Any, FakeModel]:
    base = {"tog2.topic_prune": {"numbers": [1]}, "tog2.relation_prune": every_relation, "tog2.reason": NEVER}
    model = FakeModel({**base, "tog2.query_reform": "a query", **replies})
    graph = tg.build("tog2", knowledge=knowledge or small_knowledge(), model=model, settings={**ONE_WAY, **settings})
    return graph.invoke({"question": question})["answer"], model


def test_entity_prune_scores_by_the_papers_sum() -> None:
    sentence: Any = {"hop": 0, "triple": "t", "passage": "", "start": 0, "end": 0}
    top = [RankedChunk(entity=key, score=score, **sentence) for key, score in (("a", 0.9), ("b", 0.8), ("a", 0.5))]
    scores = entity_scores(top, alpha=0.8)
    assert scores["a"] == pytest.approx(0.9 * math.exp(-0.8) + 0.5 * math.exp(-2.4))
    assert scores["b"] == pytest.approx(0.8 * math.exp(-1.6))


def test_what_passes_between_the_steps_of_a_round_is_state_and_emptied_when_used() -> None:
    model = FakeModel({"tog2.relation_prune": every_relation, "tog2.reason": NEVER})
    settings = {**ONE_WAY, "depth": 2}
    graph = tg.build("tog2", knowledge=small_knowledge(), model=model, settings=settings, checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "t"}}
    steps = [name for update in graph.stream({"question": BORDERS}, thread) for name in update]
    around = ["relation_prune", "entity_discovery", "context_retrieval", "entity_prune", "reason"]
    assert steps == ["begin", "link_entities", "topic_prune", "context_retrieval", "reason", *around * 2, "answer"]
    history = [state.values for state in graph.get_state_history(thread)]
    for name in ("kept", "hops", "reached", "ranked"):
        assert any(values.get(name) for values in history)
        assert not history[0][name]


def test_calls_are_bounded_as_the_paper_says() -> None:
    _, model = ask(BORDERS, {}, depth=3)
    # Round 0 has text here; one relation prune and one Reason a round: 2D + 1.
    assert model.roles == ["tog2.reason"] + ["tog2.relation_prune", "tog2.reason"] * (len(model.roles) // 2)
    assert len(model.roles) <= 2 * 3 + 1


def test_one_relation_prune_per_entity_runs_side_by_side() -> None:
    replies = {"tog2.relation_prune": only("borders", "capital"), "tog2.reason": NEVER}
    model = FakeModel({"tog2.topic_prune": {"numbers": [1]}, **replies}, latency=0.5)
    graph = tg.build(
        "tog2",
        knowledge=small_knowledge(),
        model=model,
        settings={**ONE_WAY, **ENTITIES, "combined": False, "depth": 2, "skip_exact_topic": False},
    )
    graph.invoke({"question": BORDERS})
    per_round = [p for p in model.asked if p.role == "tog2.relation_prune"]
    assert [len(prompt.lines("entities")) for prompt in per_round] == [1] * len(per_round)
    assert model.most_at_once[0] == len(per_round) - 1 == 3


def test_query_reform_is_a_call_of_its_own_in_split_mode() -> None:
    _, fused = ask(BORDERS, {}, depth=2)
    _, split = ask(BORDERS, {}, depth=2, fused=False)
    assert "tog2.query_reform" not in fused.roles
    assert split.roles.count("tog2.query_reform") == split.roles.count("tog2.reason") - 1


def test_query_reform_is_not_asked_without_clues() -> None:
    replies = {"tog2.reason": {**NEVER, "clues": ""}}
    _, model = ask(BORDERS, replies, preset="paper", ranker="bm25", depth=2)
    assert model.roles.count("tog2.reason") == 3
    assert "tog2.query_reform" not in model.roles


def test_query_reform_and_clues_are_off_together() -> None:
    _, with_clues = ask(BORDERS, {}, depth=2)
    _, without = ask(BORDERS, {}, depth=2, clues=False, fused=False)
    assert any(prompt.text("clues so far") == "so far" for prompt in with_clues.asked)
    assert not any(prompt.text("clues so far") for prompt in without.asked)
    assert "tog2.query_reform" not in without.roles


def test_clues_of_all_rounds_stay_where_the_paper_is_wanted(sent: list[list[Any]]) -> None:
    def told(**settings: Any) -> list[str]:
        sent.clear()
        found = iter(["first", "second", "second", "third"])
        _, model = ask(BORDERS, {"tog2.reason": lambda _: {**NEVER, "clues": next(found)}}, depth=3, **settings)
        return [prompt.text("clues so far") for prompt in model.asked if prompt.role == "tog2.reason"]

    assert told() == ["", "first", "second"]
    assert not any("clues so far, which are kept" in system.content for system, *_ in sent)
    for fused in (True, False):
        assert told(clue_history=True, fused=fused) == ["", "first", "first second"]
        assert any("clues so far, which are kept" in system.content for system, *_ in sent)


def test_context_retrieval_ranks_by_the_round_query() -> None:
    seen: list[str] = []

    class Ranker:
        name = "spy"

        def score(self, query: str, texts: list[str]) -> list[float]:
            seen.append(query)
            return [1.0] * len(texts)

    model = FakeModel(
        {"tog2.topic_prune": {"numbers": [1]}, "tog2.relation_prune": every_relation, "tog2.reason": NEVER}
    )
    graph = tg.build(
        "tog2", knowledge=small_knowledge(), model=model, ranker=Ranker(), settings={"depth": 1, "backtracks": 0}
    )
    graph.invoke({"question": BORDERS})
    assert seen == [BORDERS, f"{BORDERS} what else"]


@pytest.mark.parametrize(("settings", "count"), [({}, 3), ({"preset": "paper"}, 5)])
def test_a_chunk_is_ranked_behind_the_triples_that_led_to_it_and_counts_once(
    settings: dict[str, Any], count: int
) -> None:
    rows = [("Topic", f"relation {n}", "End") for n in range(5)]
    passage = Passage(id="p", entities=["End"], title="End", section="", text="Words of the end.")
    seen: list[str] = []

    class Ranker:
        name = "spy"

        def score(self, _query: str, texts: list[str]) -> list[float]:
            seen.extend(texts)
            return [1.0] * len(texts)

    told = {"tog2.topic_prune": {"numbers": [1]}, "tog2.query_reform": "", "tog2.relation_prune": every_relation}
    model = FakeModel({**told, "tog2.reason": NEVER})
    knowledge = Knowledge(graph=MemoryGraphStore(rows), text=MemoryTextStore([passage]))
    settings = {"depth": 1, "backtracks": 0, "rank_triples": False, "relations": 5, **settings}
    tg.build("tog2", knowledge=knowledge, model=model, ranker=Ranker(), settings=settings).invoke(
        {"question": "Topic?"}
    )
    # Of five ways to it three count, where the paper is wanted all.
    assert seen == [f"Topic relation {n} End: Words of the end." for n in range(count)]
    texts = [item.text for item in model.asked[-1].lines("evidence") if "Words" in item.text]
    assert len(texts) == 1


def test_a_model_that_ranks_reads_a_chunk_with_the_triple_that_led_to_it() -> None:
    rows = [("Topic", f"relation {n}", "End") for n in range(3)]
    passage = Passage(id="p", entities=["End"], title="End", section="Part", text="Words of the end.")
    knowledge = Knowledge(graph=MemoryGraphStore(rows), text=MemoryTextStore([passage]))
    score_all = {"rank.texts": every_relation}
    _, model = ask("Topic?", score_all, knowledge, ranker="llm", depth=1, rank_triples=False)
    (asked,) = (prompt for prompt in model.asked if prompt.role == "rank.texts")
    assert [(item.section, item.passage) for item in asked.lines("options")] == [
        (f"Part; Topic relation {n} End", "Words of the end.") for n in range(3)
    ]


@pytest.mark.parametrize(("settings", "shown"), [({"relation_options": 4}, 4), ({}, 400), ({"preset": "paper"}, 450)])
def test_relation_prune_offers_every_relation_where_the_paper_is_wanted(settings: dict[str, Any], shown: int) -> None:
    knowledge = Knowledge(graph=MemoryGraphStore([("Panama", f"relation {n}", "End") for n in range(450)]))
    _, model = ask("Panama?", {"tog2.relation_prune": {"scores": []}}, knowledge, **{"depth": 1, **settings})
    (prune,) = (prompt for prompt in model.asked if prompt.role == "tog2.relation_prune")
    assert len(prune.lines("options")) == shown


def test_reason_sees_all_evidence_of_its_own_round_however_much_earlier_rounds_scored_better() -> None:
    rows = [("Panama", "borders", f"Land {n}") for n in range(60)] + [
        (f"Land {n}", "town", f"Town {n}") for n in range(60)
    ]
    passages = [
        Passage(id=f"{kind} {n}", entities=[f"{kind} {n}"], title=f"{kind} {n}", section="", text=f"{kind} {n} {words}")
        for kind, words in (("Land", "borders Panama."), ("Town", "lies inland."))
        for n in range(60)
    ]
    knowledge = Knowledge(graph=MemoryGraphStore(rows), text=MemoryTextStore(passages))
    paper = {"preset": "paper", "top_k": 60, "width": 50, "depth": 2, "ranker": "bm25"}
    _, model = ask("What borders Panama?", {}, knowledge, **paper)
    reasons = [prompt.lines("evidence") for prompt in model.asked if prompt.role == "tog2.reason"]
    towns = {item.passage for item in reasons[-1] if "inland" in item.passage}
    assert len(towns) == 50, "as many towns as topic entities were walked"
    assert not any("borders Panama" in item.passage for item in reasons[-1])


def test_entity_discovery_reaches_literals_which_can_be_the_answer() -> None:
    def reason(prompt: ParsedPrompt) -> Any:
        for item in prompt.lines("evidence"):
            for hop in item.triples:
                if hop.relation == "elevation m":
                    return {
                        "sufficient": True,
                        "answers": [hop.object],
                        "evidence": [item.number],
                        "clues": "",
                        "query": "",
                    }
        return NEVER

    answer, _ = ask("How high is Baru?", {"tog2.reason": reason})
    assert (answer["answers"], answer["status"]) == (["3475"], "grounded")
    assert answer["evidence"]["triples"][0]["literal"]


def test_all_tails_of_a_relation_stand_in_one_line() -> None:
    rows = [("Hub", "member", f"Member {n:03}") for n in range(80)]

    def reason(prompt: ParsedPrompt) -> Any:
        for item in prompt.lines("evidence"):
            names = [hop.object for hop in item.triples if hop.relation == "member"]
            if names:
                return {"sufficient": True, "answers": names, "evidence": [item.number], "clues": "", "query": ""}
        return NEVER

    knowledge = Knowledge(graph=MemoryGraphStore(rows))
    answer, _ = ask("Who are the members of Hub?", {"tog2.reason": reason}, knowledge)
    assert len(answer["answers"]) == 80
    assert len(answer["evidence"]["triples"]) == 80


def test_entity_discovery_bounds_a_hub_and_says_so() -> None:
    rows = [("Hub", "member", f"Member {n:05}") for n in range(3000)]
    lines: list[str] = []

    def reason(prompt: ParsedPrompt) -> Any:
        lines.extend(item.text for item in prompt.lines("evidence"))
        return NEVER

    texts: list[int] = []

    class Ranker:
        name = "spy"

        def score(self, _query: str, found: list[str]) -> list[float]:
            texts.append(len(found))
            return [1.0] * len(found)

    model = FakeModel({"tog2.relation_prune": every_relation, "tog2.reason": reason})
    knowledge = Knowledge(graph=MemoryGraphStore(rows))
    settings = {"depth": 1, "tails": 50, "rank_texts": 16, "backtracks": 0}
    tg.build("tog2", knowledge=knowledge, model=model, ranker=Ranker(), settings=settings).invoke({"question": "Hub?"})
    assert max(texts) <= 16
    assert any(line.endswith("... and 2950 more") for line in lines)


def test_entity_discovery_walks_back_over_a_relation_but_not_in_cycles() -> None:
    rows = [("Film A", "actor", "Ann"), ("Film A", "actor", "Bob"), ("Film B", "actor", "Ann")]
    reached: list[set[str]] = []

    def reason(prompt: ParsedPrompt) -> Any:
        ends = {hop.object for item in prompt.lines("evidence") if len(item.hops) == 2 for hop in item.hops[1]}
        reached.append(ends)
        return NEVER

    for avoid, expected in ((True, {"Bob"}), (False, {"Ann", "Bob"})):
        reached.clear()
        knowledge = Knowledge(graph=MemoryGraphStore(rows))
        ask("Who acted with Ann?", {"tog2.reason": reason}, knowledge, depth=2, avoid_cycles=avoid, **ENTITIES)
        assert reached[-1] == expected


def test_reason_sees_the_evidence_of_all_rounds_in_the_last() -> None:
    shown: list[int] = []

    def reason(prompt: ParsedPrompt) -> Any:
        shown.append(len(prompt.lines("evidence")))
        return NEVER

    ask(BORDERS, {"tog2.reason": reason}, depth=2, **ENTITIES)
    assert shown[-1] > max(shown[:-1])
    shown.clear()
    ask(BORDERS, {"tog2.reason": reason}, depth=2, all_rounds=False, **ENTITIES)
    assert shown == [1, 4, 1], "each sees what its own round found"


def test_reason_gives_a_best_effort_at_the_end_as_partial() -> None:
    guess = {"sufficient": False, "answers": ["Colombia"], "evidence": [1], "clues": "", "query": ""}
    answer, _ = ask(BORDERS, {"tog2.reason": guess, "tog2.relation_prune": only("borders")}, depth=1)
    assert (answer["answers"], answer["status"]) == (["Colombia"], "partial")


def test_too_narrow_a_beam_for_all_answers_ends_in_those_it_saw() -> None:
    graph = MemoryGraphStore(
        [(f"Film {n}", "starred", "Ann") for n in "abc"] + [(f"Film {n}", "year", f"19{n}") for n in "abc"]
    )
    question = Question(
        "q", "When were the films of Ann?", ("19a", "19b", "19c"), gold_path=(("Ann", "-starred"), ("*", "year"))
    )
    (gold,) = resolve_golds([question], graph)
    chooser = PerfectChooser({question.question: gold})
    settings = {"ranker": "llm", "width": 1, "depth": 2, **ENTITIES}
    built = tg.build("tog2", knowledge=Knowledge(graph=graph), model=chooser, settings=settings)
    answer = built.invoke({"question": question.question})["answer"]
    assert answer["status"] == "partial"
    assert len(answer["answers"]) == 1
    assert set(answer["answers"]) < set(question.answers)


def test_context_retrieval_cuts_long_passages_into_chunks_with_offsets() -> None:
    text = " ".join(f"Sentence number {n} about nothing." for n in range(40)) + " The voting age is 18 in Panama."
    passage = Passage(id="long", entities=["Panama"], title="Panama", section="Voting", text=text)
    graph = MemoryGraphStore([("Panama", "highest_point", "Baru")])

    def reason(prompt: ParsedPrompt) -> Any:
        for item in prompt.lines("evidence"):
            if "18" in item.passage:
                return {"sufficient": True, "answers": ["18"], "evidence": [item.number], "clues": "", "query": ""}
        return NEVER

    knowledge = Knowledge(graph=graph, text=MemoryTextStore([passage]))
    answer, _ = ask("voting age in Panama?", {"tog2.reason": reason}, knowledge, chunk_size=200, chunk_overlap=40)
    cited = answer["evidence"]["passages"][0]
    assert 0 < cited["start"] < cited["end"] <= len(text)
    assert cited["end"] - cited["start"] <= 200
    assert text[cited["start"] : cited["end"]] == cited["text"]


def test_context_retrieval_ranks_sentences_where_the_paper_is_wanted() -> None:
    text = " ".join(f"Sentence number {n} about nothing." for n in range(40)) + " The voting age is 18 in Panama."
    passage = Passage(id="long", entities=["Panama"], title="Panama", section="Voting", text=text)
    knowledge = Knowledge(graph=MemoryGraphStore([("Panama", "capital", "x")]), text=MemoryTextStore([passage]))
    _, model = ask("voting age in Panama?", {}, knowledge, preset="paper", ranker="bm25", depth=0)
    shown = [item.passage for prompt in model.asked for item in prompt.lines("evidence")]
    assert len(shown) == 10
    assert all(one.count("ntence") + one.count("voting") == 1 for one in shown)


def test_triples_take_no_place_among_the_chunks_where_the_paper_is_wanted() -> None:
    rows = [("Panama", "borders", "Colombia"), ("Panama", "borders", "Costa Rica"), ("Panama", "area_km2", "75417")]
    passages = [
        Passage(id="c", entities=["Colombia"], title="Colombia", section="", text="Colombia grows much coffee."),
        Passage(id="o", entities=["Else"], title="Else", section="", text="Another thing."),
    ]
    both = Knowledge(graph=MemoryGraphStore(rows), text=MemoryTextStore(passages))
    bare = Knowledge(graph=MemoryGraphStore(rows), text=MemoryTextStore(passages[1:]))

    def shown(knowledge: Knowledge, **settings: Any) -> list[str]:
        _, model = ask("What borders Panama?", {}, knowledge, depth=1, **settings)
        return [item.text for item in model.asked[-1].lines("evidence")]

    ours, paper = shown(both), shown(both, rank_triples=False)
    assert any("75417" in line for line in ours)
    # The path that leads to the chunk's entity stands before it, with all that its relation reaches.
    assert len(paper) == 2
    assert "Colombia" in paper[0]
    assert "coffee" in paper[1]
    assert any("75417" in line for line in shown(bare, rank_triples=False))


def test_entity_prune_leaves_out_what_the_llm_ranker_scores_0() -> None:
    passages = [
        Passage(id=land, entities=[land], title=land, section="", text=f"{land} grows {crop}.")
        for land, crop in (("Colombia", "coffee"), ("Costa Rica", "bananas"))
    ]
    rows = [("Panama", "borders", land) for land in ("Colombia", "Costa Rica")]
    knowledge = Knowledge(graph=MemoryGraphStore(rows), text=MemoryTextStore(passages))

    def coffee(prompt: ParsedPrompt) -> Any:
        return {"scores": [[item.number, 9] for item in prompt.lines("options") if "coffee" in item.text]}

    replies = {"rank.texts": coffee}
    _, model = ask("Who beside Panama grows coffee?", replies, knowledge, preset="paper", ranker="llm", depth=1)
    shown = [item.passage for item in model.asked[-1].lines("evidence") if item.passage]
    assert len(shown) == 1
    assert "coffee" in shown[0]


def test_the_llm_ranker_is_counted_apart_and_asked_in_batches() -> None:
    rows = [("Hub", "member", f"Member {n:03}") for n in range(60)]
    score_all = {"rank.texts": every_relation}
    answer, model = ask("Hub?", score_all, Knowledge(graph=MemoryGraphStore(rows)), ranker="llm", depth=1, **ENTITIES)
    assert model.roles.count("rank.texts") == 2
    assert answer["usage"]["roles"]["rank.texts"]["calls"] == 2


def test_fact_verification_allows_only_its_labels() -> None:
    def verdict(label: str) -> Any:
        return {"sufficient": True, "answers": [label], "evidence": [1], "clues": "", "query": ""}

    claim = "Panama borders Colombia."
    answer, _ = ask(claim, {"tog2.reason": verdict("SUPPORTS")}, task="fact", depth=1)
    assert (answer["answers"], answer["status"]) == (["SUPPORTS"], "grounded")
    answer, _ = ask(claim, {"tog2.reason": verdict("maybe")}, task="fact", depth=1)
    assert (answer["answers"], answer["status"]) == (["NOT ENOUGH INFO"], "unknown")
    answer, _ = ask(claim, {"tog2.reason": verdict("false")}, task="truth", depth=1)
    assert answer["answers"] == ["false"]


def test_the_paper_preset_gives_way_to_what_is_set() -> None:
    assert resolve_settings(Tog2Settings, {"preset": "paper"}, {"backtracks": 1}).backtracks == 1
    assert resolve_settings(Tog2Settings, {"preset": "paper"}, {"own_knowledge": False}).own_knowledge is False
    assert resolve_settings(Tog2Settings, {"own_knowledge": False}, {"preset": "paper"}).own_knowledge is False
    assert not resolve_settings(Tog2Settings, {"preset": "paper", "task": "fact", "own_knowledge": False}).precheck


def test_context_retrieval_reads_the_topics_passages_again_with_a_new_query() -> None:
    many = [
        Passage(
            id=f"n{n}", entities=["Panama"], title="Panama", section="Other", text=f"Which countries border it: {n}."
        )
        for n in range(12)
    ]
    knowledge = Knowledge(graph=small_knowledge().graph, text=MemoryTextStore([*many, PASSAGES[0]]))

    def reason(prompt: ParsedPrompt) -> Any:
        for item in prompt.lines("evidence"):
            if "18" in item.passage:
                return {"sufficient": True, "answers": ["18"], "evidence": [item.number], "clues": "", "query": ""}
        return {**NEVER, "query": "citizens vote from the age of"}

    class Words:
        name = "words"

        def score(self, query: str, texts: list[str]) -> list[float]:
            wanted = set(query.casefold().split())
            return [float(len(wanted & set(text.casefold().split()))) for text in texts]

    for revisit, answers in ((True, ["18"]), (False, [])):
        model = FakeModel({"tog2.relation_prune": every_relation, "tog2.reason": reason})
        settings = {"top_k": 3, "depth": 1, "revisit_topics": revisit, "backtracks": 0}
        graph = tg.build("tog2", knowledge=knowledge, model=model, ranker=Words(), settings=settings)
        assert graph.invoke({"question": BORDERS})["answer"]["answers"] == answers


@pytest.mark.parametrize(("ranker", "fits"), [("cross-encoder:some/model", True), ("bm25", True), ("tfidf", False)])
def test_rankers_are_named_with_their_model(ranker: str, fits: bool) -> None:  # noqa: FBT001 - a parameter of the test
    if fits:
        assert resolve_settings(Tog2Settings, {"ranker": ranker}).ranker == ranker
    else:
        with pytest.raises(SettingsError, match="ranker"):
            resolve_settings(Tog2Settings, {"ranker": ranker})
