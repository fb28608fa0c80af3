"""A laid-out picture as SVG: plain shapes and text, no script, no style sheet, no reference to anything outside."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from thinkgraph.plot.graph import Picture
from thinkgraph.plot.layout import (
    BOLD,
    LABEL_SIZE,
    LINE,
    NODE_SIZE,
    NOTE_SIZE,
    PAD,
    Frame,
    Layout,
    Placed,
    Route,
    lay_out,
)
from thinkgraph.plot.text import cut, escaped, lines_escaped, plain, width, wrap
from thinkgraph.state.answer import Answer, Status

FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', 'Noto Sans', 'DejaVu Sans', Arial, sans-serif"
INK, FAINT, LINE_COLOUR = "#1f2937", "#6b7280", "#94a3b8"
STATUS: Mapping[Status, tuple[str, str]] = {
    "grounded": ("#166534", "#dcfce7"),
    "partial": ("#854d0e", "#fef9c3"),
    "memory": ("#6b21a8", "#f3e8ff"),
    "unknown": ("#374151", "#f3f4f6"),
}
"""Ink and ground of an answer's status."""
_TINTS = ("#f0f9ff", "#fdf4ff", "#f7fee7", "#fff7ed", "#f5f3ff", "#ecfeff")
_LEAST_WIDTH = 560.0
_HEAD_SIZE, _ANSWER_SIZE, _SMALL = 16.0, 14.0, 11.5
_MARGIN = 26.0


def svg_of(answer: Answer, picture: Picture) -> str:
    """The picture as a whole SVG document with the question and the answer above it."""
    layout = lay_out(picture)
    wide = max(layout.w, _LEAST_WIDTH)
    head, below = _heading(answer, wide)
    high = below + layout.h
    body = "\n".join(_body(layout))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}" '
        f'font-family="{FONT}" role="img">\n'
        f"<title>{escaped(answer['question'])}</title>\n"
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{head}\n'
        f'<g transform="translate(0 {below:.1f})">\n{body}\n</g>\n</svg>\n'
    )


def _heading(answer: Answer, wide: float) -> tuple[str, float]:
    """Question, status and answer; and how high they are."""
    room = wide - 2 * _MARGIN
    parts = []
    y = _MARGIN
    for line in wrap(answer["question"], _HEAD_SIZE, room / BOLD, 4):
        y += _HEAD_SIZE
        parts.append(_text(line, _MARGIN, y, _HEAD_SIZE, weight="600"))
        y += _HEAD_SIZE * (LINE - 1)
    y += 8
    ink, ground = STATUS.get(answer["status"], STATUS["unknown"])
    pill = width(answer["status"], _SMALL) + 18
    parts.append(f'<rect x="{_MARGIN}" y="{y:.1f}" width="{pill:.1f}" height="20" rx="10" fill="{ground}"/>')
    parts.append(_text(answer["status"], _MARGIN + pill / 2, y + 14, _SMALL, fill=ink, anchor="middle", weight="600"))
    left = _MARGIN + pill + 10
    first = y
    for line in wrap(answer["text"], _ANSWER_SIZE, (wide - _MARGIN - left) / BOLD, 3):
        parts.append(_text(line, left, first + 15, _ANSWER_SIZE, weight="600", fill=ink))
        first += _ANSWER_SIZE * LINE
    y = max(y + 20, first) + 4
    for line in wrap(f"{answer['reason']} ({answer['method']}, {answer['model']})", _SMALL, room, 2):
        y += _SMALL * LINE
        parts.append(_text(line, _MARGIN, y, _SMALL, fill=FAINT))
    return "\n".join(parts), y + 6


def _body(layout: Layout) -> Iterator[str]:
    for frame in layout.frames:
        yield _frame(frame)
    # Labels come after all lines, so that no line runs through one.
    yield from (_line(route) for route in layout.routes)
    for placed in layout.nodes:
        yield _node(placed)
    yield from (_label(route) for route in layout.routes if route.label)


def _frame(frame: Frame) -> str:
    box = frame.box
    tint = _TINTS[(box.chain - 1) % len(_TINTS)] if box.cited else "#ffffff"
    dash = "" if box.cited else ' stroke-dasharray="5 4"'
    title = cut(box.title, LABEL_SIZE, frame.w - 12)
    return (
        f'<g class="box">{_tip(box.more)}<rect x="{frame.x:.1f}" y="{frame.y:.1f}" width="{frame.w:.1f}" height="{frame.h:.1f}" rx="10" '
        f'fill="{tint}" stroke="#cbd5e1"{dash}/>'
        f"{_text(title, frame.x + PAD, frame.y + 15, LABEL_SIZE, fill=FAINT)}</g>"
    )


def _line(route: Route) -> str:
    edge = route.edge
    points = route.points
    path = [f"M{points[0][0]:.1f} {points[0][1]:.1f}"]
    # Straight beside its node, then in turn a swing from one height to another and a straight piece.
    for at in range(1, len(points)):
        (x0, y0), (x1, y1) = points[at - 1], points[at]
        if at % 2 == 0:
            middle = (x0 + x1) / 2
            path.append(f"C{middle:.1f} {y0:.1f} {middle:.1f} {y1:.1f} {x1:.1f} {y1:.1f}")
        else:
            path.append(f"L{x1:.1f} {y1:.1f}")
    triple = edge.forward is not None
    dash = "" if triple else ' stroke-dasharray="2 4"'
    drawn = f'<path d="{" ".join(path)}" fill="none" stroke="{LINE_COLOUR}" stroke-width="1.4"{dash}/>'
    if not triple:
        return f'<g class="link">{drawn}</g>'
    head = _arrow(*points[-1], 1) if edge.forward else _arrow(*points[0], -1)
    return f'<g class="edge" {_ids(edge.triples)}>{_tip(edge.more)}{drawn}{head}</g>'


