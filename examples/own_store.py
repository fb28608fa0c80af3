"""A store of your own: passages from wherever you keep them, beside a graph.

    python examples/own_store.py

`TextStore` has four methods, `GraphStore` nine (thinkgraph/tools/protocols.py). Each takes a list and costs one round trip;
`thinkgraph.testing.conformance` tests a store of yours.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import thinkgraph as tg
from thinkgraph.state.knowledge import Passage, PassageHit, TextInfo
from thinkgraph.testing.memory import MemoryGraphStore

WIKI = {
    "Baru": "Volcan Baru is the highest mountain of Panama. It last erupted around 1550.",
    "Panama": "Citizens of Panama may vote from the age of 18.",
}
"""Stands for your wiki, your database, your API."""


class WikiStore:
    """One passage for each page; an entity's page is called as the entity is."""

    def info(self) -> TextInfo:
        """The fingerprint changes with the content: a run is not resumed over other texts."""
        fingerprint = hashlib.sha256(repr(sorted(WIKI.items())).encode()).hexdigest()[:16]
        return TextInfo(name="wiki", fingerprint=fingerprint, passages=len(WIKI), entities=len(WIKI))

    def passages(self, ids: Sequence[str]) -> list[Passage | None]:
        """By id, None for those that are not there."""
        return [
            Passage(id=page, entities=[page], title=page, section="", text=WIKI[page]) if page in WIKI else None
            for page in ids
        ]

    def passages_of(self, entities: Sequence[str], query: str, *, limit: int = 50) -> list[PassageHit]:
        """Those of some entities, nearest first: here by words in common, in yours by vectors perhaps."""
        wanted = set(query.casefold().split())
        hits = [
            PassageHit(
                passage=passage, score=len(wanted & set(passage["text"].casefold().split())) / (len(wanted) or 1)
            )
            for passage in self.passages(list(dict.fromkeys(entities)))
            if passage is not None
        ]
        return sorted(hits, key=lambda hit: -hit["score"])[:limit]

    def search(self, queries: Sequence[str], *, limit: int = 10) -> list[list[PassageHit]]:
        """Those of everything, for each query."""
        return [self.passages_of(list(WIKI), query, limit=limit) for query in queries]


def main() -> None:
    """Put it beside a graph and ask."""
    graph = MemoryGraphStore([("Panama", "highest point", "Baru"), ("Panama", "borders", "Colombia")])
    kb = tg.Knowledge(graph=graph, text=WikiStore(), name="mine")
    question = "At what age can people vote in the country whose highest point is Baru?"
    answer = tg.build("tog2", knowledge=kb, settings={"ranker": "bm25"}).invoke({"question": question})["answer"]
    print(answer["text"], f"({answer['status']})")
    print("cited:", ", ".join(passage["id"] for passage in answer["evidence"]["passages"]))


if __name__ == "__main__":
    main()
