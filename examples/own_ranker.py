"""A ranker of your own: anything with a name and `score(query, texts)` decides which passages count.

    python examples/own_ranker.py

`thinkgraph.testing.conformance.ranker` tests one of yours.
"""

from __future__ import annotations

from collections.abc import Sequence

import thinkgraph as tg


class LetterTriples:
    """Scores a text by the share of the query's letter triples that it holds: no model, no dictionary, any language."""

    name = "letter-triples"
    """Stands in the run's manifest: a run is not resumed with another ranker."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score from 0 to 1 for each text, higher is better."""
        wanted = self._triples(query)
        return [len(wanted & self._triples(text)) / max(len(wanted), 1) for text in texts]

    @staticmethod
    def _triples(text: str) -> set[str]:
        plain = text.casefold()
        return {plain[start : start + 3] for start in range(len(plain) - 2)}


def main() -> None:
    """Ask with it."""
    graph = tg.build("tog2", knowledge="world", model="offline", ranker=LetterTriples())
    question = "At what age can people vote in the country whose highest point is Mont Ngaoui?"
    answer = graph.invoke({"question": question})["answer"]
    print(answer["text"], f"({answer['status']})")
    print("cited:", ", ".join(passage["id"] for passage in answer["evidence"]["passages"]))


if __name__ == "__main__":
    main()
