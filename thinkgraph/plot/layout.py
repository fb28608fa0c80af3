"""Where everything stands: layers from left to right, chains as bands from top to bottom (after Sugiyama, Tagawa and Toda 1981).

Every edge runs from the node that was reached first to the one reached later, so there are no cycles, and the layer of a node is
the longest way to it. Edges over several layers bend at invisible nodes of their own. An edge ends in a straight piece that carries
its label, at a height of its own beside its node: so labels cannot lie on each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean

from thinkgraph.plot.graph import Box, Edge, Node, Picture
from thinkgraph.plot.text import cut, plain, width, wrap

NODE_SIZE, LABEL_SIZE, NOTE_SIZE = 13.0, 11.0, 11.0
BOLD = 1.08
"""How much wider bold letters are."""
LINE = 1.3
"""Height of a line of text, in its size."""
PORT = 18.0
"""Height between two edges at one side of a node."""
_NODE_ROOM, _NOTE_ROOM, _LABEL_ROOM = 190.0, 250.0, 210.0
_NODE_LINES, _NOTE_LINES = 3, 5
PAD = 9.0
_SPACE = 16.0
"""Between two nodes of a layer."""
_BAND = 44.0
"""Between two chains: room for the frames and the title of a box."""
_LEAST_SWING, _MOST_SWING = 40.0, 120.0
"""Room in which edges swing from one height to another, between two layers."""
_MARGIN = 26.0
_SWEEPS = 6
_LOOP = 26.0
"""Room above a node for an edge from it to itself."""


@dataclass
class Placed:
    """A node with its place; x and y are its upper left corner."""

    node: Node
    lines: list[str]
    w: float
    h: float
    x: float = 0.0
    y: float = 0.0
    loops: list[Edge] = field(default_factory=list)


@dataclass(frozen=True)
class Route:
    """An edge with its way: points to pass, joined by straight pieces and swings in turn; the last piece carries the label."""

    edge: Edge
    label: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Frame:
    """A box with its place."""

    box: Box
    x: float
    y: float
    w: float
    h: float


@dataclass
class Layout:
    """A picture with places, in pixels."""

    nodes: list[Placed]
    routes: list[Route]
    frames: list[Frame]
    w: float
    h: float


@dataclass
class _Slot:
    """A node, or a bend of a long edge, in its layer."""

    key: str
    layer: int
    band: int
    w: float
    h: float
    bend: bool = False
    y: float = 0.0
    """Of its middle."""


@dataclass(frozen=True)
class _Column:
    """Where a layer stands."""

    straight: float
    """From here to its nodes edges are straight and carry labels."""
    left: float
    right: float


def lay_out(picture: Picture) -> Layout:
    """Find a place for everything in a picture that has nodes."""
    return _Layouter(picture).run()


class _Layouter:
    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.edges = [edge for edge in picture.edges if edge.left != edge.right]
        self.box_of = {key: box for box in picture.boxes for key in box.nodes}
        self.placed = {key: _measure(node) for key, node in picture.nodes.items()}
        for edge in picture.edges:
            if edge.left == edge.right:
                self.placed[edge.left].loops.append(edge)
        self.labels = {id(edge): cut(plain(edge.label), LABEL_SIZE, _LABEL_ROOM) for edge in self.edges}
        self.slots: dict[str, _Slot] = {}
        self.chains: dict[int, list[str]] = {}
        """The slots that each edge passes, from its left node to its right one."""

    def run(self) -> Layout:
        self._make_room()
        layers = self._layers()
        self._slots(layers)
        rows = self._order()
        self._heights(rows)
        columns = self._columns(rows)
        nodes = self._place(columns)
        frames = self._frames()
        routes = self._routes(columns)
        right = max([p.x + p.w for p in nodes] + [f.x + f.w for f in frames])
        bends = [slot.y for slot in self.slots.values() if slot.bend]
        bottom = max([p.y + p.h for p in nodes] + [f.y + f.h for f in frames] + bends)
        return Layout(nodes, routes, frames, right + _MARGIN, bottom + _MARGIN)

    def _make_room(self) -> None:
        """A node is as high as the edges at its busier side need."""
        left: defaultdict[str, int] = defaultdict(int)
        right: defaultdict[str, int] = defaultdict(int)
        for edge in self.edges:
            right[edge.left] += 1
            left[edge.right] += 1
        for key, placed in self.placed.items():
            placed.h = max(placed.h, PORT * max(left[key], right[key]) + 4)

    def _layers(self) -> dict[str, int]:
        """The longest way to every node; the boxes of one column start where all of the column before have ended."""
        before: defaultdict[str, list[str]] = defaultdict(list)
        for edge in self.edges:
            before[edge.right].append(edge.left)
        order = {key: at for at, key in enumerate(self.picture.nodes)}
        layers: dict[str, int] = {}
        offset = 0
        for column in sorted({box.column for box in self.picture.boxes}):
            inside = sorted(
                (key for box in self.picture.boxes if box.column == column for key in box.nodes), key=order.__getitem__
            )
            todo = list(inside)
            while todo:
                key = todo.pop(0)
                own = [other for other in before[key] if self.box_of[other].column == column]
                if any(other not in layers for other in own):
                    # A passage's node may have been added before the answer that other passages hold too.
                    todo.append(key)
                    continue
                layers[key] = max([offset, *(layers[other] + 1 for other in own)])
            offset = 1 + max([layers[key] for key in inside], default=offset - 1)
        return layers

    def _slots(self, layers: Mapping[str, int]) -> None:
        for key, layer in layers.items():
            placed = self.placed[key]
            above = _LOOP * len(placed.loops)
            self.slots[key] = _Slot(key, layer, self.box_of[key].chain, placed.w, placed.h + 2 * above)
        for number, edge in enumerate(self.edges):
            passed = [edge.left]
            # A long edge runs in the band of the chain that it belongs to.
            band = self.slots[edge.right].band or self.slots[edge.left].band
            for layer in range(layers[edge.left] + 1, layers[edge.right]):
                key = f"bend {number} {layer}"
                self.slots[key] = _Slot(key, layer, band, 0.0, PORT, bend=True)
                passed.append(key)
            self.chains[number] = [*passed, edge.right]

    def _neighbours(self) -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
        left: defaultdict[str, list[str]] = defaultdict(list)
        right: defaultdict[str, list[str]] = defaultdict(list)
        for passed in self.chains.values():
            for one, other in pairwise(passed):
                right[one].append(other)
                left[other].append(one)
        return left, right

    def _order(self) -> list[list[_Slot]]:
        """The slots of every layer from top to bottom, so that few edges cross: sweeps that sort by the neighbours' mean."""
        rows: list[list[_Slot]] = [[] for _ in range(1 + max(slot.layer for slot in self.slots.values()))]
        for slot in self.slots.values():
            rows[slot.layer].append(slot)
        for row in rows:
            row.sort(key=lambda slot: (slot.band, slot.bend))
        left, right = self._neighbours()
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            place = {slot.key: at for row in rows for at, slot in enumerate(row)}
            for row in rows if down else reversed(rows):
                near = left if down else right
                means = {slot.key: fmean([place[key] for key in near[slot.key]] or [place[slot.key]]) for slot in row}
                # Bends of other boxes' edges stay below the boxes of their band.
                row.sort(key=lambda slot, means=means: (slot.band, slot.bend and slot.band > 0, means[slot.key]))  # type: ignore[misc]
                place.update({slot.key: at for at, slot in enumerate(row)})
        return rows

    def _heights(self, rows: Sequence[Sequence[_Slot]]) -> None:
        """Give every slot its height in the picture: near its neighbours, in the order of its layer, inside its band."""
        bands = sorted({slot.band for slot in self.slots.values()})
        need = {band: max(_stack([s for s in row if s.band == band]) for row in rows) for band in bands}
        top: dict[int, tuple[float, float]] = {}
        at = _MARGIN + (_BAND / 2 if len(bands) > 1 else 0)
        for band in [band for band in bands if band] or [0]:
            top[band] = (at, at + need[band])
            at += need[band] + _BAND
        # What belongs to no chain stands beside all of them.
        whole = max(at - _BAND - _MARGIN, need.get(0, 0.0))
        top.setdefault(0, (_MARGIN, _MARGIN + whole))
        left, right = self._neighbours()
        for row in rows:
            for band in bands:
                _settle([slot for slot in row if slot.band == band], {}, *top[band])
        for near in (left, right, left, right, left):
            for row in rows if near is left else list(reversed(rows)):
                wanted = {
                    slot.key: fmean(self.slots[key].y for key in near[slot.key]) for slot in row if near[slot.key]
                }
                for band in bands:
                    _settle([slot for slot in row if slot.band == band], wanted, *top[band])

    def _columns(self, rows: Sequence[Sequence[_Slot]]) -> list[_Column]:
        """Where every layer stands; before it there is room for edges to swing, and then for the labels of those that end in it."""
        room = [0.0] * len(rows)
        swing = [0.0] * len(rows)
        for number, edge in enumerate(self.edges):
            passed = [self.slots[key] for key in self.chains[number]]
            label = self.labels[id(edge)]
            layer = passed[-1].layer
            room[layer] = max(room[layer], width(label, LABEL_SIZE) + 30 if label else 26.0)
            for one, other in pairwise(passed):
                swing[other.layer] = max(swing[other.layer], abs(one.y - other.y))
        columns = []
        at = _MARGIN
        for layer, row in enumerate(rows):
            straight = at
            if layer:
                straight += min(_LEAST_SWING + swing[layer] / 6, _MOST_SWING)
                at = straight + room[layer]
            wide = max(slot.w for slot in row)
            columns.append(_Column(straight, at, at + wide))
            at += wide
        return columns

    def _place(self, columns: Sequence[_Column]) -> list[Placed]:
        for key, placed in self.placed.items():
            slot = self.slots[key]
            placed.x = columns[slot.layer].left
            placed.y = slot.y - placed.h / 2
        return list(self.placed.values())

    def _frames(self) -> list[Frame]:
        found = []
        for box in self.picture.boxes:
            inside = [self.placed[key] for key in box.nodes]
            if not box.title or not inside:
                continue
            x, y = min(p.x for p in inside) - PAD, min(p.y - _LOOP * len(p.loops) for p in inside) - 22
            right, bottom = max(p.x + p.w for p in inside) + PAD, max(p.y + p.h for p in inside) + PAD
            found.append(Frame(box, x, y, max(right - x, width(box.title, LABEL_SIZE) + 20), bottom - y))
        return found

    def _routes(self, columns: Sequence[_Column]) -> list[Route]:
        out: defaultdict[str, list[int]] = defaultdict(list)
        into: defaultdict[str, list[int]] = defaultdict(list)
        for number, passed in self.chains.items():
            out[passed[0]].append(number)
            into[passed[-1]].append(number)
        starts = self._ports(out, lambda number: self.slots[self.chains[number][1]].y)
        ends = self._ports(into, lambda number: self.slots[self.chains[number][-2]].y)
        routes = []
        for number, edge in enumerate(self.edges):
            passed = self.chains[number]
            first, last = self.placed[passed[0]], self.placed[passed[-1]]
            # Straight as far as the widest node of its layer reaches, so that it crosses none of them.
            points = [(first.x + first.w, starts[number])]
            points.append((columns[self.slots[passed[0]].layer].right, starts[number]))
            for key in passed[1:-1]:
                slot = self.slots[key]
                column = columns[slot.layer]
                points += [(column.straight, slot.y), (column.right, slot.y)]
            column = columns[self.slots[passed[-1]].layer]
            points += [(column.straight, ends[number]), (last.x, ends[number])]
            routes.append(Route(edge, self.labels[id(edge)], tuple(points)))
        return routes

    def _ports(self, sides: Mapping[str, list[int]], height: Callable[[int], float]) -> dict[int, float]:
        """Where edges touch the side of their node, in the order of where they come from or go to."""
        found = {}
        for key, numbers in sides.items():
            placed = self.placed[key]
            ordered = sorted(numbers, key=height)
            middle = placed.y + placed.h / 2
            for at, number in enumerate(ordered):
                found[number] = middle + (at - (len(ordered) - 1) / 2) * PORT
        return found


