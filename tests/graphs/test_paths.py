"""What is the method `paths`' own: relation paths from the starting entities, one judgement, then ToG-2's search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import AMERICA, PASSAGES, america

import thinkgraph as tg
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.state.knowledge import Neighbours, Relation, Step
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.testing.memory import MemoryGraphStore, MemoryTextStore
from thinkgraph.tools.knowledge import Knowledge

CAPITAL = "What is the capital of the country whose highest point is Baru?"
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
    model = FakeModel({"tog2.topic_prune": first, "tog2.relation_prune": every, "tog2.reason": seen(reason)})
    base = {"ranker": "bm25", "backtracks": 0, "depth": 2, "steered": False}
    graph = tg.build("paths", knowledge=knowledge or america(), model=model, settings={**base, **settings})
    streamed = list(graph.stream({"question": question}, stream_mode=["custom", "updates"]))
    events = [event for mode, event in streamed if mode == "custom"]
    answer = next(update["answer"]["answer"] for mode, update in streamed if mode == "updates" and "answer" in update)
    return answer, prompts, events


def lines(prompt: ParsedPrompt) -> list[str]:
    return [item.text for item in prompt.lines("evidence")]


def paths_kept(events: Sequence[Any]) -> list[str]:
    return next([one["label"] for one in event["kept"]] for event in events if event.get("what") == "paths")


def test_one_call_answers_what_takes_two_hops() -> None:
    two_hops = "(Baru) <-[highest point]- (Panama) -[capital]-> (Panama City)"
    answer, prompts, events = ask(CAPITAL, by_lines(two_hops, answer="Panama City"))
    assert (answer["answers"], answer["status"]) == (["Panama City"], "grounded")
    assert [prompt.role for prompt in prompts] == ["tog2.reason"]
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
    assert [prompt.role for prompt in prompts] == ["tog2.reason", "tog2.relation_prune", "tog2.reason"]
    assert [item.label or item.text for item in prompts[1].lines("entities")][:2] == ["Baru", "Panama"]
    assert (answer["answers"], answer["rounds"]) == (["Panama City"], 1)


def test_a_search_that_finds_nothing_goes_back_as_tog2_does() -> None:
    answer, prompts, _ = ask("Which queen visited Baru?", depth=1, backtracks=1)
    assert answer["status"] == "unknown"
    assert [prompt.role for prompt in prompts] == ["tog2.reason", *["tog2.relation_prune", "tog2.reason"] * 2]


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
    question = "What is the capital of what borders a country that borders Panama?"
    settings = {"near": 0, "depth": 3, "top_paths": 200, "evidence_tokens": 100_000}
    _, (shown, *_), _ = ask(question, **settings)
    _, (cycles, *_), _ = ask(question, **settings, avoid_cycles=False)
    # Lists are whole either way.
    whole = "(Panama) -[borders]-> (Colombia) <-[borders]- (Panama)"
    assert any(line.startswith(whole) or line == whole for line in lines(shown))
    assert not any("(Colombia) <-[borders]- (Panama) -[" in line for line in lines(shown))
    assert any("(Colombia) <-[borders]- (Panama) -[" in line for line in lines(cycles))


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
