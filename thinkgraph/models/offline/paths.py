"""Finding the path that a question describes among the statements of the evidence.

A path is a chain of relations from a thing the question names. It fits as far as its relations explain the question's
words and the question's words call for its relations; what no relation explains is still missing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from thinkgraph.models.offline.evidence import Edge, Ends, Shown
from thinkgraph.models.offline.reading import Mention, QuestionWords
from thinkgraph.models.offline.words import STOP, Similarity, is_literal, nearness, number_in, stem, tokens, weight

DEPTH = 3
BEAM = 60
_NAME_WEIGHT = 1.5
_EXPLAINED = 0.45
_SHARED = frozenset(["other", "also", "same", "both", "common", "else", "share", "shares", "another"])
CALLED = 0.5
"""A hop with less support is not called for by the question."""


@dataclass(frozen=True)
class Path:
    """A chain of relations from a named thing, with what it reaches."""

    mention: Mention
    edges: tuple[Edge, ...] = ()
    ends: tuple[str, ...] = ()
    before: tuple[tuple[str, str], ...] = ()
    """(node, end) of the last hop."""
    lines: frozenset[int] = frozenset()
    explained: dict[int, float] = field(default_factory=dict)
    """Position of a question's word to how well it is explained."""
    anchors: tuple[int, ...] = ()
    """For each hop the position of the word that calls for it; -1 where none does."""
    support: tuple[float, ...] = ()
    """For each hop how well its relation is called for."""
    whole: bool = True
    """Whether every node of the frontier has been walked on."""
    listed: bool = True
    """Whether every hop with several ends is shown as a list that leaves none out."""
    picked: bool = False
    """Whether a superlative has picked one of several ends by a number beside it."""
    score: float = 0.0


