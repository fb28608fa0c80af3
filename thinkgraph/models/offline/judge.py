"""Deciding whether evidence answers a question, without weights: what is not explained is still missing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from thinkgraph.models.offline.evidence import Shown
from thinkgraph.models.offline.passages import best_span
from thinkgraph.models.offline.paths import Path, PathFinder, combined
from thinkgraph.models.offline.reading import QuestionWords
from thinkgraph.models.offline.words import STOP, Similarity, number_in
from thinkgraph.prompts.lines import Item

ENOUGH = 0.7
"""A reading that explains less than this, by weight, is no answer."""
ENOUGH_TEXT = 0.8
ENOUGH_TEXT_ALONE = 0.93
"""Before any statement has been walked, a text that merely resembles the question must not stop the search."""
_PER_MENTION = 6
_BOTH = 2


@dataclass
class Decision:
    """What the evidence yields."""

    answers: list[str] = field(default_factory=list)
    lines: frozenset[int] = frozenset()
    clues: str = ""
    query: str = ""
    score: float = 0.0
    likely: list[str] = field(default_factory=list)
    """What a list holds of which more is known to be left out: an answer, but perhaps not all of it."""


def decide(question_text: str, items: Sequence[Item], similarity: Similarity) -> Decision:
    """Answer from evidence lines, or say what is known and what to look for."""
    question, shown = QuestionWords(question_text), Shown.of(items)
    finder = PathFinder(question, shown, similarity)
    paths = finder.search()
    if question.wants == "yesno" or question.is_claim:
        found = max(_yes_or_no(finder, paths), key=lambda d: d.score, default=None)
        enough = found is not None and found.score >= ENOUGH
    else:
        readings = [*_compared(finder, paths), *_intersected(finder, paths), *_single(finder, paths)]
        found = max(readings, key=lambda d: d.score, default=None)
        enough = found is not None and found.score >= ENOUGH
        if not enough:
            span = best_span(finder, shown, paths)
            if span and span.score >= (ENOUGH_TEXT if shown.edges else ENOUGH_TEXT_ALONE):
                return Decision([span.text], span.path.lines | {span.line}, score=span.score)
    if found and enough:
        return Decision(lines=found.lines, clues="", score=found.score, likely=found.likely) if found.likely else found
    return _open_end(finder, paths)


def _single(finder: PathFinder, paths: Sequence[Path]) -> Iterator[Decision]:
    question = finder.question
    for path in paths[:40]:
        if not finder.called_for(path) or (question.extreme and not _extreme_used(finder, path)):
            continue
        ends = [end for end in path.ends if end != path.mention.label]
        # A set that was walked on only in part would make a list with holes.
        if not ends or (not path.whole and len(path.before) * 2 < len(path.ends)):
            continue
        literal = all(number_in(end) is not None for end in ends)
        if question.is_count and not (literal and len(ends) == 1):
            counted = _count(finder, path)
            if counted:
                yield counted
            continue
        if not question.is_count and _cut(finder, path):
            yield Decision([], path.lines, score=path.score, likely=ends)
            continue
        yield Decision(ends, path.lines, score=path.score)


def _cut(finder: PathFinder, path: Path) -> bool:
    """Whether the last hop's lists are known to go on beyond what is shown."""
    nodes = dict.fromkeys(node for node, _ in path.before)
    return bool(path.edges) and any(finder.shown.edges[node][path.edges[-1]].cut for node in nodes)


def _extreme_used(finder: PathFinder, path: Path) -> bool:
    """Whether a superlative is part of a relation's name, or has picked one of several ends by a number beside it."""
    places = finder.question.extreme_places()
    named = any(finder.fit(relation).get(place) for relation, _ in path.edges for place in places)
    return named or path.picked


def _count(finder: PathFinder, path: Path) -> Decision | None:
    nodes = dict.fromkeys(node for node, _ in path.before)
    lists = [finder.shown.edges[node][path.edges[-1]] for node in nodes]
    if any(ends.full is None for ends in lists):
        return None
    lines = path.lines | {ends.full for ends in lists if ends.full is not None}
    # "How many" is explained by counting.
    return Decision([str(len(path.ends))], lines, score=path.score)


