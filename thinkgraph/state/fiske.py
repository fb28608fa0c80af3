"""State and settings of FiSKE (fine-grained stateful knowledge exploration).

What `Answer.trace["data"]` holds for this method:

    outcome    "complete": some branch mapped every clue; "failed": none did, or a ceiling was reached first; "everything": the ending flag is off
    rounds     rounds made
    clues      one row per clue, see `ClueRow`
    branches   a `BranchHead` each, with `came_from`, the ids of the branches it came from (none for a starting point): the complete
               ones, then the ones that came furthest, at most MAX_ROWS
    more       how many branches are not listed
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from thinkgraph.state.base import BacktrackState, TaskState
from thinkgraph.state.knowledge import Direction, Relation
from thinkgraph.state.settings import DoubtSettings, RunSettings
from thinkgraph.state.usage import merge_records

MAX_ROWS = 60
"""Most branches listed in an answer's trace."""
MAX_TARGETS = 8
"""Most targets listed for one clue, most ends and most branches for one target; all are counted."""

BranchStatus = Literal["live", "walked", "complete", "ended", "gone"]
"""`live`: the next round explores its entity. `walked`: other branches continue it. `complete`: every clue is mapped.
`ended`: nothing more could be mapped. `gone`: a starting point that led nowhere; the reducer drops it."""
MarkKind = Literal["start", "relation", "entity"]


class FiskeSettings(DoubtSettings):
    """FiSKE's settings; defaults as in the paper where it gives them."""

    paper: ClassVar[Mapping[str, Any]] = {
        **RunSettings.paper,
        "node_types": False,
        "link_fallback": False,
        "partial_evidence": False,
        "meant_step": False,
        "exact_names": False,
        "per_branch": True,
        "revisits": True,
        "chunk": 20,
        "node_cap": 80,
        "multi_answer_asks": True,
        "start_answers": True,
        "backtracks": 0,
    }
    small: ClassVar[Mapping[str, Any]] = {**RunSettings.small, "pruning": "encoder"}

    max_calls: int | None = Field(
        30, ge=1, le=10_000, description="Ceiling on model calls in all; the last is kept for answering."
    )
    temperature_explore: float = Field(0.0, ge=0, le=2, description="Temperature of the mapping calls.")
    max_clues: int = Field(16, ge=1, le=64, description="Most clues taken from a question.")
    chunk: int = Field(100, ge=1, le=2_000, description="Relations or nodes offered in one mapping call.")
    node_cap: int | None = Field(None, ge=1, le=20_000, description="Most nodes that calls about the same clues offer.")
    candidates: int = Field(
        1000,
        ge=1,
        le=20_000,
        description="Candidate cap: most starting points, and most triples that a run's branches walk.",
    )
    stateful: bool = Field(True, description="Offer only the clues a branch has not mapped yet (off: always all).")
    ending_flag: bool = Field(
        True, description="A branch that mapped every clue ends the exploration (off: everything is explored and used)."
    )
    multi_answer: bool = Field(
        True, description="A relation that maps the one clue left is what is asked for: all it reaches are answers."
    )
    multi_answer_asks: bool = Field(
        False, description="Ask about these nodes first: all are answers only where none of them maps a clue."
    )
    exact_names: bool = Field(
        True,
        description="Take exact name matches without asking the model; with backtracks, nothing else is asked about where a name leads "
        "on, nor about clues that are names, before the search goes back.",
    )
    meant_step: bool = Field(
        True,
        description="A node maps a clue on the step whose relation the clue means, not on another step to the same node.",
    )
    start_answers: bool = Field(False, description="A path's starting point may be an answer at its end.")
    share_all: bool = Field(
        False,
        description="One list for all branches, whatever clues they have left (off: one for each set of clues left).",
    )
    per_branch: bool = Field(
        False,
        description="Mapping calls for each branch alone, and no branches merged (off: shared by those that have the same clues "
        "left).",
    )
    revisits: bool = Field(False, description="A path may return to an entity that it has passed.")
    node_types: bool = Field(True, description="Tell a node's type in e-mapping (one more store round trip a round).")
    link_fallback: bool = Field(
        True, description="Where no clue is an entity's name, start from names inside clues, full text and spelling."
    )
    partial_evidence: bool = Field(
        True, description="Where no branch mapped every clue, answer from what all of them retrieved together."
    )
    io: bool = Field(False, description="Merge the model's own (IO) answer into the method's; needs own_knowledge.")

    @model_validator(mode="after")
    def _alone_or_shared(self) -> Self:
        if self.per_branch and self.share_all:
            raise ValueError("per_branch and share_all exclude each other: set one of them")
        return self

    @model_validator(mode="after")
    def _io_is_memory(self) -> Self:
        if self.io and not self.own_knowledge:
            raise ValueError("io merges an answer from memory: it needs own_knowledge=true")
        return self


