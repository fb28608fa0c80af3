"""Finds the known names in every passage, and decides in each document what a short name stands for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice

from thinkgraph.ingest.documents.lexicon import Chunk, Form, Lexicon, initials_fit
from thinkgraph.ingest.documents.resolve import MergedName, ResolvedNames, initials_agree
from thinkgraph.ingest.documents.words import GENERIC, JOINT, LOOSE_JOINT, Analysis, Token, analyse, key_of_name
from thinkgraph.tools.linking.lexical import STOP_WORDS

_COMMON_SHARE, _COMMON = 0.01, 20
"""A title of one word is also found in lower case, unless more passages than this use the word."""
_PERSON_WORDS = range(2, 5)
_LONGEST_RUN = 12
_KOREAN_ENDING = 3
_PART = 2_000
"""Most passages of one document that are resolved together."""
_ALONE = 3
"""Most mentions of a last name alone for each mention of a full name that ends with it. A more frequent word is a name of its
own ("California" beside "Southern California")."""


@dataclass(frozen=True, slots=True)
class EntityMention:
    """A name in a passage."""

    entity: str
    """The entity's key."""
    start: int
    end: int
    """Offsets in the passage; -1 if only its title or a list of entities names it."""


@dataclass
class LinkedPassage:
    """A passage with the entities it mentions."""

    chunk: Chunk
    about: str
    """Key of the entity that the document's title names; empty if it names none."""
    mentions: list[EntityMention]
    entities: dict[str, str] = field(default_factory=dict)
    """The entity of each name of its document, by key; also of names that this passage does not mention."""


@dataclass(slots=True)
class _FoundName:
    form: Form
    first: Token
    last: Token


@dataclass
class _Passage:
    chunk: Chunk
    found: list[_FoundName]
    in_title: list[_FoundName]
    """Names inside its title, and the title itself."""
    words: set[str]
    """Keys of all its words."""


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

    def find(self, analysis: Analysis) -> Iterator[_FoundName]:
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
                yield _FoundName(form, words[at], words[at + size - 1])
                if size > 1:
                    yield from self._nested(analysis, at, at + size)
            at += size

    def _nested(self, analysis: Analysis, start: int, stop: int) -> Iterator[_FoundName]:
        """Names inside a longer one: "Vienna" in "University of Vienna", "West Chicago" in "West Chicago High School"."""
        words = analysis.words
        at = start
        while at < stop:
            form, size = self._longest_at(analysis, at, stop if at > start else stop - 1)
            around = [
                words[place] for place in (at - 1, at + size) if self._touches(analysis, place, at, size, start, stop)
            ]
            if form is not None and self._stands_alone(form, around):
                yield _FoundName(form, words[at], words[at + size - 1])
                at += size
            else:
                at += 1

    @staticmethod
    def _touches(analysis: Analysis, place: int, at: int, size: int, start: int, stop: int) -> bool:
        """Whether the word at `place`, inside the longer name, is joined to the part that begins at `at`."""
        if not start <= place < stop:
            return False
        words = analysis.words
        left, right = (words[place], words[at]) if place < at else (words[at + size - 1], words[place])
        return JOINT.fullmatch(analysis.text, left.end, right.start) is not None

    @staticmethod
    def _stands_alone(form: Form, around: Sequence[Token]) -> bool:
        """Whether part of a longer name is also used alone in the collection, and stands between words in lower case."""
        return (
            form.sure
            or "short" in form.kinds
            or (form.mentions > 0 and (" " in form.key or not any(word.upper for word in around)))
        )

    def _longest_at(self, analysis: Analysis, at: int, stop: int) -> tuple[Form | None, int]:
        words = analysis.words[:stop] if stop < len(analysis.words) else analysis.words
        most = self._longest.get(words[at].key, 0)
        keys = [words[at].key] if most else []
        for word, before in zip(words[at + 1 : at + most], words[at:], strict=False):
            if not LOOSE_JOINT.fullmatch(analysis.text, before.end, word.start):
                break
            keys.append(word.key)
        for size in range(len(keys), 0, -1):
            form = self._forms.get(" ".join(keys[:size]))
            if form is not None and self._written_as(form, words[at : at + size]):
                return form, size
        ending = self._korean(words[at])
        return ending, 1

    def _korean(self, word: Token) -> Form | None:
        """A Korean noun without the particles attached to it."""
        if not "\uac00" <= word.key[0] <= "\ud7a3":
            return None
        cuts = (word.key[:-cut] for cut in range(1, min(_KOREAN_ENDING, len(word.key) - 2) + 1))
        return next((form for key in cuts if (form := self._forms.get(key)) is not None), None)

    def _inside(self, word: Token) -> Iterator[_FoundName]:
        """Names inside a run of a script that puts no spaces between words."""
        text = word.key
        if len(text) != len(word.text):
            return
        at = 0
        while at < len(text):
            most = min(self._runs.get(text[at], 0), len(text) - at)
            size = next((n for n in range(most, 1, -1) if text[at : at + n] in self._forms), 0)
            if size:
                start, part = word.start + at, text[at : at + size]
                piece = Token(start, start + size, part, part, upper=False, opens=False, unspaced=True)
                yield _FoundName(self._forms[piece.key], piece, piece)
            at += size or 1

    def _written_as(self, form: Form, words: Sequence[Token]) -> bool:
        """Whether the words are written as the name is: capitals where its names have them."""
        if len(words) == 1:
            return self._word_written_as(form, words[0])
        if form.sure or form.kinds & {"phrase", "heading"}:
            return True
        return any(word.upper for word in words) or not any(text != text.lower() for text in form.variants)

    def _word_written_as(self, form: Form, word: Token) -> bool:
        if form.kinds <= {"heading"} or (word.key in STOP_WORDS and not word.upper):
            return False
        if word.text.upper() == word.text.lower():
            return True
        if not word.upper:
            return form.sure and self._case.lower.get(word.key, 0) <= self._limit
        if word.opens and not form.sure and self._case.is_common(word.key):
            return False
        return word.text.isupper() or not all(text.isupper() for text in form.variants)


