"""Lists that chains hold in part reach Reason whole (`whole_lists`)."""

from __future__ import annotations

from typing import Any

import pytest
from graphs.fasttog.fasttog_kit import NEVER, ask, chains, graph_of, holding, names

from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.tools.knowledge import Knowledge

BOOKS = [f"Book {letter}" for letter in "abcdefgh"]
ROWS = [("Ann", "wrote", book) for book in BOOKS] + [(book, "set in", f"Town {book[-1]}") for book in BOOKS[:6]]
WHERE = "Where are the books set that Ann wrote?"


def first(prompt: ParsedPrompt) -> Any:
    return {"numbers": [1]}


def judged_with(*answers: str) -> tuple[Any, list[ParsedPrompt]]:
    """A judge that answers as soon as a line names all of these, and what it was shown."""
    seen: list[ParsedPrompt] = []

    def judge(prompt: ParsedPrompt) -> Any:
        seen.append(prompt)
        for item in prompt.lines("evidence"):
            if set(answers) <= {end for hop in item.triples for end in (hop.subject, hop.object)}:
                return {"sufficient": True, "answers": list(answers), "evidence": [item.number]}
        return NEVER

    return judge, seen


def walked(judge: Any, knowledge: Knowledge | None = None, question: str = WHERE, **settings: Any) -> Any:
    replies = {"fasttog.extract_subjects": names("Ann"), "fasttog.reason": judge}
    choices = {"fasttog.header_choice": first, "fasttog.community_prune": first}
    answer, _ = ask(
        question,
        replies | choices,
        knowledge or graph_of(*ROWS),
        **({"hops": 1, "depth": 2, "whole_lists": 12} | settings),
    )
    return answer


def whole(prompt: ParsedPrompt) -> list[Any]:
    """The lines of whole lists, as the judge reads them."""
    text = prompt.text("evidence")
    count = text.partition("Lists of the chains, whole:")[2].count("\n[")
    return list(prompt.lines("evidence"))[-count:] if count else []


def test_a_list_of_which_a_chain_holds_one_member_is_shown_whole_and_cited() -> None:
    towns = [f"Town {book[-1]}" for book in BOOKS[:6]]
    judge, seen = judged_with(*towns)
    answer = walked(judge)
    assert (answer["status"], answer["answers"]) == ("grounded", towns)
    assert len(chains(answer)[0]) == 2, "the chain itself holds one book and one town"
    (line,) = [path["text"] for path in answer["evidence"]["paths"]]
    assert all(name in line for name in [*towns, *BOOKS])
    assert {one["kind"] for one in answer["support"]} == {"path"}
    assert "Lists of the chains, whole:" in seen[-1].text("evidence")


def test_without_it_the_chains_alone_are_shown() -> None:
    judge, seen = judged_with("Town a", "Town b")
    assert walked(judge, whole_lists=0)["status"] == "unknown"
    assert not any(whole(prompt) for prompt in seen)


def test_what_the_chains_hold_whole_is_not_repeated() -> None:
    judge, seen = judged_with("nothing")
    walked(judge, graph_of(("Ann", "wrote", "Book a"), ("Book a", "set in", "Town a")))
    assert seen
    assert not any(whole(prompt) for prompt in seen)


@pytest.mark.parametrize("room", [200, 400])
def test_a_list_too_long_for_its_room_says_how_many_more_there_are(room: int) -> None:
    rows = [("Ann", "wrote", f"Book {number}") for number in range(300)]
    judge, seen = judged_with("nothing")
    walked(judge, graph_of(*rows), evidence_tokens=room, depth=0)
    (line,) = whole(seen[0])
    shown = sum(len(item.object) > 0 for item in line.triples)
    assert 1 < shown < 300
    assert f"... and {300 - shown} more" in line.text
    assert len(line.text) / 4 < room


def test_it_follows_the_relation_paths_that_fit_the_question() -> None:
    others = [(book, f"kind {n}", f"thing {book[-1]}{n}") for book in BOOKS for n in range(9)]
    judge, seen = judged_with("nothing")
    walked(judge, graph_of(*ROWS, *others), community_size=12, width=1, hops=2, decay=1.0)
    relations = {hop.relation for prompt in seen for line in whole(prompt) for hop in line.triples}
    assert "set in" in relations
    assert not any(name.startswith("kind") for name in relations)


def test_a_longer_way_to_what_stands_nearer_too_is_walked() -> None:
    films = [f"Film {number}" for number in range(2, 8)]
    kinds = ["Drama", "War", "Comedy", "Crime", "Horror", "Music"]
    rows = [("Film 1", "genre", "Drama"), *[(film, "directed by", "Ann") for film in ["Film 1", *films]]]
    judge, _ = judged_with(*kinds)
    answer, _ = ask(
        "Which genre are the films directed by the director of Film 1?",
        {
            "fasttog.extract_subjects": names("Film 1"),
            "fasttog.header_choice": holding("Ann"),
            "fasttog.community_prune": holding("Film 2"),
            "fasttog.reason": judge,
        },
        graph_of(*rows, *[(film, "genre", kind) for film, kind in zip(films, kinds, strict=True)]),
        hops=1,
        depth=2,
        whole_lists=12,
    )
    assert answer["status"] == "grounded"
