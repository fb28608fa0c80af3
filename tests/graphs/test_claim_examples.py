"""A run over a claim shows its models examples of claims; what it asks of a part of the claim shows examples of questions."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import FakeModel
from graphs.cases import CASES
from pydantic import Field

import thinkgraph as tg
from thinkgraph.prompts.parsed import parse_prompt


class Reading(FakeModel):
    """Keeps what each prompt asks, its examples first."""

    shown: list[list[str]] = Field(default_factory=list)

    def _reply(self, messages: Any) -> Any:
        asked = [parse_prompt("", str(one.content)).text("question") for one in messages if one.type == "human"]
        self.shown.append([text for text in asked if text])  # a repair asks nothing
        return super()._reply(messages)


@pytest.mark.parametrize("task", ["question", "fact", "truth"])
@pytest.mark.parametrize("method", sorted(CASES))
def test_examples_are_of_the_task(method: str, task: str) -> None:
    case = CASES[method]
    model = Reading(case.replies)
    settings = {**case.settings, "task": task}
    tg.build(method, model=model, knowledge=case.knowledge(), settings=settings).invoke({"question": case.question})
    assert model.shown
    for *examples, asked in model.shown:
        claims = [text for text in examples if not text.endswith("?")]
        assert bool(claims) is (asked == case.question and task != "question"), asked
