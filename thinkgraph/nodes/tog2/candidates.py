"""What passes between entity discovery, context retrieval and entity prune; never in state."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from thinkgraph.state.knowledge import Triple
from thinkgraph.state.tog2 import KeptRelation, Topic


@dataclass(frozen=True)
class Way:
    """One triple that led from a topic entity to a candidate."""

    topic: Topic
    relation: KeptRelation
    triple: Triple

    @property
    def group(self) -> str:
        """Id of the evidence item that lists all tails of this hop together."""
        step = [*self.topic["path"]["triples"], self.relation["entity"], self.relation["relation"]]
        text = "\n".join([self.topic["path"]["start"], *step, self.relation["direction"]])
        return "p" + hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


@dataclass
class Reached:
    """A candidate entity (or literal) with every way that led to it."""

    id: str
    label: str
    literal: bool
    ways: list[Way] = field(default_factory=list)


@dataclass(frozen=True)
class Hop:
    """All tails of one (topic, relation, direction)."""

    topic: Topic
    tails: list[str]
    """Triple ids."""
    total: int


@dataclass(frozen=True)
class Scored:
    """A chunk of text, or a triple sentence standing in for one, with its score."""

    way: Way | None
    """None: a chunk of a topic entity's own document (round 0)."""
    entity: str
    score: float
    passage: str = ""
    """Empty for a triple sentence."""
    start: int = 0
    end: int = 0
    preview: str = ""
