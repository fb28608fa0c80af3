"""Questions that count ("how many countries …"), held against the lists in a prompt's lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from thinkgraph.nodes.doubt.asked_kind import UNIT, counted_noun, root_of, words_of
from thinkgraph.prompts.lines import Item, ShownList, parse_item
from thinkgraph.tools.grounding import IN_WORDS, compares, counts, fold, numbers, turned_around
from thinkgraph.tools.linking.lexical import content_tokens, stem

_IN_LOWER_CASE = re.compile(r"\b[^\W\dA-Z]\w*")
_NARROWS = re.compile(
    r"\b(?:how many (?:of|\w+ (?:that|which|who))|(?:an)?other|besides|except|excluding|without|not|never|neither|\w+n['\u2019]t"
    r"|only|also|before|after|since|until|[12]\d{3})\b",
    re.IGNORECASE,
)
"""Words by which a question asks for only some of a list, or for what is not in it."""


def narrows(question: str) -> bool:
    """Whether an English question has a word by which it asks for only some of a list, or for what is not in it."""
    return _NARROWS.search(question) is not None


def roots_asked(question: str) -> list[str]:
    """The roots of a question's words, without its names, as often as they occur."""
    return list(map(root_of, content_tokens(" ".join(_IN_LOWER_CASE.findall(question)))))


def bare_count(question: str, answer: str) -> str:
    """The number alone, in digits, of an answer to "how many": "3" of "three", of "3 countries", which says again what is counted, and of
    "Arden borders 3 countries", which says the question again; any other answer, one with a unit too ("3 days"), as it is.
    """
    words = answer.strip(" .").split()
    digits = [IN_WORDS.get(word.casefold(), word) for word in words]
    at = next((place for place, word in enumerate(digits) if word.isdigit()), -1)
    noun = counted_noun(question)
    if at < 0 or not noun or UNIT.match(f" {noun}"):
        return answer
    rest = " ".join(words[at + 1 :]).casefold()
    again = set(map(stem, f"{fold(question)} there are has have it".split()))
    alone = stem(rest) in {"", stem(noun.casefold())} and all(stem(fold(word)) in again for word in words[:at])
    return digits[at] if alone else answer


def lengths_said(question: str, items: Sequence[Item]) -> set[int]:
    """How many things lines list by relations that the question says: each list alone, all together, and what those of several things have
    in common. Where some of these lists, as they stand or else turned around, are of things that it names, only those count; empty where
    it says no relation.
    """
    said = _lists_said(question, items)
    asked = f" {fold(question)} "

    def of_named(lists: Sequence[ShownList]) -> list[ShownList]:
        return [one for one in lists if f" {fold(one.source)} " in asked]

    near = of_named(said) or of_named(turned_around(said)) or said
    lengths = {len(one.ends) + one.more for one in near}
    # Of lists that are cut nobody knows what they have in common.
    if not near or any(one.more for one in near):
        return lengths
    ends = [set(map(fold, one.ends)) for one in near]
    if near is not said and len({one.source for one in near}) == len(near):
        lengths.add(len(set.intersection(*ends)))
    return {*lengths, len(set().union(*ends))}


def miscount(question: str, answers: Sequence[str], lines: Sequence[str]) -> str:
    """How many things lines list, in words, where the answer to an English "how many" is another number; empty where it is not, and
    where the lines leave it open: they are not lists of one thing alone by relations that the question says, they tell the number, or
    the number is smaller and the question may count only some of what they list.

    Args:
        question: the question.
        answers: its answers.
        lines: of a prompt, those that the answers stand on.
    """
    listed = _lengths_instead(question, answers, lines)
    return f"the lines cited list {' or '.join(map(str, listed))}, not {min(numbers(answers[0]))}" if listed else ""


