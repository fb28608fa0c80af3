"""What of an answer is drawn: nodes, edges and boxes, from the answer object alone, so that it works for every method."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from thinkgraph.prompts.lines import parse_item
from thinkgraph.state.answer import Answer, CitedPath
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.grounding import fold

MOST_ENDS = 6
"""Ends of one relation at one node that are drawn; more are folded into one node. Ends that are answers come first."""
MOST_ANSWERS = 12
"""As MOST_ENDS, where they are all answers."""
MOST_NODES = 8
"""Nodes of one community that are drawn although no cited triple touches them."""
_SEEN = 130
"""Characters of a passage that surely fit a note."""

NodeKind = Literal["entity", "literal", "folded", "passage", "answer"]


@dataclass
class Node:
    """A thing that is drawn."""

    key: str
    label: str
    kind: NodeKind = "entity"
    entity: str = ""
    """Id of the entity or literal it stands for; one that is in several communities is drawn in each."""
    start: bool = False
    answer: bool = False
    more: str = ""
    """Shown where the mouse rests: what was folded, a passage's whole text."""


@dataclass
class Edge:
    """A line between two nodes, drawn from left to right."""

    left: str
    right: str
    label: str = ""
    forward: bool | None = True
    """Whether the arrow points to the right; None: a line without arrow, which is no triple."""
    triples: tuple[str, ...] = ()
    """Ids of the triples that it stands for: one, or those that were folded; none for a line that is no triple."""
    more: str = ""


@dataclass
class Box:
    """A community, or the start: a place in the picture, and the nodes in it."""

    nodes: list[str] = field(default_factory=list)
    """Keys, in the order in which they were reached."""
    column: int = 0
    """Its place in its chain; 0 for the start."""
    chain: int = 0
    """Number of its chain; 0 for what belongs to none and stands beside all."""
    title: str = ""
    """Empty: nothing is drawn around its nodes."""
    cited: bool = True
    """Whether the answer stands on something in it."""
    more: str = ""
    """Shown where the mouse rests: the community in prose."""


@dataclass
class Picture:
    """Everything that is drawn beside the heading."""

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)


def picture_of(answer: Answer) -> Picture:
    """The chains of triples, or of communities, that led to an answer, its passages, and the answer itself.

    The triples and passages are those that the answer cites; of communities that it does not cite only the nodes are known.
    Nothing to draw gives an empty picture.
    """
    chains = _chains(answer)
    drawn = _ByChains(answer, chains) if chains else _ByPaths(answer)
    return drawn.picture()


def _chains(answer: Answer) -> list[Mapping[str, Any]]:
    """The chains of communities in the answer's trace (state/fasttog.py), if it has any."""
    chains = answer["trace"]["data"].get("chains")
    return [chain for chain in chains if chain.get("communities")] if isinstance(chains, list) else []


