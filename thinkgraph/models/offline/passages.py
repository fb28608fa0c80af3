"""Finding an answer in passages: the sentence that explains what the statements leave open, and the span asked for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from thinkgraph.models.offline.evidence import Shown
from thinkgraph.models.offline.paths import Path, PathFinder
from thinkgraph.models.offline.words import STOP, nearness, tokens
from thinkgraph.prompts.lines import Item

_SENTENCE = re.compile(r"(?<=[.!?;])\s+(?=\S)")
_NAME = re.compile(r"[^\W\d_a-z][\w'\u2019.-]*(?:\s+(?:of|the|de|la|da|von|al|and)?\s*[^\W\d_a-z][\w'\u2019.-]*)*")
_QUOTED = re.compile(r"[\"\u201c\u00ab]([^\"\u201d\u00bb]{1,80})[\"\u201d\u00bb]")
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b\d{{1,2}} (?:{_MONTHS})(?: \d{{4}})?|\b(?:{_MONTHS}) \d{{1,2}}(?:, \d{{4}})?|\b\d{{4}}-\d\d-\d\d"
)
_FULL_DATE = re.compile(rf"\b\d{{1,2}} (?:{_MONTHS}) \d{{4}}|\b(?:{_MONTHS}) \d{{1,2}}, \d{{4}}|\b\d{{4}}-\d\d-\d\d")
_YEAR = re.compile(r"\b1\d{3}\b|\b20\d{2}\b")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?%?")
_VALUE = re.compile(r"(?:^|[;:-] )([A-Za-z][\w /()'-]{1,40}): ([^;:]{1,120})(?=;|$)")
_MOST_SENTENCES = 24
_LONGEST_CLAUSE = 80
_MEANING = re.compile(r"\b(?:means|mean|meaning|stands for|called|named|known as)\b", re.IGNORECASE)
_SAID = 0.8
_NO_PERSON = frozenset(
    [
        "day",
        "party",
        "parliament",
        "assembly",
        "union",
        "republic",
        "council",
        "court",
        "president",
        "kingdom",
        "war",
        "sea",
    ]
)
_ASKING = frozenset(["old", "age", "high", "large", "percent", "year", "date"])
"""Words that say what sort of value is asked for; a text gives the value without them."""


@dataclass(frozen=True)
class Span:
    """An answer found in a passage."""

    text: str
    line: int
    path: Path
    score: float


def best_span(finder: PathFinder, shown: Shown, paths: Sequence[Path]) -> Span | None:
    """The best answer in a passage about something that a well-supported path reaches."""
    reached: dict[str, Path] = {}
    for path in paths:
        if not path.edges or finder.called_for(path):
            for end in path.ends:
                kept = reached.get(end)
                if kept is None or finder.coverage(path.explained) > finder.coverage(kept.explained):
                    reached[end] = path
    candidates = [
        (item, reached[item.title], sentence)
        for item in shown.passages
        if item.title in reached
        for sentence in _sentences(item.passage)
    ]
    scored = [(_lexical(finder, path, item, sentence), n) for n, (item, path, sentence) in enumerate(candidates)]
    top = sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:_MOST_SENTENCES]
    spans = [_span(finder, *candidates[n]) for _, n in top]
    return max((span for span in spans if span), key=lambda span: (span.score, -span.line), default=None)


def _sentences(text: str) -> list[str]:
    return [sentence for sentence in _SENTENCE.split(text) if sentence.strip()]


def _shown_text(item: Item, sentence: str) -> str:
    return f"{item.title} {item.section.rpartition('/')[2].strip()}: {sentence}"


def _words_of(item: Item, sentence: str) -> list[str]:
    return [w for w in tokens(_shown_text(item, sentence)) if w not in STOP]


def _explained(finder: PathFinder, path: Path, item: Item, sentence: str) -> dict[int, float]:
    explained = dict(path.explained)
    words = _words_of(item, sentence)
    for place in finder.weights:
        word = finder.question.words[place]
        near = max((nearness(word, other) for other in words), default=0.0)
        explained[place] = max(explained.get(place, 0.0), near)
    return explained


def _lexical(finder: PathFinder, path: Path, item: Item, sentence: str) -> float:
    return finder.coverage(_explained(finder, path, item, sentence)) - finder.lost(path)


def _span(finder: PathFinder, item: Item, path: Path, sentence: str) -> Span | None:
    explained = _explained(finder, path, item, sentence)
    # Only what the path leaves open counts: a sentence that repeats the path's own words tells nothing new.
    open_places = [place for place in finder.weights if path.explained.get(place, 0.0) < 0.45]  # noqa: PLR2004
    gained = [explained[place] for place in open_places]
    if not gained or max(gained) <= 0:
        return None
    score = finder.coverage(explained) - finder.lost(path)
    open_strong = [n for n in open_places if finder.weights[n] >= 1 and n not in _asking(finder)]
    extreme = finder.question.extreme_places()
    if extreme and not path.picked and not any(path.explained.get(place) for place in extreme):
        return None  # a text on one thing does not tell which of several is the largest
    if finder.unsaid(explained) > 0:
        return None
    if any(explained[place] < _SAID for place in open_strong) or not open_strong:
        return None
    text = extract(finder, sentence, item)
    return Span(text, item.number, path, score) if text else None


def extract(finder: PathFinder, sentence: str, item: Item) -> str:  # noqa: PLR0911 - one return for each sort of answer
    """The stretch of a sentence that the question asks for, copied as it stands; empty where there is none."""
    question = finder.question
    asked = set(question.words) | set(tokens(item.title))
    if question.wants == "time":
        wants_year = re.search(r"\byear\b", question.text, re.IGNORECASE) is not None
        wants_day = re.search(r"\b(?:day|holiday|celebrate|keep)", question.text, re.IGNORECASE) is not None
        patterns = [_YEAR] if wants_year else [_DATE, _YEAR] if wants_day else [_FULL_DATE, _YEAR]
        return next((found for pattern in patterns if (found := _nearest(pattern, sentence, asked))), "")
    if question.wants == "number":
        return _nearest(_NUMBER, sentence, asked)
    valued = [(name, value) for name, value in _VALUE.findall(sentence) if _overlap(tokens(name), asked)]
    if valued:
        value: str = max(valued, key=lambda pair: _overlap(tokens(pair[0]), asked))[1]
        return value.partition(" (")[0].strip(" .")
    quoted = [found for found in _QUOTED.findall(sentence) if not set(tokens(found)) <= asked]
    if quoted:
        return str(quoted[0]).strip(" .,")
    found = _nearest(_NAME, sentence[:1].lower() + sentence[1:], asked)
    if question.wants == "who":
        return "" if set(tokens(found)) & _NO_PERSON else found
    if found:
        return found
    _, *meant = _MEANING.split(sentence, maxsplit=1)
    clause = meant[0].strip(" .,;") if meant else ""
    return clause if len(clause) <= _LONGEST_CLAUSE else ""


def _asking(finder: PathFinder) -> set[int]:
    return {place for place, word in enumerate(finder.question.words) if word in _ASKING}


def _overlap(words: Sequence[str], asked: set[str]) -> float:
    return sum(
        max((nearness(word, other) for other in asked - STOP), default=0.0) for word in words if word not in STOP
    )


def _nearest(pattern: re.Pattern[str], sentence: str, asked: set[str]) -> str:
    """The match that is nearest to the question's own words in the sentence and is not made of them."""
    places = [m.start() for m in re.finditer(r"\w+", sentence) if _overlap(tokens(m.group()), asked)]
    found = [m for m in pattern.finditer(sentence) if not set(tokens(m.group())) - STOP <= asked]
    if not found:
        return ""

    def away(match: re.Match[str]) -> float:
        return sum(abs(match.start() - place) for place in places) / (len(places) or 1)

    return min(found, key=away).group().strip(" .,;-")
