"""What of an answer is drawn: nodes, edges and boxes, from the answer object alone, so that it works for every method."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from thinkgraph.prompts.lines import parse_item
from thinkgraph.state.answer import Answer
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.grounding import fold

MOST_ENDS = 6
"""Ends of one relation at one node that are drawn; more are folded into one node. Ends that are answers come first."""
MOST_ANSWERS = 12
"""As MOST_ENDS, where the first of them is an answer."""
MOST_NODES = 8
"""Nodes of one community that are drawn although no cited triple touches them."""
_SEEN = 130
"""Characters of a passage that surely fit a note."""

NodeKind = Literal["entity", "literal", "folded", "passage", "answer", "bend"]


@dataclass(eq=False, kw_only=True)
class Area:
    """A rectangle that the layout places; x and y are its upper left corner."""

    x: float = 0.0
    y: float = 0.0
    w: float = 0.0
    h: float = 0.0
    more: str = ""
    """Shown where the mouse rests: a community in prose, a passage's whole text, what was folded."""


@dataclass(eq=False)
class Box(Area):
    """A community, the start, or what stands beside them."""

    column: int = 0
    """Its place in its chain; 0 for the start."""
    chain: int = 0
    """Number of its chain; 0 for what belongs to none and stands beside all."""
    title: str = ""
    """Empty: nothing is drawn around its nodes."""
    cited: bool = True
    """Whether the answer stands on something in it."""


@dataclass(eq=False)
class PictureNode(Area):
    """A thing that is drawn."""

    label: str
    kind: NodeKind
    box: Box
    entity: str = ""
    """Id of the entity or literal it stands for; one that is in several communities is drawn in each."""
    start: bool = False
    answer: bool = False
    number: int = 0
    """When it was reached."""
    layer: int = 0
    lines: Sequence[str] = ()


@dataclass(eq=False)
class PictureEdge:
    """A line from the node on the left to the one on the right."""

    left: PictureNode
    right: PictureNode
    label: str = ""
    forward: bool | None = True
    """Whether the arrow points to the right; None: a line without arrow, which is no triple."""
    triples: Sequence[str] = ()
    """Ids of the triples that it stands for: one, or those that were folded; none for a line that is no triple."""
    more: str = ""
    points: Sequence[tuple[float, float]] = ()
    """Set by the layout: straight pieces and swings in turn; the last, straight piece carries the label."""


@dataclass
class Picture:
    """Everything that is drawn below the heading."""

    nodes: list[PictureNode] = field(default_factory=list)
    edges: list[PictureEdge] = field(default_factory=list)
    boxes: list[Box] = field(default_factory=list)
    w: float = 0.0
    h: float = 0.0


def picture_of(answer: Answer) -> Picture:
    """The chains of triples, or of communities, that led to an answer, its passages, and the answer itself.

    The triples and passages are those that the answer cites; of communities that it does not cite only the nodes are known.

    Returns:
        A picture without places; an empty one if there is nothing to draw.
    """
    drawing = _Drawing(answer)
    chains = [chain for chain in answer["trace"]["data"].get("chains", ()) if chain.get("communities")]
    if chains:
        drawing.chains(chains)
    column = 1 + max((box.column for box in drawing.picture.boxes), default=-1)
    rest = drawing.box(Box(column, len(chains) + 1, "also cited") if chains else Box())
    drawing.paths(rest)
    drawing.passages(rest)
    drawing.fold_ends()
    picture = drawing.picture
    picture.boxes = [box for box in picture.boxes if any(node.box is box for node in picture.nodes)]
    return picture


