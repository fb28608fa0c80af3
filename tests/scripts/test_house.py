"""Each check of `scripts/house.py` finds its fault in a made-up package, and nothing in one without faults."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from textwrap import dedent
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "house.py"

SOUND = {
    "version.py": "",
    "errors.py": "class BadError(Exception): ...",
    "state/base.py": "from thinkgraph.errors import BadError\nclass State: ...",
    "state/answer.py": "class Answer: ...",
    "nodes/common/begin.py": "def begin(name): ...",
    "nodes/common/answer.py": "def answer(role): ...",
    "nodes/tog2/reason.py": """
        from thinkgraph.nodes.common.answer import answer
        from thinkgraph.state.base import State

        def reason(state: State): ...
        """,
    "nodes/tog2/topic_prune.py": "def topic_prune(state): ...",
    "graphs/tog2.py": """
        from thinkgraph.nodes.common.answer import answer
        from thinkgraph.nodes.common.begin import begin
        from thinkgraph.nodes.tog2 import topic_prune as prune
        from thinkgraph.nodes.tog2.reason import reason as think

        def branch(run): ...

        def wire(run):
            graph = StateGraph()
            entry = begin("tog2")
            graph.add_node("begin", run.node("begin", entry, entry=True))
            graph.add_node("reason", run.node("reason", think))
            graph.add_node("branch", branch(run).compile())
            graph.add_node("branch", run.branch(branch(run)), input_schema=State)
            return straight({"topic_prune": run.node("topic_prune", prune.topic_prune), "answer": run.node("answer", answer("x"))})
        """,
    "graphs/registry.py": "METHODS = ()",
}


def load_script() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("house", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def house(tmp_path: Path, capsys: pytest.CaptureFixture[str], **changed: str) -> tuple[int, dict[str, list[str]]]:
    """The exit status and the rows of each section, over the sound package with some files changed."""
    for name, source in {**SOUND, **changed}.items():
        path = tmp_path / "thinkgraph" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(source) + "\n", "utf-8")
    status = load_script().main(tmp_path / "thinkgraph")
    _, *sections = capsys.readouterr().out.split("\n\n")
    found = {}
    for section in sections:
        title, *rows = section.splitlines()
        name, count = title.rsplit(": ", 1)
        assert int(count) == len(rows)
        found[name] = [row.strip() for row in rows]
    return status, {name: rows for name, rows in found.items() if rows}


def test_a_sound_package_has_no_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert house(tmp_path, capsys) == (0, {})


def test_each_folder_has_its_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house(tmp_path, capsys)
    script = load_script()
    assert script.sizes(script.load(tmp_path / "thinkgraph").values()) == {
        Path(): 2,
        Path("graphs"): 2,
        Path("nodes"): 0,
        Path("nodes/common"): 2,
        Path("nodes/tog2"): 2,
        Path("state"): 2,
    }
    assert "  nodes/tog2                     2    2       7" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("files", "section", "row"),
    [
        (
            {
                "state/base.py": "import thinkgraph.state.answer",
                "state/answer.py": "from thinkgraph.state.base import x",
            },
            "eager import circles",
            "thinkgraph.state.answer thinkgraph.state.base",
        ),
        (
            {
                "state/base.py": "import thinkgraph.state.answer",
                "state/answer.py": "def late():\n    from thinkgraph.state import base",
            },
            "lazy import circles",
            "thinkgraph.state.answer thinkgraph.state.base",
        ),
        (
            {"state/base.py": "import thinkgraph.state.answer", "state/answer.py": "LATE = 'thinkgraph.state.base'"},
            "lazy import circles",
            "thinkgraph.state.answer thinkgraph.state.base",
        ),
        (
            {"state/base.py": "def late():\n    from thinkgraph.graphs import registry"},
            "upward imports",
            "thinkgraph.state.base → thinkgraph.graphs.registry",
        ),
        (
            {"unheard_of.py": "", "state/base.py": "import thinkgraph.unheard_of"},
            "upward imports",
            "thinkgraph.state.base → thinkgraph.unheard_of",
        ),
        (
            {"nodes/fiske/clues.py": "import thinkgraph.nodes.tog2.reason", "nodes/fiske/more.py": ""},
            "upward imports",
            "thinkgraph.nodes.fiske.clues → thinkgraph.nodes.tog2.reason",
        ),
        (
            {"ingest/one.py": "import thinkgraph.plot.one", "ingest/two.py": "", "plot/one.py": "", "plot/two.py": ""},
            "upward imports",
            "thinkgraph.ingest.one → thinkgraph.plot.one",
        ),
        (
            {
                "ingest/one.py": "",
                "ingest/two.py": "",
                "nodes/tog2/reason.py": "import thinkgraph.ingest.one\ndef reason(): ...",
            },
            "upward imports",
            "thinkgraph.nodes.tog2.reason → thinkgraph.ingest.one",
        ),
        (
            {"plot/one.py": "", "plot/two.py": "", "graphs/registry.py": "import thinkgraph.plot.one"},
            "upward imports",
            "thinkgraph.graphs.registry → thinkgraph.plot.one",
        ),
        (
            {
                "graphs/registry.py": "def reason(): ...\ndef wire(run):\n    g.add_node('reason', run.node('reason', reason))"
            },
            "misnamed graph nodes",
            "graphs/registry.py:3 'reason' is reason of thinkgraph.graphs.registry",
        ),
        (
            {
                "graphs/registry.py": """
                from thinkgraph.nodes.tog2.reason import reason
                straight({"think": run.node("think", reason)})
                """
            },
            "misnamed graph nodes",
            "graphs/registry.py:3 'think' is reason of thinkgraph.nodes.tog2.reason",
        ),
        (
            {
                "graphs/registry.py": """
                from thinkgraph.nodes.tog2.reason import reason
                g.add_node("think", run.node("reason", reason))
                """
            },
            "misnamed graph nodes",
            "graphs/registry.py:3 'think' is reason of thinkgraph.nodes.tog2.reason",
        ),
        (
            {
                "graphs/registry.py": """
                from thinkgraph.nodes.tog2.reason import reason
                from thinkgraph.runtime.driver import chain
                def wire(run):
                    both = chain(reason, reason)
                    g.add_node("reason", run.node("reason", both))
                """
            },
            "misnamed graph nodes",
            "graphs/registry.py:6 'reason' is chain of thinkgraph.runtime.driver",
        ),
        (
            {
                "graphs/registry.py": """
                from thinkgraph.nodes.tog2.reason import reason
                from thinkgraph.nodes.tog2.reason import reason as think
                state_graph(run, [reason, think])
                """
            },
            "misnamed graph nodes",
            "graphs/registry.py:4 'think' is reason of thinkgraph.nodes.tog2.reason",
        ),
        (
            {
                "graphs/registry.py": """
                from thinkgraph.nodes.tog2.reason import reason
                def think(): ...
                steps = [reason, think]
                """
            },
            "misnamed graph nodes",
            "graphs/registry.py:4 'think' is think of thinkgraph.graphs.registry",
        ),
        (
            {"graphs/registry.py": "def twig(run): ...\ng.add_node('branch', twig(run).compile())"},
            "misnamed graph nodes",
            "graphs/registry.py:2 'branch' is twig of thinkgraph.graphs.registry",
        ),
        (
            {
                "graphs/registry.py": "def twig(run): ...\ng.add_node('branch', run.branch(twig(run)), input_schema=State)"
            },
            "misnamed graph nodes",
            "graphs/registry.py:2 'branch' is twig of thinkgraph.graphs.registry",
        ),
        (
            {"nodes/tog2/topic_prune.py": "def topic_prune(state: Mapping[str, Any]): ..."},
            "parameters of nodes and graphs that are Mapping[str, Any]",
            "nodes/tog2/topic_prune.py:1 topic_prune (state)",
        ),
        (
            {"state/answer.py": "class State: ..."},
            "class names with two owners",
            "State: state/answer.py state/base.py",
        ),
        (
            {"state/answer.py": "def long():" + "\n    pass" * 60},
            "functions over 60 lines",
            "state/answer.py:1 long 61",
        ),
        ({"tools/only.py": ""}, "folders with more than 12 files, or with one", "tools 1"),
        (
            {f"tools/{number}.py": "" for number in range(13)},
            "folders with more than 12 files, or with one",
            "tools 13",
        ),
    ],
)
def test_a_fault_is_a_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], section: str, row: str
) -> None:
    status, found = house(tmp_path, capsys, **files)
    assert found == {section: [row]}
    assert status == (section.endswith(("circles", "imports", "graph nodes")))


def test_imports_for_types_only_are_no_circle(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        "state/base.py": "import thinkgraph.state.answer",
        "state/answer.py": "if TYPE_CHECKING:\n    import thinkgraph.state.base",
    }
    assert house(tmp_path, capsys, **files) == (0, {})


@pytest.mark.parametrize("method", ["tog2", "fasttog", "fiske", "coggrag"])
def test_every_step_of_a_paper_has_a_test_of_its_name(method: str) -> None:
    """As CONTRIBUTING.md says: whoever knows a step's name finds its tests."""
    texts = {file.stem: file.read_text("utf-8") for file in (ROOT / "thinkgraph" / "nodes" / method).glob("*.py")}
    steps = {
        name for name, text in texts.items() if re.search(rf"^def {name}\(.*-> Flow\[Update\]", text, re.MULTILINE)
    }
    assert len(steps) >= 7
    files = [file for room in ("graphs", "nodes") for file in (ROOT / "tests" / room / method).glob("test_*.py")]
    names = [
        name
        for file in files
        for name in (file.stem, *re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE))
    ]
    assert {step for step in steps if not any(re.search(rf"_{step}(_|$)", name) for name in names)} == set()
