"""A picture as SVG: no script, no reference to anything outside.

Columns run from left to right. A node stands in the middle of the height that its children take, so that no edge crosses
another one, a node or a label.
"""

from __future__ import annotations

import html
import json
import re
import textwrap
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

from thinkgraph.plot.picture import Node
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.answer import Answer

NODE_SIZE, SMALL = 13.0, 11.0
"""Font sizes of nodes, and of edges' labels and notes."""
LINE = 1.3
"""Height of a line of text, in its size."""
PAD, MARGIN = 9.0, 26.0
HEAD = 15.0
"""Room for an arrow's head beside a label."""
_SPACE = 16.0
"""Between two nodes of a column."""
_SWING = 64.0
"""Room in which edges swing from one height to another, between two columns."""
_ILLEGAL = re.compile("[\ufffe\uffff]")
"""What XML cannot hold; control characters are gone with `one_line`."""

_FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', 'Noto Sans', 'DejaVu Sans', Arial, sans-serif"
_STYLE = f"""
svg {{ font-family: {_FONT}; fill: #1f2937; }} .small {{ fill: #6b7280; }} .bold, .answer text, .start text {{ font-weight: 600; }}
.node rect {{ fill: #ffffff; stroke: #94a3b8; }} .literal, .folded {{ font-style: italic; }}
.passage rect {{ fill: #fefce8; stroke: #eab308; }} .community rect {{ fill: #f0f9ff; stroke-dasharray: 5 4; }}
.start rect {{ fill: #dbeafe; stroke: #2563eb; }} .answer rect {{ fill: #bbf7d0; stroke: #16a34a; stroke-width: 2; }}
.line {{ fill: none; stroke: #94a3b8; stroke-width: 1.4; }} .link .line {{ stroke-dasharray: 2 4; }} .head {{ fill: #64748b; }}
.label {{ text-anchor: end; fill: #475569; }}
"""


def svg_of(answer: Answer, nodes: Sequence[Node]) -> str:
    """A whole SVG document: question, answer and status, below them the picture. Sets the places of the nodes."""
    wide, high = lay_out(nodes)
    heading, top = [], MARGIN
    for text, size, style in (
        (answer["question"], 16.0, "bold"),
        (answer["text"], NODE_SIZE, "bold"),
        (f"{_judged(answer)} ({answer['method']}, {answer['model']})", SMALL, "small"),
    ):
        lines = wrap(text, 88, 3)
        heading.append(_text(lines, MARGIN, top, size, style))
        wide = max(wide, 2 * MARGIN + max(width(line, size) for line in lines))
        top += len(lines) * size * LINE + 5
    parts = [*(_edge(node, node.parent) for node in nodes if node.parent), *map(_node, nodes)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{top + high:.0f}" '
        f'viewBox="0 0 {wide:.0f} {top + high:.0f}" role="img">\n'
        f"<title>{_escaped(answer['question'])}</title>\n<style>{_STYLE}</style>\n"
        '<rect width="100%" height="100%" fill="#ffffff"/>\n' + "\n".join(heading) + "\n"
        f'<g transform="translate(0 {top:.1f})">\n' + "\n".join(parts) + "\n</g>\n</svg>\n"
    )


def _judged(answer: Answer) -> str:
    """What the answer is worth: its status, its confidence where it has one, and why."""
    sure = answer["confidence"]
    return f"{answer['status']}{'' if sure is None else f', confidence {sure:.2f}'}: {answer['reason']}"


