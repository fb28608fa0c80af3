"""What a prompt shows of a gold path, and what follows from that alone."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from thinkgraph.eval.gold import Fact, Gold, GoldHop, extreme
from thinkgraph.prompts.lines import Item, one_line, safe_label
from thinkgraph.prompts.parsed import ParsedPrompt

_NOT_EVIDENCE = frozenset({"", "question", "options", "entities", "looking for", "answer", "clues so far", "clues"})


def key(label: str) -> str:
    """A label as prompts show it, for comparison."""
    return safe_label(unicodedata.normalize("NFC", label)).casefold()


def fact_key(fact: Fact) -> Fact:
    """A fact as prompts show it, for comparison."""
    return key(fact[0]), key(fact[1]), key(fact[2])


def facts_of(item: Item) -> set[Fact]:
    """The facts that a line shows in the grammar, for comparison."""
    return {fact_key((triple.subject, triple.relation, triple.object)) for triple in item.triples}


def passage_fits(shown: str, gold: str, answers: Iterable[str] = ()) -> bool:
    """Whether a shown passage is the gold passage or a chunk of it; a chunk must hold one of `answers`, if any."""
    shown, gold = (unicodedata.normalize("NFC", one_line(text)).casefold() for text in (shown, gold))
    if gold in shown:
        return True
    wanted = [answer.casefold() for answer in answers]
    return bool(shown) and shown in gold and (not wanted or any(answer in shown for answer in wanted))


@dataclass(frozen=True)
class Listed:
    """One list of ends, as a line shows it."""

    line: int
    ends: frozenset[str]
    more: int


@dataclass
class PromptEvidence:
    """The facts, lists and passages that the evidence of a prompt shows, by line number."""

    facts: dict[Fact, int] = field(default_factory=dict)
    """Fact, as compared, to the first line that shows it."""
    lists: dict[tuple[str, str, bool], list[Listed]] = field(default_factory=lambda: defaultdict(list))
    """(source, relation, outgoing) to the lists of its ends."""
    passages: list[tuple[int, str]] = field(default_factory=list)
    answered: list[tuple[int, str, tuple[str, ...]]] = field(default_factory=list)
    """Line, question and answers of the questions answered before."""
    plain: list[tuple[int, str]] = field(default_factory=list)
    """Lines outside the grammar (a community put into prose), in lower case."""

    @classmethod
    def of(cls, prompt: ParsedPrompt) -> PromptEvidence:
        """Read a prompt's `## Evidence`; where there is none, every section that is not known to be something else."""
        shown = cls()
        names = (
            ["evidence"] if "evidence" in prompt.sections else [n for n in prompt.sections if n not in _NOT_EVIDENCE]
        )
        for name in names:
            for item in prompt.lines(name):
                shown.add(item)
            if not prompt.lines(name):
                shown.plain += [(0, line.casefold()) for line in prompt.text(name).splitlines() if line.strip()]
        return shown

    def add(self, item: Item) -> None:
        """Take in one numbered line."""
        if item.passage:
            self.passages.append((item.number, item.passage))
        elif item.asked:
            self.answered.append((item.number, item.asked, item.answers))
        elif item.hops:
            for fact in facts_of(item):
                self.facts.setdefault(fact, item.number)
            for listed in item.lists:
                place = (key(listed.source), key(listed.relation), listed.outgoing)
                self.lists[place].append(Listed(item.number, frozenset(map(key, listed.ends)), listed.more))
        else:
            self.plain.append((item.number, item.text.casefold()))

    def line_of(self, fact: Fact) -> int | None:
        """The line that shows a fact: in the grammar, else in prose that names both ends and the relation."""
        wanted = fact_key(fact)
        if wanted in self.facts:
            return self.facts[wanted]
        return next((number for number, text in self.plain if all(part in text for part in wanted)), None)

    def full_list(self, hop: GoldHop, source: str) -> set[int]:
        """The lines that list all ends of a hop at one source and leave none out; empty where there are none."""
        ends = {key(hop.end_of(fact)) for fact in hop.facts if key(hop.source_of(fact)) == key(source)}
        lists = self.lists.get((key(source), key(hop.relation), hop.outgoing), [])
        alone = next((listed for listed in lists if listed.more == 0 and ends and ends <= listed.ends), None)
        if alone:
            return {alone.line}
        # Several lines may share a list: together they are all of it if they show as many ends as one of them counts.
        place = (key(source), key(hop.relation))
        facts = {fact: line for fact, line in self.facts.items() if (hop.source_of(fact), fact[1]) == place}
        union = set(map(hop.end_of, facts)).union(*(listed.ends for listed in lists))
        total = max((len(listed.ends) + listed.more for listed in lists), default=0)
        lines = {*facts.values(), *(listed.line for listed in lists)}
        return lines if ends and ends <= union and len(union) == total else set()

    def told_length(self, hop: GoldHop) -> tuple[int, int] | None:
        """How many ends a hop has by the line that lists some of them and counts the others, and that line; None without one."""
        if len(hop.sources) != 1 or not set(hop.every) <= set(hop.facts):
            return None
        lists = self.lists.get((key(hop.sources[0]), key(hop.relation), hop.outgoing), [])
        return max(((len(listed.ends) + listed.more, listed.line) for listed in lists if listed.more), default=None)


