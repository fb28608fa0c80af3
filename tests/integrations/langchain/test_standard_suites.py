"""LangChain's own standard tests over our tools and our retriever."""

from __future__ import annotations

from typing import Any, ClassVar

from fakes import FakeModel
from graphs.cases import CASES, small_knowledge
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

import thinkgraph as tg

CASE = CASES["tog2"]


def options() -> dict[str, Any]:
    return {"knowledge": small_knowledge(), "model": FakeModel(CASE.replies), "settings": dict(CASE.settings)}


class AskTool:
    @property
    def tool_constructor(self) -> type[BaseTool]:
        return tg.ThinkGraphTool

    @property
    def tool_constructor_params(self) -> dict[str, Any]:
        return options()

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return {"question": CASE.question}


class TestAskToolUnit(AskTool, ToolsUnitTests):
    pass


class TestAskToolIntegration(AskTool, ToolsIntegrationTests):
    pass


class Knowing:
    """One of the tools that read knowledge."""

    name = ""
    example: ClassVar[dict[str, Any]] = {}

    @property
    def tool_constructor(self) -> BaseTool:
        return next(tool for tool in tg.knowledge_tools(small_knowledge()) if tool.name == self.name)

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return self.example


EXAMPLES: dict[str, dict[str, Any]] = {
    "find_entities": {"text": "Panama", "limit": 3},
    "relations_of": {"entity": "Panama"},
    "neighbours": {"entity": "Panama", "relation": "borders", "direction": "out"},
    "passages_of": {"entities": ["Panama"], "query": "age to vote"},
    "search_passages": {"query": "age to vote", "limit": 2},
}

# One pair of classes for each tool, found by pytest by their names.
for _name, _example in EXAMPLES.items():
    _title = _name.title().replace("_", "")
    _fields = {"name": _name, "example": _example}
    globals()[f"Test{_title}Unit"] = type(f"Test{_title}Unit", (Knowing, ToolsUnitTests), _fields)
    globals()[f"Test{_title}Integration"] = type(f"Test{_title}Integration", (Knowing, ToolsIntegrationTests), _fields)


def test_every_tool_is_covered() -> None:
    assert [tool.name for tool in tg.knowledge_tools(small_knowledge())] == list(EXAMPLES)


class TestRetriever(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return tg.ThinkGraphRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return options()

    @property
    def retriever_query_example(self) -> str:
        # Goes on for all its rounds, and so finds more than a handful.
        return CASE.other_question