def lay_out(nodes: Sequence[Node]) -> tuple[float, float]:
    """Set the places of nodes in pixels, parents first; gives the width and height of the picture."""
    widest: defaultdict[int, float] = defaultdict(float)
    labels: defaultdict[int, float] = defaultdict(float)
    for node in nodes:
        size, letters, most = _type(node)
        node.lines = wrap(node.text, letters, most)
        bold = 1.1 if node.start or node.answer else 1.0
        node.w = bold * max(24.0, *(width(line, size) for line in node.lines)) + 2 * PAD
        node.h = len(node.lines) * size * LINE + 2 * PAD - 4
        node.relation = wrap(node.relation, 36, 1)[0]
        node.column = node.parent.column + 1 if node.parent else 0
        widest[node.column] = max(widest[node.column], node.w)
        labels[node.column] = max(labels[node.column], width(node.relation, SMALL) + 2 * HEAD)
    children: defaultdict[Node | None, float] = defaultdict(float)
    height: dict[Node, float] = {}
    for node in reversed(nodes):
        height[node] = max(node.h + _SPACE, children[node])
        children[node.parent] += height[node]
    left: dict[int, float] = {}
    right = {-1: MARGIN}
    for column in range(len(widest)):
        left[column] = right[column - 1] + (_SWING + labels[column] if column else 0.0)
        right[column] = left[column] + widest[column]
    free: dict[Node | None, float] = {None: MARGIN}
    for node in nodes:
        top = free[node.parent]
        free[node.parent] = top + height[node]
        free[node] = top + (height[node] - children[node]) / 2
        node.x, node.y = left[node.column], top + (height[node] - node.h) / 2
        node.bend = right[node.column - 1]
    return right[len(widest) - 1] + MARGIN, free[None] + MARGIN


def _type(node: Node) -> tuple[float, int, int]:
    """Size, letters in a line and lines of a node's text."""
    return (SMALL, 44, 5) if node.kind in {"passage", "community"} else (NODE_SIZE, 26, 3)


def _edge(node: Node, parent: Node) -> str:
    x, y = parent.x + parent.w, parent.y + parent.h / 2
    end, level = node.x, node.y + node.h / 2
    straight, middle = node.bend + _SWING, node.bend + _SWING / 2
    line = (
        f'<path class="line" d="M{x:.1f} {y:.1f} H{node.bend:.1f} C{middle:.1f} {y:.1f} {middle:.1f} {level:.1f} '
        f'{straight:.1f} {level:.1f} H{end:.1f}"/>'
    )
    if not node.triples:
        return f'<g class="link">{line}</g>'
    tip, back = (end, -8) if node.forward else (straight, 8)
    head = f'<path class="head" d="M{tip:.1f} {level:.1f} l{back} -4 v8 Z"/>'
    label = _text([node.relation], end - HEAD, level - SMALL * LINE - 2, SMALL, "label")
    # A JSON list, for an id may hold anything.
    triples = _escaped(json.dumps(list(node.triples)))
    return f'<g class="edge" data-triples="{triples}">{_tip(node.said)}{line}{head}{label}</g>'


def _node(node: Node) -> str:
    size, _, _ = _type(node)
    style = ["node", node.kind, *["start"] * node.start, *["answer"] * node.answer]
    return (
        f'<g class="{" ".join(style)}">{_tip(node.tip)}<rect x="{node.x:.1f}" y="{node.y:.1f}" width="{node.w:.1f}" '
        f'height="{node.h:.1f}" rx="{2 if node.kind == "passage" else 7}"/>'
        f"{_text(node.lines, node.x + PAD, node.y + PAD - 2, size)}</g>"
    )


def _text(lines: Sequence[str], x: float, top: float, size: float, style: str = "") -> str:
    """Lines of text below each other from a height on."""
    styled = f' class="{style}"' if style else ""
    return "".join(
        f'<text x="{x:.1f}" y="{top + (at + 0.78) * size * LINE:.1f}" font-size="{size:g}"{styled}>{_escaped(line)}</text>'
        for at, line in enumerate(lines)
    )


def _tip(text: str) -> str:
    """What a viewer shows where the mouse rests."""
    return "<title>" + "\n".join(map(_escaped, text.split("\n"))) + "</title>" if text else ""


def _escaped(text: str) -> str:
    return html.escape(plain(text), quote=True)


def plain(text: str) -> str:
    """The text on one line without anything that steers a terminal, a browser or the direction of writing."""
    return one_line(_ILLEGAL.sub("", text))


def width(text: str, size: float) -> float:
    """About how wide a text is at most in a common sans-serif font, in the unit of `size`."""
    return size * sum(map(_advance, text))


def _advance(character: str) -> float:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0.0
    if unicodedata.east_asian_width(character) in {"W", "F"}:
        return 1.0
    return 0.78 if character.isupper() or character in "mw%@&—" else 0.36 if character in "iljft.,:;'|!() " else 0.64


def wrap(text: str, letters: int, most: int) -> list[str]:
    """A text in at most `most` lines of so many letters, broken at spaces where there are any; the last one is cut."""
    return textwrap.wrap(plain(text), letters, max_lines=most, placeholder="…") or [""]