def _ids(triples: Sequence[str]) -> str:
    """Which triples an edge stands for, as a JSON list: an id may hold anything."""
    return f'data-triples="{escaped(json.dumps(list(triples)))}"'


def _arrow(x: float, y: float, way: int) -> str:
    back = x - 8 * way
    return f'<path d="M{x:.1f} {y:.1f} L{back:.1f} {y - 4:.1f} L{back:.1f} {y + 4:.1f} Z" fill="#64748b"/>'


def _label(route: Route) -> str:
    (left, y), (right, _) = route.points[-2], route.points[-1]
    wide = width(route.label, LABEL_SIZE)
    # Beside the node that the edge reaches, with room for an arrow's head.
    middle = max(left + wide / 2, right - wide / 2 - 15)
    return (
        f'<g class="label">{_tip(route.edge.more)}<rect x="{middle - wide / 2 - 3:.1f}" y="{y - 8:.1f}" '
        f'width="{wide + 6:.1f}" height="15" rx="4" fill="#ffffff" fill-opacity="0.92"/>'
        f"{_text(route.label, middle, y + 3.5, LABEL_SIZE, fill='#475569', anchor='middle')}</g>"
    )


def _node(placed: Placed) -> str:
    node = placed.node
    if node.kind == "passage":
        return _note(placed)
    ink, fill, stroke, thick = INK, "#ffffff", "#94a3b8", 1.2
    if node.start:
        fill, stroke, thick = "#dbeafe", "#2563eb", 1.6
    if node.answer:
        ink, fill, stroke, thick = "#14532d", "#bbf7d0", "#16a34a", 2.2
    if node.kind == "folded":
        stroke = "#cbd5e1" if not node.answer else stroke
    radius = placed.h / 2 if node.kind == "literal" else 7
    style = ' font-style="italic"' if node.kind in {"literal", "folded"} else ""
    weight = "600" if node.answer or node.start else "400"
    dash = ' stroke-dasharray="4 3"' if node.kind == "folded" else ""
    what = " ".join(["node", node.kind, *(["start"] if node.start else []), *(["answer"] if node.answer else [])])
    text = _lines(placed.lines, placed.x + placed.w / 2, placed.y + placed.h / 2, NODE_SIZE, ink, weight)
    loops = "".join(_loop(placed, at) for at in range(len(placed.loops)))
    return (
        f'<g class="{what}"{style}>{_tip(node.more or node.label)}'
        f'<rect x="{placed.x:.1f}" y="{placed.y:.1f}" width="{placed.w:.1f}" height="{placed.h:.1f}" rx="{radius:.1f}" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="{thick}"{dash}/>{text}</g>{loops}'
    )


def _note(placed: Placed) -> str:
    x, y, w, h, ear = placed.x, placed.y, placed.w, placed.h, 11
    sheet = f"M{x:.1f} {y:.1f} H{x + w - ear:.1f} L{x + w:.1f} {y + ear:.1f} V{y + h:.1f} H{x:.1f} Z"
    fold = f"M{x + w - ear:.1f} {y:.1f} V{y + ear:.1f} H{x + w:.1f}"
    first = y + (h - len(placed.lines) * NOTE_SIZE * LINE) / 2 + NOTE_SIZE
    text = "".join(
        _text(line, x + PAD, first + at * NOTE_SIZE * LINE, NOTE_SIZE, fill="#713f12")
        for at, line in enumerate(placed.lines)
    )
    return (
        f'<g class="node passage">{_tip(placed.node.more)}<path d="{sheet}" fill="#fefce8" stroke="#eab308"/>'
        f'<path d="{fold}" fill="none" stroke="#eab308"/>{text}</g>'
    )


def _loop(placed: Placed, at: int) -> str:
    """An edge from a node to itself, above it."""
    edge = placed.loops[at]
    middle, top = placed.x + placed.w / 2, placed.y
    high = 20 + 26 * at
    left, right = middle - 14 - 5 * at, middle + 14 + 5 * at
    label = cut(plain(edge.label), LABEL_SIZE, 160)
    path = f"M{left:.1f} {top:.1f} C{left:.1f} {top - high:.1f} {right:.1f} {top - high:.1f} {right:.1f} {top:.1f}"
    return (
        f'<g class="edge" {_ids(edge.triples)}>{_tip(edge.more)}'
        f'<path d="{path}" fill="none" stroke="{LINE_COLOUR}" stroke-width="1.4"/>'
        f'<path d="M{right:.1f} {top:.1f} l-4 -8 h8 Z" fill="#64748b"/>'
        f"{_text(label, right + 8, top - high * 0.6, LABEL_SIZE, fill='#475569')}</g>"
    )


def _lines(lines: Sequence[str], x: float, y: float, size: float, ink: str, weight: str) -> str:
    first = y - len(lines) * size * LINE / 2 + size
    return "".join(
        _text(line, x, first + at * size * LINE, size, fill=ink, anchor="middle", weight=weight)
        for at, line in enumerate(lines)
    )


def _text(
    text: str, x: float, y: float, size: float, fill: str = INK, anchor: str = "start", weight: str = "400"
) -> str:
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    bold = "" if weight == "400" else f' font-weight="{weight}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" fill="{fill}"{place}{bold}>{escaped(text)}</text>'


def _tip(text: str) -> str:
    """What a viewer shows where the mouse rests."""
    return f"<title>{lines_escaped(text)}</title>" if text else ""
