"""What kind of thing does an English question ask for?"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal

from thinkgraph.tools.grounding import UNITS
from thinkgraph.tools.linking.lexical import content_tokens, stem

_COUNTS = re.compile(
    r"(?:\bhow many|^(?:what(?:['\u2019]s| is| was)?|(?:please )?(?:tell|give) me)(?: the)?(?: total)? number of(?: the)?) ([^\W\d_]+)",
    re.IGNORECASE,
)
_SHORTEST_ROOT = 3
"""Fewest letters of a word without its "er" or "or"."""
_IRREGULAR = {
    stem(form): stem(word)
    for word, forms in {
        "act": "acted acting",
        "build": "built",
        "draw": "drew drawn",
        "lead": "led",
        "sing": "sang sung",
        "teach": "taught",
        "win": "won",
        "write": "wrote written screenwriter",
    }.items()
    for form in forms.split()
}
"""Forms of verbs that tell what somebody did, and are not cut to one stem."""
_ASKS = re.compile(
    r"\b(?:(?P<much>how (?:many|much|long|old|high|tall|large|big|deep|far|wide|heavy))|(?P<when>when)|(?P<where>where)"
    r"|(?P<who>whom?)|(?P<which>which|what))\b",
    re.IGNORECASE,
)
_PREPOSITIONS = "about along around as at before by during for from in into of on over since through to until up with"
_OPENS_CLAUSE = re.compile(
    rf"(?:^|[.,;:!?]|\btell me)\W*(?:(?:and|or|so|but|then) )?(?:(?:{_PREPOSITIONS.replace(' ', '|')}) )?$",
    re.IGNORECASE,
)
# "Tell me how many …" asks as "how many …" does.
_TELLS_TO = re.compile(
    r"^(?:please )?(?:name|list|give me|tell me) (?:all )?(?:the )?(?!(?:wh(?:om?|ich|at|en|ere)|how)\b)", re.IGNORECASE
)
UNIT = re.compile(
    rf" (?:(?:square|sq|cubic) )?(?:{'|'.join(word for word, unit in UNITS.items() if unit != 'person')})\b",
    re.IGNORECASE,
)
_COPULA = r"^(?: (?:is|are|was|were)|['\u2019]s) "
_IS = re.compile(rf"{_COPULA}(?P<article>(?:the|an?) )?(?:names? of (?:the )?)?", re.IGNORECASE)
# "Which country's capital is Paramaribo?" asks for the country.
_OWNER = re.compile(r"^ (?!of )((?:[^\W\d_A-Z]+ ){0,2}[^\W\d_A-Z]+?)(?:['\u2019]s|s['\u2019]) ")
_NUMBER_OF = re.compile(r"\W*(?:total )?numbers? of ", re.IGNORECASE)
_SCHEMA = re.compile(r"\w\.\w")
_IS_OFFICE = re.compile(rf"{_COPULA}(?:(?:listed|named|known) as (?:the |an? )?|(?:the|an?) )", re.IGNORECASE)
_ASKING_WORDS = 5
"""How many words of a question tell its last step well enough: those of its other steps and its names stand further off."""
_VERBS = "is are was were be do does did has have had can could will would shall should may might must"
_ENDS_HEAD = frozenset(f"{_VERBS} of".split())
_ENDS_PHRASE = _ENDS_HEAD | frozenset(f"{_PREPOSITIONS} the a an and or that which who whose where when".split())
_ENDS_OFFICE = re.compile(r"\b(?:of (?:the|a)|in|that|which|whose|where|at|by|from|with|for)\b|[,;?]")
_DESCRIBED = re.compile(
    r"\b(?:the|an?) (?:[a-z]+ )??(?P<noun>[a-z]+) (?:(?:in|of|at|on|with|from|by|to) (?:which|whose)|that|which|whose|where|with|[a-z]+ed) "
)
_NO_NOUN = re.compile(r"(?:ed|en|ing)$")
_TIMES = frozenset(map(stem, ["year", "date", "day", "month", "century", "decade"]))
_DIGITS = "zero none one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBER_WORDS = frozenset(f"{_DIGITS} {_TEENS} {_TENS} dozen hundred thousand million billion".split())


def _by_word(*rows: str) -> Mapping[str, str]:
    """The first word of each row, by the stems of all its words."""
    return {stem(word): row.split()[0] for row in rows for word in row.split()}


SORTS = _by_word(
    "country state nation land kingdom republic territory",
    "city town village municipality",
    "currency money",
    "language tongue",
    "person human man woman actor actress director writer screenwriter author politician president minister composer",
    "river stream",
    "lake",
    "mountain peak summit volcano",
    "sea ocean",
    "anthem",
    "religion",
    "film movie movies",
    "genre",
    "book novel",
    "organization organisation company",
)
"""Words for the sorts of things that questions ask for and graphs have as types; the first of a row names it."""
_MEASURES = _by_word(
    "depth deep",
    "height high tall elevation altitude",
    "length long duration",
    "area large big size",
    "width wide",
    "weight heavy mass",
    "distance far",
    "age old",
    "count many population",
)
"""Words for what numbers measure; the first of a row names it."""
_SUPERLATIVES = _by_word(
    "depth deepest",
    "height highest lowest tallest",
    "length longest shortest",
    "area largest biggest smallest",
    "width widest",
    "weight heaviest",
    "age oldest youngest",
)
_NUMBERED = frozenset(
    _by_word("age altitude depth distance elevation height length population speed temperature weight width")
)
"""What is told in numbers alone, but for names that say it themselves ("Bronze Age")."""


def root_of(word: str) -> str:
    """What the words for a deed and its doer have in common: "direct" of "directed" and "director", "writ" of "wrote" and "writer". So a
    quality's: "independent" of "independence".
    """
    word = _IRREGULAR.get(word, word)
    if word.endswith(("anc", "enc")):
        return f"{word[:-1]}t"
    root = word.removesuffix("or").removesuffix("er")
    return root if len(root) >= _SHORTEST_ROOT else word


_NEVER: Mapping[str, frozenset[str]] = {
    "person": frozenset(
        ["currency", "language", "river", "lake", "mountain", "sea", "anthem", "religion", "film", "genre", "book"]
    ),
    "place": frozenset(["person", "currency", "language", "anthem", "religion", "genre"]),
}
"""Sorts that are never what "who" and "where" ask for. A country may have been a ruler."""
_WORKS = frozenset(map(root_of, map(stem, ["act", "compose", "direct", "draw", "paint", "sing", "star", "write"])))
"""Roots of what only people do."""
_PLACES = frozenset(["country", "city"])
SQUARE = re.compile(r"\b(?:sq|square|km2|m2)\b")
"""The unit of an area, folded."""
MADE = frozenset(["currency", "language", "anthem", "religion", "film", "genre", "book"])
"""Sorts that cannot act: an answer to "who did it?" is none of them."""


@dataclass(frozen=True)
class AskedKind:
    """What a question asks for."""

    kind: Literal["number", "time", "person", "place", "thing"]
    said: str
    """In words: "a number", "currency"."""
    words: frozenset[str] = frozenset()
    """Stems: the noun of a thing; of a person the words that say which one."""
    verb: frozenset[str] = frozenset()
    """Stem of what a person did: "wrote"."""
    measure: str = ""
    """What a number measures: "depth"; empty where the words do not tell."""
    owner: str = ""
    """The sort of thing whose number it is: "river" of "how long is the river"; empty where the words do not tell."""

    @property
    def sort(self) -> str:
        """The sort of things asked for, empty where the words do not tell."""
        if self.kind != "thing":
            return self.kind
        return next((SORTS[word] for word in self.words if word in SORTS), "")

    def is_no_number(self, answer: str) -> bool:
        """Whether a measure is asked for ("from which age"), and an answer, folded, has no number."""
        measures = self.kind == "thing" and self.words <= _NUMBERED
        return measures and self.words.isdisjoint(map(stem, answer.split())) and not tells_number(answer)

    def excludes(self, sorts: AbstractSet[str]) -> bool:
        """Whether none of these sorts is asked for; not where one is unknown (empty), or the one asked for is."""
        if "" in sorts:
            return False
        if self.kind in _NEVER:
            works = not _WORKS.isdisjoint(map(root_of, self.verb))
            return sorts <= (_NEVER[self.kind] | _PLACES if works else _NEVER[self.kind])
        return bool(self.sort) and self.sort not in sorts

    def named_by(self, relation: str) -> bool:
        """Whether a relation's label names what is asked for: by its noun, or for a person by one of its words."""
        if self.kind == "person":
            return not self.words.isdisjoint(words_of(relation))
        return noun_stem(relation) in self.words

    def called(self, relation: str, words: AbstractSet[str]) -> bool:
        """Whether a relation is called as what is asked for: by what a person did, or each word of its label is one of the question's,
        and one names that.
        """
        label = set(words_of(relation))
        if self.kind == "person" and not set(map(root_of, label)).isdisjoint(map(root_of, self.words | self.verb)):
            return True
        return label <= words and not label.isdisjoint(self.words)


