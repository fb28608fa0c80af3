"""A method as a LangChain tool: an agent asks a question and gets an answer with what it stands on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from pydantic import BaseModel, ConfigDict, Field

from thinkgraph.errors import SettingsError, UsageError
from thinkgraph.integrations.langchain.graph_fields import GraphFields, unbounded
from thinkgraph.integrations.langchain.shared import answer_text
from thinkgraph.state.answer import Answer

DESCRIPTION = (
    "Answers a question from a knowledge graph and the documents about its entities, and says what the answer stands on. "
    "Give one complete question that names the things it asks about; it may need several steps (the capital of the country "
    "whose highest point is X). The first line of the result is the answer, the second its status: grounded (the evidence "
    "holds it), partial (a best guess), memory (not from the evidence) or unknown; the third says how sure it is, from 0 to 1."
)


class QuestionArguments(BaseModel):
    """Arguments of ThinkGraphTool."""

    question: str = Field(
        description="One complete question in plain words. It is understood without the conversation: put names, not 'it'."
    )


class ThinkGraphTool(GraphFields, BaseTool):
    """One of the methods as a tool.

        tool = tg.ThinkGraphTool(knowledge="world", method="tog2", model="openai:gpt-4o-mini")
        agent = create_agent("openai:gpt-4o-mini", [tool], checkpointer=InMemorySaver())

    The content is the answer with its status and citations as text, the artifact the whole answer (`Answer`, a dict). In an
    agent with a checkpointer a run of this tool is checkpointed as well: progress streams through the agent's own stream
    (`stream_mode="custom", subgraphs=True`), and what the run asks with `ask_user` pauses the agent.

    A question that cannot be asked (empty, too long) is a ToolException, which by default the model gets to read; a model or
    store that fails raises, so that the agent's run stops there and can be resumed.

    Args:
        knowledge: opened knowledge, or what `Knowledge.open` takes.
        method: a registered name, as for `thinkgraph.build`.
        model: as for `thinkgraph.build`: "offline", "provider:name", a LangChain chat model, or a mapping by role.
        settings: as for `thinkgraph.build`: a mapping by name, or the method's own settings.
        prompts: folder with files that override built-in prompts.
        journal: where replies are kept; without one, in the LangGraph store the agent runs with.

    Raises:
        ThinkGraphError: when it is made: an unknown method, settings out of range, knowledge that cannot be opened.
    """

    model_config = ConfigDict(extra="forbid")

    name: str = "ask_knowledge_graph"
    description: str = DESCRIPTION
    args_schema: type[BaseModel] = QuestionArguments
    response_format: Literal["content", "content_and_artifact"] = "content_and_artifact"
    handle_tool_error: Any = True

    def _run(self, question: str, config: RunnableConfig) -> tuple[str, Answer]:
        try:
            result = self._graph.invoke({"question": question}, unbounded(config), context=self._context)
        except UsageError as error:
            raise _refused(error) from error
        return _reply(result)

    async def _arun(self, question: str, config: RunnableConfig) -> tuple[str, Answer]:
        try:
            result = await self._graph.ainvoke({"question": question}, unbounded(config), context=self._context)
        except UsageError as error:
            raise _refused(error) from error
        return _reply(result)


def _refused(error: UsageError) -> Exception:
    """What the model can mend is for the model to read; settings are not its business."""
    return error if isinstance(error, SettingsError) else ToolException(str(error))


def _reply(result: Mapping[str, Any]) -> tuple[str, Answer]:
    answer: Answer = result["answer"]
    return answer_text(answer), answer
