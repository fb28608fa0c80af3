"""What nodes need and state never holds: knowledge, models, prompts, rankers, journal. Lazy, closed over by the graph."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from thinkgraph.models.journal import Journal
from thinkgraph.models.roles import Models
from thinkgraph.prompts.library import PromptLibrary
from thinkgraph.state.base import Manifest
from thinkgraph.state.knowledge import Passage
from thinkgraph.tools.knowledge import PROTOCOLS, Knowledge
from thinkgraph.tools.meter import count_round_trip
from thinkgraph.tools.protocols import Ranker, call_checked, candidates_of


@dataclass
class Deps:
    """Made once per graph by `thinkgraph.build`; safe to share between threads and event loops."""

    knowledge: Knowledge
    models: Models
    prompts: PromptLibrary
    journal: Journal | None
    """None: the journal of the LangGraph store the graph runs with, or none at all."""
    own_ranker: Ranker | None = None
    """A ranker object given by the user: it takes the place of the setting `ranker`."""
    checked: Manifest | None = None
    """The manifest that was last found to fit these; one is never changed in place."""
    _rankers: dict[str, Ranker] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of a store by name ("graph.relations"), counting a logical round trip.

        A knowledge base without text answers with nothing.
        """
        part, _, name = method.partition(".")
        target = getattr(self.knowledge, part)
        if target is None:
            nothing: dict[str, Any] = {"passages_of": [], "search": [[] for _ in arguments[0]]}
            return nothing.get(name, [None] * len(arguments[0]))
        count_round_trip()
        return call_checked(PROTOCOLS[part], target, name, *arguments, **options)

    def candidates_of(self, entities: Sequence[str], query: str, *, limit: int) -> list[Passage]:
        """See `protocols.candidates_of`; counted as `call` counts."""
        if self.knowledge.text is None:
            return []
        count_round_trip()
        return candidates_of(self.knowledge.text, entities, query, limit=limit)

    def ranker(self, name: str) -> Ranker:
        """The ranker of a setting, made on first use."""
        if self.own_ranker is not None:
            return self.own_ranker
        with self._lock:
            if name not in self._rankers:
                from thinkgraph.tools.encoders.rankers import load_ranker

                self._rankers[name] = load_ranker(name, self.knowledge.embedder)
            return self._rankers[name]
