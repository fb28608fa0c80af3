"""State and settings of ToG-2 (Think-on-Graph 2.0, arXiv 2407.10805)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from thinkgraph.state.base import RunState, Sample, TaskState
from thinkgraph.state.evidence import Path
from thinkgraph.state.knowledge import Direction, LinkMethod
from thinkgraph.state.settings import RANKER, RunSettings
from thinkgraph.state.usage import merge_records


class Tog2Settings(RunSettings):
    """ToG-2's settings; defaults as in the paper where it gives them."""

    paper: ClassVar[Mapping[str, Any]] = {
        **RunSettings.paper,
        "skip_exact_topic": False,
        "skip_empty_reason": False,
        "avoid_cycles": False,
        "revisit_topics": False,
    }

    width: int = Field(3, ge=1, le=50, description="W: topic entities kept per round.")
    depth: int = Field(3, ge=0, le=10, description="D: rounds.")
    top_k: int = Field(10, ge=1, le=200, description="K: chunks kept as context per round.")
    relations: int = Field(3, ge=1, le=50, description="R: relations kept per topic entity.")
    min_relation_score: float = Field(1.0, ge=0, le=10, description="Relations scored lower are dropped.")
    alpha: float = Field(0.8, ge=0, le=10, description="Decay of a chunk's weight with its rank, in entity prune.")
    chunk_size: int = Field(1000, ge=50, le=20_000, description="Longest chunk, in characters.")
    chunk_overlap: int = Field(100, ge=0, le=5_000, description="Characters that neighbouring chunks share.")
    ranker: str = Field(
        "dense", pattern=RANKER, description="What scores chunks: dense, cross-encoder[:model or folder], bm25 or llm."
    )
    rank_texts: int = Field(64, ge=8, le=2_000, description="Most texts scored exactly per round, whatever the hub.")
    tails: int = Field(200, ge=1, le=5_000, description="Most triples fetched per entity, relation and direction.")
    combined: bool = Field(True, description="One relation-prune call for all topic entities (off: one per entity).")
    topic_prune: bool = Field(True, description="Let the model choose the starting entities (off: best link scores).")
    skip_exact_topic: bool = Field(True, description="Take a lone, exactly named, unambiguous topic without a call.")
    skip_empty_reason: bool = Field(
        True,
        description="With no evidence at all and own_knowledge off, go on without asking whether it is sufficient.",
    )
    clues: bool = Field(True, description="Carry clues between rounds and re-form the query (off: neither).")
    fused: bool = Field(True, description="Clues and query in Reason's own reply (off: a call of their own).")
    avoid_cycles: bool = Field(True, description="Drop a step that returns to an entity on the same path.")
    revisit_topics: bool = Field(
        True, description="A re-formed query also searches the documents of the entities the round starts from."
    )
    precheck: bool = Field(False, description="Self-consistency pre-check; needs own_knowledge.")
    precheck_samples: int = Field(10, ge=2, le=100, description="Samples of the pre-check.")
    precheck_threshold: float = Field(0.8, gt=0, le=1, description="Share of equal answers that ends the run.")
    precheck_temperature: float = Field(0.7, ge=0, le=2, description="Temperature of the pre-check's samples.")
    link_candidates: int = Field(20, ge=1, le=100, description="Most linked entities offered to topic prune.")

    @model_validator(mode="after")
    def _precheck_is_memory(self) -> Self:
        if self.precheck and not self.own_knowledge:
            raise ValueError("precheck answers from memory: it needs own_knowledge=true")
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError("chunk_overlap must be smaller than chunk_size")
        return self


class Candidate(TypedDict):
    """A linked entity before topic prune."""

    id: str
    label: str
    description: str
    method: LinkMethod
    mention: str
    score: float


class Topic(TypedDict):
    """A topic entity of a round with the path that led to it."""

    id: str
    label: str
    description: str
    path: Path
    on_path: list[str]
    """Ids of all entities on the path, this one included."""
    score: float


class KeptRelation(TypedDict):
    """A relation that relation prune kept."""

    round: int
    entity: str
    relation: str
    direction: Direction
    score: float


class Tog2State(RunState):
    """ToG-2's channels."""

    candidates: list[Candidate]
    topics: list[Topic]
    kept: Annotated[dict[str, KeptRelation], merge_records]
    samples: Annotated[dict[str, Sample], merge_records]
    clues: str
    query: str


class RelationPruneTask(TaskState):
    """Payload of one relation-prune call: all topic entities, or one."""

    topics: list[Topic]