@functools.lru_cache(maxsize=256)
def asked_for(question: str) -> AskedKind | None:
    """What an English question asks for; None where its words do not tell."""
    if told := _TELLS_TO.match(question):
        return _thing(question[told.end() :])
    asks = _asking_word(question)
    if asks is None:
        return None
    rest = question[asks.end() :]
    if asks["which"]:
        owner, copula = _OWNER.match(rest), _IS.match(rest)
        asked = owner[1] if owner else rest[copula.end() if copula else 0 :]
        return _thing(asked, told=bool(copula and copula["article"]))
    if asks["who"]:
        # After a verb ("who wrote") it is the other end of the statement that has the label.
        is_office = _IS_OFFICE.match(rest)
        office = _ENDS_OFFICE.split(rest[is_office.end() :], maxsplit=1)[0] if is_office else ""
        words = " ".join(word for word in office.split() if word.islower())
        # "Who wrote it", "it was written by whom"; "who's" has no verb of its own.
        verb = content_tokens(" ".join([*rest[rest.find(" ") :].split()[:1], *question[: asks.start()].split()[-2:]]))
        return AskedKind("person", "a person", frozenset(content_tokens(words)), frozenset(verb))
    if asks["much"]:
        # "How many kilometres" is no count; what is measured so stands elsewhere, if at all.
        word = "" if UNIT.match(rest) else stem(asks["much"].split()[1].casefold())
        measured = (
            _thing(rest[copula.end() :], told=True) if (copula := _IS.match(rest)) and copula["article"] else None
        )
        return AskedKind("number", "a number", measure=_MEASURES.get(word, ""), owner=measured.sort if measured else "")
    return AskedKind("time", "a date") if asks["when"] else AskedKind("place", "a place")


