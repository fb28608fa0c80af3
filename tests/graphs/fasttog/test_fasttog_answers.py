"""FastToG's answers: reason, memory, the subjects of a question, texts of communities, settings (METHODS: FastToG)."""

from __future__ import annotations

from typing import Any

import pytest
from graphs.fasttog.fasttog_kit import CAPITAL, NEVER, ask, every, graph_of, holding, names

import thinkgraph as tg
from thinkgraph.errors import SettingsError
from thinkgraph.prompts.parsed import ParsedPrompt
from thinkgraph.state.fasttog import FastTogSettings
from thinkgraph.state.knowledge import Prose, Triple
from thinkgraph.state.settings import resolve_settings


def test_reason_takes_a_likely_answer_in_the_last_round_alone() -> None:
    likely = {"sufficient": False, "answers": ["Panama"], "evidence": [1]}
    replies = {"fasttog.header_choice": holding("Panama"), "fasttog.community_prune": every, "fasttog.reason": likely}
    answer, model = ask(CAPITAL, replies, depth=2)
    assert (answer["status"], answer["answers"], answer["rounds"]) == ("partial", ["Panama"], 2)
    assert model.roles.count("fasttog.reason") == 3
    answer, _ = ask(CAPITAL, replies, depth=2, partial=False)
    assert (answer["status"], answer["answers"]) == ("unknown", [])


def test_reason_judges_the_same_evidence_again_only_for_a_likely_answer() -> None:
    replies = {"fasttog.header_choice": holding("Panama"), "fasttog.community_prune": {"numbers": []}}
    _, model = ask(CAPITAL, replies)
    assert model.roles[3:] == ["fasttog.community_prune", "fasttog.reason"]
    _, model = ask(CAPITAL, replies, partial=False)
    assert model.roles[3:] == ["fasttog.community_prune"]


@pytest.mark.parametrize(("mode", "calls"), [("io", 1), ("cot", 1), ("cot_sc", 5), ("off", 0)])
def test_remember_is_the_fallback(mode: str, calls: int) -> None:
    known = {"sufficient": True, "answers": ["Panama City"], "evidence": []}
    replies = {"recall.direct": known, "recall.cot": {"why": "Baru is in Panama.", **known}}
    options = {"depth": 1, "partial": False, "fallback": mode}
    answer, model = ask(CAPITAL, replies, own_knowledge=True, **options)
    asked = [role for role in model.roles if role in {"recall.direct", "recall.cot"}]
    assert len(asked) == calls
    assert answer["status"] == ("memory" if calls else "unknown")
    assert answer["answers"] == (["Panama City"] if calls else [])
    assert answer["evidence"]["triples"] == []
    if mode == "cot_sc":
        assert "5 of 5 samples agree" in answer["reason"]
        assert len({str(prompt) for prompt in model.asked[-5:]}) == 1
    answer, model = ask(CAPITAL, replies, **options)
    assert (answer["status"], answer["answers"]) == ("unknown", [])
    assert not {"recall.direct", "recall.cot"} & set(model.roles)


def test_majority_counts_samples_that_differ_in_case_and_order_as_one_vote() -> None:
    said = iter([["Apple", "banana"], ["apple", "Banana"], ["Cherry"]])

    def sample(_: ParsedPrompt) -> Any:
        return {"sufficient": True, "answers": next(said), "evidence": []}

    options = {"own_knowledge": True, "fallback": "cot_sc", "fallback_samples": 3, "depth": 0, "partial": False}
    answer, _ = ask(CAPITAL, {"recall.cot": sample}, **options)
    # The samples run side by side, so either spelling may come first.
    assert [name.casefold() for name in answer["answers"]] == ["apple", "banana"]
    assert "2 of 3" in answer["reason"]


def test_remember_draws_samples_that_vote() -> None:
    said = iter(["Lima", "Panama City", "", "Panama City", "panama city"])

    def sample(_: ParsedPrompt) -> Any:
        answer = next(said)
        return {"sufficient": bool(answer), "answers": [answer] if answer else [], "evidence": []}

    options = {"own_knowledge": True, "fallback": "cot_sc", "depth": 0, "partial": False}
    answer, _ = ask(CAPITAL, {"recall.cot": sample}, **options)
    assert answer["status"] == "memory"
    assert answer["answers"][0].casefold() == "panama city"
    assert "3 of 5" in answer["reason"]


