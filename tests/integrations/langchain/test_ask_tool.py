"""A method as a tool: text for the model, the whole answer beside it."""

from __future__ import annotations

import asyncio

import pytest
from fakes import FakeModel
from graphs.cases import CASES
from langchain_core.tools import ToolException

import thinkgraph as tg
from thinkgraph.errors import KnowledgeError, ModelError, SettingsError, UsageError
from thinkgraph.integrations.langchain import shared

CASE = CASES["tog2"]


def call(tool, question=CASE.question):
    return tool.invoke({"type": "tool_call", "id": "1", "name": tool.name, "args": {"question": question}})


def test_content_says_answer_status_and_citations_and_the_artifact_is_the_answer(asked):
    tool = tg.ThinkGraphTool(**asked)
    message = call(tool)
    lines = message.content.splitlines()
    assert lines[0] == "18"
    assert lines[1].startswith("Status: grounded (")
    assert lines[2] == f"Confidence: {message.artifact['confidence']:.2f}"
    assert lines[3] == "Evidence:"
    assert any('(passage "p1") Panama / Voting: Citizens of Panama vote from the age of 18.' in line for line in lines)
    assert message.artifact["answers"] == ["18"]
    assert message.artifact["usage"]["total"]["calls"] == CASE.calls
    assert asyncio.run(tool.ainvoke({"question": CASE.question})) == message.content


def test_no_answer_says_so(asked):
    message = call(tg.ThinkGraphTool(**asked), CASE.other_question)
    assert message.content.startswith("I don't know: ")
    assert "Status: unknown (" in message.content
    assert message.artifact["status"] == "unknown"


def test_name_and_description_can_be_set_and_the_schema_is_one_question(asked):
    tool = tg.ThinkGraphTool(**asked, name="ask_films", description="Answers questions about films.")
    assert (tool.name, tool.description) == ("ask_films", "Answers questions about films.")
    assert list(tool.args) == ["question"]
    assert tool.args["question"]["type"] == "string"
    assert tool.args["question"]["description"]


def test_a_question_that_cannot_be_asked_is_told_to_the_model(asked):
    message = call(tg.ThinkGraphTool(**asked), "  ")
    assert message.status == "error"
    assert message.content == "the question is empty: ask something"
    with pytest.raises(ToolException, match="the question is empty"):
        tg.ThinkGraphTool(**asked, handle_tool_error=False).invoke({"question": " "})


def test_a_failing_model_and_wrong_settings_are_raised(asked):
    class Gone(FakeModel):
        def _reply(self, messages):
            raise ConnectionError("the server is gone")

    tool = tg.ThinkGraphTool(**{**asked, "model": Gone({}), "settings": {**asked["settings"], "call_retries": 0}})
    with pytest.raises(ModelError, match="the server is gone"):
        tool.invoke({"question": CASE.question})
    with pytest.raises(SettingsError, match="no setting 'widht'"):
        tg.ThinkGraphTool(**{**asked, "settings": {"widht": 1}})
    with pytest.raises(ValueError, match="width"):
        tg.ThinkGraphTool(**asked, width=1)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"knowledge": None}, KnowledgeError, "a knowledge base is named by a text or a path, not None"),
        ({"knowledge": 5}, KnowledgeError, "not 5"),
        ({"model": None}, UsageError, "a model is named provider:name, or is a LangChain chat model, not None"),
        ({"model": {"default": 5}}, UsageError, "not 5"),
        ({"settings": "width=3"}, SettingsError, "settings are given by name, .* not 'width=3'"),
        ({"settings": [1]}, SettingsError, r"not \[1\]"),
    ],
)
def test_what_is_something_else_is_told_in_one_line(asked, given, error, words):
    with pytest.raises(error, match=words) as raised:
        tg.ThinkGraphTool(**{**asked, **given})
    assert "\n" not in str(raised.value)


def test_citations_are_bounded(asked, monkeypatch):
    monkeypatch.setattr(shared, "MAX_CITED", 1)
    answer = call(tg.ThinkGraphTool(**asked)).artifact
    many = {**answer, "evidence": {**answer["evidence"], "passages": answer["evidence"]["passages"] * 3}}
    cited = len(many["evidence"]["passages"]) + len(many["evidence"]["paths"])
    text = shared.answer_text(many)
    assert text.count("\n[") == 1
    assert text.endswith(f"... and {cited - 1} more")
    long = {
        **answer,
        "evidence": {"triples": [], "paths": [{"text": "x" * 5000, "triples": [], "score": 1.0}], "passages": []},
    }
    assert max(map(len, shared.answer_text(long).splitlines())) <= shared.MAX_LINE + len("[1] ")