def described(question: str) -> int:
    """How many things a question only describes, of other sorts than it asks for: one in "the capital of the country topped by Elbrus".

    Counted are nouns of known sorts with an article and a clause that says which one is meant. Persons are not: "was the director".
    """
    asked = asked_for(question)
    sorts = [SORTS.get(stem(found["noun"]), "") for found in _DESCRIBED.finditer(question)]
    return sum(sort not in {"", "person", asked.sort} for sort in sorts) if asked else 0


def tells_number(answer: str) -> bool:
    """Whether an answer, folded, has a number in digits or in English words."""
    return bool(re.search(r"\d", answer)) or not NUMBER_WORDS.isdisjoint(answer.split())


def counted_noun(question: str) -> str:
    """What an English question counts: "countries" of "how many countries"; empty where it counts nothing."""
    found = _COUNTS.search(question)
    return found[1] if found else ""


def asks_for_something(question: str) -> bool:
    """Whether an English question has a word that asks for a thing, whether or not its kind is known (`asked_for`)."""
    return bool(_TELLS_TO.match(question) or _asking_word(question))


def asking_part(question: str) -> str:
    """The words that say what is asked for: the one that asks and a few after it up to a verb ("what types are", "who was the ruler"),
    or before it where none follow; the whole question where no word asks.
    """
    told = _TELLS_TO.match(question)
    asks = None if told else _asking_word(question)
    if not (told or asks):
        return question
    after = question[told.end() if told else asks.start() if asks else 0 :].split()[:_ASKING_WORDS]
    verb = next((at for at, word in enumerate(after) if at > 1 and word.casefold() in _VERBS.split()), len(after))
    before = question[: asks.start()].split() if asks and len(after) == 1 else []
    return " ".join([*before[1 - _ASKING_WORDS :], *after[:verb]])


