"""Where everything stands: layers from left to right, chains as bands from top to bottom (after Sugiyama, Tagawa and Toda 1981).

Every edge runs from the node that was reached first to the one reached later, so there are no cycles, and the layer of a node is
the longest way to it. Edges over several layers bend at invisible nodes of their own. An edge ends in a straight piece that carries
its label, at a height of its own beside its node: so labels cannot lie on each other.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from statistics import fmean

from thinkgraph.plot.picture import Picture, PictureEdge, PictureNode
from thinkgraph.prompts.lines import one_line

NODE_SIZE, LABEL_SIZE = 13.0, 11.0
"""Font sizes of nodes, and of labels and notes."""
LINE = 1.3
"""Height of a line of text, in its size."""
PORT = 18.0
"""Height between two edges at one side of a node."""
BOLD = 1.1
"""How much wider bold letters are."""
PAD = 9.0
MARGIN = 26.0
_SPACE = 16.0
"""Between two nodes of a layer."""
_BAND = 44.0
"""Between two chains: room for the frames and the title of a box."""
_SWING = 64.0
"""Room in which edges swing from one height to another, between two layers."""
_HEAD = 30.0
"""Room for an arrow's head beside a label."""

_ILLEGAL = re.compile("[\ufffe\uffff]")
"""What XML cannot hold; control characters are gone with `one_line`."""
_NARROW, _WIDE = frozenset("iljftrI.,:;'|!()[]{}/\\ "), frozenset("mwMW@%&—")

Ways = Mapping[PictureEdge, Sequence[PictureNode]]


def lay_out(picture: Picture) -> None:
    """Set the place of everything in a picture that has nodes, in pixels."""
    for node in picture.nodes:
        _measure(node)
    sides = Counter((node, side) for edge in picture.edges for side, node in enumerate((edge.left, edge.right)))
    for (node, _), count in sides.items():
        # A node is as high as the edges at its busier side need.
        node.h = max(node.h, PORT * count + 4)
    _set_layers(picture)
    ways = {edge: [edge.left, *_bends(edge), edge.right] for edge in picture.edges}
    rows = _ordered(picture.nodes, ways)
    bottom = _set_heights(rows)
    right = _set_columns(rows, ways)
    for box in picture.boxes:
        inside = [node for node in picture.nodes if node.box is box]
        box.x, box.y = min(node.x for node in inside) - PAD, min(node.y for node in inside) - 22
        box.w = max(max(node.x + node.w for node in inside) + PAD - box.x, _title_width(box.title))
        box.h = max(node.y + node.h for node in inside) + PAD - box.y
    picture.w, picture.h = right + MARGIN, bottom + MARGIN


def _measure(node: PictureNode) -> None:
    size, letters, most = (LABEL_SIZE, 44, 5) if node.kind == "passage" else (NODE_SIZE, 26, 3)
    node.lines = wrap(node.label, letters, most)
    wide = max(width(line, size) for line in node.lines) * (BOLD if node.start or node.answer else 1)
    node.w, node.h = max(wide, 24.0) + 2 * PAD, len(node.lines) * size * LINE + 2 * PAD - 4


def _title_width(title: str) -> float:
    return width(title, LABEL_SIZE) + 20 if title else 0.0


def _set_layers(picture: Picture) -> None:
    """The longest way to every node; the boxes of one column start where all of the column before have ended."""
    before: defaultdict[PictureNode, list[PictureNode]] = defaultdict(list)
    for edge in picture.edges:
        before[edge.right].append(edge.left)
    offset = 0
    order = sorted(picture.nodes, key=lambda node: (node.box.column, node.number))
    for column, nodes in groupby(order, key=lambda node: node.box.column):
        most = offset
        for node in nodes:
            own = [other.layer + 1 for other in before[node] if other.box.column == column]
            node.layer = max([offset, *own])
            most = max(most, node.layer)
        offset = most + 1


def _bends(edge: PictureEdge) -> list[PictureNode]:
    """Invisible nodes in the layers that an edge passes, in the band of the chain that it belongs to."""
    box = edge.right.box if edge.right.box.chain else edge.left.box
    return [PictureNode("", "bend", box, layer=layer, h=PORT) for layer in range(edge.left.layer + 1, edge.right.layer)]


