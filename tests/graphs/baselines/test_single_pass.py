"""The baselines that look once, `rag` and `kg_rag`: what one call makes of what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES
from langchain_core.caches import InMemoryCache

import thinkgraph as tg
from thinkgraph.ingest.build import build_kb
from thinkgraph.prompts.forms import LIKELIEST, LIKELY
from thinkgraph.testing.embedder import HashEmbedder
from thinkgraph.tools.knowledge import Knowledge
from thinkgraph.tools.sqlite.text import RANKED


@pytest.fixture(params=["rag", "kg_rag"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Reading(FakeModel):
    """Keeps the words of its last prompt."""

    said: str = ""

    def _reply(self, messages: Any) -> Any:
        self.said = "\n".join(str(message.content) for message in messages)
        return super()._reply(messages)


def answered(name: str, **settings: Any) -> tuple[Any, str]:
    case = CASES[name]
    (role,) = case.replies
    unsure = {"sufficient": False, "answers": case.answers, "evidence": [1]}
    model = Reading({role: unsure})
    graph = tg.build(name, model=model, knowledge=case.knowledge(), settings={**case.settings, **settings})
    return graph.invoke({"question": case.question})["answer"], model.said


def test_a_likely_answer_is_partial(name: str) -> None:
    answer, said = answered(name)
    assert (answer["answers"], answer["status"]) == (CASES[name].answers, "partial")
    assert LIKELY in said
    assert "give no answer" not in said


def test_without_partial_there_is_no_likely_answer(name: str) -> None:
    answer, said = answered(name, partial=False)
    assert (answer["answers"], answer["status"]) == ([], "unknown")
    assert LIKELY not in said


def test_own_knowledge_comes_before_a_likely_answer(name: str) -> None:
    _, said = answered(name, own_knowledge=True)
    assert LIKELY not in said


@pytest.mark.parametrize("name", ["direct", "cot", "cot_sc"])
@pytest.mark.parametrize("reply", [[], ["NOT ENOUGH INFO"]])
def test_a_claim_that_memory_cannot_settle_is_undecided(name: str, reply: list[str]) -> None:
    case = CASES[name]
    (role,) = case.replies
    judged = {"sufficient": bool(reply), "answers": reply, "evidence": []}
    graph = tg.build(
        name, model=FakeModel({role: judged}), knowledge=case.knowledge(), settings={**case.settings, "task": "fact"}
    )
    answer = graph.invoke({"question": "Baru lies in Colombia."})["answer"]
    assert (answer["answers"], answer["status"]) == (["NOT ENOUGH INFO"], "unknown")


@pytest.mark.parametrize("name", ["direct", "cot", "cot_sc"])
def test_what_is_asked_from_memory_always_answers_where_the_paper_is_wanted(name: str) -> None:
    case = CASES[name]
    (role,) = case.replies
    unsure = {"sufficient": False, "answers": ["12"], "evidence": []}
    for settings, status, words in (
        ({}, "unknown", "give no answer"),
        ({"preset": "paper"}, "memory", "give the likeliest one all the same"),
    ):
        model = Reading({role: unsure})
        graph = tg.build(name, model=model, knowledge=case.knowledge(), settings={**case.settings, **settings})
        assert graph.invoke({"question": case.question})["answer"]["status"] == status
        assert words in model.said
        assert (LIKELIEST in model.said) is (status == "memory")


def test_samples_are_not_one_reply_of_a_cache() -> None:
    case = CASES["cot_sc"]
    # Cold, the samples are the same prompt.
    model = FakeModel(case.replies, cache=InMemoryCache())
    graph = tg.build("cot_sc", knowledge=case.knowledge(), model=model, settings=dict(case.settings))
    for asked in (case.calls, case.calls - 1):
        before = len(model.asked)
        usage = graph.invoke({"question": case.question})["answer"]["usage"]["total"]
        assert len(model.asked) - before == asked
        assert (usage["calls"], usage["input_tokens"]) == (case.calls, 100 * asked)


def test_the_whole_corpus_knows_aliases(tmp_path: Path) -> None:
    """The passage shares only small words with the question, many others a word of weight: words alone would miss it."""
    rows = [{"id": "it", "title": "Netherlands", "text": "Which has which? The lion.", "entities": ["Netherlands"]}]
    rows += [
        {"id": f"n{i}", "title": f"Note {i}", "text": "An emblem, no more.", "entities": []} for i in range(RANKED)
    ]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "t.tsv").write_text("Netherlands\tcapital\tAmsterdam\n")
    (tmp_path / "aliases.json").write_text(json.dumps({"Netherlands": ["Holland"]}))
    embedder = HashEmbedder()
    build_kb(
        tmp_path / "kb",
        triples=[tmp_path / "t.tsv"],
        passages=[tmp_path / "p.jsonl"],
        aliases=tmp_path / "aliases.json",
        embedder=embedder,
    )
    model = Reading({"rag.reason": {"sufficient": False, "answers": [], "evidence": []}})
    with Knowledge.open(tmp_path / "kb", embedder=embedder) as knowledge:
        graph = tg.build("rag", model=model, knowledge=knowledge, settings={"scope": "corpus"})
        graph.invoke({"question": "Which emblem has Holland?"})
    assert "The lion." in model.said
