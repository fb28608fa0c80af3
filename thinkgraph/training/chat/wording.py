"""Questions in words: templates by the form of a relation's name and the kind of thing it leads to."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from thinkgraph.state.knowledge import Direction, Entity
from thinkgraph.tools.linking.lexical import article

_PREPOSITIONS = frozenset("after as at by for from in into near of on per to under with".split())  # noqa: SIM905
_STATES = frozenset(
    "adjacent affiliated based born buried connected educated employed held influenced inspired known linked located made "  # noqa: SIM905
    "married member native part published related similar situated written".split()
)
"""First words of a relation that needs "is" before it: "located in"."""
_VERBS = frozenset(
    "acted borders contains created directed flows follows founded includes knows leads likes lives owns played plays "  # noqa: SIM905
    "produced produces recorded reviewed sells shares sold supplies supports uses works wrote".split()
)
"""Words that are a relation by themselves, where their form does not tell."""
_COPULAS = frozenset({"is", "are", "was", "were"})
_KIND = re.compile(r"[A-Za-z][A-Za-z ]{1,30}")
_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])")
_GENITIVE = "'s"
_PEOPLE = frozenset({"actor", "author", "director", "human", "person"})


@dataclass(frozen=True)
class AskedHop:
    """One hop, as words need it."""

    relation: str
    """The relation's label."""
    direction: Direction
    kind: str
    """Type of what it reaches, empty for several or none."""
    many: bool
    """Whether it reaches several things."""
    value: bool = False
    """Whether it reaches values: "released" then asks for no thing."""


def asked_hop(relation: str, direction: Direction, reached: Sequence[Entity], *, many: bool) -> AskedHop:
    """A hop with the kind of what it reaches, where that is of one."""
    kinds = {one["type"] for one in reached}
    kind, value = kinds.pop() if len(kinds) == 1 else "", any(one["literal"] for one in reached)
    return AskedHop(relation, direction, "" if value else kind, many=many, value=value)


def question_text(start: str, hops: Sequence[AskedHop]) -> str:
    """The question that asks for what a path reaches: "What is the capital of the country that Lima is located in?"."""
    told = start
    for hop in hops[:-1]:
        told = _described(told, hop)
    return _asked(told, hops[-1])


def count_text(start: str, hop: AskedHop) -> str:
    """The question how many things a hop reaches."""
    verb, kinds = _verb(hop.relation), _plural(_kind(hop.kind))
    if verb and hop.direction == "out":
        return f"{_capital(start)} {verb} how many {kinds}?"
    if verb:
        return f"How many {kinds} {_agreeing(verb)} {start}?"
    noun = _noun(hop.relation)
    if hop.direction == "out":
        return f"How many {_plural(noun)} does {start} have?"
    return f"How many {kinds} have {start} as {noun}?"


def _asked(told: str, hop: AskedHop) -> str:
    verb, kind = _verb(hop.relation), _kind(hop.kind)
    if verb and hop.value:
        return f'What is given as "{_noun(hop.relation)}" for {told}?'
    who = {"thing": "what", "person": "who"}.get(kind, f"which {kind}")
    if verb and hop.direction == "out":
        return f"{_capital(told)} {verb} {'whom' if who == 'who' else who}?"
    if verb:
        return f"{_capital(who)} {verb} {told}?"
    noun = _noun(hop.relation)
    if hop.direction == "out":
        return f"What {'are' if _is_plural(noun) else 'is'} the {noun} of {told}?"
    return f"{'Whose' if who == 'who' else f'Which {kind}' + _GENITIVE} {noun} {_are(noun)} {told}?"


def _described(told: str, hop: AskedHop) -> str:
    """What a hop reaches, as a noun with its clause."""
    verb, noun, kind = _verb(hop.relation), _noun(hop.relation), _kind(hop.kind)
    if verb and hop.direction == "out":
        return f"{_article(kind, hop)} {kind} that {told} {verb}"
    if verb:
        return f"{_article(kind, hop)} {kind} that {verb} {told}"
    if hop.direction == "out":
        return f"{'one of the' if _is_plural(noun) and hop.many else _article(noun, hop)} {noun} of {told}"
    return f"{_article(kind, hop)} {kind} whose {noun} {_are(noun)} {told}"


def _article(noun: str, hop: AskedHop) -> str:
    return article(noun) if hop.many else "the"


def _parted(noun: str) -> tuple[str, str]:
    """A noun up to its head, and what follows: "units", "in stock"."""
    words = noun.split()
    end = next((at for at, word in enumerate(words) if word in _PREPOSITIONS and at), len(words))
    return " ".join(words[:end]), " ".join(words[end:])


def _is_plural(noun: str) -> bool:
    head, _ = _parted(noun)
    return head.endswith("s") and not head.endswith(("ss", "us", "is"))


def _are(noun: str) -> str:
    """What joins a relation's name to one of its values."""
    return "include" if _is_plural(noun) else "is"


def _agreeing(verb: str) -> str:
    """A verb after a plural."""
    first, _, rest = verb.partition(" ")
    first = {"is": "are", "was": "were"}.get(first, first.removesuffix("s") if _is_plural(first) else first)
    return f"{first} {rest}".strip()


def _words(relation: str) -> list[str]:
    return _WORD_START.sub(" ", relation).replace("_", " ").lower().split()


def _verb(relation: str) -> str:
    """The relation as what is said between its two ends ("is located in"); empty where its name is a noun ("capital")."""
    words = _words(relation)
    first, last = words[0], words[-1]
    if first in _COPULAS:
        return " ".join(words)
    if first in _PREPOSITIONS or first in _STATES or last == "by" or (last == "of" and first not in _VERBS):
        return " ".join(["is", *words])
    if last in _PREPOSITIONS or first in _VERBS or (len(words) == 1 and last.endswith("ed")):
        return " ".join(words)
    return ""


def _noun(relation: str) -> str:
    words = _words(relation)
    return " ".join(words[words[0] in {"has", "have"} and len(words) > 1 :])


def _kind(kind: str) -> str:
    """The noun for a type: "thing" for one that is no plain word."""
    plain = _WORD_START.sub(" ", kind).replace("_", " ").lower()
    return ("person" if plain in _PEOPLE else plain) if _KIND.fullmatch(plain) else "thing"


def _plural(noun: str) -> str:
    if noun == "person" or _is_plural(noun):
        return "people" if noun == "person" else noun
    head, rest = _parted(noun)
    many = f"{head[:-1]}ies" if head.endswith("y") and head[-2:-1] not in "aeiou" else f"{head}s"
    return f"{many} {rest}".strip()


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
