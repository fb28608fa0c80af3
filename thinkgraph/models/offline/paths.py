"""The evidence of a prompt as a small graph, and the paths in it that a question describes.

A path is a chain of relations from a thing that the question names. Its score says how much of the question its relations
explain, and how far the question calls for each of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from thinkgraph.models.offline.words import (
    QuestionMention,
    QuestionWords,
    Similarity,
    content,
    is_literal,
    number_in,
    tokens,
    weight,
)
from thinkgraph.prompts.lines import Item

Edge = tuple[str, bool]
"""(relation, outgoing)."""

DEPTH = 3
_BEAM = 60
_NAME_WEIGHT = 1.5
EXPLAINED = 0.45
"""A word that is explained less than this counts as not explained."""
_CALLED = 0.5
"""The question does not call for a hop with less support than this."""
_NEAR = 4
"""Words on either side of a hop's word that may belong to its relation's name."""
_NAME_SAYS_RELATION = 0.38
"""Least cosine of a thing's name and a relation: the Swiss franc is somebody's currency."""


def best_of(every: Iterable[Mapping[int, float]]) -> dict[int, float]:
    """Positions of words, each with the best of its values."""
    best: dict[int, float] = {}
    for explained in every:
        best |= {place: max(best.get(place, 0.0), value) for place, value in explained.items()}
    return best


@dataclass
class Ends:
    """What one relation of a node reaches, as far as the evidence shows it."""

    lines: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """Ends in the order shown, each with the numbers of its lines."""
    rank: dict[str, float] = field(default_factory=dict)
    """Ends with a number among their qualifiers (a share, a rank)."""
    full: int | None = None
    """The line that lists all ends, if there is one."""
    cut: bool = False
    """Whether a list leaves ends out that no other line shows."""


@dataclass
class EvidenceGraph:
    """The evidence lines of a prompt, by node."""

    edges: dict[str, dict[Edge, Ends]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(Ends)))
    passages: list[Item] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Add an evidence line."""
        if item.passage:
            self.passages.append(item)
        for hop in item.triples:
            ends = self.edges[hop.source][hop.relation, hop.outgoing]
            ends.lines[hop.target].add(item.number)
            for name, value in hop.qualifiers:
                number = number_in(value)
                if number is not None and "year" not in name and "date" not in name:  # these say when, not how much
                    ends.rank.setdefault(hop.target, number)
            self.edges[hop.target][hop.relation, not hop.outgoing].lines[hop.source].add(item.number)
        for listed in item.lists:
            ends = self.edges[listed.source][listed.relation, listed.outgoing]
            if listed.more == 0 and len(listed.ends) > 1:
                ends.full = item.number
            # Several lines may share the ends of one list.
            ends.cut = len(ends.lines) < len(set(listed.ends)) + listed.more


@dataclass(frozen=True)
class GraphPath:
    """A chain of relations from a named thing, with what it reaches."""

    mention: QuestionMention
    edges: tuple[Edge, ...] = ()
    ends: tuple[str, ...] = ()
    last_hop: tuple[tuple[str, str], ...] = ()
    """(node, end) of the last hop."""
    lines: frozenset[int] = frozenset()
    """Numbers of the evidence lines that the path stands on."""
    explained: dict[int, float] = field(default_factory=dict)
    """Positions of the question's words, each with how far it is explained (0 to 1)."""
    anchors: tuple[int, ...] = ()
    """For each hop the position of the word that calls for it; -1 where none does."""
    support: tuple[float, ...] = ()
    """For each hop how far the question calls for its relation."""
    whole: bool = True
    """Whether every node before a hop was walked on."""
    listed: bool = True
    """Whether every hop with several ends is shown as a complete list."""
    picked: bool = False
    """Whether a superlative has picked one of several ends by a number beside it."""
    score: float = 0.0


