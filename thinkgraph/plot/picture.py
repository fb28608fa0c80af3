"""What of an answer is drawn: its evidence as trees that grow to the right, from the answer object alone.

Every cited triple is one edge. An entity that several triples reach from different sides is drawn once for each of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from thinkgraph.prompts.lines import parse_item
from thinkgraph.state.answer import Answer
from thinkgraph.state.knowledge import Triple
from thinkgraph.tools.grounding import fold, stands_in

MOST_ENDS = 6
"""Ends of one relation at one node that are drawn; more are folded into one node. Ends that are answers come first."""
MOST_ANSWERS = 12
"""As MOST_ENDS, where the first of them is an answer."""
MOST_NAMES = 8
"""Members of a community that are named."""
_SEEN = 130
"""Characters of a passage that surely fit a note."""


@dataclass(eq=False)
class Node:
    """A thing that is drawn, with the edge that leads to it from its parent on the left."""

    text: str
    kind: Literal["entity", "literal", "folded", "passage", "community"]
    parent: Node | None = None
    tip: str = ""
    """Shown where the mouse rests: the whole of what `text` abbreviates."""
    start: bool = False
    answer: bool = False
    relation: str = ""
    """Label of the edge."""
    forward: bool = True
    """Whether the edge's arrow points to this node."""
    triples: Sequence[str] = ()
    """Ids of the triples that the edge stands for; none for a line without arrow, which is no triple."""
    said: str = ""
    """Those triples in words."""
    lines: Sequence[str] = ()
    """The text as it is drawn; set by the layout, as is the place."""
    column: int = 0
    bend: float = 0.0
    """Where the edge leaves its parent's column."""
    x: float = 0.0
    y: float = 0.0
    w: float = 0.0
    h: float = 0.0


def picture_of(answer: Answer) -> list[Node]:
    """The triples and passages that an answer cites, the chains of communities that led to it, and the answer itself.

    Of an answer that cites nothing: what was looked at, and where it stopped.

    Returns:
        The nodes without places, parents before their children.
    """
    drawing = _Drawing(answer)
    drawing.chains()
    drawing.paths()
    drawing.passages()
    if not drawing.nodes or not answer["answers"]:
        drawing.explored()
    drawing.fold_ends()
    return drawing.nodes


