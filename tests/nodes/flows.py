"""Runs one step's flow by hand."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import triples

from thinkgraph.models.ops import Flow
from thinkgraph.state.knowledge import Entity, Triple
from thinkgraph.testing.memory import MemoryGraphStore
from thinkgraph.tools.linking.linker import StandardLinker


class TypedStore(MemoryGraphStore):
    """A graph that knows some types."""

    types: dict[str, str]

    def entities(self, ids: Sequence[str]) -> list[Entity | None]:
        """See GraphStore."""
        return [one and {**one, "type": self.types.get(one["id"], "")} for one in super().entities(ids)]


def triple(key: str, subject: str, relation: str, end: str, *, literal: bool = False, **qualifiers: str) -> Triple:
    """A statement about things whose ids are their labels."""
    return {**triples.triple(subject, relation, end, literal=literal, **qualifiers), "id": key}


def deps_of(graph: MemoryGraphStore, embedder: Any) -> Any:
    """What the operations of a flow are carried out with, over a graph and an encoder."""
    return SimpleNamespace(
        call=lambda method, ids, *rest, **named: getattr(graph, method.removeprefix("graph."))(ids, *rest, **named),
        knowledge=SimpleNamespace(embedder=embedder, linker=StandardLinker(graph)),
    )


def outcome(flow: Flow[Any], deps: Any) -> Any:
    """What a flow returns whose every operation asks the stores or the encoder, none a model.

    Args:
        flow: not begun.
        deps: what the operations are carried out with.
    """
    found: Any = None
    while True:
        try:
            op: Any = flow.send(found)
        except StopIteration as ended:
            return ended.value
        found = op.function(deps)
