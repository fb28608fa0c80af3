"""A linker that knows the topic entities a benchmark gives with its questions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from thinkgraph.eval.questions import Question
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.knowledge import Entity, Link, Match
from thinkgraph.tools.linking.names import normal_name
from thinkgraph.tools.meter import count_round_trip
from thinkgraph.tools.protocols import GraphStore, Linker, link_by_name

_Ids = dict[str, dict[str, None]]
"""Ids by name; a name may have none."""


class TopicLinker:
    """Links a benchmark's questions to their given topic entities; any other text as the usual linker does.

    Published tables assume given topic entities (FastToG, "Dataset and Evaluation Metric"; ToG). With this linker every method gets the same ones.
    """

    def __init__(self, questions: Sequence[Question], graph: GraphStore, other: Linker) -> None:
        """Bind the topics.

        Args:
            questions: those with a `topic` are linked by it. Questions of the same words share their topics.
            graph: where a topic is looked up by its ids, and by its name (exact names, then aliases) where it has none of them.
            other: links everything else.
        """
        self._topics: dict[str, _Ids] = defaultdict(dict)
        self._names: _Ids = {}
        for question in questions:
            ids = question.topic_ids or ((),) * len(question.topic)
            for name, keys in zip(question.topic, ids, strict=True):
                self._topics[one_line(question.question)].setdefault(name, {}).update(dict.fromkeys(keys))
                self._names.setdefault(normal_name(name), {}).update(dict.fromkeys(keys))
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
        known, found = self._looked_up([topics for topics in given if topics], limit)
        rest = [text for text, topics in zip(texts, given, strict=True) if topics is None]
        linked = iter(others(rest) if rest else [])
        results: list[list[Link]] = []
        for text, topics in zip(texts, given, strict=True):
            if topics is None:
                results.append(next(linked))
                continue
            links: dict[str, Link] = {}
            for name, ids in topics.items():
                start = text.find(name)
                for key in ids:
                    if entity := known.get(key):
                        links[key] = Link(entity=entity, mention=name, start=start, method="exact", score=1.0)
                for match in found.get(name, ()):
                    entity, method, score = match["entity"], match["method"], match["score"]
                    links[entity["id"]] = Link(entity=entity, mention=name, start=start, method=method, score=score)
            results.append(list(links.values())[:limit])
        return results

    def _looked_up(
        self, given: Sequence[Mapping[str, Mapping[str, None]]], limit: int
    ) -> tuple[dict[str, Entity], dict[str, list[Match]]]:
        """The entities that the graph has by id, and by name where it has none of a topic's ids."""
        ids = list(dict.fromkeys(key for topics in given for keys in topics.values() for key in keys))
        if ids:
            count_round_trip()
        entities = self._graph.entities(ids) if ids else []
        known = {key: entity for key, entity in zip(ids, entities, strict=True) if entity is not None}
        names = list(
            dict.fromkeys(n for topics in given for n, keys in topics.items() if not known.keys() & keys.keys())
        )
        if names:
            count_round_trip()
        return known, dict(zip(names, self._graph.lookup(names, limit=limit), strict=True)) if names else {}

    def _given(self, text: str) -> Mapping[str, Mapping[str, None]] | None:
        """The topics that a text stands for; None for any other text."""
        if (topics := self._topics.get(one_line(text))) is not None:
            return topics
        ids = self._names.get(normal_name(text))
        return None if ids is None else {text: ids}
