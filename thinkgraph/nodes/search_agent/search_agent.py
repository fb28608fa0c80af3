"""The search agent: LangChain's `create_agent` with one model and one tool, search(entity, direction, relations)."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.constants import TAG_HIDDEN
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from thinkgraph.models.budget import BudgetSpentError
from thinkgraph.models.calls import ModelCall, rendered
from thinkgraph.models.ops import Flow, Update
from thinkgraph.models.wire.forms import pack
from thinkgraph.nodes.common.reports import retrieved
from thinkgraph.prompts.example_names import without_example_names
from thinkgraph.prompts.kinds import JUDGE, NOT_SUFFICIENT, Judgement, Shape
from thinkgraph.prompts.library import Message
from thinkgraph.prompts.lines import path_line, relation_line, safe_block
from thinkgraph.prompts.reading import BadReplyError, as_list
from thinkgraph.prompts.tasks import otherwise, task_labels, task_words
from thinkgraph.runtime import requests
from thinkgraph.runtime.deps import Deps
from thinkgraph.runtime.requests import AsyncTurn, Converse, Turn
from thinkgraph.state.evidence import EvidenceItem, Path, path_item, path_key
from thinkgraph.state.knowledge import Step, Triple, ends_of, step_along
from thinkgraph.state.search_agent import AgentReply, SearchAgentSettings, SearchAgentState
from thinkgraph.tools.linking.names import normal_name

ROLE = "search_agent.search"
_LABELS = 40
_DURABILITY: Final = "async"
"""Of the agent: a nested graph without checkpoints takes over the run's, and fails on "sync" (langgraph 1.2.22)."""


class SearchInput(BaseModel):
    """What the model fills in."""

    entity: str = Field(description="Name of an entity, exactly as a line or the question writes it.")
    direction: Literal["out", "in", "both"] = Field(
        "both", description="out: statements with the entity as subject; in: as object."
    )
    # Small models write a lone name, or the list as a text.
    relations: Annotated[list[str], BeforeValidator(lambda given: as_list(given, "relations"))] = Field(
        default_factory=list, description="Names of relations to follow; empty: list the entity's relations."
    )


@dataclass
class SearchLog:
    """What the searches of one run have shown: numbered lines and the evidence behind them."""

    settings: SearchAgentSettings
    lines: list[str] = field(default_factory=list)
    items: list[EvidenceItem | None] = field(default_factory=list)
    searches: int = 0
    _ids: dict[str, list[str]] = field(default_factory=dict)
    """Normal name to entity ids: those that lines have shown before those that a look-up finds."""

    def number(self, line: str, item: EvidenceItem | None) -> str:
        """Keep a line; gives it with its number."""
        self.lines.append(line)
        self.items.append(item)
        return f"[{len(self.lines)}] {line}"

    def search(self, deps: Deps, entity: str, direction: str, relations: Sequence[str]) -> str:
        """Carry out one search; the tool's answer."""
        self.searches += 1
        ids = self._named(deps, entity)
        if not ids:
            return f"There is no entity called {safe_block(entity)[:200]!r}. Search for a name that stands in the question or a line."
        edges = [edge for found in deps.call("graph.relations", ids) for edge in found]
        edges = [edge for edge in edges if direction == "both" or edge["direction"] == direction]
        labels = {one["id"]: one["label"] for one in deps.call("graph.entities", ids) if one is not None}
        if not relations:
            shown = [self.number(relation_line(edge, labels.get(edge["entity"], entity)), None) for edge in edges]
            return "\n".join(shown) or "Nothing is known about it in that direction."
        wanted = {normal_name(name) for name in relations}
        steps = [step_along(edge) for edge in edges if wanted & {normal_name(edge["name"]), normal_name(edge["label"])}]
        if not steps:
            known = ", ".join(dict.fromkeys(edge["label"] for edge in edges[:_LABELS]))
            return f"It has no such relation. Its relations: {known or 'none'}."
        found = deps.call("graph.neighbours", steps, limit=self.settings.tails, seed=self.settings.seed)
        said = [
            self._statement(step, neighbours["triples"], neighbours["total"])
            for step, neighbours in zip(steps, found, strict=True)
            if neighbours["triples"]
        ]
        return "\n".join(said)

    def _named(self, deps: Deps, name: str) -> list[str]:
        key = normal_name(name)
        if key not in self._ids:
            matches = deps.call("graph.lookup", [name], limit=self.settings.namesakes)[0]
            self._ids[key] = [match["entity"]["id"] for match in matches]
        return self._ids[key][: self.settings.namesakes]

    def _statement(self, step: Step, triples: Sequence[Triple], total: int) -> str:
        for triple in triples:
            for end, label, is_object in ends_of(triple):
                if is_object and triple["literal"]:
                    continue
                ids = self._ids.setdefault(normal_name(label), [])
                if end not in ids:
                    ids.append(end)
        key = path_key(step["entity"], step["relation"], step["direction"])
        path = Path(start=step["entity"], triples=[])
        item = path_item(key, path, [triple["id"] for triple in triples], total=total, score=1.0, number=self.searches)
        return self.number(path_line(step["entity"], [], triples, total=total), item)


