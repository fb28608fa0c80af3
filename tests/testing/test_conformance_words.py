"""What whoever tests a store or ranker of their own gets to read."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.conftest import environment

from thinkgraph.testing.conformance import graph_data
from thinkgraph.testing.conformance.graph import GraphStoreConformance
from thinkgraph.testing.memory import MemoryGraphStore

MINE = """
import pytest
from thinkgraph.testing.conformance.graph import GraphStoreConformance
from thinkgraph.testing.conformance.ranker import RankerConformance
from thinkgraph.testing.conformance.text import TextStoreConformance


class Negative:
    name = "negative"

    def score(self, query, texts):
        return [-7.0 for _ in texts]


class TestRanker(RankerConformance):
    @pytest.fixture
    def ranker(self):
        return Negative()


class Half:
    def info(self): ...
    def lookup(self, names, *, limit=10): ...


class TestGraph(GraphStoreConformance):
    @pytest.fixture
    def store(self):
        return Half()


class TestForgotten(TextStoreConformance): ...
"""


def test_failures_say_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(MINE)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py", "-k", "relevant or is_a"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "assert -7.0 > -7.0" in done.stdout
    assert (
        "Half is no GraphStore: it lacks edges_among, entities, neighbourhood, neighbours, relations, search, triples"
        in done.stdout
    )
    assert "give your subclass a fixture `store`" in done.stdout


def sample(of: type[MemoryGraphStore]) -> MemoryGraphStore:
    rows = [(one.subject, one.relation, one.object, dict(one.qualifiers)) for one in graph_data.STATEMENTS]
    values = {one.relation for one in graph_data.STATEMENTS if one.literal}
    return of(rows, literals=values, labels=graph_data.LABELS, aliases=graph_data.ALIASES)


def changed(method: str, change: Callable[[Any], Any]) -> MemoryGraphStore:
    """A store of which one method gives something else."""

    def other(self: MemoryGraphStore, *arguments: Any, **options: Any) -> Any:
        return change(getattr(MemoryGraphStore, method)(self, *arguments, **options))

    return sample(type("Mine", (MemoryGraphStore,), {method: other}))


@pytest.mark.parametrize(
    ("method", "change", "fault"),
    [
        ("entities", lambda found: [one and {**one, "type": None} for one in found], r"'0\.type': .* None"),
        (
            "lookup",
            lambda found: [[{**one, "entity": {}} for one in row] for row in found],
            r"entity\.id': Field required",
        ),
        ("triples", lambda found: [one and {**one, "id": 7} for one in found], r"'0\.id': .* 7"),
        ("relations", lambda found: [[{**one, "count": "1"} for one in row] for row in found], r"count': .* '1'"),
        ("edges_among", lambda found: [{**one, "qualifiers": ()} for one in found], r"qualifiers': .* \(\)"),
    ],
)
def test_a_field_of_another_type_is_named(method: str, change: Callable[[Any], Any], fault: str) -> None:
    suite = GraphStoreConformance()
    suite.test_every_field_has_its_type(sample(MemoryGraphStore))
    with pytest.raises(AssertionError, match=rf"Mine\.{method} does not give what GraphStore promises: .*{fault}"):
        suite.test_every_field_has_its_type(changed(method, change))


def test_what_one_method_gives_amiss_is_found() -> None:
    suite = GraphStoreConformance()
    longer = changed("search", lambda found: [[*row, *row, *row] for row in found])
    with pytest.raises(AssertionError):
        suite.test_search_limit_and_literals(longer, fuzzy=False)
    renamed = changed("edges_among", lambda found: [{**one, "id": f"x{one['id']}"} for one in found])
    with pytest.raises(AssertionError):
        suite.test_edges_among(renamed)
    kept: dict[str, Any] = {}
    shared = changed("entities", lambda found: [kept.setdefault(one["id"], one) for one in found])
    with pytest.raises(AssertionError):
        suite.test_results_are_the_callers_own(shared)
    unnamed = changed("search", lambda found: [[{**one, "name": ""} for one in row] for row in found])
    with pytest.raises(AssertionError):
        suite.test_search_words(unnamed)
