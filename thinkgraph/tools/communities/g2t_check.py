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

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import regex

from thinkgraph.prompts.lines import one_line
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.communities.g2t_words import TextWord, quotations, same_word, sentences, spelt_out, words_in
from thinkgraph.tools.linking.names import folded, word_set

_ENOUGH = 0.5
"""Share of a label's words that a mention of it holds at least: "Bean" is Alan Bean, "John" is not Elton Hercules John."""
_MOST_BETWEEN = 2
"""Function words that may stand between two words of one label."""
_ASIDE = regex.compile(r"\s*\([^()]*\)\s*")
_WITHIN_NAME = regex.compile(
    r"(?:(?<=\b\p{Lu})\.)?(?:['\u2019]s)?[\s/&'\u2019-]*(?:(?:of|the|de|la|du|von|van|di|da|del)\s+){0,2}"
)
"""What may stand between two capitalised words of one name: "William M. O. Dawson", "University of the Andes"."""
_TITLES = frozenset({"mr", "mrs", "ms", "dr", "aka"})
_LEANING = word_set(
    "it its he his him she her they their them there here this these that which who whom whose where both also"
)
"""Words by which a sentence speaks of what an earlier one named."""
_SHOWN = 160


class _Mention(NamedTuple):
    first: int
    last: int
    """Indices of its first and last word."""
    labels: frozenset[str]
    """The labels it may stand for: several where they share the words."""

    def joins(self, other: _Mention, edges: set[frozenset[str]]) -> bool:
        return bool(self.labels & other.labels) or any(
            frozenset((a, b)) in edges for a in self.labels for b in other.labels
        )


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
        self.sentences = sentences(text)
        self.labels = _labels(triples)
        self.mentions = list(self._mentions())

    def invented(self) -> Iterator[tuple[int, int]]:
        """Names, numbers and quotations that no triple holds."""
        held = [word for triple in self.triples for part in _parts(triple) for word in words_in(part)]
        variants = [variant for variants in self.labels.values() for variant in variants]
        unknown = {
            at
            for at, word in enumerate(self.words)
            if not (word.stop or word.form in _TITLES or any(same_word(other, word) for other in held))
            and not any(spelt_out(word, variant) for variant in variants)
        }
        # Any word has a capital at the start of a sentence, but not inside one.
        openers = {bisect_left(self.words, start, key=lambda word: word.start) for start, _ in self.sentences}
        for name in self._names():
            odd = [at for at in name if at in unknown]
            if odd and not (odd == name[:1] and name[0] in openers):
                yield self.words[name[0]].start, self.words[name[-1]].end
        strange = [self.words[at] for at in sorted(unknown)]
        yield from ((word.start, word.end) for word in strange if word.number is not None)
        for start, end in quotations(self.text):
            if any(start <= word.start < end for word in strange):
                yield start, end

    def _names(self) -> list[list[int]]:
        """The capitalised words of each name."""
        names: list[list[int]] = []
        for at, word in enumerate(self.words):
            if not word.capital or word.stop:
                continue
            if names and _WITHIN_NAME.fullmatch(self.text, self.words[names[-1][-1]].end, word.start):
                names[-1].append(at)
            else:
                names.append([at])
        return names

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
        for label, variants in self.labels.items():
            for variant in variants:
                matched, end = self._reach(at, variant)
                # In scripts without spaces half a name is another name.
                if matched / len(variant) >= (1.0 if variant[0].unspaced else _ENOUGH):
                    yield matched, matched / len(variant), end, label

    def _reach(self, at: int, variant: Sequence[TextWord]) -> tuple[int, int]:
        """How many words of a label stand together from a word on, in any order, and the last of them."""
        left, last = list(variant), at
        for place, word in enumerate(self.words[at:], start=at):
            hit = next((number for number, held in enumerate(left) if same_word(held, word)), None)
            run = spelt_out(word, left) if hit is None else (hit, hit + 1)
            if run is not None:
                del left[slice(*run)]
                last = place
            elif not word.stop or place - last > _MOST_BETWEEN:
                break
        return len(variant) - len(left), last

    def nested(self) -> Iterator[str]:
        """Labels that stand whole inside a longer name: Denmark in "Aarhus, Denmark"."""
        for label, variants in self.labels.items():
            # A name without words or digits ("+", "…") cannot be looked for.
            if not variants or any(
                self._reach(at, variants[0])[0] == len(variants[0]) for at in range(len(self.words))
            ):
                yield label

    def joined(self) -> Iterator[tuple[str, str]]:
        """Pairs of labels that stand in one sentence though no triple joins them."""
        edges = {_ends(triple) for triple in self.triples}
        earlier: list[_Mention] = []
        for start, end in self.sentences:
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
        hangs = next((at for at in reversed(range(len(frontier))) if frontier[at].joins(mention, edges)), None)
        if hangs is None and not any(other.joins(mention, edges) for other in earlier):
            loose.append(mention)
            continue
        # What a later end joins need not hang on an earlier one: "A and B are C".
        loose = [other for other in loose if not other.joins(mention, edges)]
        frontier = [*frontier[: (hangs or 0) + 1], mention]
    return [(min(said[0].labels), min(mention.labels)) for mention in loose]


def _ends(triple: Triple) -> frozenset[str]:
    return frozenset((folded(triple["subject_label"]), folded(triple["object_label"])))


def _labels(triples: Sequence[Triple]) -> dict[str, list[tuple[TextWord, ...]]]:
    """The words of each end: all but function words, those without what stands in brackets, those before a comma."""
    found: dict[str, list[tuple[TextWord, ...]]] = {}
    for triple in triples:
        for name, literal in ((triple["subject_label"], False), (triple["object_label"], triple["literal"])):
            # What stands before a comma names a place, but is only the first of a list of values.
            forms = dict.fromkeys((name, _ASIDE.sub(" ", name), name if literal else name.partition(", ")[0]))
            found.setdefault(folded(name), [*filter(None, map(_content, forms))])
    return found


def _content(name: str) -> tuple[TextWord, ...]:
    words = words_in(name)
    return tuple(word for word in words if not word.stop) or words


def _parts(triple: Triple) -> list[str]:
    pairs = [part for pair in triple["qualifiers"] for part in pair]
    return [triple["subject_label"], triple["relation_label"], triple["object_label"], *pairs]
