"""Deciding whether evidence answers a question. What nothing explains is still missing."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from thinkgraph.models.offline.paths import EXPLAINED, EvidenceGraph, GraphPath, PathFinder, best_of
from thinkgraph.models.offline.words import STOP, QuestionWords, Similarity, content, nearness, number_in, tokens
from thinkgraph.prompts.lines import Item

_ENOUGH = 0.7
"""Least score of an answer from statements."""
_ENOUGH_TEXT = 0.8
"""Least score of an answer from a passage."""
_MOST_PATHS = 40
_PER_MENTION = 6
_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=\S)")
_NAME = re.compile(r"[^\W\d_a-z][\w'\u2019.-]*(?:\s+(?:of|the|de|la|da|von|al|and)?\s*[^\W\d_a-z][\w'\u2019.-]*)*")
_QUOTED = re.compile(r"[\"\u201c\u00ab][^\"\u201d\u00bb]{1,80}[\"\u201d\u00bb]")
_FIELD = re.compile(r"(?:^|[:;.,-]) *([\w ]+): +([^:;(]*[^:;(\s])(?= *(?:[;(.]|$))")
"""A label and its value: "Currency: Jamaican dollars (JMD)"."""
_MONTHS = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DATE = re.compile(rf"\b\d{{1,2}} {_MONTHS} \d{{4}}|\b{_MONTHS} \d{{1,2}}, \d{{4}}|\b\d{{4}}-\d\d-\d\d")
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d{2}\b")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?%?")
_PATTERNS = {"time": (_DATE, _YEAR), "number": (_NUMBER,), "count": (_NUMBER,)}


@dataclass
class Conclusion:
    """What the evidence yields."""

    answers: list[str] = field(default_factory=list)
    lines: frozenset[int] = frozenset()
    score: float = 0.0
    clues: str = ""
    query: str = ""
    likely: list[str] = field(default_factory=list)
    """The shown ends of a list that is known to be cut: answers, but perhaps not all."""


def decide(question_text: str, items: Sequence[Item], similarity: Similarity, *, verdict: bool = False) -> Conclusion:
    """Answer a question or claim from evidence lines; where they do not explain it, say what is known and what to look for."""
    question, graph = QuestionWords(question_text, verdict=verdict), EvidenceGraph()
    for item in items:
        graph.add(item)
    finder = PathFinder(question, graph, similarity)
    paths = finder.search()
    called = [path for path in paths if finder.called_for(path)]
    if not question.denials <= {place for mention in finder.mentions for place in mention.places}:
        # Evidence says what is so. "No" may be a part of a name.
        return _open_end(finder, [*called, *paths])
    if question.wants == "yesno":
        readings = list(_yes_or_no(finder, called))
    else:
        readings = [*_compared(finder, called), *_intersected(finder, called), *_single(finder, paths)]
    best = max(readings, key=lambda reading: reading.score, default=None)
    if best and best.score >= _ENOUGH:
        return best
    found = _from_passages(finder, paths) if finder.asks and question.wants != "yesno" else None
    if found and found.score >= _ENOUGH_TEXT:
        return found
    return _open_end(finder, [*called, *paths])


def _single(finder: PathFinder, paths: Sequence[GraphPath]) -> Iterator[Conclusion]:
    """The ends of one path."""
    question = finder.question
    for path in filter(finder.called_for, paths[:_MOST_PATHS]):
        ends = [end for end in path.ends if end != path.mention.label]
        # A set that was walked on only in part would give a list with gaps.
        if not ends or (not path.whole and len(path.last_hop) * 2 < len(path.ends)):
            continue
        if question.extremes and not (path.picked or any(path.explained.get(place) for place in question.extremes)):
            continue
        lists = finder.last_ends(path)
        if question.wants == "count" and (len(ends) > 1 or number_in(ends[0]) is None):
            if all(shown.full for shown in lists):
                full = {shown.full for shown in lists if shown.full}
                yield Conclusion([str(len(path.ends))], path.lines | full, path.score)
        elif question.wants != "count" and any(shown.cut for shown in lists):
            yield Conclusion([], path.lines, path.score, likely=ends)
        else:
            yield Conclusion(ends, path.lines, path.score)


def _intersected(finder: PathFinder, called: Sequence[GraphPath]) -> Iterator[Conclusion]:
    """The common ends of paths from several named things."""
    groups: dict[str, list[GraphPath]] = defaultdict(list)
    # Short paths first: a long one that meets all conditions by itself scores best, and is no condition.
    for path in sorted(called, key=lambda path: len(path.edges)):
        if len(groups[path.mention.label]) < _PER_MENTION:
            groups[path.mention.label].append(path)
    for several in itertools.chain.from_iterable(
        itertools.product(*chosen)
        for size in (2, 3)
        for chosen in itertools.combinations(filter(None, groups.values()), size)
    ):
        if finder.question.extremes or len({frozenset(path.last_hop) for path in several}) < len(several):
            continue  # the same statements reached in two ways are one condition
        named = {path.mention.label for path in several}
        common = [end for end in several[0].ends if end not in named and all(end in path.ends for path in several)]
        if common:
            yield Conclusion(
                common, _lines(several), finder.rating(best_of(path.explained for path in several), several)
            )


def _compared(finder: PathFinder, called: Sequence[GraphPath]) -> Iterator[Conclusion]:
    """The thing with the largest or smallest value: of one path's ends, or of several named things."""
    if not finder.question.extremes:
        return
    groups: dict[tuple[str, int], list[GraphPath]] = defaultdict(list)
    for path in called:
        if all(number_in(end) is not None for _, end in path.last_hop):
            groups[path.edges[-1][0], len(path.edges)].append(path)
    for group in groups.values():
        best = {path.mention.label: path for path in reversed(group)}
        for several in (*([path] for path in group[:_PER_MENTION]), list(best.values())):
            values = {node: number_in(end) or 0.0 for path in several for node, end in path.last_hop}
            # The largest of a set is known only if every member's value is shown.
            if len(values) > 1 and all(path.whole and path.listed for path in several):
                explained = best_of(path.explained for path in several) | dict.fromkeys(finder.question.extremes, 1.0)
                chosen = values[finder.question.choose(values, key=lambda node: values[node])]
                answers = [node for node, value in values.items() if value == chosen]
                yield Conclusion(answers, _lines(several), finder.rating(explained, several))