class Arrival(TypedDict):
    """The triple that leads from one branch to the next."""

    branch: str
    relation: str
    direction: Direction
    """`in`: the triple was walked from its object to its subject."""
    triple: str
    total: int
    """How many nodes the relation reaches in the graph, including those left out."""


class Mark(TypedDict):
    """A clue that a branch's last step mapped: (clue, relation) or (clue, node) of section 3.4."""

    clue: int
    """Number of the clue, from 1."""
    kind: MarkKind
    label: str
    direction: Direction
    """Of a relation; "out" otherwise."""


class BranchHead(TypedDict):
    """How far a branch has come."""

    id: str
    entity: str
    label: str
    round: int
    """0: a starting point."""
    status: BranchStatus
    why: str
    """Why it ended; empty otherwise."""
    explored: list[int]
    remaining: list[int]


class Branch(BranchHead):
    """One end of the exploration: (path, explored clues, remaining clues).

    Branches of one round at the same entity with the same remaining clues are merged, because they would continue alike
    (but with `per_branch`). The paths of a merged branch are all its routes back to starting points.
    """

    arrivals: list[Arrival]
    """Empty for a starting point."""
    on_path: list[str]
    """Ids of the entities on every path to it, its own included. Without `revisits` no path continues through one of them."""
    marks: list[Mark]
    walked: list[str]
    """Option ids of the relations walked from it: where the search goes back, they are not offered again."""


class OfferedRelation(Relation):
    """A relation at the entities of a group of branches: `entity` is the first of them, `count` counts for them all."""

    entities: int


class Option(TypedDict):
    """One numbered line of a mapping call."""

    id: str
    """Relation: `out|name` or `in|name`. Node: its id."""
    line: str


class MappingCall(TypedDict):
    """One mapping call to make: a chunk of a group's options."""

    group: str
    chunk: int
    clues: list[int]
    options: list[Option]


class CluePair(TypedDict):
    """A clue mapped to an option."""

    clue: int
    option: str


class Mapped(TypedDict):
    """The pairs found by exact names or by one mapping call, for one group."""

    group: str
    pairs: list[CluePair]


class Expansion(TypedDict):
    """One branch expanded along one mapped relation, with the nodes it reaches."""

    branch: str
    group: str
    relation: str
    label: str
    direction: Direction
    clues: list[int]
    total: int
    nodes: list[str]
    triples: list[str]
    """Ids of the triples walked, one for each node."""


class Target(TypedDict):
    """A relation or entity that branches of one round mapped a clue to."""

    kind: MarkKind
    label: str
    """Label of the relation; empty otherwise."""
    direction: Direction
    """Of the relation; "out" otherwise."""
    ends: list[str]
    """Labels of the mapped entities, or of those that the relation reached; at most MAX_TARGETS."""
    round: int
    """0: as a starting point."""
    branches: list[str]
    """Ids of the branches that mapped it; at most MAX_TARGETS."""
    total: int


class ClueRow(TypedDict):
    """One clue of the table, with everything it was mapped to."""

    number: int
    text: str
    status: Literal["unexplored", "mapped"]
    targets: list[Target]
    """Those of complete branches first; at most MAX_TARGETS."""
    total: int


def merge_branches(old: dict[str, Branch] | None, new: dict[str, Branch] | None) -> dict[str, Branch]:
    """Reducer: branches by id. The newer wins, and those that are gone are dropped. The candidate cap bounds them."""
    merged = {**(old or {}), **(new or {})}
    return {key: branch for key, branch in merged.items() if branch["status"] != "gone"}


class FiskeState(BacktrackState):
    """FiSKE's channels."""

    clues: list[str]
    """Clue n is the n-th."""
    tried: list[str]
    """Clues with which the search led nowhere."""
    judged: str
    """Digest of the evidence that did not hold the answer before the search last went back; empty otherwise."""
    named: list[int]
    """Numbers of the clues that are names of relations met so far (`exact_names`)."""
    matches: dict[str, list[str]]
    """Number of a clue (as text) to the ids of the entities that have it as a name."""
    branches: Annotated[dict[str, Branch], merge_branches]
    relations: dict[str, dict[str, OfferedRelation]]
    """Of the open round: group to option id to relation."""
    calls_to_make: list[MappingCall]
    """The next mapping calls: r-mapping's after relation discovery, e-mapping's after entity discovery."""
    mapped: Annotated[dict[str, Mapped], merge_records]
    """Of the open mapping: by group (exact names), and by group and chunk (replies)."""
    expansions: list[Expansion]
    labels: dict[str, str]
    """Labels of the nodes in `expansions`, by id."""
    table: list[ClueRow]
    notes: list[str]
    """What was left out (the candidate cap, clues beyond `max_clues`). The answer's reason repeats it."""


class MappingTask(TaskState):
    """Payload of one mapping call."""

    clues: list[str]
    """All clues of the question; `call["clues"]` says which are offered."""
    call: MappingCall
