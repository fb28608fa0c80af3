"""Splits a passage into words, sentences and quotations, and lists the words that the search for names needs."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

from thinkgraph.tools.linking.lexical import STOP_WORDS, UNSPACED
from thinkgraph.tools.linking.names import word_set
from thinkgraph.tools.linking.names import words as name_words

CONNECTORS = word_set(
    "of de del della di da do dos das du des der den van von la le les el al bin ibn zu zur for y auf the d l"
)
"""Small words inside names."""

HYPHENED = word_set(
    "based born like style speaking era wide led owned backed area bound made related free class trained educated registered "
    "listed raised language type shaped size level only oriented minded friendly built run held style inspired themed time"
)
"""Words that follow a name after a hyphen and are not part of it ("London-based")."""

DATES = word_set(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec century bc bce ad ce am pm"
)
"""Words of dates that are written with a capital."""

PARTS = word_set(
    "chapter section figure fig table page appendix step part equation note exhibit annex article volume item question "
    "exercise"
)
"""Words that name a place in the document, not a thing, when a number follows ("Figure 3")."""

OPENERS = STOP_WORDS | word_set(
    "although however despite since though unlike like among amongst upon within without along throughout during following "
    "according meanwhile moreover furthermore nevertheless therefore thus hence instead finally eventually originally "
    "initially subsequently currently today later early earlier recently several many some few every another such once "
    "first second third one two three four five six seven eight nine ten nothing something everything nobody everybody anyone "
    "everyone someone never always often sometimes perhaps maybe still yet even now here there yes no not whether either "
    "neither including based located founded named known called born also see"
)
"""Words that begin sentences but no names."""

ABBREVIATIONS = word_set(
    "mr mrs ms dr st prof sr jr rev hon gen col capt lt sgt sen rep gov pres inc ltd co corp no nos vol vs etc eg ie al ca "
    "approx dept est fig mt ft ph vgl bzw nr bd str mme mlle sra dra"
)
"""Words after which a full stop does not end the sentence."""

PERSON_TITLES = word_set(
    "president king queen prince princess emperor empress sir lord lady dr doctor prof professor general colonel captain "
    "major lieutenant sergeant admiral senator governor minister chancellor mayor judge justice pope bishop archbishop "
    "cardinal mr mrs ms miss rev reverend herr frau monsieur madame"
)
"""Words before a person's name."""

LEGAL_FORMS = word_set("inc incorporated corp corporation ltd llc plc gmbh ag sa co kg bv nv oy ab")
"""Words after a company's name."""

GENERIC = word_set(
    "introduction,abstract,summary,overview,contents,table of contents,conclusion,conclusions,references,bibliography,notes,"
    "see also,external links,further reading,background,discussion,results,methods,appendix,faq,readme,index,untitled,"
    "document,home,changelog,license,getting started,installation,usage,examples,acknowledgements",
    ",",
)
"""Titles and headings that name nothing of their own."""

_RUN = UNSPACED.pattern
# Vowel signs of Indic and Semitic scripts are marks, which \w leaves out, and yet parts of words.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_WORD = re.compile(rf"{_RUN}+|(?:(?!{_RUN})[^\W_]|[{_MARKS}])+")
_BREAK = re.compile(
    r"[.!?\u2026]+[\"'\u201d\u2019)\]]*(?=\s)|[。！？]+[」』”\uff09]*|\n\s*\n|\n(?=\s*(?:[-*\u2022\u00b7#|]|\d+[.)])\s)"
)
_QUOTED = re.compile(
    r"\"([^\"\n]{2,120})\"|\u201c([^\u201d\n]{2,120})\u201d|\u00ab\s?([^\u00bb\n]{2,120}?)\s?\u00bb|\u300c([^\u300d\n]{1,60})\u300d"
    r"|\u300e([^\u300f\n]{1,60})\u300f|\u300a([^\u300b\n]{1,60})\u300b|\u201e([^\u201c\u201d\n]{2,120})[\u201c\u201d]"
    r"|``\s?([^`'\n]{2,120}?)\s?''"
)
_LONGEST_WORD = 100
"""Most characters of a word that can be part of a name; longer ones are base64 and the like."""
# Possessive: a wide gap of a table would be parted in every way that there is.
_SPACE = r"[ \t\u00a0]*+(?:\n[ \t\u00a0]*+)?+"
JOINT = re.compile(rf"{_SPACE}|[-\u2010\u2011'\u2019/\u00b7]|\.{_SPACE}|\.-|{_SPACE}&{_SPACE}")
"""What stands between two words of one name: a space (or the line break of wrapped text), a hyphen, an apostrophe, the
point of an initial, an ampersand."""
LOOSE_JOINT = re.compile(rf"{_SPACE}[-\u2010-\u2015'\u2019/\u00b7&.,:;(]?{_SPACE}[('\"\u201c]?")
"""What may stand between two words of a name that is already known: also a spaced hyphen, a comma, a bracket."""


