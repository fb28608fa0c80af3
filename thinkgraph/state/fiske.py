"""State and settings of FiSKE (fine-grained stateful knowledge exploration).

What `Answer.trace["data"]` holds for this method:

    outcome    "complete": some branch mapped every clue; "failed": none did, or a ceiling was reached first; "everything": the ending flag is off
    rounds     rounds made
    clues      one row per clue, see `ClueRow`
    branches   see `BranchRow`: the complete ones, then the ones that came furthest, at most MAX_ROWS
    more       how many branches are not listed
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator
from typing_extensions import TypedDict

from thinkgraph.state.base import RunState, TaskState
from thinkgraph.state.knowledge import Direction
from thinkgraph.state.settings import RunSettings
from thinkgraph.state.usage import by_id, merge_records

MAX_ROWS = 60
"""Most branches listed in an answer's trace."""
MAX_TARGETS = 8
"""Most targets listed for one clue, most ends and most branches for one target; all are counted."""

Status = Literal["live", "walked", "complete", "ended", "gone"]
"""`live`: its entity is explored in the round to come. `walked`: it went on as other branches. `complete`: every clue is
mapped. `ended`: nothing more could be mapped. `gone`: a starting point that led nowhere; the reducer forgets it."""
Mappable = Literal["relations", "nodes"]
MarkKind = Literal["start", "relation", "entity"]


class FiskeSettings(RunSettings):
    """FiSKE's settings; defaults as in the paper where it gives them."""

    paper: ClassVar[Mapping[str, Any]] = {
        **RunSettings.paper,
        "node_types": False,
        "link_fallback": False,
        "partial_evidence": False,
        "meant_step": False,
        "start_answers": True,
    }

    max_calls: int | None = Field(
        30, ge=1, le=10_000, description="Ceiling on model calls in all; the last is kept for answering."
    )
    temperature_explore: float = Field(0.0, ge=0, le=2, description="Temperature of the mapping calls.")
    max_clues: int = Field(16, ge=1, le=64, description="Most clues taken from a question.")
    chunk: int = Field(100, ge=1, le=2_000, description="Relations or nodes offered in one mapping call.")
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
    exact_names: bool = Field(True, description="Take exact name matches without asking the model.")
    meant_step: bool = Field(
        True,
        description="A node maps a clue on the step whose relation the clue means, not on another step to the same node.",
    )
    start_answers: bool = Field(False, description="A path's starting point may be an answer at its end.")
    share_all: bool = Field(
        False,
        description="One list for all branches, whatever clues they have left (off: one for each set of clues left).",
    )
    node_types: bool = Field(True, description="Tell a node's type in e-mapping (one more store round trip a round).")
    link_fallback: bool = Field(
        True, description="Where no clue is an entity's name, start from names inside clues, full text and spelling."
    )
    partial_evidence: bool = Field(
        True, description="Where no branch mapped every clue, answer from what all of them retrieved together."
    )
    io: bool = Field(False, description="Merge the model's own (IO) answer into the method's; needs own_knowledge.")

    @model_validator(mode="after")
    def _io_is_memory(self) -> Self:
        if self.io and not self.own_knowledge:
            raise ValueError("io merges an answer from memory: it needs own_knowledge=true")
        return self


class Way(TypedDict):
    """The triple by which a branch came from another one."""

    branch: str
    """Id of the branch it came from."""
    relation: str
    """The store's name of the relation."""
    direction: Direction
    """`in`: the triple was walked from its object to its subject."""
    triple: str
    total: int
    """How many ends this step has in the graph, those left out included."""


class Mark(TypedDict):
    """A clue that a branch's last step mapped: (clue, relation) or (clue, node) of section 3.4."""

    clue: int
    """Number of the clue, from 1."""
    kind: MarkKind
    label: str
    """Label of the relation or entity."""
    direction: Direction
    """Of a relation; "out" otherwise."""


