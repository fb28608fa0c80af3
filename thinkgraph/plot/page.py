"""The picture as one HTML page that needs nothing else: question, answer, picture, passages in full, the bill."""

from __future__ import annotations

from collections.abc import Iterator

from thinkgraph.plot.graph import Picture
from thinkgraph.plot.svg import FONT, STATUS, svg_of
from thinkgraph.plot.text import escaped
from thinkgraph.state.answer import Answer

_STYLE = f"""
body {{ margin: 2rem auto; max-width: 76rem; padding: 0 1rem; font: 15px/1.5 {FONT}; color: #1f2937; }}
.picture {{ overflow-x: auto; border: 1px solid #e5e7eb; border-radius: 10px; }}
h2 {{ font-size: 1rem; margin: 1.6rem 0 .4rem; }}
.status {{ padding: .1rem .6rem; border-radius: 1rem; font-weight: 600; }}
.passage {{ border-left: 3px solid #eab308; padding: .1rem .8rem; margin: .6rem 0; }}
.small {{ color: #6b7280; font-size: .87rem; }}
ol, ul {{ padding-left: 1.4rem; }} li, p {{ overflow-wrap: anywhere; unicode-bidi: plaintext; }}
"""


def page_of(answer: Answer, picture: Picture) -> str:
    """The whole page. Nothing in it runs or is fetched: the policy in its head forbids both."""
    svg = svg_of(answer, picture)
    body = "\n".join(_body(answer))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{escaped(answer['question'])}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f'<div class="picture">\n{svg}</div>\n{body}\n</body>\n</html>\n'
    )


def _body(answer: Answer) -> Iterator[str]:
    ink, ground = STATUS.get(answer["status"], STATUS["unknown"])
    yield f"<h2>Answer</h2>\n<p><strong>{escaped(answer['text'])}</strong></p>"
    yield (
        f'<p><span class="status" style="color:{ink};background:{ground}">{escaped(answer["status"])}</span> '
        f"{escaped(answer['reason'])}</p>"
    )
    evidence = answer["evidence"]
    if evidence["paths"]:
        yield "<h2>Paths</h2>\n<ol>"
        yield from (f"<li>{escaped(path['text'])}</li>" for path in evidence["paths"])
        yield "</ol>"
    if evidence["passages"]:
        yield "<h2>Passages</h2>"
    for passage in evidence["passages"]:
        where = " / ".join(part for part in (passage["title"], passage["section"]) if part)
        yield (
            f'<div class="passage"><p class="small">[{escaped(passage["id"])}] {escaped(where)}</p>'
            f"<p>{escaped(passage['text'])}</p></div>"
        )
    trace = answer["trace"]
    if trace["lines"]:
        yield f"<h2>{escaped(trace['title'])}</h2>"
        yield from (
            f'<p style="margin:0 0 0 {min(line["level"], 10) * 1.4:.1f}rem">{escaped(line["text"])}</p>'
            for line in trace["lines"]
        )
    total = answer["usage"]["total"]
    yield (
        f'<p class="small">{escaped(answer["model"])} with {escaped(answer["method"])} in {answer["rounds"]} rounds: '
        f"{total['calls']} model calls, {total['input_tokens']} + {total['output_tokens']} tokens</p>"
    )