class _Drawing:
    """What both kinds of picture share."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.triples = {triple["id"]: triple for triple in answer["evidence"]["triples"]}
        self.wanted = {fold(text) for text in answer["answers"]}
        self.made = Picture()
        self.entities: set[str] = set()
        """Everything that has a node."""

    def add(self, entity: str, label: str, *, literal: bool = False, box: Box, place: str = "") -> str:
        """The key of a node, made once in each place."""
        key = f"{place}|{entity}"
        if key not in self.made.nodes:
            kind: NodeKind = "literal" if literal else "entity"
            self.made.nodes[key] = Node(key, label, kind, entity, answer=fold(label) in self.wanted)
            box.nodes.append(key)
            self.entities.add(entity)
        return key

    def passages(self, box: Box) -> None:
        """The cited passages as notes, each beside the node it is about, and an answer that only they hold."""
        by_label = {fold(node.label): key for key, node in reversed(self.made.nodes.items())}
        drawn = {fold(node.label) for node in self.made.nodes.values() if node.answer}
        left = [text for text in self.answer["answers"] if fold(text) not in drawn]
        for number, passage in enumerate(self.answer["evidence"]["passages"], start=1):
            key = f"passage {number}"
            head = " / ".join(part for part in (passage["title"], passage["section"]) if part)
            whole = f"[{passage['id']}] {head}: {passage['text']}"
            said = _around(passage["text"], self.answer["answers"])
            self.made.nodes[key] = Node(key, f"{head}: {said}" if head else said, "passage", more=whole)
            box.nodes.append(key)
            if (about := by_label.get(fold(passage["title"]))) is not None:
                self.made.edges.append(Edge(about, key, forward=None))
            held = f" {fold(passage['title'] + ' ' + passage['text'])} "
            for text in left:
                if fold(text) and f" {fold(text)} " in held:
                    self._answered(key, text, box)

    def _answered(self, passage: str, text: str, box: Box) -> None:
        key = f"answer {fold(text)}"
        if key not in self.made.nodes:
            self.made.nodes[key] = Node(key, text, "answer", answer=True)
            box.nodes.append(key)
        self.made.edges.append(Edge(passage, key, forward=None))

    def edge(self, triple: Triple, left: str, right: str) -> None:
        """A triple as an edge; `left` and `right` are the keys of its ends, the one reached first on the left."""
        outgoing = self.made.nodes[left].entity == triple["subject"]
        qualifiers = "; ".join(f"{name.replace('_', ' ')}={value}" for name, value in triple["qualifiers"])
        label = triple["relation_label"] + (f" {{{qualifiers}}}" if qualifiers else "")
        said = f"{triple['subject_label']} — {label} → {triple['object_label']} ({triple['id']})"
        self.made.edges.append(Edge(left, right, label, outgoing, (triple["id"],), said))

    def fold_ends(self) -> None:
        """Long lists of ends become a few and "… and N more"."""
        degree: defaultdict[str, int] = defaultdict(int)
        for edge in self.made.edges:
            degree[edge.left] += 1
            degree[edge.right] += 1
        groups: defaultdict[tuple[str, str, bool], list[Edge]] = defaultdict(list)
        for edge in self.made.edges:
            if edge.forward is not None and degree[edge.right] == 1 and not self.made.nodes[edge.right].start:
                relation = self.triples[edge.triples[0]]["relation"]
                groups[edge.left, relation, edge.forward].append(edge)
        for group in groups.values():
            ranked = sorted(group, key=lambda edge: not self.made.nodes[edge.right].answer)
            room = MOST_ANSWERS if self.made.nodes[ranked[0].right].answer else MOST_ENDS
            if len(ranked) > room:
                self._fold(ranked[room - 1 :])

    def _fold(self, edges: Sequence[Edge]) -> None:
        gone = [self.made.nodes.pop(edge.right) for edge in edges]
        first = edges[0]
        key = f"folded {first.triples[0]}"
        box = next(box for box in self.made.boxes if first.right in box.nodes)
        names = "\n".join(node.label for node in gone)
        answers = all(node.answer for node in gone)
        self.made.nodes[key] = Node(key, f"… and {len(gone)} more", "folded", answer=answers, more=names)
        ids = tuple(key for edge in edges for key in edge.triples)
        relation = self.triples[first.triples[0]]["relation_label"]
        folded = Edge(first.left, key, relation, first.forward, ids, "\n".join(edge.more for edge in edges))
        at = next(number for number, edge in enumerate(self.made.edges) if edge is first)
        self.made.edges[at] = folded
        left = {id(edge) for edge in edges}
        self.made.edges = [edge for edge in self.made.edges if id(edge) not in left]
        missing = {node.key for node in gone}
        box.nodes[box.nodes.index(first.right)] = key
        for other in self.made.boxes:
            other.nodes = [name for name in other.nodes if name not in missing]


def _around(text: str, answers: Sequence[str]) -> str:
    """A passage from a little before the first answer in it, where that stands too far down to be seen in a note."""
    found = [
        at for answer in answers if answer.strip() and (at := text.casefold().find(answer.strip().casefold())) >= 0
    ]
    if not found or min(found) < _SEEN:
        return text
    start = text.find(" ", max(0, min(found) - _SEEN // 2)) + 1
    return f"… {text[start:]}"


class _ByPaths(_Drawing):
    """The cited paths, as they were walked."""

    order: dict[str, int]
    """When each node was reached."""

    def picture(self) -> Picture:
        """Draw them."""
        box = Box()
        self.order = {}
        self.made.boxes = [box]
        walked: set[str] = set()
        for path in self.answer["evidence"]["paths"]:
            for start, group in _hops(path, self.triples):
                if start:
                    self.made.nodes[self._reach(group[0], start, box)].start = True
                for triple in group:
                    if triple["id"] not in walked:
                        walked.add(triple["id"])
                        self._walk(triple, box)
        for triple in self.triples.values():
            if triple["id"] not in walked:
                self._walk(triple, box)
        self.passages(box)
        self.fold_ends()
        return self.made

    def _reach(self, triple: Triple, end: str, box: Box) -> str:
        out = end == triple["object"] and end != triple["subject"]
        label = triple["object_label"] if out else triple["subject_label"]
        key = self.add(end, label, literal=out and triple["literal"], box=box)
        self.order.setdefault(key, len(self.order))
        return key

    def _walk(self, triple: Triple, box: Box) -> None:
        backwards = triple["object"] in self.entities and triple["subject"] not in self.entities
        ends = ("object", "subject") if backwards else ("subject", "object")
        keys = [self._reach(triple, triple[end], box) for end in ends]  # type: ignore[literal-required]
        left, right = sorted(keys, key=self.order.__getitem__)
        self.edge(triple, left, right)


def _hops(path: CitedPath, triples: Mapping[str, Triple]) -> Iterator[tuple[str, list[Triple]]]:
    """The steps of a path: where it starts (for the first step only) and the triples of the step."""
    walked = [triples[key] for key in path["triples"] if key in triples]
    if not walked:
        return
    shown = parse_item(0, path["text"])
    first = walked[0]
    if shown.community or not shown.hops or not shown.hops[0]:
        # Not a path in our grammar: its triples are drawn all the same.
        yield "", walked
        return
    steps = min(len(shown.hops), len(walked))
    start = first["subject"] if shown.hops[0][0].outgoing else first["object"]
    for at in range(steps):
        yield start if at == 0 else "", walked[at:] if at == steps - 1 else [walked[at]]


class _ByChains(_Drawing):
    """Chains of communities (FastToG, figure 6): a box for each, the triples that the answer cites inside and between them."""

    def __init__(self, answer: Answer, chains: Sequence[Mapping[str, Any]]) -> None:
        super().__init__(answer)
        self.chains = chains
        self.literals = {triple["object"] for triple in self.triples.values() if triple["literal"]}
        self.drawn: set[str] = set()

    def picture(self) -> Picture:
        """Draw them."""
        start = Box()
        self.made.boxes = [start]
        for entity in self.answer["trace"]["data"].get("start", []):
            self.made.nodes[self.add(entity["id"], entity["label"], box=start)].start = True
        self._inside(self.triples, [start])
        for number, chain in enumerate(self.chains, start=1):
            before = [start]
            for column, community in enumerate(chain["communities"], start=1):
                before.append(self._community(number, column, community, before))
        for triple in self.triples.values():
            if triple["id"] not in self.drawn:
                self._stray(triple)
        self.passages(self._aside(1 + max(box.column for box in self.made.boxes)))
        self.made.boxes = [box for box in self.made.boxes if box.nodes]
        self.fold_ends()
        return self.made

    def _aside(self, column: int) -> Box:
        """Where things stand that are in no chain: below the chains, beside what they hang on."""
        row = len(self.chains) + 1
        found = next((box for box in self.made.boxes if (box.chain, box.column) == (row, column)), None)
        if found is None:
            found = Box([], column, row, "also cited")
            self.made.boxes.append(found)
        return found

    def _community(self, chain: int, column: int, community: Mapping[str, Any], before: Sequence[Box]) -> Box:
        ids = [*community["triples"], *community["joining"]]
        cited = [key for key in ids if key in self.triples]
        what = "header" if column == 1 else f"round {community['round']}"
        box = Box([], column, chain, f"chain {chain} · {what}", bool(cited), community.get("prose") or "")
        self.made.boxes.append(box)
        touched = {end for key in cited for end in (self.triples[key]["subject"], self.triples[key]["object"])}
        named = list(zip(community["nodes"], community["labels"], strict=True))
        # Those that the answer stands on are drawn however many they are.
        named.sort(key=lambda pair: pair[0] not in touched)
        room = max(MOST_NODES, sum(node in touched for node, _ in named))
        for node, label in named[:room]:
            self.add(node, label, literal=node in self.literals, box=box, place=f"{chain}.{column}")
        if len(named) > room:
            key = f"{chain}.{column} more"
            rest = "\n".join(label for _, label in named[room:])
            self.made.nodes[key] = Node(key, f"… and {len(named) - room} more", "folded", more=rest)
            box.nodes.append(key)
        self._inside(community["triples"], [box])
        linked = self._inside(community["joining"], [box, *reversed(before)])
        last = next((other.nodes[0] for other in reversed(before) if other.nodes), None)
        if not linked and last is not None and box.nodes:
            # What joins it is not cited: the chain is shown all the same.
            self.made.edges.append(Edge(last, box.nodes[0], forward=None))
        return box

    def _inside(self, ids: Sequence[str] | Mapping[str, Triple], boxes: Sequence[Box]) -> bool:
        """Draw the triples both of whose ends stand in these boxes; says whether there was one."""
        found = False
        where = self._where(boxes)
        made = {key: at for at, key in enumerate(self.made.nodes)}
        column = {key: box.column for box in self.made.boxes for key in box.nodes}
        for key in ids:
            triple = self.triples.get(key)
            if triple is None or key in self.drawn or not {triple["subject"], triple["object"]} <= where.keys():
                continue
            self.drawn.add(key)
            found = True
            ends = (where[triple["subject"]], where[triple["object"]])
            left, right = sorted(ends, key=lambda end: (column[end], made[end]))
            self.edge(triple, left, right)
        return found

    def _where(self, boxes: Sequence[Box]) -> dict[str, str]:
        """The key of every entity in these boxes; the first box that has it counts."""
        found: dict[str, str] = {}
        for box in boxes:
            for key in box.nodes:
                found.setdefault(self.made.nodes[key].entity, key)
        return found

    def _stray(self, triple: Triple) -> None:
        """A cited triple that no chain holds."""
        known = self._where(self.made.boxes)
        held = [known[end] for end in (triple["subject"], triple["object"]) if end in known]
        columns = [box.column for box in self.made.boxes for key in held if key in box.nodes]
        box = self._aside(1 + max(columns, default=0))
        if triple["subject"] not in known:
            self.add(triple["subject"], triple["subject_label"], box=box)
        if triple["object"] not in known:
            self.add(triple["object"], triple["object_label"], literal=triple["literal"], box=box)
        self._inside([triple["id"]], self.made.boxes)