class _Drawing:
    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.triples = {triple["id"]: triple for triple in answer["evidence"]["triples"]}
        self.literals = {triple["object"] for triple in self.triples.values() if triple["literal"]}
        self.wanted = {fold(text) for text in answer["answers"]}
        self.nodes: list[Node] = []
        self.known: dict[str, Node] = {}
        """The first node of every entity."""
        self.drawn: set[str] = set()
        """Triples that have an edge."""

    def entity(self, entity: str, label: str, parent: Node | None = None, **edge: Any) -> Node:
        kind: Literal["literal", "entity"] = "literal" if entity in self.literals else "entity"
        made = Node(label, kind, parent, label, answer=fold(label) in self.wanted, **edge)
        self.nodes.append(made)
        self.known.setdefault(entity, made)
        return made

    def triple(self, triple: Triple) -> None:
        """An edge from the end that is drawn already."""
        if triple["id"] in self.drawn:
            return
        self.drawn.add(triple["id"])
        ends = [(triple["subject"], triple["subject_label"]), (triple["object"], triple["object_label"])]
        forward = triple["subject"] in self.known or triple["object"] not in self.known
        near, far = ends if forward else reversed(ends)
        qualifiers = "; ".join(f"{name.replace('_', ' ')}={value}" for name, value in triple["qualifiers"])
        relation = triple["relation_label"] + (f" {{{qualifiers}}}" if qualifiers else "")
        said = f"{triple['subject_label']} — {relation} → {triple['object_label']} ({triple['id']})"
        parent = self.known.get(near[0]) or self.entity(*near)
        self.entity(*far, parent, relation=relation, forward=forward, triples=[triple["id"]], said=said)

    def chains(self) -> None:
        """Chains of communities (FastToG, figure 6): a node for each, after the entities where they start."""
        data = self.answer["trace"]["data"]
        chains = [chain for chain in data.get("chains", ()) if chain.get("communities")]
        for entity in data.get("start", ()) if chains else ():
            self.entity(entity["id"], entity["label"]).start = True
        start = self.nodes[0] if self.nodes else None
        for number, chain in enumerate(chains, start=1):
            last = start
            for at, community in enumerate(chain["communities"]):
                names = community["labels"]
                shown = ", ".join(names[:MOST_NAMES])
                more = f" … and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
                where = f"round {community['round']}" if at else "header"
                tip = "\n".join(filter(None, (community.get("prose"), *names)))
                last = Node(f"chain {number} · {where}: {shown}{more}", "community", last, tip)
                self.nodes.append(last)

    def paths(self) -> None:
        """The cited paths as they were walked, then every other triple, those first that join what is drawn."""
        for path in self.answer["evidence"]["paths"]:
            walked = [self.triples[key] for key in path["triples"] if key in self.triples]
            shown = parse_item(0, path["text"])
            if walked and shown.hops and shown.hops[0] and not shown.community:
                first, outgoing = walked[0], shown.hops[0][0].outgoing
                start = first["subject"] if outgoing else first["object"]
                label = first["subject_label"] if outgoing else first["object_label"]
                (self.known.get(start) or self.entity(start, label)).start = True
            for triple in walked:
                self.triple(triple)
        left = [triple for triple in self.triples.values() if triple["id"] not in self.drawn]
        while left:
            joined = (triple for triple in left if triple["subject"] in self.known or triple["object"] in self.known)
            triple = next(joined, left[0])
            self.triple(triple)
            left.remove(triple)

    def passages(self) -> None:
        """The cited passages as notes after the node they are about, and the answers that only they hold."""
        about = {fold(node.text): node for node in reversed(self.nodes)}
        seen = {fold(node.text) for node in self.nodes if node.answer}
        left = [text for text in self.answer["answers"] if fold(text) and fold(text) not in seen]
        for passage in self.answer["evidence"]["passages"]:
            head = " / ".join(part for part in (passage["title"], passage["section"]) if part)
            text = ": ".join(part for part in (head, _around(passage["text"], self.answer["answers"])) if part)
            whole = f"[{passage['id']}] {head}: {passage['text']}"
            note = Node(text, "passage", about.get(fold(passage["title"])), whole)
            held = fold(f"{passage['title']} {passage['text']}")
            found = [Node(text, "entity", note, answer=True) for text in left if stands_in(fold(text), held)]
            self.nodes += [note, *found]

    def explored(self) -> None:
        """What was kept and dropped step by step, the method's own outline, and the reason why it ended there."""
        last: Node | None = None
        for note in self.answer["pruned"]:
            kept, seen = note["kept"], note["kept"] + note["dropped"]
            text = f"round {note['round']} · {note['what']}: {kept} of {seen} kept"
            last = Node(text, "community", last, "\n".join(note["examples"]))
            self.nodes.append(last)
        above = [last]
        for line in self.answer["trace"]["lines"]:
            del above[line["level"] + 1 :]
            made = Node(line["text"], "community", above[-1], line["text"])
            above.append(made)
            self.nodes.append(made)
        self.nodes.append(
            Node(f"{self.answer['status']}: {self.answer['reason']}", "folded", last, self.answer["reason"])
        )

    def fold_ends(self) -> None:
        """Long lists of ends become a few and "… and N more"."""
        parents = {node.parent for node in self.nodes}
        groups: defaultdict[tuple[Node | None, str, bool], list[Node]] = defaultdict(list)
        for node in self.nodes:
            if node.triples and node not in parents:
                groups[node.parent, self.triples[node.triples[0]]["relation"], node.forward].append(node)
        gone: set[Node] = set()
        for group in groups.values():
            ranked = sorted(group, key=lambda node: not node.answer)
            room = MOST_ANSWERS if ranked[0].answer else MOST_ENDS
            if len(group) <= room:
                continue
            first, *others = ends = ranked[room - 1 :]
            first.tip = "\n".join(node.text for node in ends)
            first.text, first.kind = f"… and {len(ends)} more", "folded"
            first.answer = all(node.answer for node in ends)
            first.relation = self.triples[first.triples[0]]["relation_label"]
            first.said = "\n".join(node.said for node in ends)
            first.triples = [key for node in ends for key in node.triples]
            gone.update(others)
        self.nodes = [node for node in self.nodes if node not in gone]


def _around(text: str, answers: Sequence[str]) -> str:
    """A passage from a little before the first answer in it, where that stands too far down to be seen in a note."""
    places = [text.casefold().find(answer.strip().casefold()) for answer in answers if answer.strip()]
    first = min((at for at in places if at >= 0), default=0)
    return text if first < _SEEN else f"… {text[text.find(' ', first - _SEEN // 2) + 1 :]}"
