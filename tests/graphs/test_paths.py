"""What is the method `paths`' own: relation paths from the starting entities, one judgement, then ToG-2's search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import AMERICA, PASSAGES, america

import thinkgraph as tg
from thinkgraph.nodes.common.evidence_lines import line_cost
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.state.knowledge import Neighbours, Relation, Step
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore
from thinkgraph.tools.knowledge import Knowledge

CAPITAL = "What is the capital of the country whose highest point is Baru?"
JUDGES = ("tog2.reason", "tog2.steer")
"""Roles that judge, whatever else they are asked."""
NEVER = {"sufficient": False, "answers": [], "evidence": [], "clues": "so far", "query": "what else"}


class Counting(MemoryGraphStore):
    """Keeps how much is asked of it at once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.asked: list[int] = []

    def relations(self, ids: Sequence[str]) -> list[list[Relation]]:
        self.asked.append(len(ids))
        return super().relations(ids)

    def neighbours(self, steps: Sequence[Step], *, limit: int = 100, seed: int = 0) -> list[Neighbours]:
        self.asked.append(len(steps))
        return super().neighbours(steps, limit=limit, seed=seed)


def graph_of(rows: Sequence[tuple[str, str, str]], passages: Any = (), **options: Any) -> Knowledge:
    graph = Counting(rows, literals=["population", "elevation_m"], name="g", **options)
    text = MemoryTextStore(list(passages), name="g") if passages else None
    return Knowledge(graph=graph, text=text, embedder=HashEmbedder(), name="g")


def by_lines(*wanted: str, answer: str) -> Any:
    """Answers where the evidence has lines that end so."""

    def reply(prompt: ParsedPrompt) -> Any:
        found = [item.number for item in prompt.lines("evidence") if item.text.endswith(wanted)]
        return {"sufficient": True, "answers": [answer], "evidence": found} if found else NEVER

    return reply


def ask(
    question: str, reason: Any = NEVER, knowledge: Knowledge | None = None, **settings: Any
) -> tuple[Any, list[ParsedPrompt], list[Any]]:
    """The answer, the prompts, and the events."""
    prompts: list[ParsedPrompt] = []

    def seen(reply: Any) -> Any:
        def told(prompt: ParsedPrompt) -> Any:
            prompts.append(prompt)
            return reply(prompt) if callable(reply) else reply

        return told

    every = seen(lambda prompt: {"scores": [[item.number, 9] for item in prompt.lines("options")]})
    first = seen({"numbers": [1]})
    replies = {"tog2.topic_prune": first, "tog2.relation_prune": every, **dict.fromkeys(JUDGES, seen(reason))}
    model = FakeModel(replies)
    base = {"ranker": "bm25", "backtracks": 0, "depth": 2, "steered": False}
    graph = tg.build("paths", knowledge=knowledge or america(), model=model, settings={**base, **settings})
    streamed = list(graph.stream({"question": question}, stream_mode=["custom", "updates"]))
    events = [event for mode, event in streamed if mode == "custom"]
    answer = next(update["answer"]["answer"] for mode, update in streamed if mode == "updates" and "answer" in update)
    return answer, prompts, events


def asked(prompts: Sequence[ParsedPrompt]) -> list[str]:
    return ["judged" if prompt.role in JUDGES else prompt.role for prompt in prompts]


def lines(prompt: ParsedPrompt) -> list[str]:
    return [item.text for item in prompt.lines("evidence")]


def paths_kept(events: Sequence[Any]) -> list[str]:
    return next([one["label"] for one in event["kept"]] for event in events if event.get("what") == "paths")


def test_one_call_answers_what_takes_two_hops() -> None:
    two_hops = "(Baru) <-[highest point]- (Panama) -[capital]-> (Panama City)"
    answer, prompts, events = ask(CAPITAL, by_lines(two_hops, answer="Panama City"))
    assert (answer["answers"], answer["status"]) == (["Panama City"], "grounded")
    assert asked(prompts) == ["judged"]
    assert [one["text"] for one in answer["evidence"]["paths"]] == [two_hops]
    assert paths_kept(events)[0] == "(Baru) <-[highest point]- -[capital]->"