def test_a_question_without_entities_may_be_answered_from_memory() -> None:
    known = {"sufficient": True, "answers": ["7"], "evidence": []}
    replies = {"fasttog.extract_subjects": names(), "recall.direct": known}
    answer, model = ask("How many days has a week?", replies, graph_of(("a", "to", "b")), own_knowledge=True)
    assert (answer["status"], answer["answers"]) == ("memory", ["7"])
    assert model.roles == ["fasttog.extract_subjects", "recall.direct"]


def test_extract_subjects_looks_for_unreadable_names_in_the_question() -> None:
    answer, _ = ask(CAPITAL, {"fasttog.extract_subjects": "Baru, I should say"}, depth=0)
    assert answer["trace"]["data"]["start"] == [{"id": "Baru", "label": "Baru"}]
    answer, _ = ask(CAPITAL, {"fasttog.extract_subjects": names("Mount Nowhere")}, depth=0)
    assert [start["label"] for start in answer["trace"]["data"]["start"]] == ["Baru"]


def test_extract_subjects_starts_from_all_namesakes_the_setting_allows() -> None:
    rows = [(f"v{i}", "in", f"country {i}") for i in range(5)]
    towns = graph_of(*rows, labels={f"v{i}": "Valencia" for i in range(5)})
    for most in (1, 3):
        answer, _ = ask(
            "Where is Valencia?", {"fasttog.extract_subjects": names("Valencia")}, towns, namesakes=most, depth=0
        )
        assert len(answer["trace"]["data"]["start"]) == most
    answer, _ = ask(
        "Where is Valencia?", {"fasttog.extract_subjects": names("Valencia")}, towns, namesakes=10, subjects=4, depth=0
    )
    assert len(answer["trace"]["data"]["start"]) == 4


def describe(prompt: ParsedPrompt) -> Any:
    """A sentence for each triple; for the number alone something else, with a name of the prompt's example."""
    return {
        "texts": [
            "Nothing of the kind happened in Seddle."
            if "3475" in item.text
            else " ".join(f"{t.subject} {t.relation} {t.object}." for t in item.triples)
            for item in prompt.lines("options")
        ]
    }


def test_community_text_of_what_chains_hold_is_one_call_a_round() -> None:
    replies = {
        "fasttog.header_choice": holding("Panama", "3475"),
        "fasttog.community_prune": holding("Panama City"),
        "fasttog.community_text": describe,
        "fasttog.reason": lambda prompt: (
            {"sufficient": True, "answers": ["Panama City"], "evidence": [2]}
            if "Panama City" in prompt.text("evidence")
            else NEVER
        ),
    }
    answer, model = ask(CAPITAL, replies, community_text="llm")
    assert model.roles.count("fasttog.community_text") == 2
    shown = [item.text for item in model.asked[-1].lines("evidence")]
    assert shown == [
        "Panama highest point Baru.",
        "Panama capital Panama City.",
        "(Baru) -[elevation m]-> (3475)",
    ], "the invented text is replaced by T2T"
    assert answer["trace"]["data"]["texts"] == {"asked": 3, "fell_back": 1}
    assert answer["status"] == "grounded", "checked against the statements, whatever was shown"
    assert answer["evidence"]["paths"][1]["text"] == "(Panama) -[capital]-> (Panama City)"
    assert answer["trace"]["data"]["chains"][0]["communities"][1]["prose"] == "Panama capital Panama City."


def test_community_text_of_candidates_is_one_call_a_search() -> None:
    def last(prompt: ParsedPrompt) -> Any:
        panama = [item.number for item in prompt.lines("options") if item.text.startswith("Panama")]
        return {"numbers": panama[:1]}

    replies = {"fasttog.header_choice": last, "fasttog.community_prune": last, "fasttog.community_text": describe}
    _, model = ask(CAPITAL, replies, community_text="llm", prose_candidates=True, depth=1)
    assert model.roles[:4] == [
        "fasttog.extract_subjects",
        "fasttog.community_text",
        "fasttog.header_choice",
        "fasttog.reason",
    ]
    assert model.roles.count("fasttog.community_text") == 2
    assert any(item.text.endswith("Baru.") for item in model.asked[2].lines("options"))


