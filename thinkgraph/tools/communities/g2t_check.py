"""Is a text true to its triples? The check behind graph-to-text (FastToG, appendix B2: both kinds of hallucination).

Three faults are looked for, by form alone and without a model:

- `invented`: a name, a number or a quotation that no triple holds (the paper's factual inconsistency);
- `joined`: two of the triples' ends brought together in one sentence that no triple joins (its logical inconsistency);
- `left out`: a triple one of whose ends the text does not name.

Not every pair of a sentence is meant to be joined: "A is in B, whose leader is C" joins A with B and B with C, and a check of
all pairs refuses three of four texts that people wrote. So each end named must be joined by a triple to the one before it, or to
what that one hangs on, up to the start of the sentence (the right frontier of discourse grammar); where a sentence leans on an
earlier one ("it", "which", "the country"), an end named there will do.

What the form of a text cannot show is not found: a wrong relation between the right ends, and names in scripts without capitals
unless they are quoted, in another script or written with a middle dot. Where all nouns have capitals (German) plain nouns look
like names: such texts fail, which costs a fall back to T2T and no fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from thinkgraph.prompts.lines import one_line
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.communities.g2t_words import TextWord, quotations, same_word, sentences, spelt_out, words_in
from thinkgraph.tools.linking.names import folded

_ENOUGH = 0.5
"""Share of a label's words that a mention of it holds at least: "Bean" is Alan Bean, "John" is not Elton Hercules John."""

_ASIDE = re.compile(r"\s*\([^()]*\)\s*")
_CONNECTORS = frozenset({"of", "the", "de", "la", "du", "von", "van", "di", "da", "del"})
_MOST_BETWEEN = 2
"""Function words that may stand between two words of one name."""
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "aka"})
_LEANING = frozenset(
    "it its he his him she her they their them there here this these that which who whom whose where both also".split()  # noqa: SIM905
)
"""Words by which a sentence speaks of what an earlier one named."""
_SHOWN = 160


class _Mention(NamedTuple):
    first: int
    last: int
    """Indices of its first and last word."""
    labels: frozenset[str]
    """The labels it may stand for: several where they share the words."""


def check(text: str, triples: Sequence[Triple]) -> list[str]:
    """Compare a text with the triples it was made from.

    Args:
        text: prose about the triples, in any language (English is understood best).
        triples: everything the text may say.

    Returns:
        The faults, each with its kind first ("invented: Texas"); none where the text is true to its triples.
    """
    checker = _Checker(text, triples)
    named = {label for mention in checker.mentions for label in mention.labels}.union(checker.nested())
    faults = [f"invented: {text[start:end]}" for start, end in checker.invented()]
    faults += [f"joined: {one} and {other}" for one, other in checker.joined()]
    for triple in triples:
        if not _ends(triple) <= named:
            faults.append(f"left out: {triple['subject_label']}, {triple['relation_label']}, {triple['object_label']}")
    return list(dict.fromkeys(one_line(fault)[:_SHOWN] for fault in faults))


