"""State and settings of the baseline `tog` (Think-on-Graph, Sun et al. 2024), on top of what it shares with ToG-2."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from thinkgraph.state.base import TaskState
from thinkgraph.state.tog2 import BeamSettings, BeamState, Hop
from thinkgraph.state.usage import merge_records


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
