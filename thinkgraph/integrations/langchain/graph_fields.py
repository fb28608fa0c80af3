"""What the retriever and the tool have in common: the fields that say which graph is asked, and the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from thinkgraph.graphs.build import MAX_STEPS, Graph, build
from thinkgraph.integrations.langchain.shared import opened
from thinkgraph.models.journal import Journal
from thinkgraph.models.roles import OFFLINE
from thinkgraph.state.settings import explicit


class GraphFields(BaseModel):
    """Base of a LangChain class that asks one graph.

    Raises:
        ThinkGraphError: when it is made: an unknown method, settings out of range, knowledge that cannot be opened, or what
            else `build` refuses.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    knowledge: Any = Field(default="world", repr=False)
    method: str = "tog2"
    model: Any = Field(default=OFFLINE, repr=False)
    settings: Any = None
    prompts: str | Path | None = None
    journal: Journal | None = Field(default=None, repr=False)

    _graph: Graph = PrivateAttr()
    _context: dict[str, Any] = PrivateAttr(default_factory=dict)
    """Of every call: a nested graph that is given no context takes its caller's, an agent's."""

    def model_post_init(self, context: Any, /) -> None:
        """Open the knowledge and build the graph, so that what is wrong shows now and not in the middle of an agent's run."""
        super().model_post_init(context)
        self.knowledge = opened(self.knowledge)
        self._graph = build(
            self.method,
            knowledge=self.knowledge,
            model=self.model,
            settings=self.settings,
            prompts=self.prompts,
            journal=self.journal,
        )
        self._context = explicit(self.settings)


def unbounded(config: RunnableConfig) -> RunnableConfig:
    """The config with room for all steps of a run: how many its caller may take, an agent say, is no matter of ours."""
    return {**config, "recursion_limit": MAX_STEPS}
