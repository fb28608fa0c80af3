"""Finds the known names in every passage, and decides in each document what a short name stands for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice

from thinkgraph.ingest.documents.lexicon import Chunk, Form, Lexicon, initials_fit
from thinkgraph.ingest.documents.resolve import PERSON_WORDS, MergedName, ResolvedNames, initials_agree
from thinkgraph.ingest.documents.words import GENERIC, LOOSE_JOINT, Analysis, Token, analyse, key_of_name
from thinkgraph.tools.linking.lexical import STOP_WORDS

_COMMON_SHARE, _COMMON = 0.01, 20
"""A title of one word is also found in lower case, unless more passages than this use the word."""
_LONGEST_RUN = 12
_KOREAN_ENDING = 3
_PART = 2_000
"""Most passages of one document that are resolved together."""
_ALONE = 3
"""Most mentions of a last name alone for each mention of a full name that ends with it. A more frequent word is a name of its
own ("California" beside "Southern California")."""


@dataclass
class LinkedPassage:
    """A passage with the entities it mentions."""

    chunk: Chunk
    about: str
    """Key of the entity that the document's title names; empty if it names none."""
    mentions: list[str]
    """Keys of the entities in the order of the text; last those that only its title or a list of entities names."""
    entities: Mapping[str, str] = field(default_factory=dict)
    """The entity of each name of its document, by key; also of names that this passage does not mention."""


class Matcher:
    """Finds the longest known names in texts."""

    def __init__(self, names: ResolvedNames, lexicon: Lexicon, passages: int) -> None:
        self._forms = names.forms
        self._case = lexicon.case
        self._limit = max(_COMMON, _COMMON_SHARE * passages)
        self._longest: dict[str, int] = {}
        self._runs: dict[str, int] = {}
        for key in names.forms:
            words = key.split()
            self._longest[words[0]] = max(self._longest.get(words[0], 0), len(words))
            if len(words) == 1:
                self._runs[key[0]] = max(self._runs.get(key[0], 0), min(len(key), _LONGEST_RUN))

    def find(self, analysis: Analysis) -> Iterator[Form]:
        """Names from left to right."""
        words = analysis.words
        at = 0
        while at < len(words):
            if words[at].unspaced:
                yield from self._inside(words[at])
                at += 1
                continue
            form, size = self._longest_at(analysis, at, len(words))
            if form is not None:
                yield form
                if size > 1:
                    yield from self._nested(analysis, at, at + size)
            at += size

    def _nested(self, analysis: Analysis, start: int, stop: int) -> Iterator[Form]:
        """Names inside a longer one: "Vienna" in "University of Vienna", "West Chicago" in "West Chicago High School"."""
        words = analysis.words
        at = start
        while at < stop:
            form, size = self._longest_at(analysis, at, stop if at > start else stop - 1)
            end = at + size
            capital = (at > start and words[at - 1].upper and analysis.joined(at)) or (
                end < stop and words[end].upper and analysis.joined(end)
            )
            if form is not None and (
                form.sure or "short" in form.kinds or (form.mentions > 0 and (" " in form.key or not capital))
            ):
                yield form
                at = end
            else:
                at += 1

    def _longest_at(self, analysis: Analysis, at: int, stop: int) -> tuple[Form | None, int]:
        """The longest name that begins at a word and ends before `stop`, and its number of words."""
        words = analysis.words
        last, end = min(at + self._longest.get(words[at].key, 0), stop), at + 1
        while end < last and LOOSE_JOINT.fullmatch(analysis.text, words[end - 1].end, words[end].start):
            end += 1
        for size in range(end - at, 0, -1):
            form = self._forms.get(" ".join(word.key for word in words[at : at + size]))
            if form is not None and self._written_as(form, words[at : at + size]):
                return form, size
        return self._korean(words[at]), 1

    def _korean(self, word: Token) -> Form | None:
        """A Korean noun without the particles attached to it."""
        if not "\uac00" <= word.key[0] <= "\ud7a3":
            return None
        cuts = (word.key[:-cut] for cut in range(1, min(_KOREAN_ENDING, len(word.key) - 2) + 1))
        return next((form for key in cuts if (form := self._forms.get(key)) is not None), None)

    def _inside(self, word: Token) -> Iterator[Form]:
        """Names inside a run of a script that puts no spaces between words."""
        text = word.key
        if len(text) != len(word.text):
            return
        at = 0
        while at < len(text):
            most = min(self._runs.get(text[at], 0), len(text) - at)
            size = next((n for n in range(most, 1, -1) if text[at : at + n] in self._forms), 0)
            if size:
                yield self._forms[text[at : at + size]]
            at += size or 1

    def _written_as(self, form: Form, words: Sequence[Token]) -> bool:
        """Whether the words are written as the name is: capitals where its names have them."""
        if len(words) == 1:
            return self._word_written_as(form, words[0])
        if form.sure or form.kinds & {"phrase", "heading"}:
            return True
        return any(word.upper for word in words) or all(text == text.lower() for text in form.variants)

    def _word_written_as(self, form: Form, word: Token) -> bool:
        if form.kinds <= {"heading"} or (word.key in STOP_WORDS and not word.upper):
            return False
        if word.text.upper() == word.text.lower():
            return True
        if not word.upper:
            return form.sure and self._case.lower[word.key] <= self._limit
        if word.opens and not form.sure and self._case.is_common(word.key):
            return False
        return word.text.isupper() or not all(text.isupper() for text in form.variants)


