"""State and settings of ToG-2 (Think-on-Graph 2.0, arXiv 2407.10805), of what it shares with ToG, and of `paths`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from thinkgraph.state.base import BacktrackState, Sample, TaskState
from thinkgraph.state.evidence import EvidenceItem, Path, chunk_item
from thinkgraph.state.knowledge import Candidate, Direction
from thinkgraph.state.settings import ChunkSettings, DoubtSettings, RunSettings
from thinkgraph.state.usage import merge_records

MAX_DROPPED = 50
"""Most candidates of a round that entity prune drops and a search that goes back returns to."""


class BeamSettings(DoubtSettings):
    """What ToG and ToG-2 both have: a beam of topic entities that moves along relations."""

    paper: ClassVar[Mapping[str, Any]] = {**RunSettings.paper, "beam": "entities", "steered": False}
    small: ClassVar[Mapping[str, Any]] = {**RunSettings.small, "steered": False}

    beam: Literal["paths", "entities"] = Field(
        "paths",
        description="What the beam holds: relation paths, each with all entities that it reaches, or single entities (the paper).",
    )
    width: int = Field(3, ge=1, le=50, description="W: what the beam keeps of a round.")
    depth: int = Field(3, ge=0, le=10, description="D: rounds.")
    members: int = Field(
        300,
        ge=1,
        le=5_000,
        description="Most statements that are walked along one relation path in a round (`beam=paths`).",
    )
    relations: int = Field(3, ge=1, le=50, description="R: relations kept per topic entity, or path of the beam.")
    min_relation_score: float = Field(1.0, ge=0, le=10, description="Relations scored lower are dropped.")
    relation_options: int = Field(
        400, ge=1, le=20_000, description="Most relations offered in one call: of each topic entity those rarest there."
    )
    tails: int = Field(200, ge=1, le=5_000, description="Most triples fetched per entity, relation and direction.")
    topic_prune: bool = Field(True, description="Let the model choose the starting entities (off: best link scores).")
    skip_exact_topic: bool = Field(
        True, description="Take a lone, exactly named, unambiguous topic, and a lone relation, without a call."
    )
    skip_empty_reason: bool = Field(
        True,
        description="With no evidence at all and own_knowledge off, go on without asking whether it is sufficient.",
    )
    steered: bool = Field(
        True,
        description="A call that decides steers too: Reason's reply that the evidence is not sufficient scores the relations to walk next, "
        "and the first relations scored tell which of up to 2W entities without documents to start from (off: calls of their own).",
    )
    avoid_cycles: bool = Field(
        True,
        description="Go on from no entity that the same path has passed; with `beam=entities` the step back to it is dropped.",
    )
    link_candidates: int = Field(20, ge=1, le=100, description="Most linked entities offered to topic prune.")
    all_rounds: bool = Field(
        True, description="The last Reason sees the evidence of all rounds (off: of its own round, beside the clues)."
    )

    @property
    def paths(self) -> bool:
        """Whether the beam holds relation paths."""
        return self.beam == "paths"

    @property
    def steers(self) -> bool:
        """Whether a call that decides scores relations too: not where the encoder scores them."""
        return self.steered and self.pruning == "model"

    @property
    def hops(self) -> int:
        """Most relations that are walked in a round: of every topic entity, or path of the beam, its own."""
        return self.width * self.relations

    @property
    def carried(self) -> tuple[str, ...]:
        """What Reason hands on to the next round: fields of its reply."""
        return ()

    @property
    def clues_stay(self) -> bool:
        """Whether the clues of earlier rounds are handed on too."""
        return False


class Tog2Settings(BeamSettings, ChunkSettings):
    """ToG-2's settings. W, D, K, `combined`, `shots` and the temperatures are the paper's by default; `preset="paper"` sets what else it
    says.
    """

    paper: ClassVar[Mapping[str, Any]] = {
        **BeamSettings.paper,
        "skip_exact_topic": False,
        "skip_empty_reason": False,
        "avoid_cycles": False,
        "revisit_topics": False,
        "clue_history": True,
        "fused": False,
        "explain": True,
        "sentences": True,
        "rank_triples": False,
        "all_rounds": False,
        "rank_texts": 2_000,
        "chunk_triples": 5_000,
        "relation_options": 20_000,
        "tails": 5_000,
        "link_candidates": 100,
        "precheck_steps": True,
        "backtracks": 0,
    }
    paper_tasks: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "fact": {"precheck": True, "shots": 3},
        "truth": {"precheck": True},
    }
    of_memory: ClassVar[frozenset[str]] = frozenset({"precheck"})

    top_k: int = Field(10, ge=1, le=200, description="K: chunks kept as context per round.")
    alpha: float = Field(0.8, ge=0, le=10, description="Decay of a chunk's weight with its rank, in entity prune.")
    rank_texts: int = Field(64, ge=8, le=2_000, description="Most texts scored exactly per round, whatever the hub.")
    chunk_triples: int = Field(
        3, ge=1, le=5_000, description="A chunk is scored behind at most so many of the triples that led to its entity."
    )
    rank_triples: bool = Field(
        True,
        description="Triples are ranked beside chunks, as sentences: all compete for the K places, or with `beam=paths` one of each "
        "relation path stands beside these (off: only in a round whose candidates have no documents).",
    )
    combined: bool = Field(True, description="One relation-prune call for all topic entities (off: one per entity).")
    clues: bool = Field(True, description="Carry clues between rounds and re-form the query (off: neither).")
    clue_history: bool = Field(
        False, description="Clues of earlier rounds stay beside the new ones (off: each round's take their place)."
    )
    fused: bool = Field(True, description="Clues and query in Reason's own reply (off: a call of their own).")
    revisit_topics: bool = Field(
        True, description="A re-formed query also searches the documents of the entities the round starts from."
    )
    precheck: bool = Field(False, description="Self-consistency pre-check; needs own_knowledge.")
    precheck_steps: bool = Field(False, description="The pre-check's samples reason step by step.")
    precheck_samples: int = Field(10, ge=2, le=100, description="Samples of the pre-check.")
    precheck_threshold: float = Field(0.8, gt=0, le=1, description="Share of equal answers that ends the run.")
    precheck_temperature: float = Field(0.7, ge=0, le=2, description="Temperature of the pre-check's samples.")

    @property
    def carried(self) -> tuple[str, ...]:
        """Clues, and in fused mode the next query with them."""
        if not self.clues:
            return ()
        return ("clues", "query") if self.fused else ("clues",)

    @property
    def clues_stay(self) -> bool:
        """`clue_history`."""
        return self.clue_history

    @model_validator(mode="after")
    def _precheck_is_memory(self) -> Self:
        if self.precheck and not self.own_knowledge:
            raise ValueError("precheck answers from memory: it needs own_knowledge=true")
        return self


class PathsSettings(Tog2Settings):
    """`paths`: relation paths that the encoder ranks, one judgement, then ToG-2's search. No paper has it in this form."""

    paper: ClassVar[Mapping[str, Any]] = {**RunSettings.paper, "backtracks": 0}
    paper_tasks: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    depth: int = Field(3, ge=0, le=10, description="D: hops of relation paths, and rounds of the search after them.")
    topic_prune: bool = Field(
        False, description="Let the model choose the starting entities, in a call of its own (off: all that are named)."
    )
    top_paths: int = Field(12, ge=1, le=200, description="Most relation paths shown to the model at once.")
    near: float = Field(
        0.8,
        ge=0,
        le=1,
        description="Paths that fit the question less, as a share of how well the best one does, are not shown.",
    )
    path_beam: int = Field(
        32, ge=1, le=1_000, description="Relation paths that are walked at each hop, the best first."
    )
    fan: int = Field(
        50,
        ge=1,
        le=5_000,
        description="Most entities of a relation path that its next hop goes on from, and most triples fetched of each then.",
    )