class _Drawing:
    """A picture in the making."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.triples = {triple["id"]: triple for triple in answer["evidence"]["triples"]}
        self.literals = {triple["object"] for triple in self.triples.values() if triple["literal"]}
        self.wanted = {fold(text) for text in answer["answers"]}
        self.picture = Picture()
        self.known: dict[str, PictureNode] = {}
        """The first node of every entity."""
        self.drawn: set[str] = set()
        """Triples that have an edge."""

    def box(self, box: Box) -> Box:
        self.picture.boxes.append(box)
        return box

    def node(self, label: str, kind: NodeKind, box: Box, **more: Any) -> PictureNode:
        made = PictureNode(label, kind, box, number=len(self.picture.nodes), **more)
        self.picture.nodes.append(made)
        return made

    def entity(self, entity: str, label: str, box: Box) -> PictureNode:
        kind: NodeKind = "literal" if entity in self.literals else "entity"
        made = self.node(label, kind, box, entity=entity, answer=fold(label) in self.wanted)
        self.known.setdefault(entity, made)
        return made

    def edge(self, triple: Triple, subject: PictureNode, end: PictureNode) -> None:
        """A triple as an edge from the node that was reached first."""
        self.drawn.add(triple["id"])
        if subject is end:
            end = self.entity(end.entity, end.label, end.box)
        left, right = sorted((subject, end), key=lambda node: (node.box.column, node.number))
        qualifiers = "; ".join(f"{name.replace('_', ' ')}={value}" for name, value in triple["qualifiers"])
        label = triple["relation_label"] + (f" {{{qualifiers}}}" if qualifiers else "")
        said = f"{triple['subject_label']} — {label} → {triple['object_label']} ({triple['id']})"
        self.picture.edges.append(PictureEdge(left, right, label, left is subject, [triple["id"]], said))

    def paths(self, box: Box) -> None:
        """The cited paths as they were walked, then every other triple that is not drawn yet."""
        for path in self.answer["evidence"]["paths"]:
            walked = [self.triples[key] for key in path["triples"] if key in self.triples]
            shown = parse_item(0, path["text"])
            if walked and shown.hops and shown.hops[0] and not shown.community:
                self.reach(walked[0], "subject" if shown.hops[0][0].outgoing else "object", box).start = True
            self.walk(walked, box)
        self.walk(self.triples.values(), box)

    def walk(self, triples: Iterable[Triple], box: Box) -> None:
        for triple in triples:
            if triple["id"] in self.drawn:
                continue
            if triple["object"] in self.known:
                end = self.known[triple["object"]]
                subject = self.reach(triple, "subject", box)
            else:
                subject = self.reach(triple, "subject", box)
                end = self.reach(triple, "object", box)
            self.edge(triple, subject, end)

    def reach(self, triple: Triple, end: Literal["subject", "object"], box: Box) -> PictureNode:
        label = triple["subject_label"] if end == "subject" else triple["object_label"]
        return self.known.get(triple[end]) or self.entity(triple[end], label, box)

    def chains(self, chains: Sequence[Mapping[str, Any]]) -> None:
        """Chains of communities (FastToG, figure 6): a box for each, the cited triples inside and between them."""
        start = self.box(Box())
        for entity in self.answer["trace"]["data"].get("start", []):
            self.entity(entity["id"], entity["label"], start).start = True
        for number, chain in enumerate(chains, start=1):
            before = [start]
            for column, community in enumerate(chain["communities"], start=1):
                what = "header" if column == 1 else f"round {community['round']}"
                box = self.box(Box(column, number, f"chain {number} · {what}", more=community.get("prose") or ""))
                self.community(box, community, before)
                before.insert(0, box)

    def community(self, box: Box, community: Mapping[str, Any], before: Sequence[Box]) -> None:
        """One community; `before` are the boxes of its chain, the nearest first."""
        cited = [self.triples[key] for key in (*community["triples"], *community["joining"]) if key in self.triples]
        box.cited = bool(cited)
        touched = {end for triple in cited for end in (triple["subject"], triple["object"])}
        # Those that the answer stands on are drawn however many they are.
        named = sorted(
            zip(community["nodes"], community["labels"], strict=True), key=lambda pair: pair[0] not in touched
        )
        room = max(MOST_NODES, sum(node in touched for node, _ in named))
        for node, label in named[:room]:
            self.entity(node, label, box)
        if rest := [label for _, label in named[room:]]:
            self.node(f"… and {len(rest)} more", "folded", box, more="\n".join(rest))
        nodes = [node for at in (box, *before) for node in self.picture.nodes if node.box is at]
        where = {node.entity: node for node in reversed(nodes)}
        linked = False
        for triple in cited:
            ends = where.get(triple["subject"]), where.get(triple["object"])
            if triple["id"] not in self.drawn and ends[0] and ends[1]:
                self.edge(triple, ends[0], ends[1])
                linked = linked or ends[0].box is not ends[1].box
        last = next((node for node in nodes if node.box is not box), None)
        if not linked and last and nodes[0].box is box:
            # What joins it is not cited: the chain is shown all the same.
            self.picture.edges.append(PictureEdge(last, nodes[0], forward=None))

    def passages(self, box: Box) -> None:
        """The cited passages as notes, each beside the node it is about, and the answers that only they hold."""
        by_label = {fold(node.label): node for node in reversed(self.picture.nodes)}
        left = [
            text for text in self.answer["answers"] if fold(text) not in by_label or not by_label[fold(text)].answer
        ]
        holders: defaultdict[str, list[PictureNode]] = defaultdict(list)
        for passage in self.answer["evidence"]["passages"]:
            head = " / ".join(part for part in (passage["title"], passage["section"]) if part)
            said = ": ".join(part for part in (head, _around(passage["text"], self.answer["answers"])) if part)
            whole = f"[{passage['id']}] {head}: {passage['text']}"
            note = self.node(said, "passage", box, more=whole)
            if about := by_label.get(fold(passage["title"])):
                self.picture.edges.append(PictureEdge(about, note, forward=None))
            held = f" {fold(passage['title'] + ' ' + passage['text'])} "
            for text in left:
                if fold(text) and f" {fold(text)} " in held:
                    holders[text].append(note)
        for text, notes in holders.items():
            end = self.node(text, "answer", box, answer=True)
            self.picture.edges += [PictureEdge(note, end, forward=None) for note in notes]

    def fold_ends(self) -> None:
        """Long lists of ends become a few and "… and N more"."""
        degree = Counter(node for edge in self.picture.edges for node in (edge.left, edge.right))
        groups: defaultdict[tuple[PictureNode, str, bool | None], list[PictureEdge]] = defaultdict(list)
        for edge in self.picture.edges:
            if edge.triples and degree[edge.right] == 1 and not edge.right.start:
                groups[edge.left, self.triples[edge.triples[0]]["relation"], edge.forward].append(edge)
        gone: set[PictureNode | PictureEdge] = set()
        for group in groups.values():
            ranked = sorted(group, key=lambda edge: not edge.right.answer)
            room = MOST_ANSWERS if ranked[0].right.answer else MOST_ENDS
            if len(group) > room:
                first, *others = ranked[room - 1 :]
                self._fold(first, others)
                gone.update(others, (edge.right for edge in others))
        self.picture.nodes = [node for node in self.picture.nodes if node not in gone]
        self.picture.edges = [edge for edge in self.picture.edges if edge not in gone]

    def _fold(self, first: PictureEdge, others: Sequence[PictureEdge]) -> None:
        """Let one edge, and the node at its end, stand for others too."""
        edges = [first, *others]
        node = first.right
        node.more = "\n".join(edge.right.label for edge in edges)
        node.label, node.kind = f"… and {len(edges)} more", "folded"
        node.answer = all(edge.right.answer for edge in edges)
        first.label = self.triples[first.triples[0]]["relation_label"]
        first.triples = [key for edge in edges for key in edge.triples]
        first.more = "\n".join(edge.more for edge in edges)


def _around(text: str, answers: Sequence[str]) -> str:
    """A passage from a little before the first answer in it, where that stands too far down to be seen in a note."""
    places = [text.casefold().find(answer.strip().casefold()) for answer in answers if answer.strip()]
    first = min((at for at in places if at >= 0), default=0)
    return text if first < _SEEN else f"… {text[text.find(' ', first - _SEEN // 2) + 1 :]}"