def _asking_word(question: str) -> re.Match[str] | None:
    """The word that asks: the first that begins a clause, else the last within one."""
    found = list(_ASKS.finditer(question))
    first = next((one for one in found if _OPENS_CLAUSE.search(question[: one.start()])), None)
    # Within a clause "where" and "when" join it to what stands before them; the last "which" may still ask.
    inner = [one for one in found if one["which"] or one["who"] or one["much"]]
    return first or (inner[-1] if inner else None)


def _thing(text: str, *, told: bool = False) -> AskedKind | None:
    """The noun that a text begins with, before its verb; `told` where a verb and an article stand before it."""
    phrase: list[str] = []
    after = last = ""
    for word in re.findall(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*|[^\w\s]", text):
        after = word.casefold()
        if not word[0].isalpha() or after in _ENDS_PHRASE:
            break
        phrase.append(after.removesuffix("'s"))
        after, last = "", word
    named = any(word[0].isupper() for word in re.findall(r"[^\W\d_]+", text)[: len(phrase)])
    if last[:1].isupper() or (after and after[0].isalpha() and after not in _ENDS_HEAD and (named or not told)):
        # A verb may stand among the words, before a name or what follows: only a known noun is one.
        noun = next((word for word in phrase if stem(word) in SORTS or stem(word) in _TIMES), "")
    else:
        noun = _head(phrase)
    if not noun:
        return None
    if stem(noun) in _TIMES:
        return AskedKind("time", "a date")
    if _NUMBER_OF.match(text):
        return AskedKind("number", "a number", measure="count")
    return AskedKind("thing", noun, frozenset({stem(noun)}))


def _head(words: Sequence[str]) -> str:
    """The last word that is neither a preposition nor a participle: "language" of "language spoken in"."""
    nouns = [word for word in words if word not in _ENDS_PHRASE and not _NO_NOUN.search(word)]
    return nouns[-1] if nouns else ""


def noun_of(label: str) -> str:
    """The noun of a relation's label, or of a type."""
    words = label.replace("_", " ").casefold()
    # A "chief of state" is a chief.
    return _head((words.partition(" of ")[0] or words).split())


def noun_stem(label: str) -> str:
    """The stem of a label's noun."""
    return stem(noun_of(label))


def is_phrase(label: str) -> bool:
    """Whether a relation's label is words, not a place in a schema ("people.person.profession"), where both ends' types stand too."""
    return not _SCHEMA.search(label)


def words_of(relation: str) -> list[str]:
    """The stems of a relation's label."""
    return content_tokens(relation.replace("_", " "))


def measure_of(relation: str) -> str:
    """What a relation's label says its numbers measure; empty where it does not."""
    found = {_MEASURES[word] for word in words_of(relation) if word in _MEASURES}
    return found.pop() if len(found) == 1 else ""


def measured_by(superlative: str) -> str:
    """What an English superlative measures, as `measure_of` tells it; empty where it may measure several things ("greatest")."""
    return _SUPERLATIVES.get(superlative, "")


def sort_of_objects(relation: str) -> str:
    """The sort of things that a relation's label says its objects are; empty where it does not ("head of state")."""
    noun = "" if re.search(r"[ _]of[ _]", relation) else noun_stem(relation)
    return "time" if noun in _TIMES else SORTS.get(noun, "")
