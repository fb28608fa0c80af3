"""Merges names that mean the same thing. Every rule is deterministic, and every merge is recorded.

Rules over the whole collection: names equal but for case, accents and punctuation; a leading article; a person's title; a
company's legal form; the plural of a phrase; initials with and without full stops; an acronym that a text spells out; a
misspelling of a long and frequent name. Rules within one document (`mentions.py`): a last name, initials, an acronym's
letters, a name that several titles share.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from rapidfuzz.distance import OSA

from thinkgraph.ingest.documents.lexicon import Form, Lexicon
from thinkgraph.ingest.documents.words import LEGAL_FORMS, PERSON_TITLES, key_of_name
from thinkgraph.tools.linking.lexical import stem

_QUALIFIED = re.compile(r"(?P<base>.+?)\s*(?:\([^()]+\)|,\s+(?P<place>[^()]+))\s*")
_LONG, _FREQUENT, _RARE = 9, 5, 2
"""Of a misspelling: fewest letters, fewest mentions of the right spelling, most mentions of the wrong one."""
PERSON_WORDS = range(2, 5)
"""Numbers of words that names of persons have."""
_FAMILY = 20
"""Most namesakes of one short name; more are a class of things ("List, …"), not a name."""


class MergedName(NamedTuple):
    """Two names merged into one entity."""

    name: str
    entity: str
    rule: str
    document: str = ""
    """The document in which it holds; empty: all."""


@dataclass
class ResolvedNames:
    """The names of a collection and their entities. The key of an entity is the key of one of its names."""

    forms: dict[str, Form]
    entity: dict[str, str] = field(default_factory=dict)
    """Key of a name to the key of its entity, perhaps in several steps. A name that is missing is an entity of its own."""
    families: dict[str, list[str]] = field(default_factory=dict)
    """Key of a short name ("brother") to the keys of the titles that qualify it ("brother pearl jam song")."""
    qualifiers: dict[str, frozenset[str]] = field(default_factory=dict)
    """The qualifying words of each such title."""
    decisions: list[MergedName] = field(default_factory=list)

    def root(self, key: str) -> str:
        """The entity of a name."""
        while (other := self.entity.get(key)) is not None:
            key = other
        return key

    def groups(self) -> dict[str, list[Form]]:
        """Each entity's names, its label first."""
        found: dict[str, list[Form]] = defaultdict(list)
        for key, form in self.forms.items():
            found[self.root(key)].append(form)
        for forms in found.values():
            forms.sort(key=_rank)
        return found


def _rank(form: Form) -> tuple[bool, bool, int, str]:
    return "title" not in form.kinds, "given" not in form.kinds, -form.mentions, form.key


def resolve(lexicon: Lexicon) -> ResolvedNames:
    """Apply the rules that hold over the whole collection."""
    ends = {key.rpartition(" ")[2] for key in lexicon.forms if " " in key}
    forms = {key: form for key, form in sorted(lexicon.forms.items()) if key in ends or not _is_grammar(form)}
    names = ResolvedNames(forms)
    for rule, pairs in (
        ("article", _articles(forms, lexicon)),
        ("points", _points(forms)),
        ("title of a person", _titled(forms)),
        ("legal form", _companies(forms)),
        ("plural", _plurals(forms)),
        ("acronym", _acronyms(forms, lexicon)),
        ("initials", _initials(forms)),
        ("spelling", _misspelt(forms)),
    ):
        for key, other in pairs:
            _join(names, key, other, rule)
    _find_families(names)
    return names


def _is_grammar(form: Form) -> bool:
    """Whether a name is a single word that had a capital once, at the beginning of a sentence."""
    return form.kinds == {"capitals"} and form.mentions == form.opening == 1 and " " not in form.key


def _join(names: ResolvedNames, key: str, other: str, rule: str) -> None:
    """Merge two names into the entity of the better one."""
    one, two = names.root(key), names.root(other)
    # Titles of two documents are two entities, however similar.
    if one == two or all("title" in names.forms[root].kinds for root in (one, two)):
        return
    kept, gone = sorted((one, two), key=lambda root: _rank(names.forms[root]))
    if rule in {"acronym", "initials"} and "title" not in names.forms[one].kinds:
        kept, gone = two, one
    names.entity[gone] = kept
    names.decisions.append(MergedName(names.forms[gone].label, names.forms[kept].label, rule))