class TurnModel(BaseChatModel):
    """What `create_agent` takes for its model: every turn goes through our journal, budget and usage.

    It is no chat model to LangChain's caches and tracers: the model that a turn asks is.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    turn: Any = None
    aturn: Any = None
    request: Any = None
    """Makes the request of a turn from the tools."""

    @property
    def _llm_type(self) -> str:
        return "thinkgraph-turn"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        """See BaseChatModel."""
        del kwargs
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:  # noqa: A002 - Runnable's
        """See BaseChatModel."""
        del config
        message: AIMessage = self.turn(*self._asked(input, **kwargs))
        return message

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AIMessage:  # noqa: A002
        """See BaseChatModel."""
        del config
        message: AIMessage = await self.aturn(*self._asked(input, **kwargs))
        return message

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    def _asked(self, messages: Sequence[BaseMessage], tools: Sequence[Any] = (), **_: Any) -> tuple[Any, list[Message]]:
        return self.request(tools, len(messages)), [pack(one) for one in messages]


@dataclass(frozen=True)
class SearchAgent(Converse[AgentReply]):
    """The whole conversation about one question."""

    question: str
    settings: SearchAgentSettings
    log: SearchLog

    def _request(self, tools: Sequence[Mapping[str, Any]], length: int) -> ModelCall[Judgement]:
        settings = self.settings
        return ModelCall(
            kind=JUDGE,
            role=ROLE,
            inputs={},
            shape=Shape(
                evidence=len(self.log.lines), labels=task_labels(settings.task, self.question), explain=settings.explain
            ),
            fallback=NOT_SUFFICIENT,
            key=str(length),
            tools=tuple(tools),
        )

    def _tool(self, deps: Deps) -> BaseTool:
        in_order = asyncio.Lock()

        def search(entity: str, direction: str = "both", relations: Sequence[str] = ()) -> str:
            return self.log.search(deps, entity, direction, relations)

        async def asearch(entity: str, direction: str = "both", relations: Sequence[str] = ()) -> str:
            # One after the other, in the order asked: line numbers must come out the same in a resumed run.
            async with in_order:
                return await asyncio.to_thread(self.log.search, deps, entity, direction, relations)

        return StructuredTool.from_function(
            search,
            asearch,
            name="search",
            description="Look at the knowledge graph around one entity: its relations, or the statements of some of them.",
            args_schema=SearchInput,
        )

    def _agent(self, deps: Deps, **turn: Any) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        from langchain.agents import create_agent
        from langchain.agents.middleware import ModelCallLimitMiddleware

        settings = self.settings
        prompt = deps.prompts.get(ROLE)
        inputs = {
            "question": safe_block(self.question),
            "task": task_words(settings.task, self.question),
            "else": otherwise(own=settings.own_knowledge),
        }
        messages = rendered(prompt, inputs, self._request((), 0).shape, deps.models, settings)
        model = TurnModel(request=self._request, **turn)
        limit = ModelCallLimitMiddleware(run_limit=settings.turns, exit_behavior="end")
        # Without a checkpointer of its own or the run's: the journal brings the conversation back after a kill.
        agent = create_agent(model, [self._tool(deps)], middleware=[limit], checkpointer=False)
        config = {
            # A turn is a model step, a tool step and what the middleware adds.
            "recursion_limit": 8 * settings.turns + 20,
            "max_concurrency": 1,
            # Its messages are steps on the way, not the conversation that is streamed.
            "tags": [TAG_HIDDEN],
        }
        # LangGraph says so of the durability below.
        warnings.filterwarnings("ignore", "`durability` has no effect")
        return agent, {"messages": [{"role": message[0], "content": message[1]} for message in messages]}, config

    def _reply(self, messages: Sequence[BaseMessage], deps: Deps) -> AgentReply:
        own = [message for message in messages if isinstance(message, AIMessage)]
        last = own[-1] if own else AIMessage(content="")
        return AgentReply(
            text="" if last.tool_calls else self._own_words(str(last.text), deps),
            lines=self.log.lines,
            items=[item["id"] if item else "" for item in self.log.items],
        )

    def _own_words(self, text: str, deps: Deps) -> str:
        """A last message; where it copied an answer from the prompt's examples, as JSON without it."""
        try:
            judgement = JUDGE.parse(text, self._request((), 0).shape)
        except BadReplyError:
            return text
        shown = {"question": self.question, "lines": "\n".join(self.log.lines)}
        left = without_example_names(judgement, deps.prompts.get(ROLE).example_names, shown)
        sufficient = left["sufficient"] and bool(left["answers"])
        return text if left == judgement else json.dumps({**left, "sufficient": sufficient})

    def run(self, turn: Turn, deps: Deps) -> AgentReply:
        """See Converse."""
        agent, start, config = self._agent(deps, turn=turn)
        return self._reply(agent.invoke(start, config, durability=_DURABILITY)["messages"], deps)

    async def arun(self, turn: AsyncTurn, deps: Deps) -> AgentReply:
        """See Converse."""
        agent, start, config = self._agent(deps, aturn=turn)
        return self._reply((await agent.ainvoke(start, config, durability=_DURABILITY))["messages"], deps)


def search_agent(state: SearchAgentState, settings: SearchAgentSettings) -> Flow[Update]:
    """Let the agent search until it answers, or until its turns or a ceiling are spent."""
    log = SearchLog(settings)
    stopped = ""
    try:
        given = yield from requests.converse(SearchAgent(state["question"], settings, log))
    except BudgetSpentError as spent:
        stopped = spent.reason
        given = AgentReply(text="", lines=log.lines, items=[])
    evidence = {item["id"]: item for item in log.items if item is not None}
    yield from retrieved(
        log.searches,
        [line for line, item in zip(log.lines, log.items, strict=True) if item is not None][-5:],
        triples=sum(len(item["tails"]) for item in evidence.values()),
    )
    update: Update = {"given": given, "round": log.searches, "evidence": evidence}
    return {**update, "stopped": stopped} if stopped else update
