"""Draws a compiled LangGraph graph as SVG: from top to bottom, loops on the left, short cuts on the right.

Nodes stand in ranks: a step one rank below the last step that leads to it, loops left aside. An edge to the next rank is a curve; every
other one runs in a lane of its own beside the nodes, so that no edge crosses a node.
"""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from langchain_core.runnables.graph import Edge, Graph

from thinkgraph.plot.svg import width

HEIGHT, ROW, GAP, LANE, MARGIN = 32.0, 58.0, 36.0, 16.0, 20.0
SIZE, SMALL = 13.0, 11.0
FIRST, LAST = "__start__", "__end__"
STYLE = """
text { font-family: system-ui, 'Segoe UI', 'Helvetica Neue', 'Noto Sans', 'DejaVu Sans', Arial, sans-serif; fill: #1f2937; }
.node rect { fill: #ffffff; stroke: #94a3b8; } .ours rect { fill: #f1f5f9; } .asks rect { fill: #dbeafe; stroke: #2563eb; }
.end { fill: #64748b; } .line { fill: none; stroke: #94a3b8; stroke-width: 1.4; } .may { stroke-dasharray: 5 4; }
.head { fill: #64748b; } .small { fill: #475569; }
"""


@dataclass(eq=False)
class Box:
    """A step, and where it stands."""

    name: str
    rank: int = 0
    x: float = 0.0
    """Its middle."""
    ports: dict[int, list[Line]] = field(default_factory=lambda: defaultdict(list))
    """The lines in lanes that begin or end on its left (-1) and right (1)."""
    behind: set[int] = field(default_factory=set)
    """Its sides on which another box stands: lines in lanes there meet it from above and leave it below."""

    @property
    def label(self) -> str:
        """What is written in it: of a step of a branch the step alone."""
        return self.name.rpartition(":")[2]

    @property
    def wide(self) -> float:
        """Its width."""
        return HEIGHT / 2 if self.name in {FIRST, LAST} else width(self.label, SIZE) + 26

    @property
    def y(self) -> float:
        """Its middle."""
        return MARGIN + HEIGHT / 2 + ROW * self.rank

    def port(self, line: Line, *, leaves: bool) -> tuple[float, float]:
        """Where a line in a lane meets it on a free side."""
        lines = self.ports[line.side]
        if line.start is line.end:
            return self.x + line.side * self.wide / 2, self.y + (HEIGHT / 4 if leaves else -HEIGHT / 4)
        step = min(9.0, (HEIGHT - 12) / len(lines))
        return self.x + line.side * self.wide / 2, self.y + step * (lines.index(line) - (len(lines) - 1) / 2)


@dataclass(eq=False)
class Line:
    """An edge."""

    start: Box
    end: Box
    conditional: bool
    back: bool = False
    lane: int = 0

    @property
    def near(self) -> bool:
        """Whether it leads to the next rank."""
        return self.end.rank == self.start.rank + 1

    @property
    def side(self) -> int:
        """Where its lane is: on the left or on the right."""
        middle = self.start.x + self.end.x
        return (-1 if self.back else 1) if abs(middle) < 1 else -1 if middle < 0 else 1

    @property
    def span(self) -> range:
        """The ranks it passes, its ends included."""
        low, high = sorted((self.start.rank, self.end.rank))
        return range(low, high + 1)


def ways(graph: Graph) -> list[tuple[str, str, bool]]:
    """The edges, each with whether a condition decides it; what ends a branch leads on to where the branch leads."""
    on = {
        name: [edge for edge in graph.edges if edge.source == name] for name in graph.nodes if name.endswith(f":{LAST}")
    }

    def ends(edge: Edge) -> Iterable[tuple[str, bool]]:
        if edge.target not in on:
            return [(edge.target, bool(edge.conditional))]
        return [(further.target, bool(edge.conditional or further.conditional)) for further in on[edge.target]]

    return [(edge.source, end, may) for edge in graph.edges if edge.source not in on for end, may in ends(edge)]