def test_lines_of_a_path_stand_behind_those_of_the_hop_before() -> None:
    _, (prompt, *_), _ = ask(CAPITAL, knowledge=graph_of(AMERICA), top_paths=1)
    assert lines(prompt) == [
        "(Baru) <-[highest point]- (Panama)",
        "(Baru) <-[highest point]- (Panama) -[capital]-> (Panama City)",
    ]


def test_where_the_paths_fall_short_the_search_goes_on_from_the_start_and_from_what_they_reach() -> None:
    answer, prompts, _ = ask(CAPITAL, by_lines("(Panama) -[capital]-> (Panama City)", answer="Panama City"), depth=1)
    assert asked(prompts) == ["judged", "tog2.relation_prune", "judged"]
    assert [item.label or item.text for item in prompts[1].lines("entities")][:2] == ["Baru", "Panama"]
    assert (answer["answers"], answer["rounds"]) == (["Panama City"], 1)


def test_a_search_that_finds_nothing_goes_back_as_tog2_does() -> None:
    answer, prompts, _ = ask("Which queen visited Baru?", depth=1, backtracks=1)
    assert answer["status"] == "unknown"
    assert asked(prompts) == ["judged", *["tog2.relation_prune", "judged"] * 2]


def test_passages_about_what_the_paths_reach_are_shown() -> None:
    question = "From which age may one vote in the country whose highest point is Baru?"
    _, (prompt, *_), _ = ask(question, knowledge=graph_of(AMERICA, PASSAGES))
    shown = lines(prompt)
    place = shown.index("(Baru) <-[highest point]- (Panama)")
    assert shown[place + 1].startswith("text | Panama | Voting")


def test_round_trips_and_encoded_texts_do_not_grow_with_a_hub() -> None:
    def cost(spokes: int) -> tuple[int, int, int]:
        rows = [("Hub", "part", f"N{number}") for number in range(spokes)]
        rows += [(f"N{number}", "owner", f"P{number}") for number in range(spokes)]
        knowledge = graph_of(rows)
        settings = {"ranker": "bm25", "backtracks": 0, "depth": 3, "fan": 20}
        graph = tg.build("paths", knowledge=knowledge, model=FakeModel({"tog2.reason": NEVER}), settings=settings)
        for update in graph.stream({"question": "Who is the owner of a part of Hub?"}, stream_mode="updates"):
            if "retrieve_paths" in update:
                (work,) = update["retrieve_paths"]["work"].values()
                store: Any = knowledge.graph
                return work["store_round_trips"], work["encoder_texts"], max(store.asked)
        raise AssertionError("nothing was retrieved")

    small, large = cost(30), cost(3000)
    assert small == large
    # Two a hop, whatever it reaches; the lists of at most two relations of at most `fan` entities at once.
    assert (large[0], large[2]) == (6, 2 * 20)


def test_as_many_paths_are_walked_and_shown_as_the_settings_say() -> None:
    _, _, wide = ask(CAPITAL, near=0, depth=3)
    _, _, few = ask(CAPITAL, near=0, depth=3, top_paths=2)
    _, _, near = ask(CAPITAL, near=0.95, depth=3)
    _, _, narrow = ask(CAPITAL, near=0, depth=3, path_beam=1)

    def leaves(kept: list[str]) -> int:
        return sum(not any(other.startswith(f"{one} ") for other in kept) for one in kept)

    assert leaves(paths_kept(few)) == 2 < leaves(paths_kept(wide))
    assert len(paths_kept(near)) < len(paths_kept(wide))
    assert len(paths_kept(narrow)) <= 3


