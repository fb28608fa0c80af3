"""Writes what the methods' pages take from the code: the picture of the compiled graph, the table of steps, settings, costs.

    ./tg python scripts/method_pages.py             write docs/methods/*.md, docs/methods.md, docs/img/*.svg
    ./tg python scripts/method_pages.py --check     print what is not current, and end with 1 if anything is

In a page `<!-- NAME -->` and `<!-- /NAME -->` stand around what is written. All else on the pages is written by hand.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from draw_graph import svg_of
from langchain_core.runnables.graph import Graph

from thinkgraph.graphs.build import outline
from thinkgraph.graphs.registry import find_method
from thinkgraph.state.settings import RunSettings

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
NODES, PROMPTS = ROOT / "thinkgraph" / "nodes", ROOT / "thinkgraph" / "prompts"
COST = ROOT / "benchmarks" / "results" / "cost.md"
DRAWN = ("tog2", "fasttog", "fiske", "coggrag", "paths", "search_agent")
ROOMS = {"paths": ("paths", "tog2", "opening", "common", "closing")}
"""The rooms in which a method's steps are looked for, where they are not its own and those that all share."""
OURS = {"begin", "backtrack", "answer", "majority", "grow", "outcomes"}
"""Steps that we needed beside the papers' (docs/methods.md)."""


def steps(method: str, graph: Graph) -> dict[str, Path]:
    """The module of every step, in the order of the graph."""
    rooms = ROOMS.get(method, (method, "opening", "common", "closing"))
    names = [name.rpartition(":")[2] for name in graph.nodes if not name.endswith("__")]
    return {
        name: next(path for room in rooms if (path := NODES / room / f"{name}.py").is_file())
        for name in dict.fromkeys(names)
    }


def asks(step: str, module: Path) -> bool:
    """Whether the step asks a model: it has a prompt of its own, asks the model's memory, or leads a conversation."""
    own = [*(PROMPTS / module.parent.name).glob(f"{step}*.prompt")]
    asked = r"memory import .*\b(sampled|recalled)\b|requests\.converse\("
    return bool(own) or re.search(asked, module.read_text("utf-8")) is not None


def steps_table(found: dict[str, Path]) -> Iterator[str]:
    """What each step is, as its module says, which names the section of the paper."""
    yield "| step | what it is | asks the model |"
    yield "|---|---|---|"
    for step, module in found.items():
        said = (ast.get_docstring(ast.parse(module.read_text("utf-8"))) or "").partition("\n\n")[0]
        yield f"| `{step}` | {_cell(said)} | {'yes' if asks(step, module) else ''} |"


def settings_table(schema: type[RunSettings], *, shared: bool = False) -> Iterator[str]:
    """The settings of a schema: those that all methods share, or those that it has beside them or sets otherwise."""
    properties: dict[str, Any] = schema.model_json_schema()["properties"]
    yield "| setting | default | values | what it does |"
    yield "|---|---|---|---|"
    for name, info in schema.model_fields.items():
        if shared or str(info) != str(RunSettings.model_fields.get(name)):
            default = (
                "none"
                if info.default is None
                else str(info.default).lower()
                if isinstance(info.default, bool)
                else info.default
            )
            yield f"| `{name}` | `{default}` | {_values(properties[name])} | {_cell(info.description or '')} |"


def _values(shown: dict[str, Any]) -> str:
    """What a setting may be, from its JSON schema."""
    kinds = [one for one in shown.get("anyOf", [shown]) if one.get("type") != "null"]
    none = ", or none" if len(kinds) < len(shown.get("anyOf", [shown])) else ""
    (kind,) = kinds
    if "enum" in kind:
        return ", ".join(f"`{one}`" for one in kind["enum"]) + none
    if kind["type"] == "boolean":
        return "`true`, `false`" + none
    low, above, high = kind.get("minimum"), kind.get("exclusiveMinimum"), kind.get("maximum")
    bounds = [
        *([f"from {low:g}"] if low is not None else []),
        *([f"above {above:g}"] if above is not None else []),
        *([f"to {high:,}"] if high is not None else []),
    ]
    words = {"integer": "whole number", "number": "number", "string": "text"}[kind["type"]]
    return " ".join([words, *bounds]) + none


def cost_table(method: str) -> Iterator[str]:
    """The method's rows of the table of costs."""
    for line in COST.read_text("utf-8").splitlines():
        if line.startswith(("| method |", "|---", f"| {method} |", f"| {method},")):
            yield line


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def fill(page: str, name: str, lines: Iterator[str]) -> str:
    """The page with these lines in the place of that name.

    Raises:
        ValueError: the page has no such place.
    """
    place = re.compile(rf"(<!-- {name} -->\n).*?(\n?<!-- /{name} -->)", re.DOTALL)
    if not place.search(page):
        raise ValueError(f"the page has no place for {name}")
    text = "\n".join(lines)
    return place.sub(lambda found: f"{found[1]}\n{text}\n\n<!-- /{name} -->", page)


def written(method: str) -> dict[Path, str]:
    """The files of a method, as they should be."""
    chosen, graph = find_method(method), outline(method).get_graph(xray=True)
    found = steps(method, graph)
    asked = {step for step, module in found.items() if asks(step, module)}
    path = DOCS / "methods" / f"{method}.md"
    page = fill(path.read_text("utf-8"), "steps", steps_table(found))
    page = fill(page, "settings", settings_table(chosen.settings))
    page = fill(page, "cost", cost_table(method))
    title = f"{chosen.title} as a LangGraph state machine"
    return {path: page, DOCS / "img" / f"{method}.svg": svg_of(graph, title, asks=asked, ours=OURS)}


def overview() -> dict[Path, str]:
    """The page of all methods, as it should be."""
    path = DOCS / "methods.md"
    return {path: fill(path.read_text("utf-8"), "settings", settings_table(RunSettings, shared=True))}


def main() -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 if anything is not current")
    check = parser.parse_args().check
    stale = 0
    for files in (overview(), *map(written, DRAWN)):
        for path, text in files.items():
            if path.is_file() and path.read_text("utf-8") == text:
                continue
            stale += 1
            print(f"{'not current' if check else 'written'}: {path.relative_to(ROOT)}")
            if not check:
                path.write_text(text, "utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