def svg_of(graph: Graph, title: str, *, asks: Collection[str], ours: Collection[str]) -> str:
    """The picture.

    Args:
        graph: as `get_graph(xray=True)` of a compiled graph gives it.
        title: what a screen reader says.
        asks: the steps that ask a model.
        ours: the steps that stand beside the paper's.
    """
    boxes = {name: Box(name) for name in graph.nodes if not name.endswith(f":{LAST}")}
    order = {name: number for number, name in enumerate(boxes)}
    edges = sorted(ways(graph), key=lambda way: (order[way[0]], order[way[1]]))
    lines = [Line(boxes[start], boxes[end], may) for start, end, may in edges]
    _rank(boxes, lines)
    _place(list(boxes.values()), lines)
    lanes = _lanes([line for line in lines if not line.near])
    half = max(abs(box.x) + box.wide / 2 for box in boxes.values())
    left, right = (half + MARGIN + LANE * lanes[side] for side in (-1, 1))
    wide, high = max(left + right, 400.0), max(box.y for box in boxes.values()) + HEIGHT / 2 + 74
    shapes = [*(_line(line, half) for line in lines), *(_box(box, asks, ours) for box in boxes.values())]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}" '
        f'role="img">\n<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n'
        f'<rect width="100%" height="100%" rx="10" fill="#ffffff"/>\n<g transform="translate({left:.1f} 0)">\n'
        + "\n".join(shapes)
        + "\n</g>\n"
        + "\n".join(_legend(high - 52))
        + "\n</svg>\n"
    )


def _rank(boxes: dict[str, Box], lines: Sequence[Line]) -> None:
    """Find the lines that lead back, then put every box below all that lead to it; what ends the run stands last."""
    leads: defaultdict[Box, list[Line]] = defaultdict(list)
    for line in lines:
        leads[line.start].append(line)
    open_, done = [], []

    def visit(box: Box) -> None:
        open_.append(box)
        for line in leads[box]:
            line.back = line.end in open_
            if not line.back and line.end not in done:
                visit(line.end)
        open_.remove(box)
        done.append(box)

    visit(boxes[FIRST])
    for box in reversed(done):
        for line in leads[box]:
            if not line.back:
                line.end.rank = max(line.end.rank, box.rank + 1)
    lowest = max(box.rank for box in boxes.values() if box.name not in {"answer", LAST})
    boxes["answer"].rank, boxes[LAST].rank = lowest + 1, lowest + 2


def _place(boxes: Sequence[Box], lines: Sequence[Line]) -> None:
    """Stand the boxes of a rank side by side around the middle, those with a way back on the left."""
    returns = {line.start for line in lines if line.back}
    ranks: defaultdict[int, list[Box]] = defaultdict(list)
    for box in boxes:
        ranks[box.rank].append(box)
    for row in ranks.values():
        row.sort(key=lambda box: box not in returns)
        x = -(sum(box.wide for box in row) + GAP * (len(row) - 1)) / 2
        for box in row:
            box.x = x + box.wide / 2
            x += box.wide + GAP
            box.behind = {side for side, last in ((-1, row[0]), (1, row[-1])) if last is not box}


def _lanes(lines: Sequence[Line]) -> dict[int, int]:
    """Give every line a lane in which no other one passes the same ranks; how many there are on each side."""
    used: dict[int, list[set[int]]] = {-1: [], 1: []}
    for line in sorted(lines, key=lambda line: len(line.span)):
        taken = used[line.side]
        free = (number for number, ranks in enumerate(taken) if not ranks & set(line.span))
        line.lane = next(free, len(taken))
        if line.lane == len(taken):
            taken.append(set())
        taken[line.lane] |= set(line.span)
        for box in (line.start, line.end):
            box.ports[line.side].append(line)
    for line in lines:
        for box in (line.start, line.end):
            # Lines that go up leave above those that go down: they do not cross at the box.
            box.ports[line.side].sort(
                key=lambda one, box=box: ((one.end if one.start is box else one.start).rank > box.rank, one.lane)
            )
    return {side: len(taken) for side, taken in used.items()}