Told = tuple[int, tuple[str, ...]]
"""The line of an answered question, and its answers."""


@dataclass
class Finding:
    """What follows from the shown evidence for one gold path."""

    answers: list[str] = field(default_factory=list)
    """Empty unless every fact needed is shown."""
    lines: set[int] = field(default_factory=set)
    known: list[Fact] = field(default_factory=list)
    """Gold facts shown so far."""
    likely: list[str] = field(default_factory=list)
    """Answers that the shown facts lead to where others may be missing; empty where `answers` are all of them."""
    missing: int | None = None
    """Place of the first hop that is not wholly shown."""


def judge(gold: Gold, shown: PromptEvidence, told: Mapping[int, Told]) -> Finding:
    """Answer a question from what is shown, if every gold fact it needs is there.

    Args:
        gold: the question's gold.
        shown: what its prompt shows.
        told: by hop, an answered question that asked for what the hop reaches.
    """
    finding = Finding()
    if not gold.is_answerable:
        return finding
    found_text: list[str] = []
    for place, hop in enumerate(gold.hops):
        whole = _text_shown(gold, hop, shown, finding, found_text) if hop.is_text else _facts_shown(hop, shown, finding)
        last = place in gold.finals
        if not whole and place in told and _granted(gold, hop, told[place], shown, found_text):
            finding.lines.add(told[place][0])
            continue
        if whole and last and gold.operation in {"count", "yesno"}:
            whole = _lists_shown(gold, hop, shown, finding)
        elif not whole and last:
            whole = _told_in_part(gold, hop, shown, finding)
        if not whole and finding.missing is None:
            finding.missing = place
    if finding.missing is None:
        beside = list(gold.answers) if gold.operation == "qualifier" else []
        finding.answers = found_text or beside or _answers(gold, shown, finding)
        if not finding.answers:
            finding.missing = len(gold.hops) - 1
    if not finding.answers:
        finding.likely, lines = _led_to(gold, shown)
        finding.lines |= lines
    return finding


def _led_to(gold: Gold, shown: PromptEvidence) -> tuple[list[str], set[int]]:
    """The ends that shown facts lead to from the start of a chain, and the lines that show these facts."""
    if gold.operation != "chain" or len(gold.finals) != 1 or any(hop.is_text for hop in gold.hops):
        return [], set()
    reached: list[dict[str, str]] = []
    lines: set[int] = set()
    for hop in gold.hops:
        before = (
            {name for place in hop.takes for name in reached[place]} if hop.takes else {key(s) for s in hop.sources}
        )
        found: dict[str, str] = {}
        for fact in hop.facts:
            line = shown.line_of(fact)
            if line is not None and key(hop.source_of(fact)) in before:
                found[key(hop.end_of(fact))] = hop.end_of(fact)
                lines.add(line)
        reached.append(found)
    ends = list(reached[gold.finals[0]].values())
    return ends, (lines - {0} if ends else set())


