"""State and settings of FastToG (Fast Think-on-Graph, arXiv 2501.14300)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from thinkgraph.state.base import BacktrackState, Sample, TaskState
from thinkgraph.state.evidence import MAX_EVIDENCE
from thinkgraph.state.knowledge import Candidate
from thinkgraph.state.settings import DoubtSettings, RunSettings
from thinkgraph.state.usage import merge_records

TEXTS = r"^(t2t|sentences|llm|g2t:.+)$"
"""How communities are put into words: by rule (t2t: our grammar; sentences: the paper's), by the model, or by a sequence-to-sequence
checkpoint (name or folder).
"""
HEADERS = "headers"
"""Key of the header choice's candidates."""


class FastTogSettings(DoubtSettings):
    """FastToG's settings.

    The paper gives W, D, M, the detector, the temperatures and the length of replies. It gives no hops, decay, caps and k: with the
    defaults the gold community of the first hop survives sampling and coarse prune for every 2-hop and 3-hop question of factbook
    (`benchmarks/fasttog.py`). `preset="paper"` takes the values of its published code, which lose it more often.
    """

    paper: ClassVar[Mapping[str, Any]] = {
        **RunSettings.paper,
        "hops": 3,
        "decay": 0.5,
        "node_cap": 20,
        "graph_cap": 100,
        "coarse": "modularity",
        "candidates": 8,
        "namesakes": 1,
        "prose_candidates": True,
        "partial": False,
        "skip_empty_reason": False,
        "wide_cap": None,
        "slow_graph_cap": None,
        "option_tokens": 1_000_000,
        "max_output_tokens": 1_024,
        "community_text": "sentences",
        "top_headers": True,
        "ask_lone": True,
        "ask_subjects": True,
        "steered": False,
        "whole_lists": 0,
        "backtracks": 0,
    }
    small: ClassVar[Mapping[str, Any]] = {**RunSettings.small, "pruning": "encoder", "steered": False, "whole_lists": 0}

    temperature_reason: float = Field(0.1, ge=0, le=2, description="Temperature of calls that reason.")
    width: int = Field(3, ge=1, le=12, description="W: chains of communities.")
    depth: int = Field(5, ge=0, le=10, description="D: rounds in which chains grow.")
    community_size: int = Field(4, ge=1, le=64, description="M: most nodes of a community.")
    detector: Literal["louvain", "girvan_newman", "hierarchical", "spectral", "random"] = Field(
        "louvain", description="What cuts the local graph into communities; random: the control."
    )
    hops: int = Field(2, ge=1, le=6, description="n: radius of the local graph, in hops; 1 with `community_size=1`.")
    decay: float = Field(0.5, gt=0, le=1, description="ρ: a node at hop h is kept with probability ρ^(h-1).")
    node_cap: int | None = Field(600, ge=1, description="Most statements read at one node; a sample beyond it.")
    wide_cap: int | None = Field(
        2_000, ge=1, description="Most statements read per hop beyond the first, for all nodes of all chains together."
    )
    hop_cap: int | None = Field(None, ge=1, description="Most nodes kept per hop.")
    graph_cap: int | None = Field(
        1000, ge=1, description="Most nodes of a local graph beside the community it surrounds."
    )
    slow_graph_cap: int | None = Field(
        100, ge=1, description="The same for girvan_newman, whose time grows with edges squared times nodes."
    )
    coarse: Literal["fair", "modularity", "random", "off"] = Field(
        "fair",
        description="Coarse prune: by modularity; the same in turns for each node that the search stands at and for its relations, which "
        "share node_cap too, so that no hub and no long list crowds out the others (fair); at random (the control); or none.",
    )
    candidates: int = Field(200, ge=1, le=400, description="k: communities that the coarse prune keeps.")
    option_tokens: int = Field(
        24_000,
        ge=200,
        le=1_000_000,
        description="Bound on the candidates in one prompt, in tokens: beyond it those of the lowest modularity go.",
    )
    community_text: str = Field(
        "t2t",
        pattern=TEXTS,
        description="Communities as text: t2t (by rule, lists put together), sentences (by rule, each triple for itself, as in the "
        "paper), llm, or g2t:MODEL (name or folder).",
    )
    prose_candidates: bool = Field(
        False,
        description="With other texts than t2t, the candidates of a fine prune in them too (off: only what chains hold).",
    )
    subjects: int = Field(6, ge=1, le=20, description="Most entities to start from.")
    namesakes: int = Field(3, ge=1, le=10, description="Most entities of one and the same name to start from.")
    top_headers: bool = Field(
        False, description="Ask for the W best headers (off: for as many of them as the question needs)."
    )
    ask_lone: bool = Field(False, description="Ask about a candidate that is alone too (off: it is taken unasked).")
    ask_subjects: bool = Field(
        False,
        description="Ask for the names in a question even if all that it writes like a name is an entity's (off: those are taken unasked).",
    )
    steered: bool = Field(
        True,
        description="A call that decides steers too: Reason's reply that the chains do not suffice scores the communities to go to next "
        "(off: a call for each chain).",
    )
    steer_tokens: int = Field(
        2_000,
        ge=200,
        le=1_000_000,
        description="Bound on the candidates that a joined call shows, in tokens: those whose relations are nearest to the question.",
    )
    whole_lists: int = Field(
        12,
        ge=0,
        le=96,
        description="Most lists that Reason is shown whole: those that the chains hold in part, along the relation paths that fit the "
        "question best. 0: none.",
    )
    skip_empty_reason: bool = Field(
        True, description="Without any community and own_knowledge off, go on without asking whether it is sufficient."
    )
    partial: bool = Field(True, description="In the last round take a likely answer if none is sure.")
    fallback: Literal["off", "io", "cot", "cot_sc"] = Field(
        "io", description="How the model answers from memory in the end; needs own_knowledge."
    )
    fallback_samples: int = Field(5, ge=2, le=50, description="Samples of the fallback cot_sc.")
    fallback_temperature: float = Field(0.7, ge=0, le=2, description="Temperature of those samples.")

    @model_validator(mode="after")
    def _evidence_holds_all_chains(self) -> Self:
        if self.width * (self.depth + 1) >= MAX_EVIDENCE:
            raise ValueError(f"width × (depth + 1) must stay below {MAX_EVIDENCE}, the evidence a run can hold")
        return self


class Community(TypedDict):
    """A small set of nodes with the triples among them: ids, and the labels that a trace shows."""

    id: str
    """Digest of its membership: the key of the history."""
    nodes: list[str]
    labels: list[str]
    literals: list[str]
    triples: list[str]
    joining: list[str]
    """Ids of the triples that join it to the communities before it in its chain."""
    round: int
    """The round it was found in; for a header the round before its chain grows, at first 0."""
    prose: str
    """Its text where it is not put into words by rule; empty otherwise."""


class CandidateCommunity(TypedDict):
    """A candidate of a fine prune. It holds no labels: a round may have hundreds, and checkpoints keep all."""

    nodes: list[str]
    triples: list[str]
    """Ids of the triples that join it to its chain, then of those inside."""
    prose: str
    """Its text where candidates are offered in prose; empty otherwise."""


class Chain(TypedDict):
    """A reasoning chain: communities one next to the other, from a header community onward."""

    number: int
    starts: list[str]
    """Ids of the subjects its header lies next to."""
    communities: Annotated[list[Community], Field(min_length=1)]
    """The header first."""
    ended: str
    """Why it grows no more; empty while it does. A chain that was left stays in the record."""


class Choice(TypedDict):
    """The outcome of a round's fine prune for one chain."""

    round: int
    community: Community | None
    """None: no candidate fits, or there was none."""
    ended: str
    """Why the chain ends here; empty where it goes on."""


class FastTogState(BacktrackState):
    """FastToG's channels."""

    subjects: list[Candidate]
    """The entities that the question speaks about: start communities c0 of one node each."""
    start: Community | None
    """The triples among the subjects themselves; None where there are none."""
    chains: list[Chain]
    history: list[str]
    """H: ids of the communities of all chains, starts and headers included. Of chains that were left, their ends alone."""
    candidates: dict[str, list[CandidateCommunity]]
    """Of the open round, by the chain's number; those of the header choice under HEADERS."""
    said: dict[str, list[int]]
    """By chain, the numbers of the candidates that Reason's reply scored, the best first; empty where it scored none of any chain."""
    choices: Annotated[dict[str, Choice], merge_records]
    samples: Annotated[dict[str, Sample], merge_records]
    texts: dict[str, int]
    """How many communities were put into prose, and how many of these fell back to T2T."""


class PruneTask(TaskState):
    """Payload of one fine prune: a chain and the candidates next to its tail."""

    subjects: list[Candidate]
    chain: Chain
    candidates: list[CandidateCommunity]
    said: list[int] | None
    """The chain's in `FastTogState.said`; None: it is asked about."""
