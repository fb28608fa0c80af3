"""The one fixed grammar in which candidates and evidence are written into prompts, and its parser.

Editable templates hold the words; the lines between them are rendered here, so that every model, the offline one and the
perfect chooser included, reads the same thing:

    ## Options                                  a section
    [1] Panama -- country in Central America    an entity
    [2] (Panama) -[capital]-> x1                a relation at an entity, with its number of triples (`<-[..]-` inverse)
    [3] (Volcan Baru) <-[highest point]- (Panama) -[borders]-> (Colombia) {length km=339}, (Costa Rica)
                                                a path of triples; its last hop may list several tails
    [3] (Panama) -[capital]-> (Panama City); -[borders]-> (Costa Rica), ... and 1 more | (Baru) -[elevation m]-> (3475)
                                                a community (prompts/communities.py): `;` goes on from the head of the
                                                group, ` | ` starts a new group
    [3] (Panama) <-[borders]-> (Costa Rica)     statements that hold both ways, told once
    [4] text | Panama | Suffrage | 18 years of age; universal
                                                a passage with its title and section
    [5] asked | Which countries border Panama? | Colombia; Costa Rica
                                                a question answered before
    [6] plain words                             anything else that can be chosen

Labels and passages are other people's text. Each item is exactly one line that starts with its number, so no label can
open a section or forge an item, and the few character sequences that carry the grammar are taken out of labels.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from thinkgraph.state.knowledge import Entity, Relation, Triple

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
INVISIBLE = re.compile(
    r"[\u00ad\u061c\u180e\u200b\u200e\u200f\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]+"
)
"""Marks nobody sees: soft hyphens, directional marks, zero-width spaces, byte order marks, tags. The joiners of Persian, Indic scripts
and emoji (U+200C, U+200D) are letters of theirs and stay.
"""
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_SPACE = re.compile(r"\s+")
# What carries the grammar and must not stand inside a label: the start of an arrow, the end of one, the end of a node
# before another, before qualifiers or before another group, the dash before a description, the start of a passage line.
_ARROW_START = re.compile(r"(?<!\S)(<?-)\[+")
_ARROW_END = re.compile(r"(?<!\])\]+(->?)(?= \()")
_NEXT_NODE = re.compile(r"(?<=[)}]), (?=\(|\.\.\. and \d)")
_NEXT_GROUP = re.compile(r"(?<=[)}]) \|(?= \()")
_OPEN_QUALIFIERS = re.compile(r"(?<=\) )\{")
_DASH = re.compile(r"(?<!\S)--(?!\S)")
_PASSAGE_START = re.compile(r"^(text|asked) ?\|")
_GRAMMAR = re.compile(r"[\[\])}|]|--")
"""Without one of these in it, a line holds none of the sequences above."""
NUMBERED = re.compile(r"^\[(\d+)\](?: |$)(.*)$", re.MULTILINE)
"""A numbered line: its number and its text."""
_HEADING = re.compile(r"^(?:#+(?:\s+|$))+")
_NUMBER = re.compile(r"^\[(\d+)\]")


@functools.lru_cache(maxsize=4096)
def one_line(text: str) -> str:
    """The text on one line, composed (NFC): control characters (line breaks, ANSI escapes, bidirectional overrides) become
    spaces, invisible marks go, half characters (lone surrogates) become U+FFFD.
    """
    return _flat(text if text.isascii() else unicodedata.normalize("NFC", INVISIBLE.sub("", text)))


def _flat(text: str) -> str:
    if text.isprintable():
        # Most texts: the only space in them is the plain one.
        return " ".join(text.split()) if "  " in text or text != text.strip() else text
    # A rendered line is not composed again: an accent that starts a label would melt into the grammar's own characters.
    plain = INVISIBLE.sub("", _SURROGATE.sub("\ufffd", text))
    return _SPACE.sub(" ", _CONTROL.sub(" ", plain)).strip()


@functools.lru_cache(maxsize=4096)
def safe_label(text: str) -> str:
    """A label in which the grammar's own sequences cannot occur; anything else stays as it is."""
    line = one_line(text)
    if not _GRAMMAR.search(line):
        return line
    label = _ARROW_START.sub(r"\1", line)
    label = _NEXT_GROUP.sub(" /", _NEXT_NODE.sub("; ", _ARROW_END.sub(r"\1", label)))
    label = _DASH.sub("–", _OPEN_QUALIFIERS.sub("(", label))
    return _PASSAGE_START.sub(r"\1 /", label)