def _ordered(nodes: Sequence[PictureNode], ways: Ways) -> list[list[PictureNode]]:
    """The nodes and bends of every layer from top to bottom, by the mean of their left neighbours: so few edges cross."""
    left: defaultdict[PictureNode, list[PictureNode]] = defaultdict(list)
    for way in ways.values():
        for one, other in pairwise(way):
            left[other].append(one)
    every = [*nodes, *(node for way in ways.values() for node in way[1:-1])]
    rows = []
    place: dict[PictureNode, float] = {}
    for _, row in groupby(sorted(every, key=lambda node: node.layer), lambda node: node.layer):
        # Bends of other boxes' edges stay below the boxes of their band.
        ordered = sorted(
            row,
            key=lambda node: (
                node.box.chain,
                node.kind == "bend" and node.box.chain > 0,
                fmean(place[other] for other in left[node]) if left[node] else node.number,
            ),
        )
        place.update({node: at for at, node in enumerate(ordered)})
        rows.append(ordered)
    return rows


def _set_heights(rows: Sequence[Sequence[PictureNode]]) -> float:
    """Stack every layer in the middle of its band; what belongs to no chain stands beside all. Gives the bottom."""
    stacks = {
        (at, band): list(nodes)
        for at, row in enumerate(rows)
        for band, nodes in groupby(row, lambda node: node.box.chain)
    }
    need: defaultdict[int, float] = defaultdict(float)
    for (_, band), nodes in stacks.items():
        need[band] = max(need[band], _height(nodes))
    tops, bottom = {0: MARGIN}, MARGIN
    for band in sorted(band for band in need if band):
        tops[band] = bottom + _BAND / 2
        bottom = tops[band] + need[band] + _BAND / 2
    need[0] = max(need[0], bottom - MARGIN)
    for (_, band), nodes in stacks.items():
        y = tops[band] + (need[band] - _height(nodes)) / 2
        for node in nodes:
            node.y = y
            y += node.h + _SPACE
    return MARGIN + need[0]


def _height(nodes: Sequence[PictureNode]) -> float:
    return sum(node.h + _SPACE for node in nodes) - _SPACE


def _set_columns(rows: Sequence[Sequence[PictureNode]], ways: Ways) -> float:
    """Place the layers, with room before each for edges to swing and for the labels of those that end in it. Gives the right end."""
    room = [0.0] * len(rows)
    for edge in ways:
        edge.label = wrap(edge.label, 36, 1)[0]
        room[edge.right.layer] = max(room[edge.right.layer], width(edge.label, LABEL_SIZE) + _HEAD)
    straight, ends, at = [], [], MARGIN
    for layer, row in enumerate(rows):
        straight.append(at + _SWING)
        at += _SWING + room[layer] if layer else 0.0
        for node in row:
            node.x = at
        at += max(max(node.w, _title_width(node.box.title) if node.kind != "bend" else 0.0) for node in row)
        ends.append(at)
    starts = _ports(ways, 0)
    stops = _ports(ways, -1)
    for edge, (first, *bends, last) in ways.items():
        # Straight as far as the widest node of its layer reaches, so that it crosses none of them.
        points = [(first.x + first.w, starts[edge]), (ends[first.layer], starts[edge])]
        for bend in bends:
            middle = bend.y + bend.h / 2
            points += [(straight[bend.layer], middle), (ends[bend.layer], middle)]
        edge.points = [*points, (straight[last.layer], stops[edge]), (last.x, stops[edge])]
    return at


def _ports(ways: Ways, side: int) -> dict[PictureEdge, float]:
    """The heights where edges touch the nodes at one side, in the order of where they come from or go to."""
    touching: defaultdict[PictureNode, list[tuple[float, int, PictureEdge]]] = defaultdict(list)
    for number, (edge, way) in enumerate(ways.items()):
        other = way[1 if side == 0 else -2]
        touching[way[side]].append((other.y + other.h / 2, number, edge))
    return {
        edge: node.y + node.h / 2 + (at - (len(found) - 1) / 2) * PORT
        for node, found in touching.items()
        for at, (_, _, edge) in enumerate(sorted(found, key=lambda row: row[:2]))
    }


def plain(text: str) -> str:
    """The text on one line without anything that steers a terminal, a browser or the direction of writing."""
    return one_line(_ILLEGAL.sub("", text))


def width(text: str, size: float) -> float:
    """About how wide a text is in a common sans-serif font, in the unit of `size`."""
    return size * sum(map(_advance, text))


def _advance(character: str) -> float:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0.0
    if unicodedata.east_asian_width(character) in {"W", "F"}:
        return 1.0
    return 0.33 if character in _NARROW else 0.9 if character in _WIDE else 0.7 if character.isupper() else 0.6


def wrap(text: str, letters: int, most: int) -> list[str]:
    """A text in at most `most` lines of so many letters, broken at spaces where there are any; the last one is cut."""
    return textwrap.wrap(plain(text), letters, max_lines=most, placeholder="…") or [""]
