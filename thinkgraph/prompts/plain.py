"""Statements in plain words, the other way to write the lines of lines.py: every statement from its subject to its object.

    (Panama) capital: (Panama City), (Colon), ... and 3 more
    (Colombia), (Costa Rica) borders: (Panama)           several subjects of one object
    (Low Tide) director: (Mara Velt); then (Low Tide) based on: (A Slow Sea)
                                                         a path, one step after the other
    (Panama) capital: (Panama City); (Baru) elevation m: (3475) {year=1998}
                                                         a community
    (Panama) capital: (1 thing)                          a relation at an entity, with its number of statements
    (4 things) borders: (Panama)                         the same, where the entity is the object
    (Panama) borders: (Colombia), (Costa Rica) both ways  statements that hold from each end to the other

Prompts ask for it in their header (`lines: plain`). A line is put into it from the arrows, so nodes and checks of answers know
one grammar only.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

from thinkgraph.prompts.lines import NUMBERED, Item, ShownHop, nodes_of, parse_item

_THEN = "; then ("
_SUBJECTS = re.compile(r"^(?P<nodes>\(.*(?:\)|\) \{[^{}]*\}|\.\.\. and \d{1,18} more)) (?P<relation>[^(){}]*)$")
_STEP_OUT = re.compile(r"^\((?P<entity>.*)\) (?P<relation>[^(){}]*): \((?P<count>\d+) things?\)$")
_STEP_IN = re.compile(r"^\((?P<count>\d+) things?\) (?P<relation>[^(){}]*): \((?P<entity>.*)\)$")
_SIGNS = re.compile(r"; then \(|[:;] \(")
_BOTH = " both ways"
_BRACKETS = str.maketrans("(){}", "[][]")


def plain_lines(text: str, most: int = 0) -> str:
    """The numbered lines of a text whose statements are in arrows, in plain words; every other line stays.

    Args:
        text: of a prompt.
        most: ends listed of one relation, those first that the other lines name; what is left out is counted. 0 for all.
    """
    read = [(line, _item(line)) for line in text.split("\n")]
    told = "\n".join(line for line, item in read if item is None).casefold() if most else ""
    return "\n".join(line if item is None else _plain(item, most, told) for line, item in read)


def _item(line: str) -> Item | None:
    """A numbered line of statements, taken apart; None where it is none."""
    found = NUMBERED.match(line)
    item = parse_item(int(found[1]), found[2]) if found else None
    return item if item and (item.step or item.hops) else None


def _plain(item: Item, most: int, told: str) -> str:
    return f"[{item.number}] {_step(item) if item.step else _statements(item, most, told)}"


def _step(item: Item) -> str:
    entity, relation, outgoing = item.step or ("", "", True)
    things = f"({item.count} thing{'s' * (item.count != 1)})"
    ends = [_node(entity), things]
    return f"{ends[not outgoing]} {_relation(relation)}: {ends[outgoing]}"


def _statements(item: Item, most: int, told: str) -> str:
    said = [_statement(group, more, most, told) for group, more in zip(item.hops, item.mores, strict=True) if group]
    return ("; " if item.community else "; then ").join(said)


def _statement(group: tuple[ShownHop, ...], more: int, most: int, told: str) -> str:
    """One list of ends, with its head where it belongs: before or behind the relation."""
    first = group[0]
    own = [hop for hop in group if hop.outgoing == first.outgoing]
    shown = sorted(own, key=lambda hop: hop.target.casefold() not in told)[:most] if 0 < most < len(own) else own
    ends = [_node(hop.target) + _qualifiers(hop) for hop in shown]
    more += len(own) - len(shown)
    listed = ", ".join(ends) + (f", ... and {more} more" if more else "")
    said = (_node(first.source), listed) if first.outgoing else (listed, _node(first.source))
    return f"{said[0]} {_relation(first.relation)}: {said[1]}" + _BOTH * (len(own) < len(group))


def _node(label: str) -> str:
    # What carries this grammar must not stand inside a label.
    return "(" + _SIGNS.sub(" (", label) + ")"


def _relation(label: str) -> str:
    return label.translate(_BRACKETS)


def _qualifiers(hop: ShownHop) -> str:
    inside = "; ".join(f"{name}={value}" for name, value in hop.qualifiers)
    return f" {{{inside}}}" if inside else ""


def read_plain(number: int, text: str) -> Item | None:
    """A line in plain words, taken apart; None where it is none. As `parse_item` reads one in arrows.

    Which end of a lone statement it was walked from is not told: it is read from its subject.
    """
    for form, outgoing in ((_STEP_OUT, True), (_STEP_IN, False)):
        if found := form.match(text):
            step = (found["entity"], found["relation"], outgoing)
            return Item(number, text, step=step, count=int(found["count"]))
    if not text.startswith("(") or ": (" not in text:
        return None
    path = _THEN in text
    read = [_read(one) for one in re.split(r"; then (?=\()" if path else r"; (?=\()", text)]
    groups = [one for one in read if one is not None]
    if len(groups) < len(read):
        return None
    hops, mores = tuple(group for group, _ in groups), tuple(more for _, more in groups)
    return Item(number, text, hops=hops, mores=mores, community=not path and len(groups) > 1)


def _read(text: str) -> tuple[tuple[ShownHop, ...], int] | None:
    left, found, right = text.removesuffix(_BOTH).partition(": (")
    subjects = _SUBJECTS.match(left)
    if not found or not subjects:
        return None
    before, few_before, _ = nodes_of(subjects["nodes"])
    behind, few_behind, _ = nodes_of(f"({right}")
    relation = subjects["relation"]
    outgoing = len(before) == 1 and not few_before
    hops = tuple(
        ShownHop(one, relation, other, outgoing, quals or more)
        for (one, quals), (other, more) in itertools.product(before, behind)
    )
    if text.endswith(_BOTH):
        hops += tuple(replace(hop, subject=hop.object, object=hop.subject, outgoing=not hop.outgoing) for hop in hops)
    return (hops, few_before or few_behind) if hops else None
