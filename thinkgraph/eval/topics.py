"""A linker that knows the topic entities a benchmark gives with its questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from thinkgraph.eval.questions import Question
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.knowledge import Link
from thinkgraph.tools.linking.names import normal_name
from thinkgraph.tools.meter import count_round_trip
from thinkgraph.tools.protocols import GraphStore, Linker, link_by_name


class TopicLinker:
    """Links a benchmark's questions to their given topic entities; any other text as the usual linker does.

    Published tables assume given topic entities (FastToG section 4.1, ToG). With this linker every method gets the same ones.
    """

    def __init__(self, questions: Sequence[Question], graph: GraphStore, other: Linker) -> None:
        """Bind the topics.

        Args:
            questions: those with `topic` names are linked by them.
            graph: where the names are looked up (as ids, else as exact names and aliases).
            other: links everything else.
        """
        self._topics = {one_line(question.question): question.topic for question in questions if question.topic}
        self._names = {normal_name(name) for names in self._topics.values() for name in names}
        self._graph = graph
        self._other = other

    def link(self, texts: Sequence[str], *, limit: int = 20) -> list[list[Link]]:
        """See `Linker.link`."""
        return self._linked(texts, limit, lambda rest: self._other.link(rest, limit=limit))

    def link_names(self, texts: Sequence[str], *, limit: int = 20, guess: bool = False) -> list[list[Link]]:
        """See `NameLinker.link_names`."""
        return self._linked(texts, limit, lambda rest: link_by_name(self._other, rest, limit=limit, guess=guess))

    def _linked(
        self, texts: Sequence[str], limit: int, others: Callable[[Sequence[str]], list[list[Link]]]
    ) -> list[list[Link]]:
        given = [self._given(text) for text in texts]
        names = list(dict.fromkeys(name for topics in given if topics for name in topics))
        if names:
            count_round_trip()
        found = dict(zip(names, self._graph.lookup(names, limit=limit), strict=True)) if names else {}
        rest = [text for text, topics in zip(texts, given, strict=True) if topics is None]
        linked = iter(others(rest) if rest else [])
        results: list[list[Link]] = []
        for text, topics in zip(texts, given, strict=True):
            if topics is None:
                results.append(next(linked))
                continue
            links = {
                match["entity"]["id"]: Link(
                    entity=match["entity"],
                    mention=name,
                    start=text.find(name),
                    method=match["method"],
                    score=match["score"],
                )
                for name in topics
                for match in found[name]
            }
            results.append(list(links.values())[:limit])
        return results

    def _given(self, text: str) -> tuple[str, ...] | None:
        if (topics := self._topics.get(one_line(text))) is not None:
            return topics
        return (text,) if normal_name(text) in self._names else None