def test_no_path_goes_on_from_what_it_has_passed() -> None:
    settings = {"near": 0, "depth": 3}
    _, (prompt, *_), _ = ask("What borders a country that borders Colombia?", knowledge=graph_of(AMERICA), **settings)
    told = [part for line in lines(prompt) for part in line.split(" | ")]
    # Lists are whole; where all that is listed was passed there is nothing to tell.
    assert any(part.endswith("(Peru) <-[borders]- (Colombia), (Ecuador)") for part in told)
    assert not any(part.endswith("(Ecuador) <-[borders]- (Colombia)") for part in told)
    pair = graph_of([("Ann", "friend", "Bob")])
    _, _, events = ask("Who is a friend of Ann?", knowledge=pair, **settings)
    assert paths_kept(events) == ["(Ann) -[friend]->"]
    _, _, events = ask("Who is a friend of Ann?", knowledge=pair, avoid_cycles=False, **settings)
    assert "(Ann) -[friend]-> <-[friend]- -[friend]->" in paths_kept(events)


def test_what_there_is_no_room_for_is_left_out_and_counted() -> None:
    rows = [("Hub", "part", f"Part number {number}") for number in range(150)]
    rows += [(f"Part number {number}", "owner", f"Person {number}") for number in range(150)]
    question = "Who is the owner of a part of Hub?"
    answer, (prompt, *_), _ = ask(question, knowledge=graph_of(rows), evidence_tokens=400, depth=2)
    shown = lines(prompt)
    assert shown[0].startswith("(Hub) -[part]-> (Part number 0), ")
    assert shown[0].endswith(" more")
    assert "-[owner]-> (Person 0)" in "".join(shown)
    assert sum(map(len, shown)) < 400 * 4
    (note,) = [note for note in answer["pruned"] if note["what"] == "paths"]
    assert note["dropped"] > 20


def test_all_that_the_question_names_is_a_start() -> None:
    _, _, events = ask("What is the capital of Colombia, and of Peru?")
    starts = {path.partition(")")[0].lstrip("(") for path in paths_kept(events)}
    assert starts == {"Colombia", "Peru"}


def test_guesses_are_starts_only_where_the_question_names_nothing() -> None:
    question = "What is the capital of the country whose highest point is Volcan Baru?"
    with tg.Knowledge.open("world") as world:
        _, _, events = ask(question, knowledge=world, near=0, top_paths=200)
    linked = next(event["candidates"] for event in events if event["type"] == "linked")
    assert len(linked) > 1
    assert {path.partition(" <-")[0].partition(" -[")[0] for path in paths_kept(events)} == {"(Volcan Baru)"}
    rows = [("Colombia River", "mouth", "Sea"), ("Great Pass", "peak", "Top")]
    _, _, events = ask("Where is the mouth of the Colombian River?", knowledge=graph_of(rows), near=0)
    assert "(Colombia River) -[mouth]->" in paths_kept(events)


def test_the_lists_of_one_path_share_a_line_without_its_first_steps() -> None:
    rows = [("Hub", "part", f"N{number}") for number in range(3)]
    rows += [(f"N{number}", "owner", f"P{number}") for number in range(3)]
    shared = "(N0) -[owner]-> (P0) | (N1) -[owner]-> (P1) | (N2) -[owner]-> (P2)"

    def reply(prompt: ParsedPrompt) -> Any:
        (line,) = (item for item in prompt.lines("evidence") if set(item.text.split(" | ")) == set(shared.split(" | ")))
        return {"sufficient": True, "answers": ["P1"], "evidence": [line.number]}

    answer, (prompt, *_), _ = ask("Who is the owner of a part of Hub?", reply, graph_of(rows), top_paths=1)
    assert lines(prompt)[0] == "(Hub) -[part]-> (N0), (N1), (N2)"
    assert len(lines(prompt)) == 2
    # What is cited is the path to the answer alone, with the steps that lead there.
    assert answer["status"] == "grounded"
    assert [one["text"] for one in answer["evidence"]["paths"]] == ["(Hub) -[part]-> (N1) -[owner]-> (P1)"]


def test_what_two_paths_tell_has_one_line() -> None:
    rows = [("Book", "author", "Ann"), ("Book", "editor", "Ann"), ("Ann", "birthplace", "Rome")]
    _, (prompt, *_), events = ask("Where was the author of Book born?", knowledge=graph_of(rows), near=0)
    assert {"(Book) -[author]-> -[birthplace]->", "(Book) -[editor]-> -[birthplace]->"} <= {*paths_kept(events)}
    assert sum("-[birthplace]-> (Rome)" in line for line in lines(prompt)) == 1


