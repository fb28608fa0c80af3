"""Settings and states of the baselines that look once, or not at all (METHODS: direct, CoT, CoT-SC, RAG, KG-RAG)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from thinkgraph.state.base import RunState, Sample
from thinkgraph.state.knowledge import Candidate
from thinkgraph.state.settings import RANKER, ChunkSettings, RunSettings
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
