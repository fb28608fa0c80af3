"""What the methods' pages take from the code is current: pictures, steps, settings, costs."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import method_pages  # noqa: E402 - the path comes first

from thinkgraph.graphs.build import outline  # noqa: E402 - as above

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("method", method_pages.DRAWN)
def test_a_methods_page_is_current(method: str) -> None:
    for path, text in method_pages.written(method).items():
        assert path.read_text("utf-8") == text, "run ./tg python scripts/method_pages.py"


def test_the_overview_is_current() -> None:
    for path, text in method_pages.overview().items():
        assert path.read_text("utf-8") == text, "run ./tg python scripts/method_pages.py"


@pytest.mark.parametrize("method", method_pages.DRAWN)
def test_the_picture_has_every_step_and_every_way(method: str) -> None:
    picture = ET.parse(method_pages.DOCS / "img" / f"{method}.svg").getroot()  # noqa: S314 - our own file
    graph = outline(method).get_graph(xray=True)
    steps = {name.rpartition(":")[2] for name in graph.nodes if not name.endswith("__")}
    named = {str(text.text) for text in picture.iter(f"{_SVG}text") if text.get("text-anchor") == "middle"}
    assert named == steps
    heads = [path for path in picture.iter(f"{_SVG}path") if path.get("class") == "head"]
    # What ends a branch is no box: the way to it is drawn to where it leads on.
    joints = [name for name in graph.nodes if name.endswith(":__end__")]
    assert len(heads) == len(graph.edges) - len(joints)


@pytest.mark.parametrize("method", method_pages.DRAWN)
def test_no_box_lies_on_another(method: str) -> None:
    picture = (method_pages.DOCS / "img" / f"{method}.svg").read_text("utf-8")
    found = re.findall(r'<g class="node[^"]*"><rect x="([-\d.]+)" y="([\d.]+)" width="([\d.]+)" height="32"', picture)
    boxes = [tuple(map(float, box)) for box in found]
    assert boxes
    for at, (x, y, wide) in enumerate(boxes):
        for other, level, breadth in boxes[:at]:
            assert level != y or x >= other + breadth or other >= x + wide


def test_what_has_no_place_is_said() -> None:
    with pytest.raises(ValueError, match="the page has no place for cost"):
        method_pages.fill("# A page", "cost", iter(()))