def _measure(node: Node) -> Placed:
    if node.kind == "passage":
        lines = wrap(node.label, NOTE_SIZE, _NOTE_ROOM, _NOTE_LINES)
        size = NOTE_SIZE
    else:
        lines = wrap(node.label, NODE_SIZE, _NODE_ROOM, _NODE_LINES)
        size = NODE_SIZE
    wide = max(width(line, size) for line in lines) * (BOLD if node.start or node.answer else 1)
    return Placed(node, lines, max(wide, 24.0) + 2 * PAD, len(lines) * size * LINE + 2 * PAD - 4)


def _stack(slots: Sequence[_Slot]) -> float:
    return sum(slot.h for slot in slots) + _SPACE * max(0, len(slots) - 1)


def _settle(slots: Sequence[_Slot], wanted: Mapping[str, float], top: float, bottom: float) -> None:
    """Move slots towards the heights they want, keeping their order, their distance and the band."""
    if not slots:
        return
    if not wanted:
        at = top + (bottom - top - _stack(slots)) / 2
        for slot in slots:
            slot.y = at + slot.h / 2
            at += slot.h + _SPACE
        return
    aims = [wanted.get(slot.key, slot.y) for slot in slots]
    gaps = [(a.h + b.h) / 2 + _SPACE for a, b in pairwise(slots)]
    down = _pushed(aims, gaps)
    up = [-value for value in reversed(_pushed([-aim for aim in reversed(aims)], list(reversed(gaps))))]
    # Both keep order and distance; so does their mean, which pushes nobody further than the other.
    heights = [(one + other) / 2 for one, other in zip(down, up, strict=True)]
    least = [top + slots[0].h / 2]
    most = [bottom - slots[-1].h / 2]
    for gap in gaps:
        least.append(least[-1] + gap)
    for gap in reversed(gaps):
        most.append(most[-1] - gap)
    for slot, height, low, high in zip(slots, heights, least, reversed(most), strict=True):
        slot.y = max(min(height, high), low)


def _pushed(aims: Iterable[float], gaps: Sequence[float]) -> list[float]:
    found: list[float] = []
    for at, aim in enumerate(aims):
        found.append(max(aim, found[-1] + gaps[at - 1]) if found else aim)
    return found
