"""The way back, where the search ends without a supported answer (a departure from the paper; see `nodes/doubt/judged.py`)."""

from __future__ import annotations

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.doubt.judged import going_back, may_backtrack, rounds_since
from thinkgraph.state.tog2 import BeamSettings, BeamState


def backtrack(state: BeamState, _settings: BeamSettings) -> Flow[Update]:
    """Make every entity visited a topic entity again. Relation prune is then offered the relations that were not walked.

    Those are the relations that were pruned, and all relations of an entity that topic prune dropped or that the depth left unexplored.
    """
    yield from ()
    return {"topics": list(state["visited"].values()), **going_back(state)}


def exhausted(state: BeamState, settings: BeamSettings) -> bool:
    """Whether the search can go no further from its topic entities: it is as deep as it may be, or has none."""
    return rounds_since(state) >= settings.depth or not state["topics"]


def can_return(state: BeamState, settings: BeamSettings) -> bool:
    """Whether the search may go back, has rounds to walk then, and an entity to walk from."""
    return may_backtrack(state, settings) and settings.depth > 0 and bool(state["visited"])