class _Checker:
    """One text and its triples, read once."""

    def __init__(self, text: str, triples: Sequence[Triple]) -> None:
        self.text = text
        self.triples = triples
        self.words = words_in(text)
        self.labels = _labels(triples)
        # Every word that a text may use for what the triples hold.
        self.vocabulary = [word for triple in triples for part in _parts(triple) for word in words_in(part)]
        self.known = [self._is_known(word) for word in self.words]
        self.strange = list(self._strange_names())
        self.mentions = list(self._mentions())

    # --- what no triple holds -------------------------------------------------------------------------------------

    def _is_known(self, word: TextWord) -> bool:
        if word.stop or word.form in _TITLES or any(same_word(held, word) for held in self.vocabulary):
            return True
        return any(spelt_out(word, variant) for variants in self.labels.values() for variant in variants)

    def _strange_names(self) -> Iterator[tuple[int, int]]:
        """The names (index spans [first, last]) that hold a word no label has."""
        names: list[tuple[int, int]] = []
        for at, word in enumerate(self.words):
            if word.capital and not word.stop:
                joins = bool(names) and self._one_name(names[-1][1], at)
                names.append((names.pop()[0] if joins else at, at))
        for first, last in names:
            odd = [at for at in range(first, last + 1) if self.words[at].capital and not self.known[at]]
            # Any word has a capital at the start of a sentence, but not inside one.
            if not odd or (odd == [first] and self._opens(first)):
                continue
            content = [word for word in self.words[first : last + 1] if not word.stop]
            if not any(spelt_out(held, content) == (0, len(content)) for held in self.vocabulary):
                yield first, last

    def _one_name(self, last: int, at: int) -> bool:
        between = self.words[last + 1 : at]
        gap = self.text[self.words[last].end : self.words[at].start]
        # A full stop inside a name belongs to a lone letter: "William M. O. Dawson".
        ends = re.search(r"[.!?]\s", gap) and len(self.words[last].form) > 1 and not self.words[last].acronym
        if ends or re.search(r"[,;:()\"\n]", gap) or len(between) > _MOST_BETWEEN:
            return False
        return all(word.raw in _CONNECTORS for word in between)

    def _opens(self, at: int) -> bool:
        before = self.text[: self.words[at].start].rstrip(" \"'\u201c\u2018(\u00ab\u300c")
        return not before or before[-1] in ".!?:\u061f\u0964\u3002\uff01\uff1f\n"

    def invented(self) -> Iterator[tuple[int, int]]:
        """Names, numbers and quotations that no triple holds."""
        for first, last in self.strange:
            yield self.words[first].start, self.words[last].end
        unknown = [word for word, known in zip(self.words, self.known, strict=True) if not known]
        yield from ((word.start, word.end) for word in unknown if word.number is not None)
        for start, end in quotations(self.text):
            if any(start <= word.start < end for word in unknown):
                yield start, end

    # --- what is named where --------------------------------------------------------------------------------------

    def _mentions(self) -> Iterator[_Mention]:
        """From each word on what holds most words of a label; labels that it serves as well share the mention."""
        at = 0
        while at < len(self.words):
            found = [] if self.words[at].stop and not self.words[at].capital else list(self._labels_at(at))
            best = max((row[:2] for row in found), default=None)
            equal = [row for row in found if row[:2] == best]
            last = max((row[2] for row in equal), default=at)
            if equal:
                yield _Mention(at, last, frozenset(row[3] for row in equal))
            at = last + 1

    def _labels_at(self, at: int) -> Iterator[tuple[int, float, int, str]]:
        """How many words of a label stand from a word on, as a share of them, the last one, the label."""
        # "United Kingdom" is no mention of the United States.
        strange = any(first <= at <= last for first, last in self.strange)
        for label, variants in self.labels.items():
            # In scripts without spaces half a name is another name.
            whole = strange or any(word.unspaced for word in variants[0])
            for variant in filter(None, variants):
                matched, end = self._reach(at, variant)
                if matched / len(variant) >= (1.0 if whole else _ENOUGH):
                    yield matched, matched / len(variant), end, label

    def _reach(self, at: int, variant: Sequence[TextWord]) -> tuple[int, int]:
        """How many words of a label stand together from a word on, in any order, and the last of them."""
        left = list(variant)
        last = place = at
        while place < len(self.words):
            word, end = self.words[place], place
            hit = next((number for number, held in enumerate(left) if same_word(held, word)), None)
            run = spelt_out(word, left) if hit is None else (hit, hit + 1)
            if run is None and word.capital:
                run, end = self._spelling(place, left)
            if run is not None:
                del left[slice(*run)]
                last = end
            elif not word.stop or place - last > _MOST_BETWEEN:
                break
            place = end + 1
        return len(variant) - len(left), last

    def _spelling(self, place: int, left: Sequence[TextWord]) -> tuple[tuple[int, int] | None, int]:
        """Which acronym of a label the words from `place` on spell out, and the last of them."""
        for number, held in enumerate(left):
            span = range(place, min(place + 2 * len(held.form), len(self.words))) if held.acronym else ()
            told = [at for at in span if not self.words[at].stop][: len(held.form)]
            if len(told) > 1 and spelt_out(held, [self.words[at] for at in told]) == (0, len(told)):
                return (number, number + 1), told[-1]
        return None, place

    def nested(self) -> Iterator[str]:
        """Labels that stand whole inside a longer name: Denmark in "Aarhus, Denmark"."""
        for label, (name, *_) in self.labels.items():
            if any(self._reach(at, name)[0] == len(name) for at in range(len(self.words))):
                yield label

    # --- what a sentence joins ------------------------------------------------------------------------------------

    def joined(self) -> Iterator[tuple[str, str]]:
        edges = {_ends(triple) for triple in self.triples}
        spans = [(self.words[mention.first].start, self.words[mention.last].end) for mention in self.mentions]
        earlier: list[_Mention] = []
        for start, end in sentences(self.text, self.words, spans):
            said = [mention for mention in self.mentions if start <= self.words[mention.first].start < end]
            if said:
                yield from _unjoined(said, earlier if self._leans(start, end) else [], edges)
            earlier += said

    def _leans(self, start: int, end: int) -> bool:
        """Whether a sentence speaks of something an earlier one named."""
        inside = [(at, word) for at, word in enumerate(self.words) if start <= word.start < end]
        if any(word.raw.casefold() in _LEANING for _, word in inside) or not any(word.stop for _, word in inside):
            # Only English is known well enough to tell.
            return True
        named = {at for mention in self.mentions for at in range(mention.first, mention.last + 1)}
        # "the country", where no name follows.
        return any(
            word.form == "the" and at + 1 not in named and not self.words[at + 1].capital for at, word in inside[:-1]
        )