def safe_block(text: str) -> str:
    """Free text (a question, clues) on one line that cannot open a section or look like a numbered item."""
    return _NUMBER.sub(r"(\1)", _HEADING.sub("", one_line(text)))


def described(label: str, about: str) -> str:
    """`Panama -- country in Central America`."""
    name, words = safe_label(label), safe_label(about)
    return f"{name} -- {words}" if words else name


def entity_line(entity: Entity) -> str:
    """The entity with its description, or its type where it has none."""
    about = entity["description"] if safe_label(entity["description"]) else entity["type"]
    return described(entity["label"], about)


def arrow(label: str, *, outgoing: bool) -> str:
    """`-[capital]->`, or `<-[capital]-` where the relation is walked backwards."""
    name = safe_label(label)
    return f"-[{name}]->" if outgoing else f"<-[{name}]-"


def both_ways(label: str) -> str:
    """`<-[borders]->`: the statement holds from each end to the other."""
    return f"<-[{safe_label(label)}]->"


def relation_line(relation: Relation, entity_label: str) -> str:
    """`(Panama) -[capital]-> x1`, or `(Panama) <-[highest point]- x1` where the entity is the object."""
    way = arrow(relation["label"], outgoing=relation["direction"] == "out")
    return f"({safe_label(entity_label)}) {way} x{relation['count']}"


def passage_line(title: str, section: str, text: str) -> str:
    """`text | title | section | the passage`."""
    return f"text | {_cell(title)} | {_cell(section)} | {one_line(text)}"


def answer_line(question: str, answers: Sequence[str]) -> str:
    """`asked | question | answer; answer`."""
    told = "; ".join(_cell(answer).replace("; ", ", ") for answer in answers)
    return f"asked | {_cell(question)} | {told}"


def _cell(text: str) -> str:
    return one_line(text).replace("|", "/")


def qualifier_text(triple: Triple) -> str:
    """` {length km=339; since=1941}`, empty where the triple has no qualifiers."""
    if not triple["qualifiers"]:
        return ""
    pairs = [
        (safe_label(name.replace("_", " ")).replace("=", ":"), safe_label(value))
        for name, value in triple["qualifiers"]
    ]
    inside = "; ".join(f"{_unlisted(name)}={_unlisted(value)}" for name, value in pairs)
    return " {" + inside + "}"


def _unlisted(text: str) -> str:
    return text.replace("}", ")").replace("{", "(").replace(";", ",")


def path_line(start: str, hops: Sequence[Triple], tails: Sequence[Triple] = (), *, total: int = 0) -> str:
    """A path from entity id `start` through `hops`; `tails` are all the triples of the last hop, listed together.

    Args:
        start: id of the entity the path starts from.
        hops: the triples walked, in order; each touches the end of the one before.
        tails: triples that share the last hop's entity, relation and direction (empty: the last of `hops` stands alone).
        total: number of triples of the last hop in the graph; where larger than what is listed, the line says so.
    """
    if not hops and not tails:
        return ""
    here = start
    steps = list(hops)
    last = list(tails) if tails else [steps.pop()]
    first = steps[0] if steps else last[0]
    text = f"({safe_label(first['subject_label'] if first['subject'] == here else first['object_label'])})"
    for triple in steps:
        text, here = _hop(text, here, [triple])
    text, _ = _hop(text, here, last)
    more = total - len(last)
    return text + (f", ... and {more} more" if more > 0 else "")


def _hop(text: str, here: str, triples: Sequence[Triple]) -> tuple[str, str]:
    lead = triples[0]
    outgoing = lead["subject"] == here
    labels = [triple["object_label"] if outgoing else triple["subject_label"] for triple in triples]
    ends = [f"({safe_label(label)}){qualifier_text(triple)}" for label, triple in zip(labels, triples, strict=True)]
    way = arrow(lead["relation_label"], outgoing=outgoing)
    return f"{text} {way} {', '.join(ends)}", lead["object"] if outgoing else lead["subject"]


def triple_sentence(triple: Triple) -> str:
    """The triple as a short sentence ("Panama capital Panama City"), the prefix of a chunk in ToG-2 section 3.2.2."""
    extra = "".join(f", {name.replace('_', ' ')} {value}" for name, value in triple["qualifiers"])
    return one_line(f"{triple['subject_label']} {triple['relation_label']} {triple['object_label']}{extra}")