def test_a_path_with_many_lines_leaves_room_for_others() -> None:
    rows = [("Hub", "part", f"N{number}") for number in range(40)]
    rows += [
        (f"N{number}", relation, f"{relation} {number}") for number in range(40) for relation in ("owner", "maker")
    ]
    question = "Who is the owner of a part of Hub, and who its maker?"
    _, (prompt, *_), _ = ask(question, knowledge=graph_of(rows), evidence_tokens=800, near=0)
    counts = {name: "".join(lines(prompt)).count(f"-[{name}]->") for name in ("owner", "maker")}
    assert min(counts.values()) > 2
    assert sum(map(line_cost, lines(prompt))) <= 800


def test_a_name_calls_for_no_relation() -> None:
    rows = [("Capital Hill", "owner", "Ann"), ("Capital Hill", "capital", "Rome")]
    _, _, events = ask("Who is the owner of Capital Hill?", knowledge=graph_of(rows), near=0.5)
    assert paths_kept(events) == ["(Capital Hill) -[owner]->"]


def test_passages_take_no_more_than_half_of_the_room() -> None:
    long = [{**PASSAGES[0], "id": f"p{number}", "text": f"Voting age {number}. " * 30} for number in range(3)]
    question = "From which age may one vote in the country whose highest point is Baru?"
    for tokens, most in ((200, 0), (400, 1), (2000, 3)):
        _, (prompt, *_), _ = ask(question, knowledge=graph_of(AMERICA, long), evidence_tokens=tokens)
        kinds = [line.startswith("text |") for line in lines(prompt)]
        assert sum(kinds) == most
        assert not all(kinds)


def test_lists_are_bounded_by_tails_at_the_first_hop_and_by_fan_after_it() -> None:
    rows = [("Hub", "part", f"N{number}") for number in range(9)]
    rows += [("N0", "owner", f"P{number}") for number in range(9)]
    question = "Who is the owner of a part of Hub?"
    _, (prompt, *_), _ = ask(question, knowledge=graph_of(rows), tails=6, fan=4)
    counts = {line.count("(P") or line.count("(N"): line[-14:] for line in lines(prompt)}
    assert counts == {6: "... and 3 more", 4: "... and 5 more"}


def test_only_so_many_relations_are_compared_at_a_hop() -> None:
    rows = [("Hub", f"relation {number}", f"N{number}") for number in range(9)]
    _, _, events = ask("What about Hub?", knowledge=graph_of(rows), near=0, depth=1, relation_options=4)
    assert len(paths_kept(events)) == 4


def test_once_a_ceiling_is_spent_nothing_is_read() -> None:
    answer, prompts, events = ask("What is the capital of Colombia, and of Peru?", topic_prune=True, max_tokens=1)
    assert (answer["status"], prompts) == ("unknown", [])
    assert not any(event["type"] == "retrieved" for event in events)


def test_the_model_may_choose_the_starting_entities() -> None:
    question = "What is the capital of Colombia, and of Peru?"
    _, prompts, events = ask(question, topic_prune=True)
    assert prompts[0].role == "tog2.topic_prune"
    assert len({path.partition(")")[0] for path in paths_kept(events)}) == 1


def test_without_an_entity_no_model_is_asked() -> None:
    answer, prompts, _ = ask("Who wrote it?")
    assert (answer["status"], prompts) == ("unknown", [])


@pytest.mark.parametrize("task", ["fact", "truth"])
def test_a_claim_is_judged_by_paths_too(task: str) -> None:
    label = {"fact": "SUPPORTS", "truth": "true"}[task]
    two_hops = "(Baru) <-[highest point]- (Panama) -[capital]-> (Panama City)"
    claim = "Panama City is the capital of the country whose highest point is Baru."
    answer, prompts, _ = ask(claim, by_lines(two_hops, answer=label), task=task)
    assert (answer["answers"], len(prompts)) == ([label], 1)