def _unjoined(
    said: Sequence[_Mention], earlier: Sequence[_Mention], edges: set[frozenset[str]]
) -> list[tuple[str, str]]:
    """Each mention of a sentence that hangs on none before it, with the sentence's first."""
    frontier = [said[0]]
    loose: list[_Mention] = []
    for mention in said[1:]:
        hangs = next((at for at in reversed(range(len(frontier))) if _joins(frontier[at], mention, edges)), None)
        if hangs is not None:
            # What a later end joins need not hang on an earlier one: "A and B are C".
            loose = [other for other in loose if not _joins(other, mention, edges)]
            frontier = [*frontier[: hangs + 1], mention]
        elif any(_joins(other, mention, edges) for other in earlier):
            frontier = [frontier[0], mention]
        else:
            loose.append(mention)
    return [(min(frontier[0].labels), min(mention.labels)) for mention in loose]


def _joins(one: _Mention, other: _Mention, edges: set[frozenset[str]]) -> bool:
    return bool(one.labels & other.labels) or any(frozenset((a, b)) in edges for a in one.labels for b in other.labels)


def _ends(triple: Triple) -> frozenset[str]:
    return frozenset((folded(triple["subject_label"]), folded(triple["object_label"])))


def _labels(triples: Sequence[Triple]) -> dict[str, tuple[tuple[TextWord, ...], ...]]:
    """The words of each end: all but function words, those without what stands in brackets, those before a comma."""
    found: dict[str, tuple[tuple[TextWord, ...], ...]] = {}
    for triple in triples:
        for name, literal in ((triple["subject_label"], False), (triple["object_label"], triple["literal"])):
            # What stands before a comma names a place, but is only the first of a list of values.
            forms = (name, _ASIDE.sub(" ", name), name if literal else name.partition(", ")[0])
            # A name without words or digits ("+", "…") cannot be looked for.
            found.setdefault(folded(name), tuple(filter(None, map(_content, dict.fromkeys(forms)))) or ((),))
    return found


def _content(name: str) -> tuple[TextWord, ...]:
    words = words_in(name)
    return tuple(word for word in words if not word.stop) or words


def _parts(triple: Triple) -> list[str]:
    pairs = [part for pair in triple["qualifiers"] for part in pair]
    return [triple["subject_label"], triple["relation_label"], triple["object_label"], *pairs]
