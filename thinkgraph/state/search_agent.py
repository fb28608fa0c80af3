"""State and settings of the search agent (Search-on-Graph): one tool-calling model with one search tool."""

from __future__ import annotations

from pydantic import Field
from typing_extensions import TypedDict

from thinkgraph.state.base import RunState
from thinkgraph.state.settings import RunSettings


class SearchAgentSettings(RunSettings):
    """One tool-calling model with one search tool (Search-on-Graph)."""

    turns: int = Field(10, ge=1, le=100, description="Most turns of the model; the last must be its answer.")
    tails: int = Field(50, ge=1, le=1_000, description="Most statements listed per entity, relation and direction.")
    namesakes: int = Field(3, ge=1, le=20, description="Most entities that one searched name stands for.")


class AgentReply(TypedDict):
    """How the agent ended."""

    text: str
    lines: list[str]
    """The lines its searches showed, in the order of their numbers."""
    items: list[str]
    """Id of each line's evidence item; empty for a line that is no evidence (a list of relations)."""


class SearchAgentState(RunState):
    """The agent's channels."""

    given: AgentReply | None
