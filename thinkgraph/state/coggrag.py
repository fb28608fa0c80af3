"""State and settings of CogGRAG (Human Cognition Inspired RAG with Knowledge Graph).

`Answer.trace` has the title "mind map", one line for each question (its level is its depth in the map) and as data
`{"nodes": [...], "keys": [...]}`: every node a `DrawnNode`, the root first, each followed by its sub-questions; every key an
`MapKey`. `parent` and `refers` are the map's edges.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import TypedDict

from thinkgraph.state.base import BacktrackState, Manifest, TaskState, first_reason
from thinkgraph.state.evidence import EvidenceItem
from thinkgraph.state.settings import ChunkSettings, DoubtSettings, RunSettings
from thinkgraph.state.usage import CallRecord, WorkRecord, merge_records


class CogGragSettings(DoubtSettings, ChunkSettings):
    """CogGRAG's settings; defaults as in the paper where it gives them."""

    paper: ClassVar[Mapping[str, Any]] = {
        **ChunkSettings.paper,
        "epsilon": 0.7,
        "whole_lists": False,
        "least": 0,
        "open_tuples": False,
        "follow_answers": False,
        "passages": 0,
        "skip_settled": False,
        "joint_keys": False,
        "lone_keys": True,
        "anchored_keys": False,
        "own_names": False,
        "unanswered": True,
        "offer_memory": False,
        "consistency": True,
        "comparisons": True,
        "encode_texts": 5_000,
        "lines": 5_000,
        "questions": 500,
        "keys": 500,
        "names": 1_000,
        "entities": 1_000,
        "link_candidates": 20,
        "hub": 10_000,
        "hub_relations": 20_000,
        "tails": 5_000,
        "max_calls": 1_000,
        "placeholders": True,
        "backtracks": 0,
    }
    small: ClassVar[Mapping[str, Any]] = {**RunSettings.small, "joint_keys": False}

    decompose: bool = Field(True, description="Break the question down (off: the ablation nd).")
    global_keys: bool = Field(True, description="Extract subgraphs over several questions too (off: the ablation ng).")
    joint_keys: bool = Field(True, description="One call extracts local and global keys (off: one each).")
    lone_keys: bool = Field(
        False,
        description="Extract keys from a question too that is not broken down and holds one name of the graph (off: with backtracks, that name "
        "is its key, without a call; where it led to no answer, keys are extracted on the way back).",
    )
    verify: bool = Field(True, description="Verify answers and re-think wrong ones (off: the ablation nv).")
    comparisons: bool = Field(
        False, description="What follows from other answers (a comparison, a count) is a sub-question of its own."
    )
    consistency: bool = Field(
        False,
        description="The verifier is asked whether an answer is consistent with the evidence (off: follows from it).",
    )
    offer_memory: bool = Field(
        True,
        description="With own_knowledge, prompts say that what the model knows counts too (off: they ask for the evidence alone; what "
        "is answered from memory all the same is kept).",
    )
    depth: int = Field(3, ge=1, le=10, description="Levels of the mind map below the question.")
    questions: int = Field(
        16, ge=1, le=500, description="Most questions in the mind map, the question itself included."
    )
    rethinks: int = Field(1, ge=1, le=5, description="k: how often a rejected answer is thought over again.")
    epsilon: float = Field(
        0.7, ge=-1, le=1, description="Triples are kept whose cosine with a key is above this (the paper's value)."
    )
    whole_lists: bool = Field(
        True,
        description="Compare and keep an entity's triples of one relation as one list (off: each triple for itself).",
    )
    least: int = Field(
        3,
        ge=0,
        le=50,
        description="Lists (or triples) kept for every key even if none is near enough; of a question that stands for one, twice as many.",
    )
    open_tuples: bool = Field(True, description="Tuples prune too, as triples with an open end.")
    keys: int = Field(
        100,
        ge=1,
        le=500,
        description="Most keys of one level; no more than four of each question and four besides are asked for.",
    )
    names: int = Field(48, ge=1, le=1_000, description="Most names linked at a time.")
    entities: int = Field(128, ge=1, le=1_000, description="Most entities expanded at a time.")
    link_candidates: int = Field(3, ge=1, le=20, description="Most entities that one name stands for.")
    hub: int = Field(300, ge=1, le=10_000, description="An entity with more triples is read relation by relation.")
    hub_relations: int = Field(200, ge=1, le=20_000, description="Most relations read at such an entity.")
    tails: int = Field(200, ge=1, le=5_000, description="Most triples of one entity, relation and direction.")
    encode_texts: int = Field(256, ge=8, le=5_000, description="Most sentences compared with the keys at a time.")
    lines: int = Field(128, ge=1, le=5_000, description="Most lines of knowledge kept.")
    placeholders: bool = Field(
        False,
        description="What stands for something unknown stays in the keys that triples are compared with (off: it is left out).",
    )
    anchored_keys: bool = Field(
        True, description="A key between two unknowns, near to everything, waits until an answer is put in for one."
    )
    own_names: bool = Field(
        True,
        description="A question that waits for no other's answer and has no key that names an entity is looked up by the names in it.",
    )
    unanswered: bool = Field(False, description="Show deeper questions without an answer too, as 'I don't know'.")
    follow_answers: bool = Field(True, description="Retrieve again around the entities that answers name.")
    follow: int = Field(128, ge=1, le=1_000, description="Most answers followed at a time.")
    passages: int = Field(8, ge=0, le=24, description="Chunks of text shown beside the triples (0: triples alone).")
    read_passages: int = Field(16, ge=1, le=500, description="Passages ranked for one question.")
    skip_settled: bool = Field(
        True,
        description="Make no call whose outcome is settled: global keys of a lone question, a question whose reference "
        "has no answer or that has nothing to stand on, the verification of 'I don't know', of what no line holds and, with "
        "backtracks, of an answer that the statements cited settle.",
    )
    verify_paths: bool = Field(
        True,
        description="Verify answers that are all ends of the only path cited too, where the question does not name its relations (off: a call "
        "less, and a relation taken in error is found less often).",
    )

    @property
    def verifies_at_end(self) -> bool:
        """No: every answer of the mind map has its own verifier."""
        return False

    @property
    def offers_memory(self) -> bool:
        """`offer_memory`, where own knowledge counts."""
        return self.own_knowledge and self.offer_memory

    @property
    def needs_evidence(self) -> bool:
        """Whether calls are skipped whose answer no evidence could support."""
        return self.skip_settled and not self.own_knowledge