class Topic(TypedDict):
    """A topic entity of a round with the path that led to it."""

    id: str
    label: str
    description: str
    path: Path
    on_path: list[str]
    """Ids of all entities on the path, this one included."""
    score: float
    came_by: str
    """Key of the relation that led to it (`relation_key`): from an entity, or from the path of the beam that this one was on. Empty for
    an entity that the question names."""


def further(topic: Topic, end: str, label: str, triple: str, score: float, came_by: str = "") -> Topic:
    """The topic entity of the next round that a triple of this one leads to.

    Args:
        topic: the one it leads from.
        end: id of the entity reached.
        label: its label.
        triple: the triple's id.
        score: of the entity.
        came_by: key of the relation that was walked.
    """
    return Topic(
        id=end,
        label=label,
        description="",
        path=Path(start=topic["path"]["start"], triples=[*topic["path"]["triples"], triple]),
        on_path=[*topic["on_path"], end],
        score=round(score, 6),
        came_by=came_by,
    )


class KeptRelation(TypedDict):
    """A relation of a topic entity that relation prune kept."""

    entity: str
    relation: str
    direction: Direction
    score: float
    count: int
    """How many triples the graph has of it."""


class Hop(KeptRelation):
    """A kept relation with the triples that entity discovery found."""

    triples: list[str]
    """Their ids; with `beam=entities` those that lead back to an entity of the path are left out."""
    total: int


