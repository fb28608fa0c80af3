"""One call judges and chooses for every chain (`steered`)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from graphs.fasttog.fasttog_kit import NEVER, answer_with, ask, chains, every, graph_of, names

from thinkgraph.nodes.fasttog.community_prune import NONE_FITS
from thinkgraph.prompts.parsed import ParsedPrompt


def steering(*scores: list[int]) -> Any:
    """A judgement that the chains do not suffice, with scores of what they may go on to."""
    return {**NEVER, "scores": [list(pair) for pair in scores]}


ROWS = [("a", "to", "b"), ("a", "to", "x"), ("b", "to", "c"), ("b", "to", "d"), ("x", "to", "y"), ("x", "to", "z")]


def test_one_call_judges_and_chooses_for_every_chain() -> None:
    shown: list[str] = []

    def steer(prompt: ParsedPrompt) -> Any:
        shown.append(prompt.text("options"))
        places = {hop.object: item.number for item in prompt.lines("options") for hop in item.triples}
        return steering([places["d"], 4], [places["c"], 9]) if "d" in places else steering()

    replies = {"fasttog.extract_subjects": names("a"), "fasttog.steer": steer, "fasttog.reason": answer_with("c")}
    answer, model = ask("Where does a lead?", replies, graph_of(*ROWS), hops=1, depth=1, steered=True)
    assert model.roles == ["fasttog.extract_subjects", "fasttog.header_choice", "fasttog.steer", "fasttog.reason"]
    assert [line for line in shown[0].splitlines() if line.startswith("Chain")] == ["Chain 1:", "Chain 2:"]
    # The best of each chain goes on; one of which nothing is scored ends.
    assert sorted(chains(answer)) == [[["b"], ["c"]], [["x"]]]
    assert {one["ended"] for one in answer["trace"]["data"]["chains"]} == {"", NONE_FITS}


def test_where_the_judgement_chose_nothing_each_chain_is_asked_about() -> None:
    replies = {"fasttog.extract_subjects": names("a"), "fasttog.steer": NEVER, "fasttog.reason": answer_with("c")}
    _, model = ask("Where does a lead?", replies, graph_of(*ROWS), hops=1, depth=1, steered=True)
    assert Counter(model.roles)["fasttog.community_prune"] == 2


def test_a_judgement_that_suffices_or_is_the_last_chooses_nothing() -> None:
    replies = {"fasttog.extract_subjects": names("a"), "fasttog.steer": answer_with("b")}
    answer, model = ask("Where does a lead?", replies, graph_of(*ROWS), hops=1, steered=True)
    assert (answer["answers"], model.roles[-1]) == (["b"], "fasttog.steer")
    _, model = ask("Where does a lead?", {}, graph_of(*ROWS), hops=1, depth=0, steered=True)
    assert "fasttog.steer" not in model.roles


def test_a_joined_call_shows_what_fits_and_a_chain_that_is_cut_is_asked_about() -> None:
    rows = [*ROWS, *((end, f"kind {number}", f"{end}{number}") for end in "bx" for number in range(40))]
    asked: list[str] = []

    def prune(prompt: ParsedPrompt) -> Any:
        asked.append(prompt.text("evidence"))
        return every(prompt)

    def steer(prompt: ParsedPrompt) -> Any:
        assert len(prompt.lines("options")) < len(rows) / 2
        # The relations nearest to the question stand first.
        first = prompt.lines("options")[0]
        assert "kind 7)" in first.text or "kind 7]" in first.text
        return steering([first.number, 9])

    replies = {"fasttog.extract_subjects": names("a"), "fasttog.steer": steer, "fasttog.community_prune": prune}
    knowledge = graph_of(*rows)
    _, model = ask("What is the kind 7 of a?", replies, knowledge, hops=1, depth=1, steered=True, steer_tokens=200)
    assert Counter(model.roles)["fasttog.community_prune"] == len(asked) == 1