def read_documents(
    chunks: Iterable[Chunk], names: ResolvedNames, lexicon: Lexicon, passages: int
) -> Iterator[LinkedPassage]:
    """Every passage with its mentions, document by document. Merges within one document go to `names.decisions`.

    Args:
        chunks: the passages, grouped by document.
        names: the entities of the collection's names.
        lexicon: how words are written.
        passages: the number of passages.
    """
    matcher = Matcher(names, lexicon, passages)
    ends: dict[str, int] = defaultdict(int)
    for key, form in names.forms.items():
        if is_person_like(form, lexicon):
            ends[key.rpartition(" ")[2]] += form.mentions
    for document, group in groupby(chunks, key=lambda chunk: chunk.document):
        # A file of a gigabyte is more than one text: short names hold for a part of it.
        while part := list(islice(group, _PART)):
            read = [_passage(chunk, matcher) for chunk in part]
            yield from _Document(document, read, names, lexicon, ends).resolved()


def _passage(chunk: Chunk, matcher: Matcher) -> _Passage:
    text, title = analyse(chunk.text), analyse(chunk.title)
    words = {word.key for word in (*text.words, *title.words)}
    return _Passage(chunk, list(matcher.find(text)), list(matcher.find(title)), words)


class _Document:
    """One document while its short names are resolved."""

    def __init__(
        self,
        document: str,
        passages: list[_Passage],
        names: ResolvedNames,
        lexicon: Lexicon,
        known_ends: Mapping[str, int],
    ) -> None:
        self._id = document
        self._passages = passages
        self._names = names
        self._case = lexicon.case
        self._known_ends = known_ends
        self._titles = list(dict.fromkeys(key for p in passages if (key := key_of_name(p.chunk.title)) in names.forms))
        self._present = Counter(found.form.key for p in passages for found in p.found)
        self._words: set[str] = set().union(*(passage.words for passage in passages))
        self._chosen: dict[str, str] = {}
        self._ends: dict[str, list[str]] = defaultdict(list)
        for key in dict.fromkeys((*self._titles, *self._present)):
            if is_person_like(names.forms[key], lexicon):
                self._ends[key.rpartition(" ")[2]].append(key)

    def resolved(self) -> Iterator[LinkedPassage]:
        """The passages with their entities."""
        reads = [self._read(passage) for passage in self._passages]
        mentioned = {mention.entity for read in reads for mention in read.mentions}
        for name in dict.fromkeys(name for passage in self._passages for name in passage.chunk.given):
            key = key_of_name(name)
            if key in self._names.forms and (entity := self._names.root(key)) not in mentioned:
                # No passage mentions the name, so the document as a whole does.
                reads[0].mentions.append(EntityMention(entity, -1, -1))
        for read in reads:
            read.entities.update(self._chosen)
        yield from reads

    def _read(self, passage: _Passage) -> LinkedPassage:
        title = key_of_name(passage.chunk.title)
        about = self._names.root(title) if title in self._names.forms and title not in GENERIC else ""
        mentions = [EntityMention(self._entity(found), found.first.start, found.last.end) for found in passage.found]
        mentions += [
            EntityMention(self._entity(found), -1, -1) for found in passage.in_title if found.form.key != title
        ]
        return LinkedPassage(passage.chunk, about, mentions)

    def _entity(self, found: _FoundName) -> str:
        key = found.form.key
        if key not in self._chosen:
            chosen, rule = self._choose(found)
            self._chosen[key] = self._names.root(chosen)
            if rule:
                entity = self._names.forms[self._names.root(chosen)]
                self._names.decisions.append(MergedName(found.form.label, entity.label, rule, self._id))
        return self._chosen[key]

    def _choose(self, found: _FoundName) -> tuple[str, str]:
        """The name that this one is short for in this document, and the rule."""
        key = found.form.key
        if (family := self._of_family(key)) is not None:
            return family, "namesake"
        if "title" in found.form.kinds or (" " in key and len(key.split()[0]) > 1):
            return key, ""
        if (whole := self._of_acronym(found)) is not None:
            return whole, "letters"
        if (person := self._of_last_name(found)) is not None:
            return person, "last name"
        return key, ""

    def _of_family(self, key: str) -> str | None:
        """Of the titles that qualify a name: the document's own, else one that it mentions."""
        family = self._names.families.get(key, ())
        own = [title for title in self._titles if title in family]
        whole = [title for title in family if title in self._present]
        told = [title for title in family if self._names.qualifiers[title] <= self._words]
        return next((found[0] for found in (own, whole, told) if len(found) == 1), None)

    def _of_acronym(self, found: _FoundName) -> str | None:
        words = found.form.key.split()
        text = "".join(words)
        if len(text) < 2 or (len(words) > 1 and len(words) != len(text)) or not found.form.label.isupper():  # noqa: PLR2004
            return None
        if self._names.root(found.form.key) != found.form.key:
            return None
        fitting = [
            key
            for key in dict.fromkeys((*self._titles, *self._present))
            if len(key.split()) >= len(text) and initials_fit(text, self._names.forms[key].label.split())
        ]
        return fitting[0] if len({self._names.root(key) for key in fitting}) == 1 else None

    def _of_last_name(self, found: _FoundName) -> str | None:
        words = found.form.key.split()
        last = words[-1]
        if found.form.sure or not self._case.is_proper(last) or any(len(word) > 1 for word in words[:-1]):
            return None
        if found.form.mentions > _ALONE * self._known_ends.get(last, 0):
            return None
        fitting = [
            key
            for key in self._ends.get(last, ())
            if key != found.form.key and (len(words) == 1 or initials_agree(words, key.split()))
        ]
        return fitting[0] if len({self._names.root(key) for key in fitting}) == 1 else None


def is_person_like(form: Form, lexicon: Lexicon) -> bool:
    """Whether a name is two to four words of letters, each with a capital and hardly ever in lower case, without a comma."""
    words, label = form.key.split(), form.label
    return (
        len(words) in _PERSON_WORDS
        and len(words[-1]) > 1
        and "," not in label
        and "(" not in label
        and all(lexicon.case.is_proper(word) and word.isalpha() for word in words if len(word) > 1)
        and all(part[:1].isupper() for part in label.split())
        and not label.split()[-1].isupper()
    )