def _yes_or_no(finder: PathFinder, called: Sequence[GraphPath]) -> Iterator[Conclusion]:
    """Whether a path from one named thing reaches another. Only a complete list gives a no."""
    for path, other in itertools.product(called, finder.mentions):
        if other.places & path.mention.places:
            continue
        score = finder.rating(path.explained | dict.fromkeys(other.places, 1.0), [path])
        full = [shown.full for shown in finder.last_ends(path)]
        if other.label in path.ends:
            yield Conclusion(["yes"], path.lines, score)
        elif path.whole and all(full):
            yield Conclusion(["no"], path.lines | {line for line in full if line}, score - 0.01)


def _lines(paths: Sequence[GraphPath]) -> frozenset[int]:
    return frozenset().union(*(path.lines for path in paths))


def _open_end(finder: PathFinder, paths: Sequence[GraphPath]) -> Conclusion:
    """What the best path has found, and as a query what it reached with the words that it leaves open."""
    words = finder.question.words
    if not paths:
        return Conclusion(query=" ".join(word for word in words if word not in STOP))
    best = paths[0]
    reached = ", ".join(best.ends[:3])
    missing = [words[place] for place in sorted(finder.weights) if best.explained.get(place, 0.0) < EXPLAINED]
    hops = ", ".join(relation for relation, _ in best.edges)
    known = f"{best.mention.label}: {hops}: {reached}." if hops else ""
    return Conclusion([], best.lines, best.score, clues=known, query=f"{reached} {' '.join(missing)}".strip())


def _from_passages(finder: PathFinder, paths: Sequence[GraphPath]) -> Conclusion | None:
    """The best answer in a sentence about a thing that a path reaches."""
    reached: dict[str, GraphPath] = {}
    for path in paths:
        if not path.edges or finder.called_for(path):
            for end in path.ends:
                reached.setdefault(end, path)
    rated: list[tuple[float, str, Item, GraphPath]] = []
    for passage in finder.graph.passages:
        # Texts of an own store may have no titles: they are about what they name.
        named = (end for end in reached if end and end in passage.passage)
        item = passage if passage.title else replace(passage, title=max(named, key=len, default=""))
        if item.title not in reached:
            continue
        path = reached[item.title]
        for sentence in _SENTENCE.split(item.passage):
            explained = _with_sentence(finder, path, item, sentence)
            if not finder.unexplained(explained):
                rated.append((finder.rating(explained, [path]), sentence, item, path))
    for score, sentence, item, path in sorted(rated, key=lambda one: -one[0]):
        if text := _span(finder.question, sentence, item.title):
            return Conclusion([text], path.lines | {item.number}, score)
    return None


def _with_sentence(finder: PathFinder, path: GraphPath, item: Item, sentence: str) -> dict[int, float]:
    """The words that a path and a sentence explain."""
    said = content(tokens(f"{item.title} {item.section} {sentence}"))
    words = finder.question.words
    near = {place: max((nearness(words[place], word) for word in said), default=0.0) for place in finder.weights}
    return best_of([path.explained, near])


def _span(question: QuestionWords, sentence: str, title: str) -> str:
    """The part of a sentence that the question asks for, as it stands; empty where there is none."""
    asked = set(question.words) | set(tokens(title))
    wanted = content(question.words)
    for label, value in _FIELD.findall(sentence):
        if question.wants not in _PATTERNS and any(
            nearness(word, said) for word in wanted for said in content(tokens(label))
        ):
            return str(value)
    patterns = _PATTERNS.get(question.wants, (_QUOTED, _NAME))
    return next((found for pattern in patterns if (found := _nearest(pattern, sentence, asked))), "")


def _nearest(pattern: re.Pattern[str], sentence: str, asked: set[str]) -> str:
    """The match nearest to the question's words in a sentence, unless it consists of them."""
    wanted = asked - STOP
    places = [m.start() for m in re.finditer(r"\w+", sentence) if any(nearness(m[0].casefold(), w) for w in wanted)]
    found = [match for match in pattern.finditer(sentence) if not set(tokens(match[0])) - STOP <= asked]
    nearest = min(found, key=lambda match: sum(abs(match.start() - place) for place in places), default=None)
    return nearest[0].strip(' .,;-"\u201c\u201d\u00ab\u00bb') if nearest else ""