def _articles(forms: Mapping[str, Form], lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    for key in forms:
        first, _, rest = key.partition(" ")
        if first in {"the", "a", "an"} and rest in forms and (" " in rest or lexicon.case.is_proper(rest)):
            yield key, rest


def _points(forms: Mapping[str, Form]) -> Iterator[tuple[str, str]]:
    """Initials with and without full stops: "U.S." and "US"."""
    for key, form in forms.items():
        joined = key.replace(" ", "")
        letters = len(joined) > 1 and len(joined) == len(key.split()) and joined.isalpha()
        if letters and joined in forms and all(text.isupper() for text in (*forms[joined].variants, *form.variants)):
            yield key, joined


def _titled(forms: Mapping[str, Form]) -> Iterator[tuple[str, str]]:
    for key in forms:
        first, _, rest = key.partition(" ")
        if first in PERSON_TITLES and " " in rest and rest in forms:
            yield key, rest


def _companies(forms: Mapping[str, Form]) -> Iterator[tuple[str, str]]:
    for key in forms:
        rest, _, last = key.rpartition(" ")
        if last in LEGAL_FORMS and rest in forms and not forms[rest].kinds <= {"phrase", "heading"}:
            yield key, rest


def _plurals(forms: Mapping[str, Form]) -> Iterator[tuple[str, str]]:
    for key, form in forms.items():
        head, _, last = key.rpartition(" ")
        single = f"{head} {stem(last)}".strip()
        if single != key and single in forms and ("phrase" in form.kinds or "phrase" in forms[single].kinds):
            yield key, single


def _acronyms(forms: Mapping[str, Form], lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    for short, spelt in sorted(lexicon.acronyms.items()):
        known = sorted(key for key in spelt if key in forms)
        if short in forms and len(known) == 1:
            yield short, known[0]


def _initials(forms: Mapping[str, Form]) -> Iterator[tuple[str, str]]:
    """Initials that fit exactly one full name of the collection: "J. Strauss II" and "Johann Strauss II"."""
    whole: dict[str, list[list[str]]] = defaultdict(list)
    for key, form in forms.items():
        words = key.split()
        if len(words) in PERSON_WORDS and len(words[0]) > 1 and form.kinds & {"capitals", "title", "given"}:
            whole[words[-1]].append(words)
    for key, form in forms.items():
        words = key.split()
        if len(words) > 1 and len(words[0]) == 1 and len(words[-1]) > 1 and "." in form.label:
            fitting = [" ".join(other) for other in whole.get(words[-1], ()) if initials_agree(words, other)]
            if len(fitting) == 1:
                yield key, fitting[0]


def initials_agree(short: Sequence[str], whole: Sequence[str]) -> bool:
    """Whether "j k rowling" can be "joanne kathleen rowling": each word is equal, or is the first letter.

    A single initial may also stand for first and middle names ("c rogers", "carl ransom rogers").
    """
    if len(short) == len(whole):
        return all(a == b or (len(a) == 1 and b[0] == a) for a, b in zip(short, whole, strict=True))
    return len(short) == 2 < len(whole) and whole[0][0] == short[0] and short[1] == whole[-1]  # noqa: PLR2004


def _misspelt(forms: Mapping[str, Form]) -> Iterator[tuple[str, str]]:
    near: dict[str, list[str]] = defaultdict(list)
    for key, form in forms.items():
        if len(key) >= _LONG and (form.mentions >= _FREQUENT or "title" in form.kinds) and key.isascii():
            for gone in _without_one(key):
                near[gone].append(key)
    words = Counter(word for key in forms for word in set(key.split()))
    for key, form in forms.items():
        if len(key) < _LONG or form.sure or form.mentions > _RARE or not form.kinds & {"capitals"}:
            continue
        candidates = {right for gone in _without_one(key) for right in near.get(gone, ()) if right != key}
        fitting = sorted(right for right in candidates if _is_slip(key, right, words))
        if len(fitting) == 1:
            yield key, fitting[0]


def _without_one(key: str) -> set[str]:
    return {key, *(key[:at] + key[at + 1 :] for at in range(len(key)))}


def _is_slip(wrong: str, right: str, words: Mapping[str, int]) -> bool:
    """Whether one letter differs, inside a long word of no other name: not its first or last letter, and no digit."""
    if wrong.count(" ") != right.count(" ") or OSA.distance(wrong, right) != 1:
        return False
    pairs = [(a, b) for a, b in zip(wrong.split(), right.split(), strict=True) if a != b]
    if len(pairs) != 1:
        return False
    [(a, b)] = pairs
    long = min(len(a), len(b)) >= _LONG - 3
    return long and a[0] == b[0] and a[-1] == b[-1] and words[a] == 1 and not any(c.isdigit() for c in a + b)


def _find_families(names: ResolvedNames) -> None:
    """Titles that qualify a shorter name: "Brother (Pearl Jam song)", "Paris, Texas". The short name becomes a form."""
    families: dict[str, list[str]] = defaultdict(list)
    short: dict[str, str] = {}
    for key, form in names.forms.items():
        base = short_name(form.label) if form.kinds & {"title", "given"} else ""
        base_key = key_of_name(base)
        if base_key and base_key != key:
            families[base_key].append(key)
            short.setdefault(base_key, base)
            names.qualifiers[key] = frozenset(key.split()) - frozenset(base_key.split())
    names.families = {base: keys for base, keys in families.items() if len(keys) <= _FAMILY}
    for base in names.families:
        form = names.forms.setdefault(base, Form(base))
        form.kinds.add("short")
        form.variants[short[base]] += 1


def short_name(title: str) -> str:
    """The name that a title qualifies ("Brother (Pearl Jam song)", "Paris, Texas"); empty where it qualifies none."""
    found = _QUALIFIED.fullmatch(title)
    if found is None or (found["place"] and not all(part[:1].isupper() for part in found["place"].split())):
        return ""
    return found["base"]
