"""Settings and states of the baselines that the papers compare with (METHODS: direct, CoT, CoT-SC, RAG, KG-RAG, ToG)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from thinkgraph.state.base import RunState, Sample, TaskState
from thinkgraph.state.knowledge import Candidate
from thinkgraph.state.settings import RANKER, ChunkSettings, RunSettings
from thinkgraph.state.tog2 import BeamSettings, BeamState, Hop
from thinkgraph.state.usage import merge_records


class RecallSettings(RunSettings):
    """No retrieval: the model's memory is all there is, so it is allowed unless it is switched off."""

    own_knowledge: bool = Field(True, description="Off: every answer is `unknown`, as nothing else is asked.")


class CotScSettings(RecallSettings):
    """Self-consistency over chains of thought (Wang et al. 2023)."""

    samples: int = Field(10, ge=2, le=100, description="Chains of thought.")
    sample_temperature: float = Field(0.7, ge=0, le=2, description="Their temperature.")


class RecallState(RunState):
    """Channels of the baselines without retrieval."""

    samples: Annotated[dict[str, Sample], merge_records]


class RagSettings(ChunkSettings):
    """Retrieval by vector alone, one call."""

    scope: Literal["entities", "corpus"] = Field(
        "entities", description="Search the linked entities' documents (ToG-2's vanilla RAG), or the whole corpus."
    )
    top_k: int = Field(10, ge=1, le=200, description="Chunks shown.")
    rank_texts: int = Field(64, ge=8, le=2_000, description="Most chunks scored exactly.")
    link_candidates: int = Field(20, ge=1, le=100, description="Most linked entities whose documents are searched.")
    cot: bool = Field(False, description="Reason step by step before answering.")
    partial: bool = Field(
        True,
        description="Take a likely answer for want of a sure one (with own_knowledge the model's own comes first).",
    )


class KgRagSettings(RunSettings):
    """The triples around the linked entities, ranked by vector, one call (KAPING; FastToG's 1-d 1-w)."""

    top_k: int = Field(10, ge=1, le=200, description="Triples shown.")
    neighbours: int = Field(200, ge=1, le=5_000, description="Most triples fetched per linked entity.")
    ranker: str = Field("dense", pattern=RANKER, description="What scores triples.")
    rank_texts: int = Field(200, ge=8, le=2_000, description="Most triples scored exactly; those sharing words first.")
    link_candidates: int = Field(20, ge=1, le=100, description="Most linked entities whose triples are fetched.")
    cot: bool = Field(False, description="Reason step by step before answering.")
    partial: bool = Field(
        True,
        description="Take a likely answer for want of a sure one (with own_knowledge the model's own comes first).",
    )


class RetrievalState(RunState):
    """Channels of the baselines that retrieve once."""

    candidates: list[Candidate]


class TogSettings(BeamSettings):
    """Think-on-Graph (Sun et al. 2024): beam search in which the model prunes relations, then entities."""

    depth: int = Field(3, ge=1, le=10, description="D: rounds.")
    relations: int = Field(3, ge=1, le=50, description="Relations kept per entity before the beam is cut to W.")
    options: int = Field(60, ge=2, le=400, description="Most statements of one relation that the model scores.")
    backtracks: int = Field(0, ge=0, le=0, description="ToG does not go back to what it pruned.")

    @property
    def hops(self) -> int:
        """The beam's width, over all topic entities."""
        return self.width


class HopScore(TypedDict):
    """How the model scored one triple of a hop."""

    hop: int
    """Place in `hops`."""
    triple: str
    score: float


class TogState(BeamState):
    """ToG's channels."""

    scores: Annotated[dict[str, HopScore], merge_records]
    """Of this round: emptied when the beam is cut."""


class EntityPruneTask(TaskState):
    """Payload of one entity-prune call: one hop."""

    number: int
    """Its place in `hops`."""
    hop: Hop


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
