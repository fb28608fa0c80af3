"""A run as one HTML file that replays without a server: the page's own modules, its style and the run's events in it.

Nothing in it is fetched, and nothing runs but these modules: the policy in its head names them by their digests.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from thinkgraph.cli.show import json_text
from thinkgraph.errors import UsageError
from thinkgraph.plot.save import check_answer, is_page, write_whole
from thinkgraph.prompts.lines import one_line
from thinkgraph.state.answer import Answer
from thinkgraph.ui.walk import Recorder
from thinkgraph.version import VERSION

STATIC = Path(__file__).parent / "static"
GRAPH = "vendor/graph.js"
MODULES = ("dom.js", "words.js", "graph.js", "steps.js", "answer.js", "replay.js")
"""What shows a run, each after what it imports. Their top-level names differ, so that they make one script."""
SHARED, HOSTED = "shared.js", "hosted.js"
"""Where its events come from: the file itself, or the messages of a chat host."""
_IMPORT = re.compile(r"^import .*?;\n", re.MULTILINE | re.DOTALL)
_EXPORT = re.compile(r"^export (?=(async )?(function|class|const|let) )", re.MULTILINE)


def page_of_run(run: Mapping[str, Any]) -> str:
    """A whole HTML page with a run in it.

    Args:
        run: as the page's interface gives it: question, method, model … and `events`.
    """
    # No text of the run can end the element that holds it.
    data = json_text(dict(run), ensure_ascii=True).replace("<", "\\u003c")
    held = f'<main id="main"></main>\n<script type="application/json" id="run">{data}</script>'
    return _page(one_line(str(run["question"]))[:200], held, SHARED)


def page_for_hosts() -> str:
    """The same page without a run in it: a chat host that shows MCP apps hands one over by its messages (`hosted.js`)."""
    return _page("thinkgraph", f'<main id="main" data-version="{VERSION}"></main>', HOSTED)


def _page(title: str, body: str, last: str) -> str:
    graph, script, style = (STATIC / GRAPH).read_text("utf-8"), _script(last), (STATIC / "style.css").read_text("utf-8")
    policy = (
        f"default-src 'none'; script-src {_digest(graph)} {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{html.escape(title)}</title>\n<style id="__________cytoscape_stylesheet">{style}</style>\n</head>\n'
        f'<body class="shared">\n{body}\n<script>{graph}</script>\n<script>{script}</script>\n</body>\n</html>\n'
    )


class Shown:
    """An answer for a notebook's cell: its page in a frame of its own, which can reach nothing around it."""

    def __init__(self, answer: Answer, events: Sequence[Mapping[str, Any]] = ()) -> None:
        self._page = page_of_run(_run(answer, events))

    def _repr_html_(self) -> str:
        page = html.escape(self._page, quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="thinkgraph" width="100%" height="720" '
            'style="border: 0"></iframe>'
        )


def show(answer: Answer, events: Sequence[Mapping[str, Any]] = ()) -> Shown:
    """What a notebook shows of an answer, as the last line of a cell.

    Args:
        answer: what a method's graph returned under "answer", of any method.
        events: of the run, as `Recorder` makes them.

    Raises:
        UsageError: something else is given.
    """
    return Shown(answer, events)


def save_page(answer: Answer, path: str | Path, events: Sequence[Mapping[str, Any]] = ()) -> Path:
    """Write what led to an answer as one page that replays without a server; a file that is there is replaced.

    Args:
        answer: what a method's graph returned under "answer", of any method.
        path: ends in .html.
        events: of the run, as `Recorder` makes them; without them the page shows the answer and its evidence.

    Returns:
        The file.

    Raises:
        UsageError: the file cannot be written, or is named as a picture; something else than an answer is given.
    """
    if not is_page(file := Path(path)):
        raise UsageError(f"a page is an .html; thinkgraph.plot_answer draws the picture {file.name}")
    return save_run(_run(answer, events), path)


def save_run(run: Mapping[str, Any], path: str | Path) -> Path:
    """Write a run as one page, as `save_page` does.

    Args:
        run: as `page_of_run` takes it.
        path: ends in .html.

    Returns:
        The file.

    Raises:
        UsageError: the file cannot be written.
    """
    return write_whole(Path(path).expanduser(), page_of_run(run), "page")


def _run(answer: Answer, events: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    check_answer(answer)
    told = any(event["type"] == "finished" for event in events)
    last = [] if told else [Recorder.stamped({"type": "finished", "answer": answer})]
    about = {name: answer[name] for name in ("question", "method", "model", "status")}
    return {**about, "events": [*events, *last]}


def _script(last: str) -> str:
    """The modules as one script: within it nothing is left to import."""
    parts = [_EXPORT.sub("", _IMPORT.sub("", (STATIC / name).read_text("utf-8"))) for name in (*MODULES, last)]
    return "(() => {\n'use strict';\n" + "\n".join(parts) + "\n})();\n"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