class Branch(TypedDict):
    """One end of the exploration: (path, explored clues, remaining clues).

    Branches of one round that stand at the same entity with the same remaining clues are one: nothing that follows could
    tell them apart. Its paths are then all ways back to starting points.
    """

    id: str
    entity: str
    label: str
    round: int
    """0: a starting point."""
    status: Status
    why: str
    """Why it ended; empty otherwise."""
    explored: list[int]
    remaining: list[int]
    ways: list[Way]
    """Empty for a starting point."""
    on_path: list[str]
    """Ids of the entities that lie on every path to it, its own included: no path goes on through one of them."""
    marks: list[Mark]


class Offer(TypedDict):
    """A relation at the entities of a group of branches with the same remaining clues."""

    group: str
    relation: str
    label: str
    direction: Direction
    count: int
    """Triples behind it at all these entities."""
    entities: int


class Option(TypedDict):
    """One line of a mapping call."""

    id: str
    """Relation: `out|name` or `in|name`. Node: its id."""
    line: str


class MappingCall(TypedDict):
    """One mapping call to make: a chunk of a group's options."""

    group: str
    chunk: int
    clues: list[int]
    options: list[Option]


class Pair(TypedDict):
    """A clue mapped to an option."""

    clue: int
    option: str


class Mapped(TypedDict):
    """What exact names or one mapping call came to, for one group."""

    group: str
    pairs: list[Pair]


class Reach(TypedDict):
    """A step of one branch along one mapped relation, with the nodes it reaches."""

    branch: str
    group: str
    relation: str
    label: str
    direction: Direction
    clues: list[int]
    """The clues mapped to the relation."""
    total: int
    nodes: list[str]
    """Ids of the nodes reached."""
    triples: list[str]
    """Ids of the triples walked, one for each node."""


class Target(TypedDict):
    """What a clue was mapped to, by the branches of one round."""

    kind: MarkKind
    label: str
    """Label of the relation; empty otherwise."""
    direction: Direction
    """Of the relation; "out" otherwise."""
    ends: list[str]
    """Labels of the entities that it was mapped to, or that the relation reached; at most MAX_TARGETS."""
    round: int
    """0: as a starting point."""
    branches: list[str]
    """Ids of the branches that did; at most MAX_TARGETS."""
    total: int
    """How many branches did."""


class ClueRow(TypedDict):
    """One clue of the table: unexplored, or mapped to what, by which branch, in which round."""

    number: int
    text: str
    status: Literal["unexplored", "mapped"]
    targets: list[Target]
    """Those of complete branches first; at most MAX_TARGETS."""
    total: int
    """How many there are."""


class BranchRow(TypedDict):
    """A branch as an answer's trace shows it."""

    id: str
    entity: str
    label: str
    round: int
    status: str
    why: str
    explored: list[int]
    remaining: list[int]
    came_from: list[str]
    """Ids of the branches it came from; empty for a starting point."""


def merge_branches(old: dict[str, Branch] | None, new: dict[str, Branch] | None) -> dict[str, Branch]:
    """Reducer: branches by id, the newer wins, those that are gone are forgotten. The candidate cap bounds them."""
    merged = {**(old or {}), **by_id(new)}
    return {key: branch for key, branch in merged.items() if branch["status"] != "gone"}


class FiskeState(RunState):
    """FiSKE's channels."""

    clues: list[str]
    """Clue n is the n-th."""
    matches: dict[str, list[str]]
    """Number of a clue (as text) to the ids of the entities that have it as a name."""
    branches: Annotated[dict[str, Branch], merge_branches]
    phase: Literal["relations", "nodes", "closed", "done"]
    """What the open round waits for: r-mapping, e-mapping, nothing (the next round); `done`: the exploration is over."""
    offers: list[Offer]
    calls_to_make: list[MappingCall]
    mapped: Annotated[dict[str, Mapped], merge_records]
    """Of the open phase: by group (exact names), and by group and chunk (replies)."""
    reached: list[Reach]
    labels: dict[str, str]
    """Id to label of the nodes in `reached`."""
    table: list[ClueRow]
    notes: list[str]
    """What was left out (the candidate cap, clues beyond `max_clues`): said with the answer."""


class MappingTask(TaskState):
    """Payload of one mapping call."""

    kind: Mappable
    clues: list[str]
    """All clues of the question; `asked["clues"]` says which are offered."""
    asked: MappingCall
