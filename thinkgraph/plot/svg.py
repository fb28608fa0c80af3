"""A picture as SVG, and as an HTML page around it: no script, no reference to anything outside."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence

from thinkgraph.plot.layout import BOLD, LABEL_SIZE, LINE, MARGIN, NODE_SIZE, PAD, lay_out, plain, width, wrap
from thinkgraph.plot.picture import Area, Box, Picture, PictureEdge, PictureNode
from thinkgraph.state.answer import Answer

_FONT = "system-ui, 'Segoe UI', 'Helvetica Neue', 'Noto Sans', 'DejaVu Sans', Arial, sans-serif"
_STYLE = f"""
svg {{ font-family: {_FONT}; fill: #1f2937; }}
.small, .box text {{ fill: #6b7280; }} .bold, .answer text, .start text {{ font-weight: 600; }}
.node text {{ text-anchor: middle; }} .node rect {{ fill: #ffffff; stroke: #94a3b8; }}
.literal, .folded {{ font-style: italic; }} .folded rect {{ stroke-dasharray: 4 3; }}
.passage text {{ text-anchor: start; fill: #713f12; }} .passage rect {{ fill: #fefce8; stroke: #eab308; }}
.start rect {{ fill: #dbeafe; stroke: #2563eb; }} .answer rect {{ fill: #bbf7d0; stroke: #16a34a; stroke-width: 2; }}
.box rect {{ fill: #f0f9ff; stroke: #cbd5e1; }} .uncited rect {{ fill: #ffffff; stroke-dasharray: 5 4; }}
.line {{ fill: none; stroke: #94a3b8; stroke-width: 1.4; }} .link .line {{ stroke-dasharray: 2 4; }} .head {{ fill: #64748b; }}
.label text {{ text-anchor: middle; fill: #475569; }} .label rect {{ fill: #ffffff; fill-opacity: .9; }}
.grounded {{ fill: #166534; }} .partial {{ fill: #854d0e; }} .memory {{ fill: #6b21a8; }} .unknown {{ fill: #374151; }}
"""
_PAGE_STYLE = f"""
body {{ margin: 2rem auto; max-width: 76rem; padding: 0 1rem; font: 15px/1.5 {_FONT}; color: #1f2937; }}
.picture {{ overflow-x: auto; border: 1px solid #e5e7eb; border-radius: 10px; }}
h2 {{ font-size: 1rem; margin: 1.6rem 0 .4rem; }}
p {{ margin: .3rem 0; overflow-wrap: anywhere; unicode-bidi: plaintext; }}
"""
_LETTERS = 88
"""In a line of the heading."""


def svg_of(answer: Answer, picture: Picture) -> str:
    """The picture as a whole SVG document with the question and the answer above it; sets the places in `picture`."""
    lay_out(picture)
    head, heading_width, below = _heading(answer)
    wide, high = max(picture.w, heading_width), below + picture.h
    # Labels come after all lines, so that no line runs through one.
    parts = [
        *(_box(box) for box in picture.boxes if box.title),
        *(_line(edge) for edge in picture.edges),
        *(_node(node) for node in picture.nodes),
        *(_label(edge) for edge in picture.edges if edge.label),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high:.0f}" '
        f'viewBox="0 0 {wide:.0f} {high:.0f}" role="img">\n'
        f"<title>{_escaped(answer['question'])}</title>\n<style>{_STYLE}</style>\n"
        f'<rect width="100%" height="100%" fill="#ffffff"/>\n{head}\n'
        f'<g transform="translate(0 {below:.1f})">\n' + "\n".join(parts) + "\n</g>\n</svg>\n"
    )


def page_of(answer: Answer, picture: Picture) -> str:
    """A whole HTML page: picture, answer, paths, passages in full, trace.

    Nothing in it runs or is fetched: the policy in its head forbids both.
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{_escaped(answer['question'])}</title>\n<style>{_PAGE_STYLE}</style>\n</head>\n<body>\n"
        f'<div class="picture">\n{svg_of(answer, picture)}</div>\n'
        + "\n".join(_sections(answer))
        + "\n</body>\n</html>\n"
    )


def _sections(answer: Answer) -> Iterator[str]:
    evidence, trace = answer["evidence"], answer["trace"]
    sections = {
        "Answer": [answer["text"], f"{answer['status']}: {answer['reason']}"],
        "Paths": [path["text"] for path in evidence["paths"]],
        "Passages": [
            f"[{passage['id']}] {' / '.join(filter(None, (passage['title'], passage['section'])))}: {passage['text']}"
            for passage in evidence["passages"]
        ],
        trace["title"]: [f"{'– ' * line['level']}{line['text']}" for line in trace["lines"]],
    }
    for title, lines in sections.items():
        if lines:
            yield f"<h2>{_escaped(title)}</h2>"
            yield from (f"<p>{_escaped(line)}</p>" for line in lines)


def _heading(answer: Answer) -> tuple[str, float, float]:
    """Question, status with answer, and reason; how wide and how high they are."""
    status = answer["status"]
    indent = width(status, NODE_SIZE) + 16
    parts, wide, y = [], 0.0, MARGIN
    for text, size, left, style in (
        (answer["question"], 16.0, MARGIN, "bold"),
        (answer["text"], NODE_SIZE, MARGIN + indent, f"bold {status}"),
        (f"{answer['reason']} ({answer['method']}, {answer['model']})", LABEL_SIZE, MARGIN, "small"),
    ):
        lines = wrap(text, _LETTERS, 3)
        parts.append(_text(lines, left, y, size, style))
        if left > MARGIN:
            parts.append(_text([status], MARGIN, y, size, status))
        wide = max(wide, *(left + width(line, size) * BOLD + MARGIN for line in lines))
        y += len(lines) * size * LINE + 5
    return "\n".join(parts), wide, y


def _box(box: Box) -> str:
    return (
        f'<g class="box{"" if box.cited else " uncited"}">{_tip(box.more)}{_rect(box, 10)}'
        f"{_text([box.title], box.x + PAD, box.y + 4, LABEL_SIZE)}</g>"
    )


def _line(edge: PictureEdge) -> str:
    (x, y), *others = edge.points
    path = [f"M{x:.1f} {y:.1f}"]
    # Straight beside its node, then in turn a swing from one height to another and a straight piece.
    for at, (x1, y1) in enumerate(others):
        middle = (x + x1) / 2
        swing = f"C{middle:.1f} {y:.1f} {middle:.1f} {y1:.1f} " if at % 2 else "L"
        path.append(f"{swing}{x1:.1f} {y1:.1f}")
        x, y = x1, y1
    drawn = f'<path class="line" d="{" ".join(path)}"/>'
    if edge.forward is None:
        return f'<g class="link">{drawn}</g>'
    (tip, y), back = (edge.points[-1], -8) if edge.forward else (edge.points[0], 8)
    head = f'<path class="head" d="M{tip:.1f} {y:.1f} l{back} -4 v8 Z"/>'
    # A JSON list, for an id may hold anything.
    return (
        f'<g class="edge" data-triples="{_escaped(json.dumps(list(edge.triples)))}">{_tip(edge.more)}{drawn}{head}</g>'
    )


def _label(edge: PictureEdge) -> str:
    (left, y), (right, _) = edge.points[-2:]
    wide = width(edge.label, LABEL_SIZE)
    # Beside the node that the edge reaches, with room for an arrow's head.
    middle = max(left + wide / 2, right - wide / 2 - 15)
    return (
        f'<g class="label">{_tip(edge.more)}<rect x="{middle - wide / 2 - 3:.1f}" y="{y - 8:.1f}" width="{wide + 6:.1f}" '
        f'height="15" rx="4"/>{_text([edge.label], middle, y - LABEL_SIZE * LINE / 2, LABEL_SIZE)}</g>'
    )


def _node(node: PictureNode) -> str:
    note = node.kind == "passage"
    size = LABEL_SIZE if note else NODE_SIZE
    style = ["node", node.kind, *(["start"] if node.start else []), *(["answer"] if node.answer else [])]
    top = node.y + (node.h - len(node.lines) * size * LINE) / 2
    text = _text(node.lines, node.x + (PAD if note else node.w / 2), top, size)
    radius = node.h / 2 if node.kind == "literal" else 2 if note else 7
    return f'<g class="{" ".join(style)}">{_tip(node.more or node.label)}{_rect(node, radius)}{text}</g>'


def _rect(place: Area, radius: float) -> str:
    return f'<rect x="{place.x:.1f}" y="{place.y:.1f}" width="{place.w:.1f}" height="{place.h:.1f}" rx="{radius:.1f}"/>'


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