def _granted(gold: Gold, hop: GoldHop, told: Told, shown: PromptEvidence, found: list[str]) -> bool:
    """Whether an answered question tells all that a hop reaches; then its facts count as shown."""
    line, answers = told
    given = set(map(key, answers))
    if hop.is_text:
        inside = [answer for answer in gold.answers if any(key(answer) in one for one in given)]
        found += inside[:1]
        return bool(inside)
    if gold.operation in {"max", "min"} and len(hop.sources) > 1:
        return False  # which value is whose is not told
    if not hop.ends or not set(map(key, hop.ends)) <= given:
        return False
    for fact in hop.facts:
        shown.facts.setdefault(fact_key(fact), line)
    return True


def _facts_shown(hop: GoldHop, shown: PromptEvidence, finding: Finding) -> bool:
    whole = bool(hop.facts)
    for fact in hop.facts:
        line = shown.line_of(fact)
        if line is None:
            whole = False
        else:
            finding.known.append(fact)
            finding.lines |= {line} - {0}
    return whole


def _text_shown(gold: Gold, hop: GoldHop, shown: PromptEvidence, finding: Finding, found: list[str]) -> bool:
    final = hop in [gold.hops[place] for place in gold.finals]
    for number, text in shown.passages:
        if not any(passage_fits(text, passage, gold.answers if final else ()) for passage in hop.passages):
            continue
        inside = [answer for answer in gold.answers if answer.casefold() in text.casefold()]
        if inside:
            found.append(min(inside, key=len))
        if inside or not final:
            finding.lines.add(number)
            return True
    return False


def _lists_shown(gold: Gold, hop: GoldHop, shown: PromptEvidence, finding: Finding) -> bool:
    if gold.operation == "yesno" and _other_line(gold, hop, shown) is not None:
        return True
    lists = [shown.full_list(hop, source) for source in hop.sources]
    if shown.plain and not any(lists):
        return True  # prose has no "and N more": all facts were found in it
    finding.lines.update(*lists)
    return all(lists)


def _told_in_part(gold: Gold, hop: GoldHop, shown: PromptEvidence, finding: Finding) -> bool:
    """Whether a last hop that is shown in part tells what is asked: that the other is among its ends, or how many these are."""
    length = shown.told_length(hop) if gold.operation == "count" else None
    if length:
        finding.lines.add(length[1])
    return bool(length) or (gold.operation == "yesno" and _other_line(gold, hop, shown) is not None)


def _other_line(gold: Gold, hop: GoldHop, shown: PromptEvidence) -> int | None:
    """The line which shows that a hop reaches the other; None where none does."""
    lines = (shown.line_of(fact) for fact in hop.facts if key(hop.end_of(fact)) == key(gold.other))
    return next((line for line in lines if line is not None), None)


def _shown_ends(hop: GoldHop, shown: PromptEvidence) -> Iterator[tuple[str, str]]:
    """(source, end) of the gold facts that are shown."""
    for fact in hop.facts:
        if shown.line_of(fact) is not None:
            yield hop.source_of(fact), hop.end_of(fact)


def _answers(gold: Gold, shown: PromptEvidence, finding: Finding) -> list[str]:
    finals = [gold.hops[place] for place in gold.finals]
    reached = [[end for _, end in _shown_ends(hop, shown)] for hop in finals]
    match gold.operation:
        case "yesno":
            line = _other_line(gold, finals[-1], shown)
            if line is None:
                return ["no"]
            finding.lines = {line} - {0}
            return ["yes"]
        case "count":
            hidden = len(finals) == 1 and len(reached[0]) < len(finals[0].facts)
            length = shown.told_length(finals[0]) if hidden else None
            return [str(length[0] if length else len({key(end) for ends in reached for end in ends}))]
        case "max" | "min":
            return extreme([pair for hop in finals for pair in _shown_ends(hop, shown)], gold.operation)
        case "intersection":
            common = set.intersection(*({key(end) for end in ends} for ends in reached))
            return list(dict.fromkeys(end for end in reached[0] if key(end) in common))
        case _:
            return list(dict.fromkeys(end for ends in reached for end in ends))