def recount(question: str, answers: Sequence[str], lines: Sequence[str]) -> str:
    """The number of things that lines list, where the answer is another one, see `miscount`. Empty where it is none, where they list several
    numbers, and where the question has a word that neither the lines nor the noun it counts explain: it may count only some of them.
    """
    listed = _lengths_instead(question, answers, lines)
    hops = (hop for line in lines for group in parse_item(0, line).hops for hop in group)
    explained = " ".join([counted_noun(question), *(f"{hop.source} {hop.relation}" for hop in hops)])
    more = set(map(root_of, content_tokens(question))) - set(map(root_of, content_tokens(explained)))
    return str(listed[0]) if len(listed) == 1 and not more else ""


def _lengths_instead(question: str, answers: Sequence[str], lines: Sequence[str]) -> list[int]:
    if not counted_noun(question) or compares(question) or len(answers) != 1:
        return []
    items = [parse_item(0, line) for line in lines]
    given = numbers(answers[0])
    if len(given) != 1 or not all(item.hops for item in items) or given <= _told(question, items):
        return []
    if len({one.source for one in _lists_said(question, items)}) != 1:
        return []
    listed = sorted(lengths_said(question, items))
    # One thing may be what the question describes: "how many strings does the instrument have".
    if listed[-1] == 1 or given <= set(map(str, listed)):
        return []
    (number,) = given
    return [] if narrows(question) and float(number) < listed[-1] else listed


def is_another_count(question: str, answers: Sequence[str], lines: Sequence[str], shown: Sequence[str]) -> bool:
    """Whether the answer to an English "how many" is a number that no line tells, and not the length of a list that the question may count.

    That is one by a relation that it says, where there is any, else one of several things, since any path that ends at one thing lists one; of
    one thing only if it is the only line, of one step, and no line shown has a relation that the question says. What borders the
    neighbours is not counted where it asks for the neighbours.

    Args:
        question: the question.
        answers: its answers.
        lines: of a prompt, those that the answers stand on.
        shown: all lines of the prompt.
    """
    if not counted_noun(question) or len(answers) != 1 or not re.fullmatch(r"\d{1,4}", given := answers[0].strip()):
        return False
    items = [parse_item(0, line) for line in lines]
    # CogGRAG counts the answers to a question below, too.
    if given in _told(question, items) or any(item.answers for item in items):
        return False
    near = [item for item in items if not _goes_too_far(question, item)]
    if said := lengths_said(question, near):
        return int(given) not in said
    if given == "1":
        # (Earth) -[natural satellite]-> (Moon): one moon.
        alone = len(items) == 1 and len(items[0].hops) == 1
        return not alone or bool(lengths_said(question, [parse_item(0, line) for line in shown]))
    return int(given) not in counts([item.text for item in near])


def _told(question: str, items: Sequence[Item]) -> set[str]:
    """The numbers in texts and names; of those in qualifiers only what the question counts: a "share" of 10 is not 10 countries."""
    noun = root_of(stem(counted_noun(question).casefold()))
    texts = [text for item in items for text in (item.title, item.section, item.passage, *item.answers)]
    for hop in (hop for item in items for hop in item.triples):
        texts += [hop.source, hop.target]
        texts += [value for name, value in hop.qualifiers if noun in map(root_of, words_of(name))]
    return set().union(*map(numbers, texts))


def _goes_too_far(question: str, item: Item) -> bool:
    """Whether a path walks a relation that the question says once twice in one direction."""
    steps = [] if item.community else [(group[0].relation, group[0].outgoing) for group in item.hops if group]
    if not steps or steps[-1] not in steps[:-1]:
        return False
    often = Counter(roots_asked(question))
    return max((often[root_of(word)] for word in words_of(steps[-1][0])), default=0) == 1


def _lists_said(question: str, items: Sequence[Item]) -> list[ShownList]:
    roots = set(roots_asked(question))
    return [one for item in items for one in item.lists if not roots.isdisjoint(map(root_of, words_of(one.relation)))]
