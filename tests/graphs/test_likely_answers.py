"""The words of a judge's prompt and the form of its reply ask for one thing: a likely answer, or none."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES
from graphs.fiske.fiske_kit import first_of, knowledge
from pydantic import Field

import thinkgraph as tg
from thinkgraph.graphs.registry import find_method
from thinkgraph.prompts.forms import LIKELIEST, LIKELY
from thinkgraph.prompts.library import PromptLibrary

NEVER = {"sufficient": False, "answers": [], "evidence": []}
NONE = re.compile(r"give no answer|either, give none")
SETTINGS: list[dict[str, Any]] = [{}, {"own_knowledge": True}, {"task": "fact"}, {"abstain": False}, {"partial": False}]


class Reading(FakeModel):
    """Keeps the system messages of its judges."""

    said: list[str] = Field(default_factory=list)

    def _reply(self, messages: Any) -> Any:
        reply = super()._reply(messages)
        self.said += [str(messages[0].content)] if self.asked[-1].kind == "judge" else []
        return reply


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("method", sorted(CASES))
def test_no_judge_is_asked_for_a_likely_answer_and_for_none(method: str, settings: dict[str, Any]) -> None:
    if not settings.keys() <= find_method(method).settings.model_fields.keys():
        pytest.skip("it has no such setting")
    case, prompts = CASES[method], PromptLibrary()
    model = Reading(
        {role: NEVER if prompts.get(role).kind.name == "judge" else case.replies[role] for role in case.replies}
    )
    graph = tg.build(method, model=model, knowledge=case.knowledge(), settings={**case.settings, **settings})
    graph.invoke({"question": case.question})
    assert model.said
    check(model)


def check(model: Reading) -> None:
    for said in model.said:
        assert not (NONE.search(said) and (LIKELY in said or LIKELIEST in said)), said


@pytest.mark.parametrize("own_knowledge", [False, True])
@pytest.mark.parametrize("ending_flag", [False, True])
def test_a_search_that_went_back_asks_for_a_likely_answer_only_where_one_counts(
    *, ending_flag: bool, own_knowledge: bool
) -> None:
    replies = {
        "fiske.extract_clues": {"keywords": ["Kenya", "buyer"]},
        "fiske.r_mapping": first_of(("buyer", "population"), ("buyer", "export partner")),
        **dict.fromkeys(("fiske.conclude", "recall.direct"), NEVER),
    }
    model = Reading(replies)
    settings = {"backtracks": 1, "ending_flag": ending_flag, "own_knowledge": own_knowledge}
    tg.build("fiske", knowledge=knowledge(), model=model, settings=settings).invoke({"question": "What is asked?"})
    assert len([said for said in model.said if "paths that a search" in said]) > 1, "it went back and judged again"
    check(model)
    assert any(LIKELY in said for said in model.said) is ending_flag