def _intersected(finder: PathFinder, paths: Sequence[Path]) -> Iterator[Decision]:
    groups: dict[str, list[Path]] = {}
    # One hop for each condition first: alone it explains little, so a path that does it all by itself would crowd it out.
    for path in sorted(paths, key=lambda path: len(path.edges)):
        group = groups.setdefault(path.mention.label, [])
        if path.mention.places and finder.called_for(path) and len(group) < _PER_MENTION:
            group.append(path)
    filled = [group for group in groups.values() if group]
    for size in range(_BOTH, min(len(filled), 3) + 1):
        for chosen in itertools.combinations(filled, size):
            for several in itertools.product(*(group[:_PER_MENTION] for group in chosen)):
                named = {path.mention.label for path in several}
                if len({frozenset(path.before) for path in several}) < len(several):
                    continue  # the same statements reached on two ways: no two conditions
                common = [e for e in several[0].ends if all(e in p.ends for p in several) and e not in named]
                if common and not finder.question.extreme:
                    score, _ = combined(finder, several)
                    yield Decision(common, frozenset().union(*(path.lines for path in several)), score=score)


def _compared(finder: PathFinder, paths: Sequence[Path]) -> Iterator[Decision]:
    question = finder.question
    if not question.extreme:
        return
    choose = max if question.extreme == "max" else min
    groups: dict[tuple[str, int], list[Path]] = {}
    for path in paths:
        if finder.called_for(path) and all(number_in(end) is not None for _, end in path.before):
            groups.setdefault((path.edges[-1][0], len(path.edges)), []).append(path)
    for group in groups.values():
        best: dict[str, Path] = {}
        for path in group:
            best.setdefault(path.mention.label, path)
        for several in ([path] for path in group[:_PER_MENTION]):
            yield from _extreme_of(finder, several, choose)
        named = [path for path in best.values() if path.mention.places]
        if len(named) >= _BOTH:
            yield from _extreme_of(finder, named, choose)


def _extreme_of(finder: PathFinder, several: Sequence[Path], choose: object) -> Iterator[Decision]:
    values = {node: number for path in several for node, end in path.before if (number := number_in(end)) is not None}
    # The largest of a set is known only if every member's value is shown.
    if len(values) < _BOTH or not all(path.whole and path.listed for path in several):
        return
    best = max(values.values()) if choose is max else min(values.values())
    _, explained = combined(finder, several)
    explained.update(dict.fromkeys(finder.question.extreme_places(), 1.0))
    lost = max(finder.lost(path) for path in several)
    score = finder.coverage(explained) - lost - finder.unsaid(explained)
    lines = frozenset().union(*(path.lines for path in several))
    yield Decision([node for node, value in values.items() if value == best], lines, score=score)


def _yes_or_no(finder: PathFinder, paths: Sequence[Path]) -> Iterator[Decision]:
    """Whether a path from one named thing reaches another; `no` only from a list that is shown whole."""
    named = [mention for mention in finder.mentions if mention.places]
    for path in paths:
        if not finder.called_for(path) or not path.mention.places:
            continue
        for other in named:
            if other.label == path.mention.label or other.places & path.mention.places:
                continue
            explained = {**path.explained, **dict.fromkeys(other.places, 1.0)}
            score = finder.coverage(explained) - finder.lost(path) - finder.unsaid(explained)
            nodes = [node for node, end in path.before if end == other.label]
            if nodes:
                yield Decision(["yes"], path.lines, score=score)
                continue
            lists = [finder.shown.edges[node][path.edges[-1]].full for node in dict.fromkeys(n for n, _ in path.before)]
            if path.whole and all(line is not None for line in lists) and lists:
                yield Decision(["no"], path.lines | {line for line in lists if line is not None}, score=score - 0.01)


def _open_end(finder: PathFinder, paths: Sequence[Path]) -> Decision:
    """What is known so far, and the words that nothing explains yet with the thing reached."""
    called = [path for path in paths if finder.called_for(path)]
    best = called[0] if called else next(iter(paths), None)
    words = finder.question.words
    if best is None:
        return Decision(query=" ".join(word for word in words if word not in STOP))
    missing = [words[n] for n in sorted(finder.weights) if best.explained.get(n, 0.0) < 0.45]  # noqa: PLR2004
    reached = ", ".join(best.ends[:3])
    known = ""
    if best.edges:
        hops = ", ".join(relation for relation, _ in best.edges)
        known = f"{best.mention.label}: {hops}: {reached}."
    return Decision(lines=best.lines, clues=known, query=f"{reached} {' '.join(missing)}".strip(), score=best.score)