def _line(line: Line, half: float) -> str:
    style = "line may" if line.conditional else "line"
    if line.near:
        x, y, end, level = line.start.x, line.start.y + HEIGHT / 2, line.end.x, line.end.y - HEIGHT / 2
        if line.start.name == FIRST:
            y = line.start.y + HEIGHT / 4
        if line.end.name == LAST:
            level = line.end.y - HEIGHT / 4
        middle = (y + level) / 2
        path = f"M{x:.1f} {y:.1f} C{x:.1f} {middle:.1f} {end:.1f} {middle:.1f} {end:.1f} {level - 7:.1f}"
        head = f"M{end:.1f} {level:.1f} l-4 -8 h8 Z"
    else:
        path, head = _beside(line, half)
    return f'<path class="{style}" d="{path}"/><path class="head" d="{head}"/>'


def _beside(line: Line, half: float) -> tuple[str, str]:
    """The path of a line in a lane, and its head."""
    side, bend = line.side, 6
    lane = side * (half + LANE * (line.lane + 0.7))
    (x, y), (end, level) = line.start.port(line, leaves=True), line.end.port(line, leaves=False)
    begin, finish, head = f"M{x:.1f} {y:.1f}", f"H{end + side * 7:.1f}", f"M{end:.1f} {level:.1f} l{side * 8} -4 v8 Z"
    if side in line.start.behind:
        x, y = line.start.x + side * line.start.wide / 4, line.start.y + ROW / 2
        begin = f"M{x:.1f} {line.start.y + HEIGHT / 2:.1f} V{y:.1f}"
    if side in line.end.behind:
        end, top = line.end.x + side * line.end.wide / 4, line.end.y - HEIGHT / 2
        level = line.end.y - ROW / 2
        finish, head = f"H{end:.1f} V{top - 7:.1f}", f"M{end:.1f} {top:.1f} l-4 -8 h8 Z"
    down = 1 if level > y else -1
    path = (
        f"{begin} H{lane - side * bend:.1f} q{side * bend} 0 {side * bend} {down * bend} "
        f"V{level - down * bend:.1f} q0 {down * bend} {-side * bend} {down * bend} {finish}"
    )
    return path, head


def _box(box: Box, asks: Collection[str], ours: Collection[str]) -> str:
    if box.name in {FIRST, LAST}:
        return f'<circle class="end" cx="{box.x:.1f}" cy="{box.y:.1f}" r="{HEIGHT / 4:.1f}"/>'
    style = ["node", *["asks"] * (box.label in asks), *["ours"] * (box.label in ours)]
    return (
        f'<g class="{" ".join(style)}"><rect x="{box.x - box.wide / 2:.1f}" y="{box.y - HEIGHT / 2:.1f}" width="{box.wide:.1f}" '
        f'height="{HEIGHT:.0f}" rx="7"/><text x="{box.x:.1f}" y="{box.y + 4.5:.1f}" font-size="{SIZE:g}" '
        f'text-anchor="middle">{html.escape(box.label)}</text></g>'
    )


def _legend(top: float) -> Iterator[str]:
    for x, style, words in (
        (MARGIN, "node asks", "asks the model"),
        (MARGIN + 116, "node", "reads and computes"),
        (MARGIN + 258, "node ours", "beside the paper"),
    ):
        yield f'<g class="{style}"><rect x="{x:.0f}" y="{top:.1f}" width="14" height="12" rx="3"/></g>'
        yield f'<text class="small" x="{x + 19:.0f}" y="{top + 10:.1f}" font-size="{SMALL:g}">{words}</text>'
    y = top + 28
    yield f'<path class="line may" d="M{MARGIN:.0f} {y:.1f} h24"/>'
    yield f'<text class="small" x="{MARGIN + 32:.0f}" y="{y + 4:.1f}" font-size="{SMALL:g}">taken where its condition holds</text>'