def numbered(lines: Iterable[str]) -> str:
    """`[1] first`, `[2] second` … one a line."""
    return "\n".join(f"[{number}] {_flat(line)}" for number, line in enumerate(lines, start=1))


def told_once(lines: Sequence[str]) -> list[tuple[int, str]]:
    """The lines with their places, without those that say another one's last list again, or only turn it around (a symmetric relation).

    Of two such lines the first stays, with a two-way arrow where the other one is turned around.
    """
    kept: dict[object, tuple[int, str]] = {}
    lists = [_last_list(line) for line in lines]
    often = Counter(one[:2] for one in lists)
    for place, line in enumerate(lines):
        before, name, outgoing, listed = lists[place]
        if not name or often[before, name] == 1:
            kept[place] = place, line
            continue
        found, more, _ = nodes_of(listed)
        ends = frozenset(found)
        mirrored = (before, name, not outgoing, ends, more)
        if mirrored in kept:
            first, text = kept[mirrored]
            kept[mirrored] = first, _turned(text)
        else:
            kept.setdefault((before, name, outgoing, ends, more), (place, line))
    return list(kept.values())


def _last_list(line: str) -> tuple[str, str, bool, str]:
    """What stands before a path's last arrow, its label, whether it leads out, and the list behind it; no label where it leads both ways,
    and of a community.
    """
    arrows = list(_ARROW.finditer(line)) if line.startswith("(") and " | (" not in line else []
    if not arrows or arrows[-1]["both"] or any(arrow["back"] for arrow in arrows):
        return "", "", False, ""
    last = arrows[-1]
    outgoing = last["out"] is not None
    return line[: last.start()], last["out" if outgoing else "inv"], outgoing, line[last.end() :]


def _turned(line: str) -> str:
    """The line with a two-way arrow before its last list."""
    before, name, _, ends = _last_list(line)
    return f"{before} <-[{name}]-> {ends}" if name else line


# --- reading lines back: plain.py and parsed.py build on it ---------------------------------------------------------


@dataclass(frozen=True)
class ShownHop:
    """One hop as a prompt shows it, in the triple's own direction."""

    subject: str
    relation: str
    object: str
    outgoing: bool
    """Whether the path walked it from subject to object."""
    qualifiers: tuple[tuple[str, str], ...] = ()

    @property
    def source(self) -> str:
        """The end it was walked from."""
        return self.subject if self.outgoing else self.object

    @property
    def target(self) -> str:
        """The end it was walked to."""
        return self.object if self.outgoing else self.subject


@dataclass(frozen=True)
class ShownList:
    """All that a line says about the ends of one relation at one thing."""

    source: str
    relation: str
    outgoing: bool
    ends: tuple[str, ...]
    """As often as they are listed: two things may share a label."""
    more: int
    """How many ends the line says it left out."""


@dataclass(frozen=True)
class Item:
    """One numbered line of a prompt, taken apart. Exactly one of the readings applies; the others are empty."""

    number: int
    text: str
    """The whole line without its number."""
    label: str = ""
    """Entity option: its label."""
    about: str = ""
    """Entity option: its description."""
    hops: tuple[tuple[ShownHop, ...], ...] = ()
    """Path: for every hop the triples listed for it (one, except at the last hop). Community: for every list of ends."""
    count: int = 0
    """Relation option: number of triples behind it; then `hops` is empty and `step` is set."""
    step: tuple[str, str, bool] | None = None
    """Relation option: (entity label, relation label, outgoing)."""
    mores: tuple[int, ...] = ()
    """Path, community: for each of `hops`, how many more ends the line says there are."""
    title: str = ""
    section: str = ""
    passage: str = ""
    """Passage: its text (title and section beside it)."""
    community: bool = False
    """Whether the line has more than one group or list, so that `hops` are lists side by side, not steps of a path."""
    asked: str = ""
    """Question answered before: its text."""
    answers: tuple[str, ...] = ()
    """Question answered before: its answers."""

    @property
    def triples(self) -> tuple[ShownHop, ...]:
        """All triples shown by a path or community line."""
        return tuple(hop for group in self.hops for hop in group)

    @property
    def lists(self) -> tuple[ShownList, ...]:
        """The lists of ends that the line tells the length of: a community's every one, a path's last."""
        found: dict[tuple[str, str, bool], ShownList] = {}
        for group, more in list(zip(self.hops, self.mores, strict=True))[0 if self.community else -1 :]:
            if not group:
                continue
            head, relation, outgoing = group[0].source, group[0].relation, group[0].outgoing
            # An end of this list may stand in another group, where it is the head.
            every = self.triples if self.community else group
            ends = [
                hop.object if outgoing else hop.subject
                for hop in every
                if hop.relation == relation and (hop.subject if outgoing else hop.object) == head
            ]
            for way in dict.fromkeys(hop.outgoing for hop in group):
                found.setdefault((head, relation, way), ShownList(head, relation, way, tuple(ends), more))
        return tuple(found.values())