def test_communities_are_sentences_where_the_paper_is_wanted() -> None:
    replies = {"fasttog.header_choice": {"numbers": [1]}, "fasttog.reason": NEVER}
    answer, model = ask(CAPITAL, replies, preset="paper", community_size=4, depth=0)
    assert "fasttog.community_text" not in model.roles
    choice = next(prompt for prompt in model.asked if prompt.role == "fasttog.header_choice")
    reason = next(prompt for prompt in model.asked if prompt.role == "fasttog.reason")
    told = [
        line
        for prompt in (choice, reason)
        for line in prompt.text("options" if prompt is choice else "evidence").splitlines()
    ]
    assert told
    assert not any("]->" in line or "<-[" in line for line in told)
    assert any("Panama highest point Baru" in line for line in told)
    (chain,) = answer["trace"]["data"]["chains"]
    (header,) = chain["communities"]
    # A sentence for every triple.
    assert header["prose"].count(", ") + 1 == len({*header["triples"], *header["joining"]})


@pytest.mark.parametrize("reply", ["", "{}", '{"texts": []}', '{"texts": ["one too many", "b", "c", "d", "e", "f"]}'])
def test_community_text_that_cannot_be_read_falls_back_to_t2t(reply: str) -> None:
    replies = {"fasttog.header_choice": holding("Panama"), "fasttog.community_text": reply}
    answer, model = ask(CAPITAL, replies, community_text="llm", depth=0)
    assert model.asked[-1].lines("evidence")[0].text == "(Panama) -[highest point]-> (Baru)"
    assert answer["trace"]["data"]["texts"] == {"asked": 1, "fell_back": 1}


class Writer:
    """Stands in for a graph-to-text checkpoint."""

    def __init__(self) -> None:
        self.passes: list[int] = []

    def write(self, communities: list[list[Triple]]) -> list[Prose]:
        self.passes.append(len(communities))
        return [
            Prose(text="Invented.", ok=False, problems=["invented: x"])
            if any(t["literal"] for t in triples)
            else Prose(text=f"About {triples[0]['subject_label']}.", ok=True, problems=[])
            for triples in communities
        ]


@pytest.mark.parametrize("candidates", [False, True])
def test_graph_to_text_writes_a_round_in_one_pass(monkeypatch: pytest.MonkeyPatch, candidates: bool) -> None:  # noqa: FBT001
    writer = Writer()
    monkeypatch.setattr("thinkgraph.tools.communities.g2t.writer", lambda _: writer)
    replies = {
        "fasttog.header_choice": lambda _: {"numbers": [1, 2, 3]},
        "fasttog.community_prune": lambda _: {"numbers": [1]},
    }
    answer, model = ask(CAPITAL, replies, community_text="g2t:somewhere", prose_candidates=candidates, depth=1)
    assert writer.passes[0] == 0, "loaded before any call"
    assert len(writer.passes) == 3, "one pass for the headers, one for the round"
    told = answer["trace"]["data"]["texts"]
    assert told["asked"] == sum(writer.passes)
    assert told["fell_back"] >= 1
    shown = [item.text for item in model.asked[-1].lines("evidence")]
    assert any(text.startswith("About ") for text in shown)
    assert "(Baru) -[elevation m]-> (3475)" in shown
    options = [item.text for item in model.asked[1].lines("options")]
    assert any(text.startswith("About ") for text in options) == candidates


def test_a_wrong_checkpoint_is_refused_before_any_call(tmp_path: Any) -> None:
    with pytest.raises(tg.ThinkGraphError) as found:
        ask(CAPITAL, {}, community_text=f"g2t:{tmp_path / 'nothing here'}")
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("text", ["prose", "g2t:", "g2t", "T2T"])
def test_text_modes_are_checked(text: str) -> None:
    with pytest.raises(SettingsError, match="community_text"):
        ask(CAPITAL, {}, community_text=text)


def test_the_papers_preset_gives_way_to_what_is_set() -> None:
    assert resolve_settings(FastTogSettings, {"preset": "paper", "candidates": 32}).candidates == 32


def test_chains_that_evidence_cannot_hold_are_refused() -> None:
    with pytest.raises(SettingsError, match=r"width × \(depth \+ 1\)"):
        ask(CAPITAL, {}, width=12, depth=10)