class MindNode(TypedDict):
    """A node (question, level, state) of the mind map (section 3.2) with its edges."""

    id: str
    """The root is "0"; "0.2" is the second question it breaks down into."""
    question: str
    """`#k` in it stands for the answer to the sibling that `refers` names."""
    level: int
    state: Literal["continue", "end"]
    """`continue`: it has been, or is still to be, broken down."""
    parent: str
    """Empty for the root."""
    refers: dict[str, str]
    """Siblings whose answers it needs: the number in its text to the sibling's id."""


class SubQuestion(TypedDict):
    """One part of a question, as a decomposition gives it (section 4.1)."""

    question: str
    open: bool
    """Whether it must be decomposed further."""
    refers: list[int]
    """Numbers of the sibling questions whose answers it needs, counted from 1."""


KeyLevel = Literal["joint", "local", "global"]
"""Keys from each question, from several, or from both in one extraction. Questions that are keys themselves are local."""


class MapKey(TypedDict):
    """Something to look up, extracted from the mind map (section 4.2)."""

    parts: list[str]
    """[entity], [entity, relation] or [subject, relation, object]. "?0.2" stands for the answer to question 0.2. Any other
    text that starts with "?" stands for something else unknown."""
    of: list[str]
    level: KeyLevel


class Attempt(TypedDict):
    """One answer to a question and how it was judged."""

    answers: list[str]
    """Empty: "I don't know"."""
    right: bool | None
    """None: it was not verified."""
    judge: Literal["", "verifier", "evidence"]
    """`verifier`: the model. `evidence`: no line supports the answer, or it is not what the question asks for, so it is wrong
    without a call."""