# Title and section may be empty, and white space has been collapsed since the line was rendered.
_PASSAGE = re.compile(r"^text \|([^|]*)\|([^|]*)\|(.*)$")
_ASKED = re.compile(r"^asked \|([^|]*)\|([^|]*)$")
_RELATION = re.compile(r"^\((?P<entity>.*)\) (?:-\[(?P<out>.*?)\]->|<-\[(?P<inv>.*?)\]-) x(?P<count>\d+)$")
_ARROW = re.compile(r"(?P<back>;)? (?:-\[(?P<out>.*?)\]->|<-\[(?P<inv>.*?)\]-(?P<both>>)?) (?=\()")
_NODE_END = re.compile(r"\)(?: \{(?P<quals>[^{}]*)\})?(?=, \(|, \.\.\. and \d+ more(?: \| \(|$)| \| \(|$)")
_MORE = re.compile(r", \.\.\. and (\d{1,18}) more(?= \| \(|$)")


def nodes_of(text: str) -> tuple[list[tuple[str, tuple[tuple[str, str], ...]]], int, str | None]:
    """What stands between two arrows: the ends with their qualifiers, how many more, and the head of a new group, if any."""
    found = []
    at = 0
    while at < len(text) and text[at] == "(":
        end = _NODE_END.search(text, at)
        if end is None:
            break
        pairs = tuple(
            (name.strip(), value.strip())
            for name, equals, value in (part.partition("=") for part in (end.group("quals") or "").split("; "))
            if equals or name.strip()
        )
        found.append((text[at + 1 : end.start()], pairs))
        at = end.end()
        at += 2 if text.startswith(", (", at) else 0
    more = _MORE.match(text, at)
    at = more.end() if more else at
    head = text[at + 4 :].removesuffix(")") if text.startswith(" | (", at) else None
    return found, int(more[1]) if more else 0, head


def parse_item(number: int, text: str) -> Item:
    """Take one rendered line apart."""
    passage = _PASSAGE.match(text)
    if passage:
        title, section, words = (part.strip() for part in passage.groups())
        return Item(number, text, title=title, section=section, passage=words)
    asked = _ASKED.match(text)
    if asked:
        question, told = (part.strip() for part in asked.groups())
        return Item(number, text, asked=question, answers=tuple(a.strip() for a in told.split("; ") if a.strip()))
    relation = _RELATION.match(text)
    if relation:
        out = relation["out"]
        step = (relation["entity"], out if out is not None else relation["inv"], out is not None)
        return Item(number, text, step=step, count=int(relation["count"]))
    if text.startswith("(") and (arrows := list(_ARROW.finditer(text))):
        return _parse_walks(number, text, arrows)
    if text.startswith("-- "):
        return Item(number, text, about=text[3:])
    label, found, about = text.partition(" -- ")
    return Item(number, text, label=label if found else text, about=about)


def _parse_walks(number: int, text: str, arrows: Sequence[re.Match[str]]) -> Item:
    """A path or a community, taken apart at its arrows."""
    start, _, _ = nodes_of(text[: arrows[0].start()])
    here = head = start[0][0] if start else ""
    hops: list[tuple[ShownHop, ...]] = []
    mores: list[int] = []
    community = False
    for found, after in itertools.zip_longest(arrows, arrows[1:]):
        ends, more, new_head = nodes_of(text[found.end() : after.start() if after else len(text)])
        outgoing = found["out"] is not None or found["both"] is not None
        name = found["inv"] if found["out"] is None else found["out"]
        here = head if found["back"] else here
        ways = (True, False) if found["both"] else (outgoing,)
        hops.append(
            tuple(
                ShownHop(here if way else end, name, end if way else here, way, quals)
                for way in ways
                for end, quals in ends
            )
        )
        mores.append(more)
        community = community or bool(found["back"]) or new_head is not None
        here = ends[0][0] if ends else ""
        if new_head is not None:
            here = head = new_head
    return Item(number, text, hops=tuple(hops), mores=tuple(mores), community=community)
