"""The mind map (CogGRAG section 3.2): planted with the question, grown by what open questions were broken down into."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from thinkgraph.models.ops import Flow, Update
from thinkgraph.nodes.coggrag.tree import (
    LONGEST,
    REFERENCE,
    ROOT,
    Nodes,
    ancestors,
    children,
    draw,
    reachable,
    spelt_out,
    waiting,
)
from thinkgraph.nodes.common.reports import pruned, traced
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.coggrag import CogGragSettings, CogGragState, MindNode, SubQuestion
from thinkgraph.tools.grounding import fold


def mind_map(state: CogGragState, settings: CogGragSettings) -> Flow[Update]:
    """Plant the question, or add the sub-questions of a level."""
    nodes = state["mind_map"]
    if not nodes:
        return {"mind_map": {ROOT: plant(state["question"], settings)}}
    growth = grow(nodes, state["splits"], settings)
    yield from traced(state["round"], "mind map", draw(growth.nodes, {}, {})["lines"])
    # Once the map stands, rounds count from the start again: they are then waves of answers.
    done = state["stopped"] or not waiting(growth.nodes)
    update: Update = {"mind_map": growth.nodes, "round": state["since"] if done else state["round"] + 1}
    if growth.notes:
        added = [(node["question"], 1.0) for key, node in growth.nodes.items() if key not in nodes]
        notes = [(note, 0.0) for note in growth.notes]
        why = "; ".join(["left out or changed", *growth.notes])
        update["pruned"] = yield from pruned("questions", state["round"], added, notes, why)
    return update


def plant(question: str, settings: CogGragSettings) -> MindNode:
    """The root (q, 0, Continue)."""
    breaks = settings.decompose and settings.questions > 1
    return MindNode(
        id=ROOT, question=one_line(question), level=0, state="continue" if breaks else "end", parent="", refers={}
    )


@dataclass
class Growth:
    """The mind map after a level of decompositions."""

    nodes: dict[str, MindNode]
    notes: list[str] = field(default_factory=list)
    """What was left out or cut, in words."""


def grow(nodes: Nodes, splits: Mapping[str, Sequence[SubQuestion]], settings: CogGragSettings) -> Growth:
    """Add the sub-questions of open questions, within the limits on depth, questions and repeats.

    `splits` has by question its sub-questions as the model gave them.
    """
    growth = Growth(dict(nodes))
    for key in waiting(nodes):
        if key in splits:
            _add(growth, key, splits[key], settings)
            if not children(growth.nodes, key):
                growth.nodes[key] = {**growth.nodes[key], "state": "end"}
    return growth


def acyclic(refers: Sequence[Sequence[int]]) -> tuple[list[list[int]], list[tuple[int, int]]]:
    """References among siblings without cycles, and the dropped ones as (from, to).

    `refers` has for each sibling the numbers (from 1) it refers to, all in range. References to earlier siblings are kept
    first, in order. One to a later sibling is kept where it closes no cycle.
    """
    kept: list[list[int]] = [[] for _ in refers]
    edges = [(own, to) for own, targets in enumerate(refers, start=1) for to in dict.fromkeys(targets)]
    broken = []
    for own, to in sorted(edges, key=lambda edge: (edge[1] > edge[0], edge)):
        if own in reachable([to], lambda at: kept[at - 1]):
            broken.append((own, to))
        else:
            kept[own - 1].append(to)
    return kept, sorted(broken)


Meaning = tuple[str, tuple[str, ...]]
"""Questions with the same words and signs about the same answers are repeats."""


def _meaning(text: str, refers: Iterable[str]) -> Meaning:
    # C++ is not C#, nor the album "+" the album "\u00f7".
    signs = "".join(char for char in text if char == "#" or unicodedata.category(char) in {"Sm", "Sc", "So"})
    return f"{fold(text) or text} {signs}", tuple(sorted(set(refers)))


def _add(growth: Growth, key: str, parts: Sequence[SubQuestion], settings: CogGragSettings) -> None:
    nodes, level = growth.nodes, growth.nodes[key]["level"] + 1
    texts = [one_line(part["question"])[:LONGEST].strip() for part in parts]
    # A model may write "#1" and forget to list it; in "the #1 hit", which its question says, it is a word.
    words = set(REFERENCE.findall(spelt_out(nodes, key)))
    named = [[int(number) for number in REFERENCE.findall(text) if number not in words] for text in texts]
    wanted = [
        [number for number in (*part["refers"], *found) if 1 <= number <= len(parts)]
        for part, found in zip(parts, named, strict=True)
    ]
    refers, broken = acyclic(wanted)
    growth.notes += [f'"{texts[own - 1]}" cannot wait for #{to}: that would be a circle' for own, to in broken]
    known = {at: _meaning(node["question"], node["refers"].values()) for at, node in nodes.items()}
    above, elsewhere = {known[at] for at in (key, *ancestors(nodes, key))}, set(known.values())
    family: dict[Meaning, str] = {}
    placed: dict[int, str] = {}
    for number in _before_first(refers):
        part, text = parts[number - 1], texts[number - 1]
        targets = {str(to): placed[to] for to in refers[number - 1] if to in placed}
        meaning = _meaning(text, targets.values())
        if not text:
            continue
        if meaning in above:
            if len(parts) > 1:
                growth.notes.append(f'"{text}" repeats a question above it')
        elif meaning in family:
            placed[number] = family[meaning]
            growth.notes.append(f'"{text}" stands there twice')
        elif len(nodes) >= settings.questions:
            growth.notes.append(f'"{text}" is beyond the limit of {settings.questions} questions')
        else:
            is_open = part["open"] and level < settings.depth and meaning not in elsewhere
            if part["open"] and not is_open:
                why = "it stands elsewhere too" if meaning in elsewhere else f"level {level} is the last"
                growth.notes.append(f'"{text}" is not broken down: {why}')
            own = f"{key}.{number}"
            placed[number] = family[meaning] = own
            nodes[own] = MindNode(
                id=own, question=text, level=level, state="continue" if is_open else "end", parent=key, refers=targets
            )


def _before_first(refers: Sequence[Sequence[int]]) -> list[int]:
    """Numbers of siblings, each after those it refers to, else in their order."""
    order: list[int] = []
    left = list(range(1, len(refers) + 1))
    while left:
        number = next(number for number in left if set(refers[number - 1]) <= set(order))
        order.append(number)
        left.remove(number)
    return order