class Outcome(TypedDict):
    """How a question of the mind map came out."""

    asked: str
    """The question with the answers of its siblings put in."""
    answers: list[str]
    """Empty: "I don't know"."""
    attempts: list[Attempt]
    verified: bool | None
    """None: verification is off, or there is no answer."""
    supported: bool
    """Whether lines of evidence support the answer."""
    rests: list[str]
    """Ids of the answered questions it rests on."""
    why: str
    """Why there is no answer; empty where there is one."""


class Solution(Outcome):
    """An outcome as it stands after the question's last step."""

    wave: int
    cited: list[str]
    """Ids of the evidence it stands on, including that of the answered questions it rests on."""
    doubt: str
    """Why the last answer given cannot be what the question asks for; empty where nothing says so."""
    plain: bool
    """Whether the answer needs no verifying: the statements cited settle it."""
    instead_of: list[str]
    """Ids of what the model cited, where the answer does not stand there."""
    entities: dict[str, list[str]]
    """Entity ids by answer, for answers that are an end of a triple in the prompt (none for a literal)."""
    chunks: list[EvidenceItem]


class DrawnNode(MindNode, Outcome):
    """A node of the mind map in an answer's trace, with the outcome of its question."""


class CogGragState(BacktrackState):
    """CogGRAG's channels. The triples that retrieval keeps (T) are paths in `evidence`."""

    mind_map: Annotated[dict[str, MindNode], merge_records]
    splits: Annotated[dict[str, list[SubQuestion]], merge_records]
    """By question, its sub-questions before limits."""
    keys: Annotated[dict[str, list[MapKey]], merge_records]
    """By level; `words`: questions that are keys themselves."""
    linked: Annotated[dict[str, list[str]], merge_records]
    """Entity ids by name (in its normal form)."""
    solved: Annotated[dict[str, Solution], merge_records]
    unfollowed: Annotated[dict[str, int], merge_records]
    """By question, how many of its answers a later question needed and retrieval did not follow."""
    tried: list[str]
    """Sub-questions of the mind maps that led to no answer."""


class DecomposeTask(TaskState):
    """Payload of one decomposition."""

    id: str
    asked: str
    """The question with its references spelt out."""
    most: int
    tried: list[str]


class KeysTask(TaskState):
    """Payload of one extraction."""

    level: KeyLevel
    ids: list[str]
    """Ids of the questions, in the order of their numbers."""
    questions: list[str]


class KnownAnswer(TypedDict):
    """A question answered before, as prompts of later questions show it."""

    id: str
    asked: str
    answers: list[str]
    cited: list[str]
    supported: bool


class Inquiry(TypedDict):
    """What one question of the mind map is answered from."""

    id: str
    asked: str
    """The question with the answers of its siblings put in."""
    unmet: str
    """A question that it refers to and that has no answer; empty where there is none."""
    leaf: bool
    lacks: bool
    """Whether one of its sub-questions has no answer."""
    known: list[KnownAnswer]
    items: list[EvidenceItem]
    """The triples retrieved so far, and the chunks that known answers cite. `reason` replaces them by the evidence that its
    prompt has room for, in the order of its lines."""
    about: list[str]


class QuestionTask(TaskState, Inquiry):
    """Payload of one question: input of the subgraph that reasons, verifies and re-thinks."""


class QuestionState(QuestionTask):
    """Channels of that subgraph."""

    solved: Annotated[dict[str, Solution], merge_records]
    calls: Annotated[dict[str, CallRecord], merge_records]
    work: Annotated[dict[str, WorkRecord], merge_records]
    stopped: Annotated[str, first_reason]


class QuestionOutput(TypedDict):
    """What that subgraph returns to the run."""

    solved: dict[str, Solution]
    calls: dict[str, CallRecord]
    work: dict[str, WorkRecord]
    stopped: str
    manifest: Manifest
