"""A chatbot over an existing Neo4j database: LangChain's `create_agent` with a method as its tool.

    scripts/neo4j-server --load examples/neo4j/movies.cypher
    python examples/neo4j/chatbot.py bolt://127.0.0.1:7687                                # offline: no key, modest skill
    python examples/neo4j/chatbot.py bolt://127.0.0.1:7687 --model openai:gpt-4o-mini     # any model that calls tools

The password comes with the address or from NEO4J_PASSWORD. Nothing is ever written to the database, and no model writes a query.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver

import thinkgraph as tg

PROMPT = "Answer from the knowledge graph alone, by the tool. Say what the answer stands on; if its status is unknown, say so."


class PassItOn(BaseChatModel):
    """Stands for a model that calls tools: it hands every question to the tool and says what came back."""

    @property
    def _llm_type(self) -> str:
        return "pass-it-on"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        """The one tool."""
        return self.bind(tool=tools[0].name)

    def _generate(self, messages: list[BaseMessage], *_: Any, tool: str = "", **__: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            said = AIMessage("\n".join(last.text.splitlines()[:4]))
        else:
            said = AIMessage("", tool_calls=[{"name": tool, "args": {"question": last.text}, "id": str(len(messages))}])
        return ChatResult(generations=[ChatGeneration(message=said)])


def main(argv: Sequence[str] | None = None) -> None:
    """Read questions from standard input, a line each, and answer them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("database", help="bolt://user:password@host:7687")
    parser.add_argument("--model", default="offline", help="provider:name; without it nothing is asked outside")
    args = parser.parse_args(argv)

    with tg.Knowledge.open(args.database) as kb:
        tool = tg.ThinkGraphTool(knowledge=kb, method="tog2", model=args.model, settings={"ranker": "bm25"})
        speaker = PassItOn() if args.model == "offline" else init_chat_model(args.model)
        agent = create_agent(speaker, [tool], system_prompt=PROMPT, checkpointer=InMemorySaver())
        thread: Any = {"configurable": {"thread_id": "chat"}}
        for line in sys.stdin:
            if question := line.strip():
                print(f"> {question}")
                print(agent.invoke({"messages": [("user", question)]}, thread)["messages"][-1].text)


if __name__ == "__main__":
    try:
        main()
    except tg.ThinkGraphError as error:
        sys.exit(f"chatbot: error: {error}")