def place(topic: Topic, *, together: bool) -> str:
    """Where an entity stands in the beam: a place of its own, or with `together` that of all that one relation led to."""
    return (together and topic["came_by"]) or topic["id"]


def by_place(topics: Iterable[Topic], *, together: bool) -> dict[str, list[Topic]]:
    """Topic entities by their places; see `place`."""
    groups: dict[str, list[Topic]] = {}
    for topic in topics:
        groups.setdefault(place(topic, together=together), []).append(topic)
    return groups


def relation_key(entity: str, direction: Direction, relation: str) -> str:
    """What a relation of an entity, or of a place in the beam, is called."""
    return f"{entity}|{direction}|{relation}"


class Reached(TypedDict):
    """A candidate entity, or a literal, and the first way to it; with `beam=paths` the first along each relation path."""

    id: str
    label: str
    literal: bool
    hop: int
    """Place in `hops`."""
    triple: str


def route_of(topic: Topic, relation: KeptRelation, *, together: bool = True) -> str:
    """Key of the relation path that a relation of a topic entity, or a hop along it, is a step of; see `place`."""
    return relation_key(place(topic, together=together), relation["direction"], relation["relation"])


class RankedChunk(TypedDict):
    """A chunk of a candidate's document, or the triple's sentence that stands in for one, as the ranker scored it."""

    entity: str
    score: float
    hop: int
    """Place in `hops` of the one that led to the candidate."""
    triple: str
    passage: str
    """Id of the chunk's passage; empty for a sentence."""
    start: int
    end: int


def ranked_item(chunk: RankedChunk, path: Path, number: int) -> EvidenceItem:
    """A chunk of a document as evidence of a round, with the path that led to its entity."""
    return chunk_item(
        chunk["passage"],
        chunk["start"],
        chunk["end"],
        entity=chunk["entity"],
        path=path,
        score=chunk["score"],
        number=number,
    )


class BeamState(BacktrackState):
    """The channels of ToG and ToG-2."""

    candidates: list[Candidate]
    topics: list[Topic]
    kept: Annotated[dict[str, KeptRelation], merge_records]
    """Of the next round: emptied when they are walked."""
    scored: dict[str, float]
    """The scores that Reason's reply gave to relations of the next round, by the key of the option (`relation_key`); empty without any."""
    hops: list[Hop]
    """Of this round: emptied by entity prune."""
    visited: Annotated[dict[str, Topic], merge_records]
    """By id, what a search that goes back stands on: every topic entity so far, those that entity prune dropped (MAX_DROPPED of a
    round), and those dropped by topic prune that the question names; where it names none of them, the best ones."""
    walked: Annotated[dict[str, KeptRelation], merge_records]
    """Every relation of a topic entity that was walked, by the key that `kept` has for it."""
    clues: str
    query: str


class Tog2State(BeamState):
    """ToG-2's channels."""

    reached: list[Reached]
    """Every candidate of this round: emptied by entity prune."""
    ranked: list[RankedChunk]
    """The top K of this round, best first: emptied by entity prune."""
    samples: Annotated[dict[str, Sample], merge_records]


class RelationPruneTask(TaskState):
    """Payload of one relation-prune call: all topic entities, or one."""

    topics: list[Topic]
    walked: list[str]
    """Keys in `BeamState.walked` of relations that are not offered again; empty until the search has gone back."""
    scored: dict[str, float]
    """As in `BeamState`."""