def read_documents(
    chunks: Iterable[Chunk], names: ResolvedNames, lexicon: Lexicon, passages: int
) -> Iterator[LinkedPassage]:
    """Every passage with its mentions, document by document. Merges within one document go to `names.decisions`.

    The chunks must come grouped by document; `passages` is their number.
    """
    matcher = Matcher(names, lexicon, passages)
    ends: dict[str, int] = defaultdict(int)
    for key, form in names.forms.items():
        if _is_person_like(form, lexicon):
            ends[key.rpartition(" ")[2]] += form.mentions
    for _, group in groupby(chunks, key=lambda chunk: chunk.document):
        # A file of a gigabyte is more than one text: short names hold for a part of it.
        while part := list(islice(group, _PART)):
            yield from _Document(part, matcher, names, lexicon, ends).resolved()


class _Document:
    """One document while its short names are resolved."""

    def __init__(
        self,
        chunks: Iterable[Chunk],
        matcher: Matcher,
        names: ResolvedNames,
        lexicon: Lexicon,
        known_ends: Mapping[str, int],
    ) -> None:
        self._names = names
        self._case = lexicon.case
        self._known_ends = known_ends
        self._passages: list[tuple[Chunk, list[Form], list[Form]]] = []
        """Each with the names inside its text, and inside its title (and the title itself)."""
        self._words: set[str] = set()
        for chunk in chunks:
            text, title = analyse(chunk.text), analyse(chunk.title)
            self._words.update(word.key for word in (*text.words, *title.words))
            self._passages.append((chunk, list(matcher.find(text)), list(matcher.find(title))))
        titles = dict.fromkeys(key_of_name(chunk.title) for chunk, _, _ in self._passages)
        self._titles = [key for key in titles if key in names.forms]
        self._present = dict.fromkeys(form.key for _, found, _ in self._passages for form in found)
        self._chosen: dict[str, str] = {}
        self._ends: dict[str, list[str]] = defaultdict(list)
        for key in dict.fromkeys((*self._titles, *self._present)):
            if _is_person_like(names.forms[key], lexicon):
                self._ends[key.rpartition(" ")[2]].append(key)

    def resolved(self) -> list[LinkedPassage]:
        """The passages with their entities."""
        reads = [self._read(*passage) for passage in self._passages]
        mentioned = {entity for read in reads for entity in read.mentions}
        for name in dict.fromkeys(name for chunk, _, _ in self._passages for name in chunk.given):
            key = key_of_name(name)
            if key in self._names.forms and (entity := self._names.root(key)) not in mentioned:
                # No passage mentions the name, so the document as a whole does.
                reads[0].mentions.append(entity)
        return reads

    def _read(self, chunk: Chunk, found: list[Form], in_title: list[Form]) -> LinkedPassage:
        title = key_of_name(chunk.title)
        about = self._names.root(title) if title in self._names.forms and title not in GENERIC else ""
        forms = [*found, *(form for form in in_title if form.key != title)]
        return LinkedPassage(chunk, about, [self._entity(form, chunk) for form in forms], self._chosen)

    def _entity(self, form: Form, chunk: Chunk) -> str:
        if form.key not in self._chosen:
            chosen, rule = self._choose(form)
            entity = self._chosen[form.key] = self._names.root(chosen)
            if rule:
                label = self._names.forms[entity].label
                self._names.decisions.append(MergedName(form.label, label, rule, chunk.document))
        return self._chosen[form.key]

    def _choose(self, form: Form) -> tuple[str, str]:
        """The name that this one is short for in this document, and the rule."""
        key = form.key
        if (family := self._of_family(key)) is not None:
            return family, "namesake"
        if "title" in form.kinds or (" " in key and len(key.split()[0]) > 1):
            return key, ""
        if (whole := self._of_acronym(form)) is not None:
            return whole, "letters"
        if (person := self._of_last_name(form)) is not None:
            return person, "last name"
        return key, ""

    def _of_family(self, key: str) -> str | None:
        """Of the titles that qualify a name: the document's own, else one that it mentions."""
        family = self._names.families.get(key, ())
        own = [title for title in self._titles if title in family]
        whole = [title for title in family if title in self._present]
        told = [title for title in family if self._names.qualifiers[title] <= self._words]
        return next((found[0] for found in (own, whole, told) if len(found) == 1), None)

    def _of_acronym(self, form: Form) -> str | None:
        words = form.key.split()
        text = "".join(words)
        if len(text) < 2 or (len(words) > 1 and len(words) != len(text)) or not form.label.isupper():  # noqa: PLR2004
            return None
        if self._names.root(form.key) != form.key:
            return None
        return self._only(
            key
            for key in dict.fromkeys((*self._titles, *self._present))
            if len(key.split()) >= len(text) and initials_fit(text, self._names.forms[key].label.split())
        )

    def _of_last_name(self, form: Form) -> str | None:
        words = form.key.split()
        last = words[-1]
        if form.sure or not self._case.is_proper(last) or any(len(word) > 1 for word in words[:-1]):
            return None
        if form.mentions > _ALONE * self._known_ends.get(last, 0):
            return None
        return self._only(
            key
            for key in self._ends.get(last, ())
            if key != form.key and (len(words) == 1 or initials_agree(words, key.split()))
        )

    def _only(self, fitting: Iterable[str]) -> str | None:
        """The first of the names that fit, if all are names of one entity."""
        keys = list(fitting)
        return keys[0] if len(set(map(self._names.root, keys))) == 1 else None


def _is_person_like(form: Form, lexicon: Lexicon) -> bool:
    """Whether a name is two to four words of letters, each with a capital and hardly ever in lower case, without a comma."""
    words, label = form.key.split(), form.label
    return (
        len(words) in PERSON_WORDS
        and len(words[-1]) > 1
        and "," not in label
        and "(" not in label
        and all(lexicon.case.is_proper(word) and word.isalpha() for word in words if len(word) > 1)
        and all(part[:1].isupper() for part in label.split())
        and not label.split()[-1].isupper()
    )