class PathFinder:
    """Searches the shown statements for the paths that fit a question."""

    def __init__(self, question: QuestionWords, shown: Shown, similarity: Similarity) -> None:
        self.question = question
        self.shown = shown
        self.similarity = similarity
        similarity.warm([*shown.relations, *(w for w in question.words if weight(w))])
        self.mentions = question.mentions(shown.edges)
        named = frozenset(place for mention in self.mentions for place in mention.places)
        for start in shown.starts:
            # A start under another name (an alias): the question's words that resemble it, if any, are its mention.
            if not any(mention.label == start for mention in self.mentions) and len(self.mentions) < len(shown.starts):
                self.mentions.append(Mention(start, question.loose_places(start) - named))
        self.weights = question.weights()
        for mention in self.mentions:
            inside = [place for place in mention.places if place in self.weights]
            # A name counts as one thing, however many words it has.
            self.weights.update(dict.fromkeys(inside, _NAME_WEIGHT / max(1, len(inside))))
        self._strong = [p for p, value in self.weights.items() if value >= 1.0 and weight(question.words[p]) >= 1.0]
        self._fit: dict[str, dict[int, float]] = {}

    def fit(self, relation: str) -> dict[int, float]:
        """Position of each question's word to how well the relation's name explains it."""
        if relation not in self._fit:
            named = {place for mention in self.mentions for place in mention.places}
            fits = {
                n: value
                for n, word in enumerate(self.question.words)
                if n not in named and word not in STOP and (value := self.similarity.word(word, relation)) >= _EXPLAINED
            }
            self._fit[relation] = fits
        return self._fit[relation]

    def called(self, relation: str, anchor: int) -> float:
        """How well the question calls for a relation: the anchor's fit and the share of the relation's words it names."""
        if anchor < 0:
            return 0.0
        if anchor not in self.fit(relation):  # called for by the thing's own name
            return 0.7
        parts = [part for part in tokens(relation) if part not in STOP] or tokens(relation)
        shares = [max((self.similarity.word(w, p) for w in self._near(anchor)), default=0.0) for p in parts]
        return 0.6 * self.fit(relation)[anchor] + 0.4 * sum(shares) / len(shares)

    def _near(self, anchor: int) -> list[str]:
        words = self.question.words
        return [words[n] for n in range(max(0, anchor - 4), min(len(words), anchor + 5)) if words[n] not in STOP]

    def search(self) -> list[Path]:
        """The paths that fit best, best first, all lengths up to DEPTH."""
        beam = [self._scored(Path(mention, ends=(mention.label,))) for mention in self.mentions]
        found = list(beam)
        for _ in range(DEPTH):
            longer = [path for start in beam for path in self._extend(start)]
            longer.sort(key=_order)
            beam = longer[:BEAM]
            found += beam
        found.sort(key=_order)
        return found

    def _extend(self, path: Path) -> Iterable[Path]:
        options: dict[Edge, dict[str, Ends]] = {}
        for node in path.ends:
            for edge, ends in self.shown.edges.get(node, {}).items():
                options.setdefault(edge, {})[node] = ends
        for edge, by_node in options.items():
            pairs: list[tuple[str, str]] = []
            lines: set[int] = set()
            noted: set[int] = set()
            picked = path.picked
            anchor = self._anchor(path, edge)
            for node, ends in by_node.items():
                best = self._singled_out(ends, anchor)
                picked = picked or len(best) < len(ends.lines)
                kept, told = self._noted(ends, best)
                noted |= told
                for end in kept:
                    # Back to a thing that the path has come through leads nowhere new.
                    if path.edges and (end == path.mention.label or end in dict(path.before)):
                        continue
                    pairs.append((node, end))
                    lines |= {min(ends.lines[end])} if ends.full is None else {ends.full}
            if pairs:
                grown = self._grown(path, edge, pairs, lines, anchor, whole=len(by_node) == len(path.ends))
                lists = all(ends.full is not None or len(ends.lines) == 1 for ends in by_node.values())
                grown = replace(grown, listed=path.listed and lists, picked=picked)
                grown.explained.update(dict.fromkeys(noted, 1.0))
                yield self._scored(grown)

    def _grown(
        self, path: Path, edge: Edge, pairs: list[tuple[str, str]], lines: set[int], anchor: int, *, whole: bool
    ) -> Path:
        explained = dict(path.explained)
        for place, value in self.fit(edge[0]).items():
            if place != anchor and self._repeated(place):
                continue  # "the capitals of the neighbours of the country whose capital is": one hop for each
            explained[place] = max(explained.get(place, 0.0), value)
        support = self.called(edge[0], anchor) + self._direction(edge, self._last_word(edge[0], anchor), path.mention)
        return Path(
            mention=path.mention,
            edges=(*path.edges, edge),
            ends=tuple(dict.fromkeys(end for _, end in pairs)),
            before=tuple(pairs),
            lines=path.lines | lines,
            explained=explained,
            anchors=(*path.anchors, anchor),
            support=(*path.support, support),
            whole=path.whole and whole,
        )

    def _anchor(self, path: Path, edge: Edge) -> int:
        """The best word for a relation that no earlier hop of the path has taken; the one nearer to the last on a tie."""
        free = {place: value for place, value in self.fit(edge[0]).items() if place not in self._taken(path)}
        if not free and not path.edges and not edge[1] and self._is_a(path.mention.label, edge[0]):
            return min(path.mention.places, default=-1)
        middle = (
            sum(path.mention.places) / len(path.mention.places) if path.mention.places else len(self.question.words)
        )
        last = path.anchors[-1] if path.anchors and path.anchors[-1] >= 0 else middle
        return max(free, key=lambda place: (round(free[place], 1), -abs(place - last)), default=-1)

    def _repeated(self, place: int) -> bool:
        words = self.question.words
        return sum(stem(word) == stem(words[place]) for word in words) > 1

    def _taken(self, path: Path) -> set[int]:
        """Words that earlier hops stand for: each hop's anchor and what its relation's name says beside it."""
        taken = set(path.anchors)
        for (relation, _), anchor in zip(path.edges, path.anchors, strict=True):
            near = range(anchor - 4, anchor + 5) if anchor >= 0 else ()
            taken |= {place for place in near if self.fit(relation).get(place, 0.0) >= 1}
        return taken

    def _is_a(self, label: str, relation: str) -> bool:
        """Whether a thing's own name says the relation that leads to it: the Swiss franc is somebody's currency."""
        return self.similarity.has_vectors and self.similarity.cosine(label, relation) >= 0.38  # noqa: PLR2004

    def _singled_out(self, ends: Ends, anchor: int) -> list[str]:
        """All ends, or the one that a superlative before the relation's word picks by a number beside it (a share).

        Only from a list that is shown whole: the largest of those that happen to be shown need not be the largest.
        """
        near = [place for place in self.question.extreme_places() if anchor - 3 <= place < anchor]
        if not near or ends.full is None or len(ends.rank) < 2 or len(ends.rank) < len(ends.lines):  # noqa: PLR2004
            return list(ends.lines)
        choose = max if self.question.extreme == "max" else min
        best = choose(ends.rank.values())
        return [next(end for end in ends.lines if ends.rank[end] == best)]

    def _noted(self, ends: Ends, kept: Sequence[str]) -> tuple[list[str], set[int]]:
        """The ends whose qualifiers say words of the question (a title), if there are such, and the words said."""
        told = {
            end: {n for n in self._strong if any(nearness(self.question.words[n], w) >= 1 for w in tokens(note))}
            for end, note in ends.notes.items()
            if end in kept
        }
        most = max((len(places) for places in told.values()), default=0)
        if not most:
            return list(kept), set()
        best = [end for end in kept if len(told.get(end, ())) == most]
        return best, set().union(*(told[end] for end in best))

    def _last_word(self, relation: str, anchor: int) -> int:
        """Where the name of a relation ends in the question: "export partner of"."""
        while anchor >= 0 and self.fit(relation).get(anchor + 1, 0.0) >= 1:
            anchor += 1
        return anchor

    def _direction(self, edge: Edge, anchor: int, mention: Mention) -> float:
        """`whose capital is X` walks the relation backwards, `the capital of X` forwards."""
        if anchor < 0 or not mention.places:
            return 0.0
        words, at = self.question.words, min(mention.places)
        backwards = any(word in {"whose", "has", "have", "with"} for word in words[max(0, anchor - 3) : anchor])
        forwards = anchor < at and words[anchor + 1 : anchor + 2] in (["of"], ["in"]) and at - anchor <= 4  # noqa: PLR2004
        if backwards and anchor < at:
            return -0.2 if edge[1] else 0.05
        if forwards:
            return 0.05 if edge[1] else -0.2
        return 0.03 * edge[1]

    def _scored(self, path: Path) -> Path:
        explained = dict(path.explained)
        explained.update(dict.fromkeys(path.mention.places | self._told_apart(path.mention), 1.0))
        if self._uses_extreme(path):
            explained.update(dict.fromkeys(self.question.extreme_places(), 1.0))
        coverage = self.coverage(explained)
        lost = self.lost(path)
        crossed = 0.0
        if len(path.anchors) > 1 and path.mention.places:
            middle = sum(path.mention.places) / len(path.mention.places)
            far = [abs(anchor - middle) for anchor in path.anchors if anchor >= 0]
            crossed = sum(0.08 for one, two in itertools.pairwise(far) if two < one)
        back = any(one[0] == two[0] and one[1] != two[1] for one, two in itertools.pairwise(path.edges))
        if back and not _SHARED & set(self.question.words):
            crossed += 0.2  # along a relation and back by it: things of a kind, which the question must say it wants
        unnamed = 0.1 if not path.mention.places else 0.0
        score = (
            coverage - lost - self.unsaid(explained) - crossed - unnamed - 0.01 * len(path.edges) - self._mismatch(path)
        )
        return replace(path, explained=explained, score=score)

    def _told_apart(self, mention: Mention) -> frozenset[int]:
        """Words of a thing that tells a mention from its namesakes: the Valencia of Venezuela."""
        near = self.shown.edges.get(mention.label, {})
        beside = {end for ends in near.values() for end in ends.lines}
        found: frozenset[int] = frozenset()
        for other in self.mentions:
            if other.label in beside and mention.places and other.places and max(mention.places) < min(other.places):
                between = self.question.words[max(mention.places) + 1 : min(other.places)]
                if len(between) == 1 and between[0] in {"of", "in"}:
                    found |= other.places
        return found

    def lost(self, path: Path) -> float:
        """What is taken off for hops that the question does not call for.

        A first hop may go unsaid where more follow: "the prime minister of the country of the zloty".
        """
        total = 0.0
        for place, value in enumerate(path.support):
            unsaid = place == 0 and len(path.support) > 1 and path.anchors[0] < 0 and not path.edges[0][1]
            total += 0.12 if unsaid else 0.2 * (1 - min(value, 1.0))
        return total

    def unsaid(self, explained: dict[int, float]) -> float:
        """What is taken off for words that weigh and that nothing explains."""
        words = 0.12 * sum(explained.get(place, 0.0) < _EXPLAINED for place in self._strong)
        # A thing that is named and plays no part: the question says more than the path.
        names = sum(not any(explained.get(place) for place in m.places) for m in self.mentions if m.places)
        return words + 0.2 * names

    def called_for(self, path: Path) -> bool:
        """Whether the question calls for every hop (but for a first one that may go unsaid)."""
        first = 1 if len(path.support) > 1 and path.anchors[0] < 0 and not path.edges[0][1] else 0
        return bool(path.edges) and min(path.support[first:]) >= CALLED

    def coverage(self, explained: dict[int, float]) -> float:
        """The share of the question's words that is explained, by weight."""
        total = sum(self.weights.values()) or 1.0
        return sum(value * explained.get(place, 0.0) for place, value in self.weights.items()) / total

    def _uses_extreme(self, path: Path) -> bool:
        if not self.question.extreme or not path.edges:
            return False
        values = len({node for node, _ in path.before}) > 1 and all(
            number_in(end) is not None for _, end in path.before
        )
        return path.picked or values

    def _mismatch(self, path: Path) -> float:
        """What is lost where the ends are not the sort of thing that is asked for."""
        if not path.edges:
            return 0.3
        numbers = sum(number_in(end) is not None and is_literal(end) for end in path.ends) / len(path.ends)
        wants = self.question.wants
        if any(end == path.mention.label for end in path.ends) and wants != "yesno":
            return 0.4
        if wants == "who":
            return 0.3 * numbers
        if wants == "time":
            return 0.3 * (1 - numbers)
        if wants == "number":
            return 0.0 if self.question.is_count else 0.3 * (1 - numbers)
        return 0.0


def _order(path: Path) -> tuple[float, int, str, tuple[Edge, ...]]:
    return (-path.score, len(path.edges), path.mention.label, path.edges)


def combined(finder: PathFinder, paths: Sequence[Path]) -> tuple[float, dict[int, float]]:
    """Score of several paths taken together: what they explain between them, less what each of them lacks."""
    explained: dict[int, float] = {}
    for path in paths:
        for place, value in path.explained.items():
            explained[place] = max(explained.get(place, 0.0), value)
    lost = max(finder.lost(path) for path in paths)
    # Of two ways to satisfy all conditions the more direct one is meant.
    detour = 0.05 * sum(len(path.edges) - 1 for path in paths)
    return finder.coverage(explained) - lost - finder.unsaid(explained) - 0.01 * len(paths) - detour, explained