class PathFinder:
    """Searches an evidence graph for the paths that fit a question."""

    def __init__(self, question: QuestionWords, graph: EvidenceGraph, similarity: Similarity) -> None:
        self.question = question
        self.graph = graph
        self.similarity = similarity
        relations = dict.fromkeys(relation for edges in graph.edges.values() for relation, _ in edges)
        similarity.warm([*relations, *(word for word in question.words if weight(word))])
        self.mentions = question.mentions(graph.edges)
        self.weights = {n: value for n, word in enumerate(question.words) if (value := weight(word))}
        for mention in self.mentions:
            inside = [place for place in mention.places if place in self.weights]
            # A name counts as one thing, however many words it has.
            self.weights.update(dict.fromkeys(inside, _NAME_WEIGHT / max(1, len(inside))))
        self._named = {place for mention in self.mentions for place in mention.places}
        strong = (place for place, value in self.weights.items() if value >= 1)
        self._strong = [place for place in strong if weight(question.words[place]) >= 1]
        self._fits: dict[str, dict[int, float]] = {}

    @property
    def asks(self) -> bool:
        """Whether the question says more than names: else a sentence about one of them would answer it."""
        return not self._named.issuperset(self._strong)

    def search(self) -> list[GraphPath]:
        """The best paths of each length up to DEPTH, best first."""
        beam = [
            self._scored(GraphPath(mention, ends=(mention.label,), explained=dict.fromkeys(mention.places, 1.0)))
            for mention in self.mentions
        ]
        found = list(beam)
        for _ in range(DEPTH):
            beam = sorted((path for start in beam for path in self._extended(start)), key=_order)[:_BEAM]
            found += beam
        return sorted(found, key=_order)

    def fit(self, relation: str) -> dict[int, float]:
        """Positions of the question's words that a relation's name explains, each with how far."""
        if relation not in self._fits:
            self._fits[relation] = {
                place: value
                for place in self.weights
                if place not in self._named
                and (value := self.similarity.word(self.question.words[place], relation)) >= EXPLAINED
            }
        return self._fits[relation]

    def called_for(self, path: GraphPath) -> bool:
        """Whether the question calls for every hop of a path."""
        return bool(path.edges) and min(path.support) >= _CALLED

    def rating(self, explained: dict[int, float], paths: Iterable[GraphPath]) -> float:
        """How much of the question is explained, less what the paths' hops lack in support and strong words in explanation."""
        total = sum(self.weights.values()) or 1.0
        covered = sum(value * explained.get(place, 0.0) for place, value in self.weights.items()) / total
        lost = max(sum(0.2 * (1 - min(value, 1.0)) for value in path.support) for path in paths)
        return covered - lost - 0.12 * len(self.unexplained(explained))

    def unexplained(self, explained: dict[int, float]) -> list[int]:
        """Positions of the words with full weight that are not explained."""
        return [place for place in self._strong if explained.get(place, 0.0) < EXPLAINED]

    def last_ends(self, path: GraphPath) -> list[Ends]:
        """What the last relation of a path reaches from each node before it."""
        return [self.graph.edges[node][path.edges[-1]] for node in dict.fromkeys(node for node, _ in path.last_hop)]

    def _extended(self, path: GraphPath) -> Iterable[GraphPath]:
        options: dict[Edge, dict[str, Ends]] = defaultdict(dict)
        for node in path.ends:
            for edge, ends in self.graph.edges.get(node, {}).items():
                options[edge][node] = ends
        passed = {path.mention.label, *(node for node, _ in path.last_hop)} if path.edges else set()
        for edge, by_node in options.items():
            anchor = self._anchor(path, edge)
            kept = {node: self._singled_out(ends, anchor) for node, ends in by_node.items()}
            pairs = [(node, end) for node, ends in kept.items() for end in ends if end not in passed]
            if not pairs:
                continue
            lines = {by_node[node].full or min(by_node[node].lines[end]) for node, end in pairs}
            picked = any(len(kept[node]) < len(by_node[node].lines) for node in by_node)
            said = dict.fromkeys(self.question.extremes, 1.0) if picked else {}
            yield self._scored(
                GraphPath(
                    mention=path.mention,
                    edges=(*path.edges, edge),
                    ends=tuple(dict.fromkeys(end for _, end in pairs)),
                    last_hop=tuple(pairs),
                    lines=path.lines | lines,
                    explained=best_of([path.explained, self.fit(edge[0]), said]),
                    anchors=(*path.anchors, anchor),
                    support=(*path.support, self._support(edge, anchor)),
                    whole=path.whole and len(by_node) == len(path.ends),
                    listed=path.listed and all(ends.full or len(ends.lines) == 1 for ends in by_node.values()),
                    picked=path.picked or picked,
                )
            )

    def _anchor(self, path: GraphPath, edge: Edge) -> int:
        """The word that fits a relation best and calls for no earlier hop; -1 where none does."""
        free = {place: value for place, value in self.fit(edge[0]).items() if place not in path.anchors}
        if not free and not path.edges and not edge[1] and self._says(path.mention.label, edge[0]):
            return min(path.mention.places)
        return max(free, key=lambda place: free[place], default=-1)

    def _says(self, label: str, relation: str) -> bool:
        return self.similarity.has_vectors and self.similarity.cosine(label, relation) >= _NAME_SAYS_RELATION

    def _support(self, edge: Edge, anchor: int) -> float:
        """How far the question calls for a relation: by the fit of the anchor and the share of the name it says nearby."""
        if anchor < 0:
            return 0.0
        ahead = 0.03 * edge[1]
        if anchor not in self.fit(edge[0]):  # the thing's own name calls for it
            return 0.7 + ahead
        words = content(self.question.words[max(0, anchor - _NEAR) : anchor + _NEAR + 1])
        parts = content(tokens(edge[0]))
        shares = [max(self.similarity.word(word, part) for word in words) for part in parts]
        return 0.6 * self.fit(edge[0])[anchor] + 0.4 * sum(shares) / max(1, len(shares)) + ahead

    def _singled_out(self, ends: Ends, anchor: int) -> list[str]:
        """All ends, or the one that a superlative before the relation's word picks by a number beside it (a share).

        It picks only from a complete list: the largest end that happens to be shown need not be the largest of all.
        """
        superlative = any(anchor - 3 <= place < anchor for place in self.question.extremes)
        if not superlative or ends.full is None or len(ends.rank) < 2 or len(ends.rank) < len(ends.lines):  # noqa: PLR2004
            return list(ends.lines)
        return [self.question.choose(ends.rank, key=lambda end: ends.rank[end])]

    def _scored(self, path: GraphPath) -> GraphPath:
        off = 0.01 * len(path.edges) + 0.3 * self._mismatch(path)
        return replace(path, score=self.rating(path.explained, [path]) - off)

    def _mismatch(self, path: GraphPath) -> float:
        """The share of ends that are not the sort of thing asked for; 1 for a path without a hop."""
        if not path.edges:
            return 1.0
        values = sum(map(is_literal, path.ends)) / len(path.ends)
        wants = self.question.wants
        return values if wants == "who" else 1 - values if wants in {"time", "number"} else 0.0


def _order(path: GraphPath) -> tuple[float, int, str, tuple[Edge, ...]]:
    return (-path.score, len(path.edges), path.mention.label, path.edges)