@dataclass(slots=True)
class Token:
    """A word with its offsets and spelling."""

    start: int
    end: int
    text: str
    key: str
    """Its folded form. Names are compared by it."""
    upper: bool
    """Whether it begins with a capital, or holds one ("iPhone")."""
    opens: bool
    """Whether it begins a sentence or a quotation, where any word has a capital."""
    unspaced: bool


@dataclass(slots=True)
class Analysis:
    """One text with its words, sentences and quotations."""

    text: str
    words: list[Token]
    sentences: list[list[Token]]
    quotes: list[tuple[int, int]]
    """Offsets of what stands in quotation marks."""

    def joined(self, place: int) -> bool:
        """Whether a word may be of one name with the word before it, by what stands between them."""
        return JOINT.fullmatch(self.text, self.words[place - 1].end, self.words[place].start) is not None


@lru_cache(maxsize=200_000)
def key_of(word: str) -> str:
    """The folded form of one word, without case and Latin accents; "" if it has neither letter nor digit."""
    return "".join(name_words(word))


def key_of_name(name: str) -> str:
    """The folded words of a name, separated by one space. Names with equal keys are the same name."""
    return " ".join(word.key for word in split_words(name))


def split_words(text: str) -> list[Token]:
    """The words of a text in order; `opens` is not set."""
    found = []
    for match in _WORD.finditer(text):
        word = match.group()
        key = key_of(word) if len(word) <= _LONGEST_WORD or UNSPACED.match(word) else ""
        if key:
            upper = word[0].isupper() or (
                len(word) > 1 and not word.islower() and word[0].isalpha() and word[1].isupper()
            )
            unspaced = UNSPACED.match(word) is not None
            found.append(Token(match.start(), match.end(), word, key, upper=upper, opens=False, unspaced=unspaced))
    return found


def analyse(text: str) -> Analysis:
    """Words, sentences and quotations of a text."""
    words = split_words(text)
    quotes = [match.span(match.lastindex or 0) for match in _QUOTED.finditer(text)]
    ends = _sentence_ends(text, words)
    inside = {start for start, _ in quotes}
    sentences: list[list[Token]] = []
    before = -1
    for place, word in enumerate(words):
        number = bisect_right(ends, word.start)
        if number != before:
            sentences.append([])
        sentences[-1].append(word)
        word.opens = number != before or not inside.isdisjoint((word.start - 1, word.start))
        if place and not word.opens and text[words[place - 1].end : word.start].strip() in {":", ";"}:
            word.opens = True
        before = number
    return Analysis(text, words, sentences, quotes)


def _sentence_ends(text: str, words: list[Token]) -> list[int]:
    """Offsets at which sentences end."""
    ends = []
    at = 0
    for found in _BREAK.finditer(text):
        if found.group()[0] == "." and len(found.group()) == 1:
            while at < len(words) and words[at].end < found.start():
                at += 1
            if at < len(words) and words[at].end == found.start() and _goes_on(*words[at : at + 2]):
                continue
        ends.append(found.end())
    return ends


def _goes_on(word: Token, follows: Token | None = None) -> bool:
    """Whether a full stop after `word` ends an abbreviation or an initial, not the sentence."""
    if (len(word.text) == 1 and word.text.isupper() and word.text != "I") or word.key in ABBREVIATIONS:
        return True
    return follows is not None and follows.text[0].islower()
